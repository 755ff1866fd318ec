"""Exceptions as text: Python's own format, without frames of ours."""
import sys
import types

import _cicada_hooks as hooks
from _cicada_cell import Cell, sources
from _cicada_start import native

traceback = hooks.own_import("traceback")

OURS = "<frozen _cicada_"  # what the file names of our own modules start with
MESSAGE_MAX = 32 << 10


def is_ours(tb):
    return tb.tb_frame.f_code.co_filename.startswith(OURS)


def is_cell(tb):
    return tb.tb_frame.f_code.co_filename == Cell.name


def entries(tb):
    while tb is not None:
        yield tb
        tb = tb.tb_next


def without_ours(tb):
    """The traceback without our frames; with a top-level await, from the code on. One that has no
    other frames is left as it is: then the fault is ours and should be seen."""
    found = list(entries(tb))
    kept = [entry for entry in found if not is_ours(entry)]
    if Cell.is_awaited:
        while kept and not is_cell(kept[0]) and any(map(is_cell, kept)):
            del kept[0]
    if not kept or len(kept) == len(found):
        return tb
    chain = None
    for entry in reversed(kept):
        chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return chain


def clean(error, seen):
    """Takes our frames out of the error and all it came from."""
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if error.__traceback__ is not None:
            error.__traceback__ = without_ours(error.__traceback__)
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                clean(inner, seen)
        clean(error.__cause__, seen)
        error = error.__context__


def text_of(error):
    """As Python prints it."""
    tb = error.__traceback__
    if isinstance(error, SyntaxError):
        add_source(error)
        if error.filename == Cell.name and only_ours(tb):
            tb = None  # it was found while compiling: there is no frame to show
    if type(error).__name__ == "UsageError":
        return f"UsageError: {message_of(error)}\n"  # a magic used wrongly: no frames either
    described = traceback.TracebackException(type(error), error, tb, compact=True)
    add_suggestions(described, error)
    return "".join(described.format())


def add_suggestions(described, error):
    """"Did you mean", which Python's own printer adds and its module traceback does not (3.11)."""
    while described is not None and error is not None:
        if described._str is not None:
            described._str += suggestion(error)
        if described.__cause__ is not None:
            described, error = described.__cause__, error.__cause__
        else:
            described, error = described.__context__, error.__context__


def suggestion(error):
    name = native.suggest(error) if error.__traceback__ is not None else None
    return "" if name is None else f". Did you mean: '{name}'?"


def add_source(error):
    """Errors that the compiler finds after parsing come without the line they are in."""
    if error.text is None and error.filename == Cell.name and isinstance(error.lineno, int):
        lines = sources[error.filename].split("\n")
        if 0 < error.lineno <= len(lines):
            error.text = lines[error.lineno - 1]


def only_ours(tb):
    return all(map(is_ours, entries(tb)))


def message_of(error):
    if isinstance(error, SyntaxError) and isinstance(error.msg, str):
        return error.msg
    try:
        return str(error) + suggestion(error)
    except Exception:
        return "<exception str() failed>"


def line_of(error):
    """The line of the code that led to the error, or None."""
    if isinstance(error, SyntaxError) and error.filename == Cell.name:
        return error.lineno
    line = None
    for entry in entries(error.__traceback__):
        if is_cell(entry):
            line = entry.tb_lineno
    return line


def cut(text, size):
    """At most `size` bytes; what is missing is missing in the middle."""
    encoded = text.encode("utf-8", "backslashreplace")
    if len(encoded) <= size:
        return encoded
    half = size // 2 - 64
    head = encoded[:half].decode("utf-8", "ignore").encode()
    tail = encoded[-half:].decode("utf-8", "ignore").encode()
    return head + b"\n[... %d bytes cut ...]\n" % (len(encoded) - len(head) - len(tail)) + tail


def is_normal_end(error):
    code = error.code
    return code is None or (isinstance(code, int) and code == 0)


def report(error, is_bare):
    """Sends the ERROR. When bare, nothing of the session is called."""
    if isinstance(error, SystemExit) and not is_bare and is_normal_end(error):
        return
    clean(error, set())
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    name = type.__dict__["__name__"].__get__(type(error))
    if is_bare:
        message = "the exception could not be described"
        text = "".join(traceback.format_tb(error.__traceback__)) + name + "\n"
    else:
        message, text = message_of(error), text_of(error)
    fields = [
        (native.FIELD_NAME, cut(name, 256)),
        (native.FIELD_MESSAGE, cut(message, MESSAGE_MAX)),
    ]
    line = line_of(error)
    if isinstance(line, int) and 0 < line < 1 << 31:
        fields.append((native.FIELD_LINE, line))
    fields.append((native.FIELD_TRACEBACK, cut(text, native.TRACEBACK_MAX)))
    if not native.send(native.FRAME_ERROR, tuple(fields), False):
        sys.stderr.write(text)


def complain(error):
    """An error that does not end the run goes to stderr."""
    clean(error, set())
    try:
        sys.stderr.write(text_of(error))
    except Exception:
        pass  # no stderr to complain on
