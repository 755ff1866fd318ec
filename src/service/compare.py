"""Whether two files say the same: run inside a sandbox, on bytes of strangers.

Reads {"a": path, "b": path} from standard input, a being the original, and prints one JSON object:
is_same, how ("bytes", "pixels", "values", "text") and detail, a sentence.
"""
import csv
import io
import json
import math
import os
import re
import sys

RELATIVE, ABSOLUTE = 1e-9, 1e-12  # of numbers
PIXEL = 2  # of 255, of one channel of one pixel
CELLS_MAX = 20_000_000


class Different(Exception):
    pass


def differ(text):
    raise Different(text)


def is_close(a, b):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def short(value, limit=60):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "\u2026"


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def same_text(a, b):
    """Whether two cells say the same: equal, or numbers that are close."""
    if a == b:
        return True
    x, y = number(a), number(b)
    return x is not None and y is not None and is_close(x, y)


def compare_rows(a, b, where):
    for line, (left, right) in enumerate(zip(a, b), 1):
        if len(left) != len(right):
            differ(f"{where}row {line} has {len(right)} columns instead of {len(left)}")
        for column, (x, y) in enumerate(zip(left, right), 1):
            if not same_text(x, y):
                differ(f"{where}row {line}, column {column} is {short(y)} instead of {short(x)}")
    if len(a) != len(b):
        differ(f"{where}{len(b)} rows instead of {len(a)}")


def tables(a, b, delimiter):
    def rows(data):
        return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=delimiter))

    compare_rows(rows(a), rows(b), "")
    return "values", "the same values, within a relative difference of 1e-9"


