"""Questions about a session while it is idle: completion, inspection, the list of variables.

Every answer is JSON text of bounded size. **No code of the session runs in this process to find one**:
what an object says of itself (__repr__, __dir__, __len__, properties) is asked in a copy of the process,
with budgets of time, memory and text (look.h). known.py has what can be said without: everything about
values of Python's own types, and the type, shape and size of the others. What a copy does not answer is
told that way, and why: `gave_up`.
"""
import builtins
import sys

import _cicada_hooks as hooks
import _cicada_known as known
from _cicada_cell import hidden_names, namespace
from _cicada_known import REPR_MAX
from _cicada_parse import COMMANDS
from _cicada_start import native

globals()["__builtins__"] = dict(vars(builtins))  # as they are now: code may put others in their place

json = hooks.own_import("json")
re = hooks.own_import("re")
hooks.own_import("reprlib")  # here once, rather than in every copy

MATCHES_MAX = 500
VARIABLES_MAX = 1000
DOC_MAX = 16 << 10
ENTRIES_MAX = 10000  # of a directory
EACH_MS, ALL_MS = 500, 2000  # for one value, and for all of an answer
NAME = r"[^\W\d]\w*"
MISSING = object()
TEXT, NUMBER, NONE = (str,), (int,), (type(None),)
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
    return json.dumps(reply)


class Asker:
    """Has copies of this process answer. `room` and `limit` are the session's memory, see look.h."""

    def __init__(self, room, limit):
        self.room, self.limit = room, limit
        self.time = hooks.own_import("time")
        self.until = self.time.monotonic() + ALL_MS / 1000

    def ask(self, questions):
        """An answer to each question, a function without arguments: (what it gave, None), or (None, why
        there is none). One that ends its copy costs no other its answer."""
        given = []
        while len(given) < len(questions):
            left_ms = max(int((self.until - self.time.monotonic()) * 1000), 0)
            todo = questions[len(given) :]
            try:
                records, why = native.look(
                    lambda tell: tell_all(todo, tell), len(todo), EACH_MS, left_ms, self.room, self.limit
                )
            except OSError as error:
                return given + [(None, str(error))] * len(todo)
            given += [(read(record), None) for record in records[: len(todo)]]
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
        tell(json.dumps(question()).encode())


def read(record):
    try:
        return json.loads(record)
    except ValueError:
        return None


def sound(told):
    """Of what a copy has told about a value, what is as it should be."""
    pairs = told.items() if type(told) is dict else ()
    return {key: value for key, value in pairs if type(value) in KEYS.get(key, ())}


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
    if isinstance(shape, tuple) and len(shape) <= 32 and all(isinstance(n, int) for n in shape):
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
    for key, value in list(namespace.items()):
        if type(key) is str and key == name:
            return value
    return vars(builtins).get(name, MISSING)


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
    line = text.rpartition("\n")[2]
    for context in after_import, after_bracket, in_quotes, after_dot, after_percent, anywhere:
        found = context(line)
        if found is not None:
            prefix, ask, tell = found
            break
    reply = {"cursor_start": len(text) - len(prefix), "cursor_end": len(text)}
    names, why = asker.ask([lambda: matching(ask(), prefix)])[0] if ask else (None, None)
    if why is not None:
        reply["gave_up"] = why
    if type(names) is list and all(type(name) is str for name in names):
        return {"matches": names, **reply}
    return {"matches": matching(tell(), prefix), **reply}


def matching(names, prefix):
    matches = sorted({n for n in names if isinstance(n, str) and n.startswith(prefix)})
    if not prefix.startswith("_"):
        matches = [n for n in matches if not n.startswith("_")] or matches
    return [name[:REPR_MAX] for name in matches[:MATCHES_MAX]]


# Each context gives the prefix, a function that finds names in a copy (None: there is no need to), and
# one that gives those that are known.


def after_import(line):
    found = re.match(r"\s*from\s+([\w.]+)\s+import\s+(?:[\w, ]*,\s*)?(\w*)$", line)
    if found:
        module = sys.modules.get(found[1])
        return found[2], lambda: guarded(dir, module, default=[]) if module else [], lambda: known.names_of(module)
    found = re.match(r"\s*(?:import|from)\s+(?:[\w., ]*,\s*)?([\w.]*)$", line)
    if not found:
        return None
    package, dot, prefix = found[1].rpartition(".")
    pkgutil = hooks.own_import("pkgutil")

    def ask():
        path = getattr(sys.modules.get(package), "__path__", []) if dot else None
        names = [module.name for module in pkgutil.iter_modules(path)]
        return names if dot else names + list(sys.builtin_module_names)

    def tell():
        inner = [name[len(package) + 1 :] for name in list(sys.modules) if name.startswith(package + ".")]
        return inner if dot else [name for name in list(sys.modules) if "." not in name]

    return prefix, ask, tell


def after_bracket(line):
    found = re.search(rf"({NAME}(?:\.{NAME})*)\[(['\"])([^'\"]*)$", line)
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
    found = re.search(r"(['\"])([^'\"]*)$", line)
    if not found or line.count(found[1]) % 2 == 0:
        return None
    os = hooks.own_import("os")
    folder, prefix = os.path.split(found[2])

    def tell():
        islice = hooks.own_import("itertools").islice
        entries = guarded(lambda: list(islice(os.scandir(folder or "."), ENTRIES_MAX)), default=[])
        return [e.name + ("/" if guarded(e.is_dir) else "") for e in entries]

    return prefix, None, tell


def after_dot(line):
    found = re.search(rf"({NAME}(?:\.{NAME})*)\.(\w*)$", line)
    if not found:
        return None

    def ask():
        value = look_up(found[1])
        return [] if value is MISSING else guarded(dir, value, default=[])

    def tell():
        value = look_up_known(found[1])
        return [] if value is MISSING else known.names_of(value)

    value = look_up_known(found[1])
    is_plain = known.is_module(value) and "__dir__" not in known.module_names(value)
    return found[2], None if is_plain else ask, tell


def after_percent(line):
    found = re.match(r"\s*%{1,2}(\w*)$", line)
    return found and (found[1], None, lambda: COMMANDS)


def anywhere(line):
    prefix = re.search(r"\w*$", line)[0]
    keywords = hooks.own_import("keyword").kwlist
    return prefix, None, lambda: known.plain_names(namespace) + known.plain_names(vars(builtins)) + keywords


# ---- inspection


def inspect_at(code, cursor, asker):
    hooks.own_import("inspect")  # here once, rather than in every copy
    end = cursor
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    line = code[:end].rpartition("\n")[2]
    found = re.search(rf"{NAME}(?:\.{NAME})*(?=\(?$)", line)
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
