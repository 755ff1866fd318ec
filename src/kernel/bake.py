"""The last preparations before an image is written, and what it depends on."""
import gc
import os
import sys
import threading

import _cicada_birth as birth
import _cicada_cell as cell
import _cicada_preload as preload
import _cicada_rest as rest
import _cicada_warm as warm
from _cicada_start import native

DATA = "/mnt/data"


def finish(image_fd):
    """Gives the list of files the image was made of, see image/format.h."""
    preload.progress("putting things in order")
    before = warm.Before()
    fill_font_caches()
    before.restore()
    forget_places()
    birth.mark_random_states()
    threading.main_thread()  # the table of threads is made on first use
    files = depends_on()
    for how in "copy", "sleep":  # not for what they say: a session should find them ready
        rest.settle((how, image_fd))  # or its path on the host would be in a reason why not
        rest.go_on()
    gc.collect()
    gc.collect()
    gc.freeze()
    return files


def freeze(image_fd):
    """Nothing of what there is will be looked at by the garbage collector of a session."""
    check_descriptors(image_fd)
    preload.progress("writing the image")
    gc.collect(0)
    gc.freeze()


def fill_font_caches():
    """Looks for every font now, where nobody waits, and opens those that plots use. Their files are
    held in memory: an image has no descriptors."""
    if "matplotlib.font_manager" not in sys.modules:
        return
    fonts = sys.modules["_cicada_fonts"]
    fonts.search_all_once()
    fonts.open_usual()


def forget_places():
    """The directory of this process is not that of a session."""
    warm.forget_folders()
    cell.namespace["_dh"][:] = [DATA if os.path.isdir(DATA) else os.getcwd()]


def check_descriptors(image_fd):
    allowed = {0, 1, 2, native.control(), image_fd}
    for name in os.listdir("/proc/self/fd"):
        if int(name) in allowed:
            continue
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # it was that of the list itself
        raise RuntimeError(f"descriptor {name} is open: {target}")


# ---- what it was made of


def depends_on():
    lines = set()
    for path in mapped_files():
        add(lines, path)
    for path in {*module_folders(), *font_folders()}:
        add(lines, path)
    return "".join(f"{line}\n" for line in sorted(lines)).encode("utf-8", "surrogateescape")


def add(lines, path):
    try:
        found = os.stat(path)
    except OSError:
        return  # removed meanwhile: whoever checks will find the folder changed
    size = 0 if os.path.isdir(path) else found.st_size
    seconds, nanoseconds = divmod(found.st_mtime_ns, 10**9)
    lines.add(f"{seconds}.{nanoseconds:09} {size} {path}")


def mapped_files():
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").split(maxsplit=5)[5:]
            if path and path[0].startswith("/") and not path[0].endswith(" (deleted)"):
                yield path[0]


def module_folders():
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith("/"):
            yield os.path.dirname(file)


def font_folders():
    """The list of fonts is in the image too."""
    module = sys.modules.get("matplotlib.font_manager")
    for font in module.fontManager.ttflist if module is not None else ():
        yield os.path.dirname(font.fname)