def compare_json(a, b, where="$"):
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None or isinstance(a, str) or isinstance(b, str):
        if type(a) is not type(b) or a != b:
            differ(f"{where} is {short(b)} instead of {short(a)}")
    elif isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            differ(f"{where} has other keys: {short(', '.join(sorted(a.keys() ^ b.keys())))}")
        for key in a:
            compare_json(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            differ(f"{where} has {len(b)} items instead of {len(a)}")
        for index, (x, y) in enumerate(zip(a, b)):
            compare_json(x, y, f"{where}[{index}]")
    elif isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if not is_close(float(a), float(b)):
            differ(f"{where} is {b!r} instead of {a!r}")
    else:
        differ(f"{where} is of another type")


def documents(a, b):
    compare_json(json.loads(a), json.loads(b))
    return "values", "the same values, within a relative difference of 1e-9"


def pictures(a, b):
    import numpy as np
    from PIL import Image

    one, other = Image.open(io.BytesIO(a)), Image.open(io.BytesIO(b))
    if one.size != other.size:
        differ(f"the picture has {other.size[0]} by {other.size[1]} pixels instead of {one.size[0]} by {one.size[1]}")
    frames = getattr(one, "n_frames", 1)
    if frames != getattr(other, "n_frames", 1):
        differ("the picture has another number of frames")
    most = 0
    for frame in range(frames):
        one.seek(frame)
        other.seek(frame)
        left = np.asarray(one.convert("RGBA"), dtype=np.int16)
        right = np.asarray(other.convert("RGBA"), dtype=np.int16)
        gap = np.abs(left - right).max(axis=2)
        most = max(most, int(gap.max(initial=0)))
        count = int((gap > PIXEL).sum())
        if count:
            differ(f"{count} of {gap.size} pixels differ, by up to {most} of 255")
    return "pixels", f"the same pixels, within {most} of 255" if most else "the same pixels"


def arrays(a, b):
    import numpy as np

    one = np.load(io.BytesIO(a), allow_pickle=False)
    other = np.load(io.BytesIO(b), allow_pickle=False)
    pairs = {"": (one, other)}
    if hasattr(one, "files") or hasattr(other, "files"):
        if not (hasattr(one, "files") and hasattr(other, "files")) or sorted(one.files) != sorted(other.files):
            differ("it holds other arrays")
        pairs = {name: (one[name], other[name]) for name in one.files}
    for name, (x, y) in pairs.items():
        of = f"array {name}: " if name else ""
        if x.shape != y.shape or x.dtype != y.dtype:
            differ(f"{of}shape and type are {y.shape} {y.dtype} instead of {x.shape} {x.dtype}")
        if x.dtype.kind in "fc":
            same = np.isclose(x, y, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
        else:
            same = x == y
        if not np.all(same):
            differ(f"{of}{int(np.size(same) - np.count_nonzero(same))} of {np.size(same)} values differ")
    return "values", "the same values, within a relative difference of 1e-9"


def workbooks(a, b):
    import openpyxl

    one = openpyxl.load_workbook(io.BytesIO(a), read_only=True, data_only=True)
    other = openpyxl.load_workbook(io.BytesIO(b), read_only=True, data_only=True)
    if one.sheetnames != other.sheetnames:
        differ("it has other sheets")
    for name in one.sheetnames:
        def rows(book):
            return [["" if c is None else str(c) for c in row] for row in book[name].iter_rows(values_only=True)]

        compare_rows(rows(one), rows(other), f"sheet {short(name, 30)}: ")
    return "values", "the same values, within a relative difference of 1e-9"


def frames(a, b):
    import pandas as pd

    one, other = pd.read_parquet(io.BytesIO(a)), pd.read_parquet(io.BytesIO(b))
    try:
        pd.testing.assert_frame_equal(one, other, rtol=RELATIVE, atol=ABSOLUTE)
    except AssertionError as error:
        differ(short(" ".join(str(error).split()), 300))
    return "values", "the same values, within a relative difference of 1e-9"


# What programs write into files besides what they say: moments, names made up for this one file.
PASSING = [
    (rb"<dc:date>[^<]*</dc:date>", b""),
    (rb"/(CreationDate|ModDate)\s*\([^)]*\)", b""),
    (rb"/ID\s*\[[^\]]*\]", b""),
]


def plain_svg(data):
    """Without dates, and with its ids numbered as they come: matplotlib draws them at random."""
    for pattern, by in PASSING:
        data = re.sub(pattern, by, data)
    names = {}
    for name in re.findall(rb'id="([^"]+)"', data):
        names.setdefault(name, b"id%d" % len(names))
    if not names:
        return data
    pattern = rb'(id="|url\(#|href="#)(' + b"|".join(sorted(map(re.escape, names), key=len, reverse=True)) + rb')(?=["\)])'
    return re.sub(pattern, lambda m: m.group(1) + names[m.group(2)], data)


def texts(a, b):
    left, right = a.decode("utf-8").splitlines(), b.decode("utf-8").splitlines()
    for line, (x, y) in enumerate(zip(left, right), 1):
        if x == y:
            continue
        cut = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
        if cut.sub("#", x) != cut.sub("#", y) or not all(map(same_text, cut.findall(x), cut.findall(y))):
            differ(f"line {line} is {short(y)!r} instead of {short(x)!r}")
    if len(left) != len(right):
        differ(f"{len(right)} lines instead of {len(left)}")
    return "text", "the same text, numbers within a relative difference of 1e-9"


def drawings(a, b):
    if plain_svg(a) == plain_svg(b):
        return "text", "the same, but for dates and made-up names"
    return texts(plain_svg(a), plain_svg(b))


def pages(a, b):
    for pattern, by in PASSING:
        a, b = re.sub(pattern, by, a), re.sub(pattern, by, b)
    if a == b:
        return "text", "the same, but for dates"
    differ(f"{len(b)} bytes instead of {len(a)}, and not only its dates are others")


READERS = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp"), pictures),
    ".csv": lambda a, b: tables(a, b, ","),
    ".tsv": lambda a, b: tables(a, b, "\t"),
    ".json": documents, ".ipynb": documents, ".geojson": documents,
    ".npy": arrays, ".npz": arrays, ".xlsx": workbooks, ".parquet": frames,
    ".svg": drawings, ".pdf": pages,
}


def by_bytes(a, b):
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    differ(f"{len(b)} bytes instead of {len(a)}; the first that differs is at {at}")


def compare(a, b, ending):
    if a == b:
        return "bytes", "the same bytes"
    reader = READERS.get(ending)
    if reader is None:
        try:
            b.decode("utf-8"), a.decode("utf-8")
        except UnicodeDecodeError:
            by_bytes(a, b)
        return texts(a, b)
    return reader(a, b)


def main():
    where = json.loads(sys.stdin.read())
    with open(where["a"], "rb") as one, open(where["b"], "rb") as other:
        a, b = one.read(), other.read()
    ending = os.path.splitext(where["a"])[1].lower()
    try:
        how, detail = compare(a, b, ending)
        answer = {"is_same": True, "how": how, "detail": detail}
    except Different as found:
        answer = {"is_same": False, "detail": str(found)}
    except Exception as error:  # it cannot be read as what its name says
        try:
            by_bytes(a, b)
        except Different as found:
            answer = {"is_same": False, "detail": f"{found} (it could not be read: {type(error).__name__})"}
    print(json.dumps(answer))


main()
