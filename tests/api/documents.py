"""Documents made by hand, for tests of the index: only what their readers need, nothing from a library."""
import io
import json
import struct
import zipfile
import zlib


def pdf(pages):
    """One line of text, or several, per page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", None, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        lines = "".join(f"({line}) Tj 0 -14 Td " for line in text.split("\n"))
        stream = f"BT /F1 10 Tf 50 750 Td {lines}ET".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
                       b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


def package(parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in parts.items():
            z.writestr(name, data)
    return out.getvalue()


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
RELS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'


def docx(paragraphs):
    """(style or None, text) each."""
    body = "".join(f'<w:p>{f"<w:pPr><w:pStyle w:val={chr(34)}{style}{chr(34)}/></w:pPr>" if style else ""}'
                   f"<w:r><w:t>{text}</w:t></w:r></w:p>" for style, text in paragraphs)
    return package({"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>"})


def column(number):
    return chr(64 + number) if number <= 26 else column((number - 1) // 26) + column((number - 1) % 26 + 1)


def xlsx(sheets):
    """{name: {row: [cells]}}; texts are shared, numbers are not."""
    texts, parts, relations, names = [], {}, "", ""
    for index, (name, rows) in enumerate(sheets.items(), 1):
        lines = ""
        for row, cells in rows.items():
            line = ""
            for at, cell in enumerate(cells, 1):
                if isinstance(cell, str):
                    texts.append(cell)
                    line += f'<c r="{column(at)}{row}" t="s"><v>{len(texts) - 1}</v></c>'
                else:
                    line += f'<c r="{column(at)}{row}"><v>{cell}</v></c>'
            lines += f'<row r="{row}">{line}</row>'
        parts[f"xl/worksheets/sheet{index}.xml"] = f"<worksheet><sheetData>{lines}</sheetData></worksheet>"
        names += f'<sheet name="{name}" sheetId="{index}" r:id="rId{index}"/>'
        relations += f'<Relationship Id="rId{index}" Type="worksheet" Target="worksheets/sheet{index}.xml"/>'
    parts["xl/workbook.xml"] = f"<workbook {R}><sheets>{names}</sheets></workbook>"
    parts["xl/_rels/workbook.xml.rels"] = f"<Relationships {RELS}>{relations}</Relationships>"
    parts["xl/sharedStrings.xml"] = "<sst>" + "".join(f"<si><t>{t}</t></si>" for t in texts) + "</sst>"
    return package(parts)


def pptx(slides):
    parts, relations, order = {}, "", ""
    for index, text in enumerate(slides, 1):
        parts[f"ppt/slides/slide{index}.xml"] = (
            '<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>' + text + "</a:t></a:r></a:p></p:sld>")
        relations += f'<Relationship Id="rId{index}" Type="slide" Target="slides/slide{index}.xml"/>'
        order += f'<p:sldId id="{255 + index}" r:id="rId{index}"/>'
    parts["ppt/presentation.xml"] = f'<p:presentation xmlns:p="p" {R}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>'
    parts["ppt/_rels/presentation.xml.rels"] = f"<Relationships {RELS}>{relations}</Relationships>"
    return package(parts)


def ipynb(cells):
    """(kind, source, output or None) each."""
    made = []
    for kind, source, output in cells:
        cell = {"cell_type": kind, "metadata": {}, "source": source}
        if kind == "code":
            cell["execution_count"] = 1
            cell["outputs"] = [] if output is None else [{"output_type": "stream", "name": "stdout", "text": [output]}]
        made.append(cell)
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def png(text):
    """One pixel, and what is written about it."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
            + chunk(b"tEXt", b"Description\0" + text.encode("latin-1"))
            + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))


def zip_bomb(size):
    """A docx whose document is that many blanks."""
    return package({"word/document.xml": b" " * size})


def deep_docx(depth):
    return package({"word/document.xml": "<w:a>" * depth + "</w:a>" * depth})


def laughing_docx():
    """Entities that stand for more and more of each other."""
    entities = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    return package({"word/document.xml": f"<!DOCTYPE d [{entities}]><d>&a11;</d>"})
