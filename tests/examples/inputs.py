"""The files the examples are about, made here so that their content is known."""
import csv
import datetime
import os
import random


def write_rows(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def sales_by_city(folder):
    """sales.csv (city, amount): 2,000 sales in nine cities, one city name not in ASCII."""
    source = random.Random(1)
    cities = ["Beijing", "Shanghai", "Berlin", "Lagos", "Lima", "Oslo", "Quito", "Seoul", "Zürich"]
    rows = [(source.choices(cities, weights=range(1, 10))[0], source.randrange(1, 10_000))
            for _ in range(2000)]
    return write_rows(os.path.join(folder, "sales.csv"), ["city", "amount"], rows), rows


def measurements(folder):
    """dataset.csv (id, value): a bell curve with holes and far outliers in it."""
    source = random.Random(2)
    values = [round(source.gauss(50, 10), 4) for _ in range(5000)]
    for place in source.sample(range(5000), 60):
        values[place] = source.choice([-400.0, 900.0])
    for place in source.sample(range(5000), 40):
        values[place] = ""
    rows = list(enumerate(values))
    return write_rows(os.path.join(folder, "dataset.csv"), ["id", "value"], rows), rows


def sales_by_day(folder):
    """sales_data.csv (date, revenue): two years of days with a rising trend."""
    source = random.Random(3)
    first = datetime.date(2022, 1, 1)
    rows = [((first + datetime.timedelta(days=n)).isoformat(), 1000 + 2 * n + source.randrange(200))
            for n in range(730)]
    return write_rows(os.path.join(folder, "sales_data.csv"), ["date", "revenue"], rows), rows


def column_a(folder):
    """table.csv with a column A."""
    source = random.Random(4)
    rows = [(round(source.uniform(-100, 100), 6), n) for n in range(500)]
    return write_rows(os.path.join(folder, "table.csv"), ["A", "B"], rows), rows


def photograph(folder, size=(1600, 1200)):
    """image.jpg: a gradient with a dark lower edge, so that white writing on it can be found."""
    from PIL import Image, ImageDraw

    image = Image.radial_gradient("L").resize(size).convert("RGB")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, size[1] - 120, size[0], size[1]), fill=(10, 20, 60))
    path = os.path.join(folder, "image.jpg")
    image.save(path, quality=92)
    return path


def pdf(folder, pages):
    """report.pdf with one page per list of lines, written byte by byte."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", None,
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = " T* ".join("(%s) Tj" % line for line in lines)
        content = f"BT /F1 14 Tf 18 TL 72 720 Td {shown} ET".encode("ascii")
        page, stream = len(objects) + 1, len(objects) + 2
        kids.append(b"%d 0 R" % page)
        objects += [b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
                    b"/Resources << /Font << /F1 3 0 R >> >> >>" % stream,
                    b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)]
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))

    text = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(text))
        text += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(text)
    text += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    text += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, start)
    path = os.path.join(folder, "report.pdf")
    with open(path, "wb") as file:
        file.write(text)
    return path
