"""Questions about a session while it is idle: completion, inspection, the list of variables.

Every answer is JSON text of bounded size. Objects of the session are looked at with code of their
own (properties, __dir__, __len__, __repr__), so every look is contained.
"""
import builtins
import sys

import _cicada_hooks as hooks
from _cicada_cell import hidden_names, namespace
from _cicada_parse import COMMANDS

json = hooks.own_import("json")
re = hooks.own_import("re")

MATCHES_MAX = 500
VARIABLES_MAX = 1000
REPR_MAX = 200
DOC_MAX = 16 << 10
NAME = r"[^\W\d]\w*"
MISSING = object()


def answer(topic, code, cursor):
    try:
        answers = {"complete": complete, "inspect": inspect_at, "variables": variables}
        reply = answers[topic](code, cursor) if topic in answers else {"error": "unknown topic"}
    except Exception as error:
        reply = {"error": type(error).__name__}
    return json.dumps(reply)


def guarded(function, *args, default=None):
    try:
        return function(*args)
    except Exception:
        return default


def look_up(dotted):
    """The object a dotted name stands for, or MISSING."""
    first, *rest = dotted.split(".")
    value = namespace.get(first, MISSING)
    if value is MISSING:
        value = getattr(builtins, first, MISSING)
    for name in rest:
        if value is not MISSING:
            value = guarded(getattr, value, name, MISSING, default=MISSING)
    return value


# ---- completion


def complete(code, cursor):
    text = code[:cursor]
    line = text.rpartition("\n")[2]
    for context in after_import, after_bracket, in_quotes, after_dot, after_percent, anywhere:
        found = context(line)
        if found is not None:
            prefix, names = found
            break
    matches = sorted({n for n in names if isinstance(n, str) and n.startswith(prefix)})
    if not prefix.startswith("_"):
        matches = [n for n in matches if not n.startswith("_")] or matches
    return {
        "matches": [name[:REPR_MAX] for name in matches[:MATCHES_MAX]],
        "cursor_start": len(text) - len(prefix),
        "cursor_end": len(text),
    }


def after_import(line):
    found = re.match(r"\s*from\s+([\w.]+)\s+import\s+(?:[\w, ]*,\s*)?(\w*)$", line)
    if found:
        module = sys.modules.get(found[1])
        return found[2], guarded(dir, module, default=[]) if module else []
    found = re.match(r"\s*(?:import|from)\s+(?:[\w., ]*,\s*)?([\w.]*)$", line)
    if not found:
        return None
    package, dot, prefix = found[1].rpartition(".")
    pkgutil = hooks.own_import("pkgutil")
    path = getattr(sys.modules.get(package), "__path__", []) if dot else None
    names = [module.name for module in pkgutil.iter_modules(path)]
    return prefix, names if dot else names + list(sys.builtin_module_names)


def after_bracket(line):
    found = re.search(rf"({NAME}(?:\.{NAME})*)\[(['\"])([^'\"]*)$", line)
    if not found:
        return None
    value = look_up(found[1])
    kind = type(value)
    keys = getattr(kind, "_ipython_key_completions_", None) or getattr(kind, "keys", None)
    names = guarded(lambda: list(keys(value))) if keys else None
    return (found[3], names) if names is not None else None


def in_quotes(line):
    found = re.search(r"(['\"])([^'\"]*)$", line)
    if not found or line.count(found[1]) % 2 == 0:
        return None
    os = hooks.own_import("os")
    folder, prefix = os.path.split(found[2])
    entries = guarded(lambda: list(os.scandir(folder or ".")), default=[])
    return prefix, [e.name + ("/" if guarded(e.is_dir) else "") for e in entries]


def after_dot(line):
    found = re.search(rf"({NAME}(?:\.{NAME})*)\.(\w*)$", line)
    if not found:
        return None
    value = look_up(found[1])
    return found[2], [] if value is MISSING else guarded(dir, value, default=[])


def after_percent(line):
    found = re.match(r"\s*%{1,2}(\w*)$", line)
    return found and (found[1], COMMANDS)


def anywhere(line):
    prefix = re.search(r"\w*$", line)[0]
    keywords = hooks.own_import("keyword").kwlist
    return prefix, [*namespace, *dir(builtins), *keywords]


# ---- inspection


def inspect_at(code, cursor):
    inspect = hooks.own_import("inspect")
    end = cursor
    while end < len(code) and (code[end].isalnum() or code[end] == "_"):
        end += 1
    line = code[:end].rpartition("\n")[2]
    found = re.search(rf"{NAME}(?:\.{NAME})*(?=\(?$)", line)
    value = look_up(found[0]) if found else MISSING
    if value is MISSING:
        return {"found": False}
    signature = guarded(lambda: str(inspect.signature(value)))
    return {
        "found": True,
        "name": found[0],
        **describe(value),
        "signature": signature and signature[:DOC_MAX],
        "doc": (guarded(inspect.getdoc, value) or "")[:DOC_MAX],
        "file": guarded(inspect.getsourcefile, value),
        "source": (guarded(inspect.getsource, value) or "")[:DOC_MAX],
    }


# ---- variables


def variables(code, cursor):
    names = [
        name
        for name, value in namespace.items()
        if isinstance(name, str)
        and not name.startswith("_")
        and (name not in hidden_names or value is not hidden_names[name])
    ]
    listed = [
        {"name": name[:REPR_MAX], **describe(namespace[name])} for name in names[:VARIABLES_MAX]
    ]
    return {"variables": listed, "count": len(names)}


def describe(value):
    """What can be said about a value in one line."""
    kind = type(value)
    shape = guarded(shape_of, value)
    return {
        "type": guarded(type_name, kind, default="object"),
        "shape": shape,
        "len": guarded(len, value) if not isinstance(value, type) else None,
        "size": guarded(size_of, value),
        "repr": guarded(short_repr, value, default="<repr failed>"),
    }


def type_name(kind):
    module = kind.__module__
    name = kind.__qualname__
    return str(name if module in ("builtins", "__main__") else f"{module}.{name}")[:REPR_MAX]


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
    if isinstance(value, (str, bytes)):
        return repr(value[:REPR_MAX])[:REPR_MAX]
    if hasattr(type(value), "memory_usage") and len(value.shape) == 2:
        return "{} rows x {} columns".format(*value.shape)
    reprlib = hooks.own_import("reprlib").Repr()
    reprlib.maxother = reprlib.maxstring = reprlib.maxlong = REPR_MAX
    return " ".join(reprlib.repr(value).split())[:REPR_MAX]
