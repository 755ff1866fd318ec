"""Questions about a session while it is idle: completion, inspection, the list of variables.

Every answer is JSON text of bounded size. **No code of the session runs in this process to find one**:
what an object says of itself (__repr__, __dir__, __len__, properties) is asked in a copy of the process,
with budgets of time, memory and text (look.h). known.py has what can be said without: everything about
values of Python's own types, and the type, shape and size of the others. What a copy does not answer is
told that way, and why: `gave_up`.

This module is imported when the kernel starts, and binds what it uses then: code can put other functions
into modules that it shares with us. For the same reason there is no JSON between a copy and us, see wrap().
"""
import builtins
import sys
from itertools import islice
from os import scandir
from time import monotonic

import _cicada_hooks as hooks
import _cicada_known as known
from _cicada_cell import hidden_names, namespace
from _cicada_known import REPR_MAX
from _cicada_parse import COMMANDS
from _cicada_start import native

globals()["__builtins__"] = dict(vars(builtins))  # as they are now: code may put others in their place

re = hooks.own_import("re")
_json = hooks.own_import("_json")
keywords = list(hooks.own_import("keyword").kwlist)
dump = _json.make_encoder(None, None, _json.encode_basestring_ascii, None, ": ", ", ", False, False, False)
modules, look = sys.modules, native.look
builtin_names = vars(builtins)

MATCHES_MAX = 500
VARIABLES_MAX = 1000
DOC_MAX = 16 << 10
LINE_MAX = 1000  # characters before the cursor
ENTRIES_MAX = 10000  # of a directory
DIMENSIONS_MAX = 32
NUMBER_MAX = (1 << 63) - 1
TEXT_MAX = 4 << 20  # bytes of all that copies tell for an answer
TOO_LONG = "the answers of all are too long together"
LONG = "doc", "source", "signature"
EACH_MS, ALL_MS = 500, 2000  # for one value, and for all of an answer
NAME = r"[^\W\d]\w*"
FROM = re.compile(r"\s*from\s+([\w.]+)\s+import\s+(?:[\w, ]*,\s*)?(\w*)$").match
IMPORT = re.compile(r"\s*(?:import|from)\s+(?:[\w., ]*,\s*)?([\w.]*)$").match
BRACKET = re.compile(rf"({NAME}(?:\.{NAME})*)\[(['\"])([^'\"]*)$").search
QUOTE = re.compile(r"(['\"])([^'\"]*)$").search
DOT = re.compile(rf"({NAME}(?:\.{NAME})*)\.(\w*)$").search
PERCENT = re.compile(r"\s*%{1,2}(\w*)$").match
WORD_BEGIN = re.compile(r"\w*").match
WORD = re.compile(r"\w*$").search
DOTTED = re.compile(rf"{NAME}(?:\.{NAME})*(?=\(?$)").search
MISSING = object()
TEXT, NUMBER, NONE = (str,), (int,), (type(None),)
TAGS = (str, "s"), (bool, "b"), (int, "i"), (list, "l")
KEYS = {  # of a description, and what they may be: a copy's word is a stranger's
    "found": (bool,), "name": TEXT, "type": TEXT, "shape": (list, *NONE), "len": NUMBER + NONE,
    "size": NUMBER + NONE, "repr": TEXT, "signature": TEXT + NONE, "doc": TEXT, "file": TEXT + NONE,
    "source": TEXT, "gave_up": TEXT,
}  # fmt: skip


def answer(topic, code, cursor, room, limit):
    try:
        answers = {"complete": complete, "inspect": inspect_at, "variables": variables}
        asker = Asker(room, limit)
        reply = answers[topic](code, cursor, asker) if topic in answers else {"error": "unknown topic"}
    except Exception as error:
        reply = {"error": type(error).__name__}
    return "".join(dump(reply, 0))


