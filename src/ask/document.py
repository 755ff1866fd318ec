"""The text of one document for read_file of a question: runs after service/extract.py, in the sandbox, in the same namespace.

What to read comes in the environment: DOCUMENT (the path), DOCUMENT_PAGE (a page or slide; 0: all), DOCUMENT_OFFSET and DOCUMENT_ROOM (bytes of text).
Prints one JSON object: text, total (bytes), next (where the rest begins; 0: there is none), pages, and `fail`.
"""
import os

said = []


def tell(**what):
    said.append(what)


def place_of(piece):
    """(number, heading) of a page, sheet, slide or cell."""
    kind, first, label = piece["p"], piece["a"], piece["l"]
    if kind == PAGE:
        return first, f"--- page {first} ---"
    if kind == SHEET:
        return 0, f"--- sheet {label} ---"
    if kind == SLIDE:
        return first, f"--- slide {first}{' (notes)' if label else ''} ---"
    if kind == CELL:
        return 0, f"--- cell {first} ({label}) ---"
    return 0, ""


def text_of(path, page):
    """Its text, with what is wrong and how many pages there are."""
    extract(path, path)
    lines, above, wrong, pages = [], "", "", 0
    for piece in said:
        wrong = piece.get("fail") or piece.get("skip") or wrong
        if "x" not in piece:
            continue
        number, heading = place_of(piece)
        pages = max(pages, number)
        if page and number != page:
            continue
        if heading and heading != above:
            lines.append(heading)
        above = heading
        lines.append(piece["x"].rstrip("\n"))
    return "\n".join(lines), wrong, pages


def show():
    page, offset, room = (int(os.environ["DOCUMENT_" + name]) for name in ("PAGE", "OFFSET", "ROOM"))
    text, wrong, pages = text_of(os.environ["DOCUMENT"], page)
    data = text.encode("utf-8", "replace")
    part = data[offset:offset + room].decode("utf-8", "ignore")
    behind = offset + len(part.encode())
    print(json.dumps({"text": part, "total": len(data), "next": behind if part and behind < len(data) else 0, "pages": pages,
                      "fail": wrong}, ensure_ascii=False))


show()
