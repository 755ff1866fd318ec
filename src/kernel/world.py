"""What surrounds the code and has to be right again for every run: streams, input, environment."""
import _signal
import io
import os
import stat
import sys

from _cicada_cell import Cell, namespace
from _cicada_start import native, open_input, open_output

open_files = set()  # names of variables that hold one
streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}


def restore():
    """Undoes what earlier code did to things the next run cannot do without."""
    if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    keep_zero_open()
    for name, ours in streams.items():
        if not is_usable(getattr(sys, name, None)):
            if not is_usable(ours):
                ours = streams[name] = reopen(name)
                setattr(sys, f"__{name}__", ours)
            setattr(sys, name, ours)


def is_usable(stream):
    try:
        return stream is not None and not stream.closed
    except AttributeError:
        return True  # not a file, but somebody's choice
    except Exception:
        return False  # detached


def reopen(name):
    if name == "stdin":
        return open_input()
    return open_output(1 if name == "stdout" else 2, f"<{name}>")


# ---- text for input()


def give_input(text):
    """Puts the text behind descriptor 0, where input(), sys.stdin and child processes find it."""
    try:
        fd = os.memfd_create("stdin")
    except OSError:
        fd = os.open(os.environ.get("TMPDIR", "/tmp"), os.O_TMPFILE | os.O_RDWR, 0o600)
    with open(fd, "wb") as file:
        file.write(text)
        file.flush()
        file.seek(0)
        os.dup2(fd, 0)
    sys.stdin = sys.__stdin__ = streams["stdin"] = open_input()
    Cell.input_id = identity(0)
    native.give(True)


def take_input_away():
    """Leaves descriptor 0 alone if the code has put something else there."""
    if identity(0) == Cell.input_id:
        fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(fd, 0)
        os.close(fd)
    Cell.input_id = None
    native.give(False)
    is_replaced = sys.stdin is not streams["stdin"]
    keep_zero_open()
    sys.__stdin__ = streams["stdin"] = open_input()
    if not is_replaced:
        sys.stdin = sys.__stdin__


def identity(fd):
    """What a descriptor stands for, None if it is closed."""
    try:
        found = os.fstat(fd)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def keep_zero_open():
    """open(0).read() closes the descriptor, and the next file to be opened would become stdin."""
    if identity(0) is None:
        os.open(os.devnull, os.O_RDWR)


# ---- environment


def set_env(pairs):
    Cell.saved_env = saved = []
    for pair in pairs:
        name, _, value = pair.partition("=")
        saved.append((name, os.environ.get(name)))
        os.environ[name] = value


def reset_env():
    for name, value in reversed(Cell.saved_env):
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    Cell.saved_env = ()


# ---- what is still in buffers


def flush_streams():
    for stream in sys.stdout, sys.stderr:
        try:
            stream.flush()
        except Exception:
            pass  # the session's own stream; ours have nothing to flush


def flush_files():
    """A script that forgets to close a file gets it written when Python ends. Here Python does not
    end, and the files are looked at after every run. Looked through are the names this code uses,
    and those that held an open file before."""
    for name in open_files.union(Cell.names):
        value = namespace.get(name)
        if type(value) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom) and flush(value):
            open_files.add(name)
        else:
            open_files.discard(name)


def flush(file):
    """False for one that need not be looked at again."""
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return False
        file.flush()
    except ValueError:
        return False  # closed
    except Exception:
        pass  # the disk is full, or the like: closing the file will say so
    return True