class Asker:
    """Has copies of this process answer. `room` and `limit` are the session's memory, see look.h."""

    def __init__(self, room, limit):
        self.room, self.limit = room, limit
        self.until = monotonic() + ALL_MS / 1000
        self.text_left = TEXT_MAX

    def ask(self, questions):
        """An answer to each question, a function without arguments: (what it gave, None), or (None, why
        there is none). One that ends its copy costs no other its answer."""
        given = []
        while len(given) < len(questions):
            left_ms = max(int((self.until - monotonic()) * 1000), 0)
            todo = questions[len(given) :]
            try:
                records, why = look(
                    lambda tell: tell_all(todo, tell), len(todo), EACH_MS, left_ms, self.room, self.limit
                )
            except OSError as error:
                return given + [(None, str(error))] * len(todo)
            for record in records[: len(todo)]:
                self.text_left -= len(record)
                if self.text_left < 0:
                    return given + [(None, TOO_LONG)] * (len(questions) - len(given))
                given.append((read(record), None))
            if len(given) < len(questions):
                given.append((None, why or "its code ended the process"))
            elif why is not None:
                given[-1] = None, why  # it has said more than it was asked
            if left_ms == 0:
                given += [(None, why)] * (len(questions) - len(given))
        return given


def tell_all(questions, tell):
    """In the copy."""
    for question in questions:
        tell(wrap(question()))


def wrap(said):
    """A record: of each pair the key, what its value is, and the value as text. A list of numbers or of names
    has its items in the place of the last, and a count before them."""
    parts = []
    for key, value in said.items():
        tag = next((tag for kind, tag in TAGS if isinstance(value, kind)), "n")
        texts = [str(item) for item in (value if tag == "l" else [int(value) if tag == "b" else value])]
        parts += [key, tag, str(len(texts)), *(text.replace("\0", " ") for text in texts)]
    return "\0".join(parts).encode("utf-8", "surrogatepass")


def read(record):
    """What wrap() was given; what a record holds that it did not make is left out."""
    said = {}
    try:
        parts = iter(str(record, "utf-8", "surrogatepass").split("\0"))
        for key in parts:
            tag, count = next(parts), int(next(parts))
            items = list(islice(parts, min(count, MATCHES_MAX)))
            said[key] = items if tag == "l" else items[0] if tag == "s" else unwrapped(tag, items[0])
    except (ValueError, IndexError, StopIteration):
        pass
    return said


def unwrapped(tag, text):
    return None if tag == "n" else bool(int(text)) if tag == "b" else int(text)


def sound(told):
    """Of what a copy has told about a value, what is as it should be."""
    pairs = told.items() if told else ()
    kept = {key: value for key, value in pairs if type(value) in KEYS.get(key, ())}
    if type(kept.get("shape")) is list:
        kept["shape"] = guarded(lambda: [int(n) for n in kept["shape"][:DIMENSIONS_MAX]])
    return {key: bounded(key, value) for key, value in kept.items()}


def bounded(key, value):
    if type(value) is str:
        return value[: DOC_MAX if key in LONG else REPR_MAX]
    if type(value) is int and not -NUMBER_MAX <= value <= NUMBER_MAX:
        return None
    return value


# ---- in a copy: what objects say of themselves


def guarded(function, *args, default=None):
    try:
        return function(*args)
    except BaseException:  # SystemExit, too
        return default


def look_up(dotted):
    """The object a dotted name stands for, or MISSING."""
    first, *rest = dotted.split(".")
    value = first_name(first)
    for name in rest:
        if value is not MISSING:
            value = guarded(getattr, value, name, MISSING, default=MISSING)
    return value


def describe(value):
    kind = type(value)
    said = {
        "type": known.type_name(kind),
        "shape": guarded(shape_of, value),
        "len": guarded(len, value) if not isinstance(value, type) else None,
        "size": guarded(size_of, value),
    }
    try:
        said["repr"] = short_repr(value)
    except BaseException as error:
        said["repr"] = "<repr failed>"
        said["gave_up"] = f"its code failed: {known.type_name(type(error))}"
    return said


