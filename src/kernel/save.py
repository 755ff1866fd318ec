"""Variables as bytes, for a session that must go and cannot sleep: what pickles is kept, the rest named.

    header     modules by their names, the history, the current directory
    pieces     [(name, pickle)]: each variable by itself, so that one that cannot be read any more does
               not take the others along; left out when they are large
    whole      one pickle of all of them, which keeps what they share, or None

Each is one pickle after the other in the stream. cloudpickle, which joblib brings along, adds functions
and classes of the session. They come back as functions of the session, whose global names are its
variables, and not with copies of what they use.
"""
import builtins
import io
import os
import pickle
import re
import time
import types

import _cicada_cell as cell
import _cicada_hooks as hooks
from _cicada_cell import Cell, hidden_names, inputs, namespace, raw_inputs, sources
from _cicada_start import native

VERSION = 1
PROTOCOL = 5
ONE_MAX = 256 << 20
ALL_MAX = 1 << 30
PIECES_MAX = 64 << 20
SECONDS_MAX = 60
REASON_MAX = 200
HISTORY = re.compile(r"_i?\d+|_{1,3}|_i{1,3}|__\w+__")


class TooMuch(Exception):
    pass


class Sink:
    """Where pickles go: counts, keeps what it is given if asked to, and stops in time."""

    def __init__(self, size_max, deadline, chunks=None):
        self.left = size_max
        self.deadline = deadline
        self.chunks = chunks

    def write(self, data):
        size = memoryview(data).nbytes
        self.left -= size
        if self.left < 0:
            raise TooMuch("too large")
        if time.monotonic() > self.deadline:
            raise TooMuch("took too long")
        if self.chunks is not None:
            self.chunks.append(bytes(data))
        return size


# ---- how to pickle


class Globals(dict):
    """Stands for the session's namespace where a function refers to it."""

    def __reduce__(self):
        return main_namespace, ()


def main_namespace():
    return namespace


def find_cloudpickle():
    for name in "cloudpickle", "joblib.externals.cloudpickle":
        try:
            return hooks.own_import(name)
        except Exception:
            pass
    return None


def make_pickler():
    """A pickler class for what a session has; Python's own if there is no better."""
    cloudpickle = find_cloudpickle()
    if cloudpickle is None:
        return pickle.Pickler

    class Pickler(cloudpickle.CloudPickler):
        def __init__(self, file, protocol):
            super().__init__(file, protocol)
            self.globals_ref[id(namespace)] = Globals(__name__="__main__")

        def _dynamic_function_reduce(self, function):
            reduced = super()._dynamic_function_reduce(function)
            if function.__globals__ is namespace:
                reduced[2][1]["__globals__"] = {}
            return reduced

    return Pickler


# ---- SAVE


def variables():
    """What the code has put into the namespace, except for the history."""
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(name, str)
        and not HISTORY.fullmatch(name)
        and not (name in hidden_names and value is hidden_names[name])
    }


def save(fd):
    """Never raises. The descriptor is closed before the answer."""
    names, lost = [], []
    try:
        with os.fdopen(fd, "wb") as file:
            names = write(file, lost)
    except (Exception, KeyboardInterrupt) as error:
        names, lost = [], [f"everything: {reason(error)}"]
    answer(names, lost)


def write(file, lost):
    deadline = time.monotonic() + SECONDS_MAX
    found = variables()
    modules = {n: v.__name__ for n, v in found.items() if isinstance(v, types.ModuleType)}
    kinds = make_pickler()
    values, pieces = {}, []
    left = ALL_MAX
    for name in (name for name in found if name not in modules):
        chunks = []
        try:
            sink = Sink(min(ONE_MAX, left), deadline, chunks)
            kinds(sink, PROTOCOL).dump(found[name])
        except (Exception, KeyboardInterrupt) as error:
            lost.append(f"{name}: {reason(error)}")
            continue
        size = sum(map(len, chunks))
        left -= size
        values[name] = found[name]
        pieces.append((name, b"".join(chunks)) if ALL_MAX - left <= PIECES_MAX else (name, None))
    is_whole = can_pickle(kinds, values, deadline)
    if ALL_MAX - left > PIECES_MAX and is_whole:
        pieces = []
    pickle.dump(header(modules), file, PROTOCOL)
    write_pieces(file, kinds, pieces, values)
    kinds(file, PROTOCOL).dump(values if is_whole else None)
    return sorted([*modules, *values])


