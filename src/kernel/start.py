"""Makes the interpreter look like `python3` before any code comes: paths, streams, built-ins.

Runs once, at import. It does what the module `site` does at the start of Python, except for the
user's own site directory, sitecustomize, and .pth files that only prepare for what Python 3.11 does
by itself: those cost several milliseconds.
"""
import _codecs
import builtins
import io
import os
import site
import sys

import _cicada as native

# nspkg: namespace packages, built in since 3.3. distutils-precedence: a newer copy of distutils.
SKIPPED_PTH = ("-nspkg.pth", "distutils-precedence.pth")


def add_site_packages():
    known = set(sys.path)
    for directory in site.getsitepackages():
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        sys.path.append(directory)
        known.add(directory)
        for name in names:
            if name.endswith(".pth") and not name.endswith(SKIPPED_PTH):
                site.addpackage(directory, name, known)
    site.ENABLE_USER_SITE = False


def add_builtins():
    site.setquit()
    site.setcopyright()
    site.sethelper()
    native.input.__module__ = "builtins"  # pickled by this name, where it is found
    builtins.input = native.input
    builtins.__IPYTHON__ = True


def keep_bytes(error):
    """Error handler for what cannot be encoded: bytes that were smuggled through text as surrogates
    come out as they were, any other lone surrogate as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    out = bytearray()
    for character in error.object[error.start : error.end]:
        number = ord(character)
        out += bytes((number - 0xDC00,)) if 0xDC80 <= number <= 0xDCFF else b"\\u%04x" % number
    return bytes(out), error.end


def open_output(fd, name):
    raw = native.Stream(fd, "w", closefd=False)
    raw.name = name
    stream = io.TextIOWrapper(raw, "utf-8", "keepbytes", newline="\n", write_through=True)
    stream.mode = "w"
    return stream


def open_input():
    """A fresh reader of descriptor 0."""
    raw = io.FileIO(0, "r", closefd=False)
    raw.name = "<stdin>"
    stream = io.TextIOWrapper(io.BufferedReader(raw), "utf-8", "surrogateescape")
    stream.mode = "r"
    return stream


def open_streams():
    _codecs.register_error("keepbytes", keep_bytes)
    sys.stdout = sys.__stdout__ = open_output(1, "<stdout>")
    sys.stderr = sys.__stderr__ = open_output(2, "<stderr>")
    sys.stdin = sys.__stdin__ = open_input()


add_site_packages()
add_builtins()
open_streams()
del sys.modules["_cicada"]  # a fault handler's dump lists modules that are not Python's
system_path = tuple(sys.path)  # without the session's directory
sys.path.insert(0, "")