def shape_of(value):
    shape = value.shape
    if isinstance(shape, tuple) and len(shape) <= DIMENSIONS_MAX and all(isinstance(n, int) for n in shape):
        return [int(n) for n in shape]
    return None


def size_of(value):
    memory_usage = getattr(type(value), "memory_usage", None)
    if memory_usage is not None:
        usage = memory_usage(value)
        return int(usage if isinstance(usage, int) else usage.sum())
    nbytes = getattr(value, "nbytes", None)
    return nbytes if isinstance(nbytes, int) else sys.getsizeof(value)


def short_repr(value):
    if hasattr(type(value), "memory_usage") and len(value.shape) == 2:
        return "{} rows x {} columns".format(*value.shape)
    reprlib = hooks.own_import("reprlib").Repr()
    reprlib.maxother = reprlib.maxstring = reprlib.maxlong = REPR_MAX
    return " ".join(reprlib.repr(value).split())[:REPR_MAX]


def inspection(dotted):
    value = look_up(dotted)
    if value is MISSING:
        return {"found": False}
    inspect = hooks.own_import("inspect")
    signature = guarded(lambda: str(inspect.signature(value)))
    return {"found": True, **describe(value), "signature": signature and signature[:DOC_MAX]}


def documentation(dotted):
    inspect = hooks.own_import("inspect")
    value = look_up(dotted)
    return {} if value is MISSING else {"doc": (guarded(inspect.getdoc, value) or "")[:DOC_MAX]}


def origin(dotted):
    inspect = hooks.own_import("inspect")
    value = look_up(dotted)
    if value is MISSING:
        return {}
    source = (guarded(inspect.getsource, value) or "")[:DOC_MAX]
    return {"file": guarded(inspect.getsourcefile, value), "source": source}


# ---- here: what is known


def first_name(name):
    """A global or built-in name. Keys are compared one by one: some may be of types made by code."""
    value = known.find(namespace, name, MISSING)
    return known.find(builtin_names, name, MISSING) if value is MISSING else value


def look_up_known(dotted):
    first, *rest = dotted.split(".")
    value = first_name(first)
    for name in rest:
        if value is not MISSING:
            value = known.attribute(value, name, MISSING)
    return value


# ---- completion


def complete(code, cursor, asker):
    text = code[:cursor]
    line = last_line(text)
    for context in after_import, after_bracket, in_quotes, after_dot, after_percent, anywhere:
        found = context(line)
        if found is not None:
            prefix, ask, tell = found
            break
    reply = {"cursor_start": len(text) - len(prefix), "cursor_end": len(text)}
    told, why = asker.ask([lambda: {"matches": matching(ask(), prefix)}])[0] if ask else (None, None)
    if why is not None:
        reply["gave_up"] = why
    names = told.get("matches") if told else None
    if type(names) is list:
        return {"matches": [name[:REPR_MAX] for name in names], **reply}
    return {"matches": matching(tell(), prefix), **reply}


def last_line(text):
    """Of a line that is very long only the end, and the quotes that are open there: patterns are looked for
    with Python held, in a time that grows with the square of it."""
    line = text.rpartition("\n")[2]
    gone = line[:-LINE_MAX]
    return "".join(quote for quote in "'\"" if gone.count(quote) % 2) + line[-LINE_MAX:]


def matching(names, prefix):
    matches = sorted({n for n in names if type(n) is str and n.startswith(prefix)})
    if not prefix.startswith("_"):
        matches = [n for n in matches if not n.startswith("_")] or matches
    return [name[:REPR_MAX] for name in matches[:MATCHES_MAX]]


# Each context gives the prefix, a function that finds names in a copy (None: there is no need to), and
# one that gives those that are known.


