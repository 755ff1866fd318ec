"""The text of one document for read_file: runs after service/extract.py, in the sandbox, in the same namespace.

What to read comes in the environment: DOCUMENT (the path), DOCUMENT_OFFSET and DOCUMENT_LIMIT (lines), DOCUMENT_ROOM
(bytes of text). Prints one JSON object: total, first, count, text, more, and `note` or `fail`.
"""
import os

said = []


def tell(**what):
    said.append(what)


def place_of(piece):
    """What stands above the text of a piece; the same for all pieces of one page, sheet, slide or cell."""
    kind, first, label = piece["p"], piece["a"], piece["l"]
    if kind == PAGE:
        return f"--- page {first} ---"
    if kind == SHEET:
        return f"--- sheet {label} ---"
    if kind == SLIDE:
        return f"--- slide {first}{' (notes)' if label else ''} ---"
    if kind == CELL:
        return f"--- cell {first} ({label}) ---"
    return ""


def parquet(path):
    try:
        import pandas
        frame = pandas.read_parquet(path)
    except ImportError:
        return [], "no library for Parquet files (pyarrow) is installed"
    except Exception as error:  # whatever a reader raises
        return [], f"it cannot be read ({type(error).__name__})"
    head = [f"{len(frame)} rows, {len(frame.columns)} columns: " + ", ".join(f"{n} {t}" for n, t in frame.dtypes.items())]
    return head + frame.head(1000).to_string().split("\n"), ""


def lines_of(path):
    """All lines, and what is wrong."""
    if path.lower().endswith(".parquet"):
        return parquet(path)
    extract(path, path)
    lines, above, wrong = [], "", ""
    for piece in said:
        wrong = piece.get("fail") or piece.get("skip") or wrong
        if "x" not in piece:
            continue
        place = place_of(piece)
        if place and place != above:
            lines.append(place)
        above = place
        lines += piece["x"].rstrip("\n").split("\n")
    return lines, wrong


def fitting(lines, limit, room):
    """As many as there is room for, at least a part of one."""
    taken = []
    for line in lines[:limit]:
        line = line.encode("utf-8", "replace")[:2000].decode("utf-8", "ignore")
        room -= len(line.encode()) + 8
        if taken and room < 0:
            break
        taken.append(line)
    return taken


def show():
    offset, limit, room = (int(os.environ["DOCUMENT_" + name]) for name in ("OFFSET", "LIMIT", "ROOM"))
    lines, wrong = lines_of(os.environ["DOCUMENT"])
    taken = fitting(lines[offset:], limit, room)
    cut = any(piece.get("end") == "cut" for piece in said)
    print(json.dumps({"total": len(lines), "first": offset + 1, "count": len(taken), "text": "\n".join(taken),
                      "fail": wrong, "cut": cut}, ensure_ascii=False))


show()
