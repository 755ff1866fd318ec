"""Plain text of a value, laid out as IPython.lib.pretty does, without importing IPython.

A value becomes a tree of texts and groups. A group is an opening, items and a closing; it is
written on one line if what is left of the line is enough, otherwise with each item on a line of its
own. Types that need more than that raise Unknown, and the caller asks IPython.
"""
import sys
import types

WIDTH = 79
ITEMS_MAX = 1000  # of one container; the rest becomes ...


class Unknown(Exception):
    pass


class Group:
    __slots__ = "opening", "items", "closing", "flat"

    def __init__(self, opening, items, closing):
        self.opening, self.items, self.closing = opening, items, closing
        self.flat = one_line(opening, items, closing)


def one_line(opening, items, closing):
    """The group on one line, or None if that is too long for any line."""
    parts, width = [opening], len(opening) + len(closing)
    for index, item in enumerate(items):
        if index:
            parts.append(", ")
            width += 2
        for part in item:
            text = part if type(part) is str else part.flat
            if text is None:
                return None
            parts.append(text)
            width += len(text)
        if width > WIDTH:
            return None
    parts.append(closing)
    return "".join(parts)


def pretty(value):
    node = build(value, ())
    if type(node) is str:
        return node
    out = []
    write(node, 0, 0, 0, out)
    return "".join(out)


# ---- the tree


def build(value, above):
    """The tree of one value. `above` are the containers it is in, to notice cycles."""
    kind = getattr_or(value, "__class__", None) or type(value)
    if value is None or value is True or value is False or value is ... or value is NotImplemented:
        return repr(value)
    for cls in getattr_or(kind, "__mro__", None) or refuse():
        builder = BUILDERS.get(cls)
        if builder is not None:
            return builder(value, above)
        if (cls.__module__, cls.__name__) in NAMED:
            return NAMED[cls.__module__, cls.__name__](value, above)
        if "_repr_pretty_" in cls.__dict__ or is_registered(cls):
            raise Unknown
        if cls is not object and callable(cls.__dict__.get("__repr__")):
            return by_repr(value, above)
    if getattr_or(kind, "__repr__", None) is not object.__repr__:
        return by_repr(value, above)
    return f"<{build(kind, above)} at {id(value):#x}>"


def refuse():
    raise Unknown


def getattr_or(value, name, default):
    try:
        return getattr(value, name, default)
    except Exception:
        return default


def is_registered(cls):
    """Somebody told IPython's printer about this class."""
    theirs = sys.modules.get("IPython.lib.pretty")
    return theirs is not None and (
        cls in theirs._type_pprinters
        or (cls.__module__, cls.__name__) in theirs._deferred_type_pprinters
    )


def by_repr(value, above):
    lines = repr(value).splitlines()
    if len(lines) > 1 and above:
        raise Unknown  # its lines would have to be indented
    return "\n".join(lines)


def first_items(values):
    """The items of a container one by one; those past the limit become dots."""
    for index, value in enumerate(values):
        if index >= ITEMS_MAX:
            yield None
            return
        yield value,


def sequence(opening, closing):
    def builder(value, above):
        if id(value) in above:
            return f"{opening}...{closing}"
        inner = (*above, id(value))
        items = [("...",) if v is None else (build(v[0], inner),) for v in first_items(value)]
        end = "," + closing if len(value) == 1 and isinstance(value, tuple) else closing
        return Group(opening, items, end)

    return builder


def as_set(opening, closing):
    fill = sequence(opening, closing)

    def builder(value, above):
        if id(value) in above:
            return f"{opening}...{closing}"
        if len(value) == 0:
            return type(value).__name__ + "()"
        node = fill(sort(value) if len(value) < ITEMS_MAX else list(value), (*above, id(value)))
        return node

    return builder


def sort(values):
    values = list(values)
    for key in None, str:
        try:
            return sorted(values, key=key)
        except Exception:
            pass
    return values


def mapping(value, above):
    if id(value) in above:
        return "{...}"
    inner = (*above, id(value))
    items = []
    for entry in first_items(value.keys()):
        if entry is None:
            items.append(("...",))
        else:
            key = build(entry[0], inner)
            if type(key) is Group and len(key.items) < 2 and key.flat is not None:
                key = key.flat
            items.append((key, ": ", build(value[entry[0]], inner)))
    return Group("{", items, "}")


def call(name, args, above):
    return Group(name + "(", [(build(arg, above),) for arg in args], ")")


def collection(args_of):
    """Those of `collections`: a call of their class."""

    def builder(value, above):
        name = value.__class__.__name__
        if id(value) in above:
            return name + "(...)"
        return call(name, args_of(value), (*above, id(value)))

    return builder


def exception(value, above):
    cls = value.__class__
    name = getattr(cls, "__qualname__", cls.__name__)
    if cls.__module__ != "builtins":
        name = f"{cls.__module__}.{name}"
    return call(name, getattr(value, "args", ()), (*above, id(value)))


def of_class(value, above):
    if next((c for c in type(value).__mro__ if "__repr__" in vars(c)), None) is not type:
        return by_repr(value, above)
    module = getattr_or(value, "__module__", None)
    name = getattr_or(value, "__qualname__", None)
    if not isinstance(name, str):
        raise Unknown
    return name if module in (None, "builtins") else f"{module}.{name}"


def function(value, above):
    import _cicada_hooks

    name = getattr_or(value, "__qualname__", value.__name__)
    if value.__module__ and value.__module__ != "builtins":
        name = f"{value.__module__}.{name}"
    try:
        name += str(_cicada_hooks.own_import("inspect").signature(value))
    except ValueError:
        pass
    return f"<function {name}>"


def unknown(value, above):
    raise Unknown


BUILDERS = {
    **dict.fromkeys((int, float, str, bytes, range, slice, types.MethodType), by_repr),
    **dict.fromkeys((super, types.SimpleNamespace, types.MappingProxyType), unknown),
    tuple: sequence("(", ")"),
    list: sequence("[", "]"),
    dict: mapping,
    set: as_set("{", "}"),
    frozenset: as_set("frozenset({", "})"),
    type: of_class,
    types.FunctionType: function,
    types.BuiltinFunctionType: function,
    BaseException: exception,
}
NAMED = {
    ("re", "Pattern"): unknown,
    ("os", "_Environ"): unknown,
    ("collections", "UserList"): unknown,
    ("collections", "deque"): unknown,
    ("collections", "defaultdict"): collection(lambda v: (v.default_factory, dict(v))),
    ("collections", "OrderedDict"): collection(lambda v: (list(v.items()),) if v else ()),
    ("collections", "Counter"): collection(lambda v: (dict(v),) if v else ()),
}


# ---- the layout


def write(node, column, indent, after, out):
    """Writes the node from `column` on, with `after` columns of text that must stay on its last
    line. Gives the column it ends at."""
    if type(node) is str:
        out.append(node)
        return column + len(node)
    if node.flat is not None and column + len(node.flat) + after <= WIDTH:
        out.append(node.flat)
        return column + len(node.flat)
    out.append(node.opening)
    column += len(node.opening)
    indent += len(node.opening)
    last = len(node.items) - 1
    for index, item in enumerate(node.items):
        tail = 1 if index < last else len(node.closing) + after
        for part in item[:-1]:
            if type(part) is not str:
                raise Unknown  # a key that could itself be broken: IPython has rules of its own
            column = write(part, column, indent, 0, out)
        column = write(item[-1], column, indent, tail, out)
        if index < last:
            out.append(",\n" + " " * indent)
            column = indent
    out.append(node.closing)
    return column + len(node.closing)