def after_import(line):
    found = FROM(line)
    if found:
        module = known.find(modules, found[1], MISSING)
        if module is MISSING:
            return found[2], None, lambda: []
        return found[2], lambda: guarded(dir, module, default=[]), lambda: known.names_of(module)
    found = IMPORT(line)
    if not found:
        return None
    package, dot, prefix = found[1].rpartition(".")

    def ask():
        pkgutil = hooks.own_import("pkgutil")
        path = getattr(sys.modules.get(package), "__path__", []) if dot else None
        names = [module.name for module in pkgutil.iter_modules(path)]
        return names if dot else names + list(sys.builtin_module_names)

    def tell():
        names = known.plain_names(modules)
        inner = [name[len(package) + 1 :] for name in names if name.startswith(package + ".")]
        return inner if dot else [name for name in names if "." not in name]

    return prefix, ask, tell


def after_bracket(line):
    found = BRACKET(line)
    if not found:
        return None
    value = look_up_known(found[1])
    kind = type(value)
    if value is not MISSING and not known.in_type(kind, "keys") and not known.in_type(kind, "_ipython_key_completions_"):
        return None

    def ask():
        value = look_up(found[1])
        keys = getattr(type(value), "_ipython_key_completions_", None) or getattr(type(value), "keys", None)
        return guarded(lambda: list(keys(value)), default=[]) if keys else []

    return found[3], None if kind is dict else ask, lambda: known.keys_of(value)


def in_quotes(line):
    found = QUOTE(line)
    if not found or line.count(found[1]) % 2 == 0:
        return None
    folder, slash, prefix = found[2].rpartition("/")

    def ask():
        entries = guarded(lambda: list(islice(scandir(folder + slash or "."), ENTRIES_MAX)), default=[])
        return [e.name + ("/" if guarded(e.is_dir) else "") for e in entries]

    return prefix, ask, lambda: []


def after_dot(line):
    found = DOT(line)
    if not found:
        return None

    def ask():
        value = look_up(found[1])
        return [] if value is MISSING else guarded(dir, value, default=[])

    def tell():
        value = look_up_known(found[1])
        return [] if value is MISSING else known.names_of(value)

    value = look_up_known(found[1])
    is_plain = known.is_module(value) and known.find(known.module_names(value), "__dir__") is None
    return found[2], None if is_plain else ask, tell


def after_percent(line):
    found = PERCENT(line)
    return found and (found[1], None, lambda: COMMANDS)


def anywhere(line):
    return WORD(line)[0], None, lambda: known.plain_names(namespace) + known.plain_names(builtin_names) + keywords


# ---- inspection


def inspect_at(code, cursor, asker):
    rest = WORD_BEGIN(code[cursor : cursor + LINE_MAX])[0]
    found = DOTTED(last_line(code[:cursor] + rest))
    if not found:
        return {"found": False}
    dotted, value = found[0], look_up_known(found[0])
    if value is MISSING and "." not in dotted:
        return {"found": False}
    reply = {"found": value is not MISSING, "name": dotted}
    if value is not MISSING:
        reply.update(known.describe(value)[0], signature=None, doc="", file=None, source="")
    for told, why in asker.ask([lambda: inspection(dotted), lambda: documentation(dotted), lambda: origin(dotted)]):
        reply.update(sound(told))
        if why is not None:
            reply.setdefault("gave_up", why)
    return reply if reply["found"] else {key: reply[key] for key in ("found", "gave_up") if key in reply}


# ---- variables


def variables(code, cursor, asker):
    items = [(name, value) for name, value in list(namespace.items()) if is_listed(name, value)]
    listed, doubtful = [], []
    for name, value in items[:VARIABLES_MAX]:
        said, is_all = known.describe(value)
        listed.append({"name": name[:REPR_MAX], **said})
        if not is_all:
            doubtful.append((listed[-1], value))
    questions = [lambda value=value: describe(value) for _, value in doubtful]
    for (entry, _), (told, why) in zip(doubtful, asker.ask(questions)):
        entry.update(sound(told))
        if why is not None:
            entry["gave_up"] = why
    return {"variables": listed, "count": len(items)}


def is_listed(name, value):
    return (
        type(name) is str
        and not name.startswith("_")
        and (name not in hidden_names or value is not hidden_names[name])
    )
