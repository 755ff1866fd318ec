"""The text of a document, in pieces that know where they are: one JSON object per line of output.

Runs in a jail of its own, and nothing it says is believed further than that. extract(path, name) prints
    {"p": place, "a": first, "b": last, "c": column, "l": label, "t": title, "x": text}     any number of these
and at last one of
    {"end": "all"}  {"end": "cut"}  {"skip": why there is no text}  {"fail": what is wrong}
Places are the numbers of store/text_index.h.
"""
import csv
import io
import json
import re
import subprocess
import sys
import xml.parsers.expat
import zipfile

NONE, LINES, PAGE, SHEET, SLIDE, CELL, ROWS, PARAGRAPH = range(8)
TARGET = 2400  # bytes of a piece
LABEL_MAX = 200
TEXT_MAX = 8 << 20  # of a document
PIECES_MAX = 10000
MEMBER_MAX = 48 << 20  # bytes of one part of a zip, unpacked
MEMBERS_MAX = 256 << 20  # of all of them that are read
DEPTH_MAX = 256
COLUMNS_MAX = 256
SHARED_MAX = 2000000  # strings of a workbook
PDF_S = 25


class Skip(Exception):
    """There is no text, and that is nobody's fault."""


class Fail(Exception):
    """Something is wrong with the document."""


class Enough(Exception):
    """More than is indexed of one document."""


def tell(**what):
    sys.stdout.write(json.dumps(what, ensure_ascii=False) + "\n")


def clean(text):
    """Short, and without halves of characters."""
    return text.replace("\0", " ")[:LABEL_MAX].encode("utf-8", "replace")[:LABEL_MAX].decode("utf-8", "ignore")


class Pieces:
    """What is told of one document."""

    def __init__(self):
        self.count = self.size = 0

    def put(self, place, first, last, text, column=0, label="", title=""):
        data = text.replace("\0", " ").encode("utf-8", "replace")
        if not data.strip():
            return
        text, label, title = data.decode(), clean(label), clean(title)
        self.count += 1
        self.size += len(data)
        if self.count > PIECES_MAX or self.size > TEXT_MAX:
            raise Enough
        tell(p=place, a=first, b=last, c=column, l=label, t=title, x=text)