def can_pickle(kinds, values, deadline):
    """All together: what each can, they may not be able to, for instance for their size."""
    try:
        kinds(Sink(ALL_MAX, deadline), PROTOCOL).dump(values)
        return True
    except (Exception, KeyboardInterrupt):
        return False


def write_pieces(file, kinds, pieces, values):
    for name, data in pieces:
        if data is None:  # too much to have been kept
            buffer = io.BytesIO()
            kinds(buffer, PROTOCOL).dump(values[name])
            data = buffer.getbuffer()
        pickle.dump((name, bytes(data)), file, PROTOCOL)
    pickle.dump(None, file, PROTOCOL)


def header(modules):
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = None
    return {
        "version": VERSION,
        "modules": modules,
        "inputs": list(inputs),
        "raw_inputs": list(raw_inputs),
        "number": Cell.number,
        "futures": Cell.futures,
        "sources": dict(sources),
        "cwd": cwd,
    }


def reason(error):
    try:
        text = str(error)
    except Exception:
        text = ""
    kind = type(error).__name__
    if isinstance(error, (TooMuch, TypeError)) and text:
        return text[:REASON_MAX]
    return (f"{kind}: {text}" if text else kind)[:REASON_MAX]


def answer(names, lost):
    fields = [(native.FIELD_NAME, name.encode("utf-8", "replace")) for name in names]
    fields += [(native.FIELD_LOST, text.encode("utf-8", "replace")) for text in lost]
    native.send(native.FRAME_SAVED, tuple(fields), False)


# ---- RESTORE


def restore(fd):
    names, lost = [], []
    try:
        with os.fdopen(fd, "rb") as file:
            names = read(file, lost)
    except (Exception, KeyboardInterrupt) as error:
        lost.append(f"everything else: {reason(error)}")
    namespace["__builtins__"] = builtins  # cloudpickle puts its own there
    answer(names, lost)


def read(file, lost):
    make_pickler()  # what it imports is needed to read, too
    head = pickle.load(file)
    if head["version"] != VERSION:
        raise ValueError(f"version {head['version']} is not known")
    restore_history(head)
    names = import_modules(head["modules"], lost)
    pieces = list(iter(lambda: pickle.load(file), None))
    try:
        values = pickle.load(file)
    except (Exception, KeyboardInterrupt):
        if not pieces:
            raise
        values = None
    if values is None:
        values = read_pieces(pieces, lost)
    namespace.update(values)
    return sorted([*names, *values])


def read_pieces(pieces, lost):
    values = {}
    for name, data in pieces:
        try:
            values[name] = pickle.loads(data)
        except (Exception, KeyboardInterrupt) as error:
            lost.append(f"{name}: {reason(error)}")
    return values


def import_modules(modules, lost):
    names = []
    importlib = hooks.own_import("importlib")
    for name, module in modules.items():
        try:
            namespace[name] = importlib.import_module(module)
            names.append(name)
        except (Exception, KeyboardInterrupt) as error:
            lost.append(f"{name}: {reason(error)}")
    return names


def restore_history(head):
    """So that the next cell has the next number, and tracebacks show the lines of functions."""
    inputs[:], raw_inputs[:] = head["inputs"], head["raw_inputs"]
    Cell.number, Cell.futures = head["number"], head["futures"]
    sources.update(head["sources"])
    if cell.lines_known is not None:
        for name, code in head["sources"].items():
            cell.add_lines(name, code)
    if head["cwd"] is not None:
        try:
            os.chdir(head["cwd"])
        except OSError:
            pass  # the directory of a session is where it begins anyway
