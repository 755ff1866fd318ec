"""An image as one that is small enough: shrink(path, edge, size) displays it, as PNG or JPEG.

Runs in a jail of its own, and nothing it shows is believed further than that. It raises whatever a decoder
raises; a MemoryError says that the image is too large, anything else that it cannot be read.
"""
import io

from PIL import Image, ImageFile

WHITE = (255, 255, 255)
STRIP = 1 << 22  # pixels that are made plain at a time
COLOURS = 1 << 15  # a drawing has fewer, a photograph more
QUALITIES = 90, 80, 65, 50, 35
EDGE_MIN = 16
ORIENTATION = 274
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

Image.MAX_IMAGE_PIXELS = None  # how many there may be was seen to before
ImageFile.MAXBLOCK = 16 << 20  # a JPEG is written at once, however little it shrinks


def plain(image):
    """RGB; what is transparent is white."""
    if image.mode.startswith("I"):  # 16 bits of grey
        image = image.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema() != (255, 255):
            white = Image.new("RGBA", image.size, (*WHITE, 255))
            white.alpha_composite(image)
            image = white
    return image.convert("RGB")


def reduced(image, factor):
    """Every side by that factor, in strips: a second copy of a large image would not fit."""
    width, height = image.size
    result = Image.new("RGB", (-(-width // factor), -(-height // factor)), WHITE)
    step = max(1, STRIP // (width * factor)) * factor
    for top in range(0, height, step):
        strip = plain(image.crop((0, top, width, min(top + step, height))))
        result.paste(strip.reduce(factor), (0, top // factor))
    return result


def resized(image, edge):
    width, height = image.size
    share = edge / max(width, height)
    if share >= 1:
        return plain(image)
    size = max(1, round(width * share)), max(1, round(height * share))
    factor = min(width // size[0], height // size[1]) // 2
    if factor > 1:
        box = 0, 0, width / factor, height / factor
        return reduced(image, factor).resize(size, Image.Resampling.LANCZOS, box)
    return plain(image).resize(size, Image.Resampling.LANCZOS)


def saved(image, kind, **options):
    room = io.BytesIO()
    image.save(room, kind, **options)
    return room.getvalue()


def drawing(image):
    """As few colours as do, which keeps lines and letters sharp; None: it is more like a photograph."""
    if image.getcolors(COLOURS) is None:
        return None
    return saved(image.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE), "PNG")


def encoded(image, is_photo, size):
    found = None if is_photo else drawing(image)
    if found and len(found) <= size:
        return "image/png", found
    for quality in QUALITIES:
        found = saved(image, "JPEG", quality=quality, optimize=True, subsampling=0 if quality >= 80 else 2)
        if len(found) <= size:
            return "image/jpeg", found
    return None


def turn_of(image):
    try:
        return TURNS.get(image.getexif().get(ORIENTATION))
    except Exception:  # whatever is wrong with that, the picture may be fine
        return None


def shrink(path, edge, size):
    with Image.open(path, formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
        turn = turn_of(image)
        image.draft("RGB", (edge, edge))  # a JPEG is decoded to no more than is needed
        image.load()
        is_photo = image.format == "JPEG"
        small = resized(image, edge)
    if turn is not None:
        small = small.transpose(turn)
    found = encoded(small, is_photo, size)
    while found is None and edge > EDGE_MIN:
        edge = max(EDGE_MIN, edge * 7 // 10)
        small = resized(small, edge)
        found = encoded(small, True, size)
    if found is None:
        raise ValueError("it does not get that small")
    display({found[0]: found[1]}, raw=True)  # noqa: F821 -- the kernel's