class Lines:
    """Numbered lines, put together up to the size of a piece. A line that is longer is cut."""

    def __init__(self, pieces, place, label="", title="", cell=0):
        self.pieces, self.place, self.label, self.title, self.cell = pieces, place, label, title, cell
        self.held, self.size, self.first, self.next = [], 0, 0, 0

    def flush(self):
        if self.held:
            text = "\n".join(self.held)
            if self.cell:
                self.pieces.put(self.place, self.cell, self.cell, text, self.first, self.label, self.title)
            else:
                column = 1 if self.place == SHEET else 0
                self.pieces.put(self.place, self.first, self.first + len(self.held) - 1, text, column, self.label, self.title)
        self.held, self.size = [], 0

    def add(self, number, line):
        line = line.rstrip()
        if self.held and (number != self.next or self.size + len(line) > TARGET):
            self.flush()
        while len(line) > TARGET:
            cut = line.rfind(" ", TARGET // 2, TARGET)
            cut = cut if cut > 0 else TARGET
            self.held, self.first = [line[:cut]], number
            self.flush()
            line = line[cut:]
        if not self.held:
            if not line:
                return  # a piece begins with something
            self.first = number
        self.held.append(line)
        self.size += len(line) + 1
        self.next = number + 1


def put_lines(pieces, place, text, **more):
    lines = Lines(pieces, place, **more)
    for number, line in enumerate(text.split("\n"), 1):
        lines.add(number, line)
    lines.flush()


# ---- plain text

def decode(data):
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(name, "replace")
    if b"\0" in data[:65536]:
        raise Skip("no text: it is binary")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        odd = sum(1 for c in text[:65536] if ord(c) < 32 and c not in "\t\n\r\f\v\x1b")
        if odd > len(text[:65536]) // 50:
            raise Skip("no text: it is binary") from None
        return text


def read(path):
    with open(path, "rb") as f:
        return f.read()


def plain(path, pieces):
    put_lines(pieces, LINES, decode(read(path)).replace("\r\n", "\n").replace("\r", "\n"))


def markdown(path, pieces):
    """Every piece knows the heading it stands under."""
    lines = Lines(pieces, LINES)
    fenced = False
    for number, line in enumerate(decode(read(path)).replace("\r\n", "\n").split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and re.match(r"#{1,6} \S", line):
            if lines.size > TARGET // 4:
                lines.flush()
            if not lines.held:
                lines.title = line.lstrip("# ")
        lines.add(number, line)
    lines.flush()


def table(path, pieces, delimiter):
    text = decode(read(path))
    csv.field_size_limit(1 << 20)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        head = next(rows, [])
    except csv.Error:
        put_lines(pieces, LINES, text)
        return
    lines = Lines(pieces, ROWS, title=" ".join(head)[:LABEL_MAX])
    number = 1
    try:
        lines.add(1, "\t".join(flat(cell) for cell in head))
        for number, row in enumerate(rows, 2):
            lines.add(number, "\t".join(flat(cell) for cell in row))
    except csv.Error as error:
        raise Fail(f"row {number + 1} cannot be read: {error}") from None
    lines.flush()


def flat(text):
    return " ".join(text.split())


def notebook(path, pieces):
    try:
        book = json.loads(decode(read(path)))
        cells = book["cells"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise Fail("it is no notebook: its JSON cannot be read") from None
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            raise Fail(f"cell {number} is no cell")
        put_lines(pieces, CELL, joined(cell.get("source")), cell=number, label=str(cell.get("cell_type"))[:20])
        for output in cell.get("outputs") or []:
            if isinstance(output, dict):
                put_lines(pieces, CELL, output_text(output), cell=number, label="output")


def joined(text):
    if isinstance(text, list):
        return "".join(part for part in text if isinstance(part, str))
    return text if isinstance(text, str) else ""


def output_text(output):
    if output.get("output_type") == "stream":
        return joined(output.get("text"))
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}"
    bundle = output.get("data")
    return joined(bundle.get("text/plain")) if isinstance(bundle, dict) else ""


# ---- PDF

def pdf(path, pieces):
    with subprocess.Popen(["pdftotext", "-q", "-enc", "UTF-8", path, "-"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        try:
            page, held = 1, b""
            while True:
                data = run.stdout.read(65536)
                held += data
                *whole, held = held.split(b"\f")
                for text in whole:
                    put_page(pieces, page, text)
                    page += 1
                if not data:
                    break
            put_page(pieces, page, held)
            status, words = run.wait(PDF_S), run.stderr.read(2000).decode("utf-8", "replace")
        finally:
            run.kill()
    if status:
        raise Fail(words.strip().splitlines()[0][:150] if words.strip() else "it is no PDF, or a damaged one")
    if not pieces.count:
        raise Skip("no text in its pages")


def put_page(pieces, page, data):
    text = "\n".join(line.rstrip() for line in data.decode("utf-8", "replace").split("\n"))
    while len(text) > 2 * TARGET:
        cut = max(text.rfind("\n", 0, TARGET), text.rfind(" ", 0, TARGET))
        cut = cut if cut > 0 else TARGET
        pieces.put(PAGE, page, page, text[:cut])
        text = text[cut:]
    pieces.put(PAGE, page, page, text)


# ---- zip and XML

class Package:
    """The parts of an Office document, read as far as that is harmless."""

    def __init__(self, path):
        self.left = MEMBERS_MAX
        try:
            self.zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, OverflowError):
            raise Fail("it is no Office document: its zip cannot be read") from None
        self.names = set(self.zip.namelist())

    def read(self, name):
        if name not in self.names:
            raise Fail(f"it is damaged: {name[:60]} is missing")
        most = min(MEMBER_MAX, self.left)
        try:
            with self.zip.open(name) as part:
                data = part.read(most + 1)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, OSError) as error:
            raise Fail(f"it is damaged: {name[:60]} cannot be unpacked ({type(error).__name__})") from None
        except Exception as error:  # zlib.error is no class that has a name without importing it
            raise Fail(f"it is damaged: {name[:60]} cannot be unpacked ({type(error).__name__})") from None
        if len(data) > most:
            raise Fail(f"{name[:60]} is larger than {most >> 20} MB when unpacked")
        self.left -= len(data)
        return data


def parse(data, start=None, end=None, text=None):
    """Reads XML with three functions: start(name, attributes), end(name), text(characters). Names come without
    what stands before the colon."""
    parser = xml.parsers.expat.ParserCreate()
    depth = 0

    def begin(name, attributes):
        nonlocal depth
        depth += 1
        if depth > DEPTH_MAX:
            raise Fail("its XML is nested too deeply")
        if start:
            start(name.rpartition(":")[2], attributes)

    def finish(name):
        nonlocal depth
        depth -= 1
        if end:
            end(name.rpartition(":")[2])

    def refuse(*_):
        raise Fail("its XML declares entities")

    parser.StartElementHandler, parser.EndElementHandler = begin, finish
    parser.EntityDeclHandler = refuse
    parser.buffer_text = True
    if text:
        parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        raise Fail(f"its XML is damaged: {xml.parsers.expat.errors.messages[error.code]}") from None


def relations(package, part):
    """Where the ids in a part lead to."""
    folder, _, name = part.rpartition("/")
    found = {}

    def start(tag, attributes):
        if tag == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            found[attributes.get("Id")] = (resolve(folder, target), attributes.get("Type", ""))

    where = f"{folder}/_rels/{name}.rels"
    if where in package.names:
        parse(package.read(where), start=start)
    return found


def resolve(folder, target):
    if target.startswith("/"):
        return target[1:]
    way = folder.split("/")
    for step in target.split("/"):
        if step == "..":
            way = way[:-1]
        elif step != ".":
            way.append(step)
    return "/".join(way)


def docx(path, pieces):
    package = Package(path)
    lines = Lines(pieces, PARAGRAPH)
    number, words, level = 0, [], ""

    def start(tag, attributes):
        nonlocal level
        if tag == "p":
            words.clear()
            level = ""
        elif tag == "pStyle":
            level = attributes.get("w:val", "")
        elif tag in ("tab", "br", "cr"):
            words.append(" ")
        is_text[0] = tag == "t"

    def end(tag):
        nonlocal number
        if tag == "t":
            is_text[0] = False
        if tag == "p":
            number += 1
            line = flat("".join(words))
            if line and (level.lower().startswith("heading") or level == "Title"):
                lines.flush()
                lines.label = lines.title = line
            lines.add(number, line)

    is_text = [False]
    parse(package.read("word/document.xml"), start, end, lambda text: words.append(text) if is_text[0] else None)
    lines.flush()


def column_of(name):
    """Of "BC12": the number of the column, the row."""
    found = re.fullmatch(r"([A-Z]{1,3})([0-9]{1,7})", name or "")
    if not found:
        return 0, 0
    column = 0
    for letter in found[1]:
        column = 26 * column + ord(letter) - 64
    return column, int(found[2])


def xlsx(path, pieces):
    package = Package(path)
    shared = shared_strings(package)
    sheets = []
    parse(package.read("xl/workbook.xml"),
          start=lambda tag, a: sheets.append((a.get("name", ""), a.get("r:id"))) if tag == "sheet" else None)
    targets = relations(package, "xl/workbook.xml")
    for name, key in sheets[:1000]:
        part = targets.get(key, ("", ""))[0]
        if part in package.names:
            sheet(package, part, name, shared, pieces)


def shared_strings(package):
    found, words, is_text = [], [], [False]
    if "xl/sharedStrings.xml" not in package.names:
        return found

    def start(tag, _):
        if tag == "si":
            words.clear()
        is_text[0] = tag == "t"

    def end(tag):
        is_text[0] = False
        if tag == "si":
            if len(found) >= SHARED_MAX:
                raise Fail("it has too many texts")
            found.append(flat("".join(words)))

    parse(package.read("xl/sharedStrings.xml"), start, end, lambda text: words.append(text) if is_text[0] else None)
    return found


def sheet(package, part, name, shared, pieces):
    lines = Lines(pieces, SHEET, label=name)
    cells, words = {}, []
    state = {"row": 0, "column": 0, "kind": "", "is_value": False}

    def start(tag, attributes):
        if tag == "row":
            number = attributes.get("r", "")
            state["row"] = int(number) if number.isdigit() and len(number) < 8 else state["row"] + 1
            state["column"] = 0
            cells.clear()
        elif tag == "c":
            column, _ = column_of(attributes.get("r"))
            state["column"] = column or state["column"] + 1
            state["kind"] = attributes.get("t", "n")
            words.clear()
        state["is_value"] = tag in ("v", "t")

    def end(tag):
        state["is_value"] = False
        if tag == "c" and words and state["column"] <= COLUMNS_MAX:
            cells[state["column"]] = value("".join(words), state["kind"], shared)
        elif tag == "row" and cells:
            lines.add(state["row"], "\t".join(cells.get(at, "") for at in range(1, max(cells) + 1)))
            if not lines.title:
                lines.title = (name + " " + " ".join(cells.values()))[:LABEL_MAX]

    parse(package.read(part), start, end, lambda text: words.append(text) if state["is_value"] else None)
    lines.flush()


def value(text, kind, shared):
    if kind == "s":
        return shared[int(text)] if text.isdigit() and len(text) < 9 and int(text) < len(shared) else ""
    if kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    return flat(text)


def pptx(path, pieces):
    package = Package(path)
    order = []
    parse(package.read("ppt/presentation.xml"),
          start=lambda tag, a: order.append(a.get("r:id")) if tag == "sldId" else None)
    targets = relations(package, "ppt/presentation.xml")
    for number, key in enumerate(order[:10000], 1):
        part = targets.get(key, ("", ""))[0]
        if part not in package.names:
            continue
        put_slide(package, part, number, "", pieces)
        for target, kind in relations(package, part).values():
            if kind.endswith("/notesSlide") and target in package.names:
                put_slide(package, target, number, "notes", pieces)


def put_slide(package, part, number, label, pieces):
    found, words, is_text = [], [], [False]

    def start(tag, _):
        if tag == "p":
            words.clear()
        is_text[0] = tag == "t"

    def end(tag):
        is_text[0] = False
        if tag == "p" and words:
            found.append(flat("".join(words)))

    parse(package.read(part), start, end, lambda text: words.append(text) if is_text[0] else None)
    text = "\n".join(found)
    title = found[0] if found and not label else ""
    for at in range(0, len(text), TARGET):
        pieces.put(SLIDE, number, number, text[at:at + TARGET], label=label, title=title)


# ---- images

def image(path, pieces):
    from PIL import ExifTags, Image
    try:
        with Image.open(path) as it:
            found = [f"format: {it.format}", f"size: {it.width} x {it.height}", f"mode: {it.mode}"]
            for name, content in it.info.items():
                if isinstance(content, str):
                    found.append(f"{name}: {flat(content)[:1000]}")
            for tag, content in list(it.getexif().items())[:200]:
                if isinstance(content, (str, int, float)):
                    found.append(f"{ExifTags.TAGS.get(tag, tag)}: {flat(str(content))[:1000]}")
    except Exception as error:  # whatever a decoder raises
        raise Fail(f"it is no image that can be read ({type(error).__name__})") from None
    pieces.put(NONE, 0, 0, "\n".join(found)[:TARGET])


# ---- what it is

KINDS = {
    "pdf": pdf, "docx": docx, "docm": docx, "xlsx": xlsx, "xlsm": xlsx, "pptx": pptx, "pptm": pptx,
    "ipynb": notebook, "md": markdown, "markdown": markdown,
    "csv": lambda path, pieces: table(path, pieces, ","), "tsv": lambda path, pieces: table(path, pieces, "\t"),
    "png": image, "jpg": image, "jpeg": image, "gif": image, "webp": image, "tif": image, "tiff": image, "bmp": image,
}


def extract(path, name):
    pieces = Pieces()
    kind = name.rpartition(".")[2].lower() if "." in name else ""
    try:
        KINDS.get(kind, plain)(path, pieces)
        tell(end="all")
    except Skip as why:
        tell(skip=str(why))
    except Fail as why:
        tell(fail=str(why))
    except Enough:
        tell(end="cut")
    except RecursionError:
        tell(fail="it is nested too deeply")
    except MemoryError:
        tell(fail="it needs too much memory")
    except subprocess.TimeoutExpired:
        tell(fail="it takes too long")
    except Exception as error:
        tell(fail=f"it cannot be read ({type(error).__name__})")
    sys.stdout.flush()
