"""What is known of a value without running any code of the session.

Only what C looks up for itself is used: the real type (not __class__), the dictionaries of types and
instances, descriptors of types that are not made by code, and the contents of Python's own types when it
is exactly those. So nothing here can be slow, fail, or end the process, whatever a value is.

No dictionary that code can reach is asked for a name: a key in it may be of a type made by code, whose
__eq__ would be called. find() compares plain text only. And what modules have to offer is bound here, when
the kernel starts: code may put something else in its place.
"""
import builtins
import sys
from itertools import islice
from sys import getsizeof

globals()["__builtins__"] = dict(vars(builtins))  # as they are now: code may put others in their place

REPR_MAX = 200
BITS_MAX = 4096  # of a number that is written out
KEYS_MAX = 10000
KEY_BYTES_MAX = 4096  # of each in an array of text
SHOWN_MAX = 6  # of the items of a container
DEPTH_MAX = 4
MADE_BY_CODE = 1 << 9  # Py_TPFLAGS_HEAPTYPE

Getter, Member = type(type.__dict__["__module__"]), type(type.__dict__["__flags__"])
Function, Module = type(lambda: 0), type(sys)
flags_of = type.__dict__["__flags__"].__get__
lines_of = type.__dict__["__mro__"].__get__  # a type and those it is made from
names_in = type.__dict__["__dict__"].__get__
name_in_type = type.__dict__["__qualname__"].__get__
module_of_own = type.__dict__["__module__"].__get__  # for a type of Python code it would look into its dictionary
names_in_module = Module.__dict__["__dict__"].__get__
BARE = bool, float, complex, type(None), type(...), type(NotImplemented)
CONTAINERS = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})")}
SIZED = str, bytes, bytearray, list, tuple, dict, set, frozenset, range


def is_own(kind):
    """True for types that are written in C: nobody can have changed what they do."""
    return not flags_of(kind) & MADE_BY_CODE


def find(names, name, missing=None):
    """What a dictionary has under that name, with nothing but plain text compared."""
    try:
        for key, value in names.items():
            if type(key) is str and key == name:
                return value
    except RuntimeError:
        pass  # another thread changes it just now
    return missing


def is_module(value):
    return type(value) is Module


def text_or(value, default):
    return value if type(value) is str else default


def module_of(kind):
    found = module_of_own(kind) if is_own(kind) else find(names_in(kind), "__module__")
    return text_or(found, "builtins")


def type_name(kind):
    module, name = module_of(kind), text_or(name_in_type(kind), "object")
    return (name if module in ("builtins", "__main__") else f"{module}.{name}")[:REPR_MAX]


def in_type(kind, name):
    """What a type or one of those it is made from has under that name; None if there is nothing."""
    for base in lines_of(kind):
        names = names_in(base)
        found = names.get(name) if is_own(base) else find(names, name)
        if found is not None:
            return found
    return None


def stored(value, name):
    """An attribute that is only read, not computed: by a descriptor in C, or from the instance's dictionary."""
    found = in_type(type(value), name)
    if type(found) is Member or type(found) is Getter and is_of_pandas(found.__objclass__):
        try:
            return found.__get__(value)
        except Exception:
            return None
    return find(instance_names(value), name)


def is_of_pandas(kind):
    """True for types of which every getter just reads; some of others run code."""
    return is_own(kind) and module_of(kind).startswith("pandas._libs.")


def instance_names(value):
    found = in_type(type(value), "__dict__")
    if type(found) is not Getter or found.__name__ != "__dict__":
        return {}
    try:
        names = found.__get__(value)
    except Exception:
        return {}
    return names if type(names) is dict else {}


def module_names(value):
    return names_in_module(value) or {}


def attribute(value, name, missing):
    """What is found under that name without being computed; `missing` if nothing is."""
    if is_module(value):
        return find(module_names(value), name, missing)
    found = find(instance_names(value), name, missing)
    if found is not missing:
        return found
    found = in_type(type(value), name)
    return missing if found is None else found


def names_of(value):
    """Names of attributes, as dir() gives them where no code has a say in it."""
    if is_module(value):
        return plain_names(module_names(value))
    names = plain_names(instance_names(value))
    bases = lines_of(value) if issubclass(type(value), type) else ()
    for base in (*bases, *lines_of(type(value))):
        names += plain_names(names_in(base))
    return names + keys_of(value) if is_frame(type(value)) else names


def plain_names(names):
    return [name for name in list(names) if type(name) is str]


def keys_of(value):
    """Keys of a dictionary, columns of a frame, as far as they are plain text."""
    if issubclass(type(value), dict):
        return plain_names(islice(dict.keys(value), KEYS_MAX))
    axes = stored(stored(value, "_mgr"), "axes") if is_frame(type(value)) else None
    labels = inner_array(axes[0]) if type(axes) is list and axes else None
    return plain_names(labels_of(labels)) if labels is not None else []


def labels_of(array):
    """The first items of an array of numpy. One of a type made from that has code to cut it with."""
    kind = array_type(type(array))
    if type(array) is not kind or of_array(array, "ndim") != 1 or of_array(array, "itemsize") > KEY_BYTES_MAX:
        return []
    numpys = names_in(kind)
    return numpys["tolist"](numpys["__getitem__"](array, slice(KEYS_MAX)))


# ---- arrays and frames


def array_type(kind):
    """numpy's own type of arrays, of which this is one; None."""
    for base in lines_of(kind):
        if is_own(base) and type_name(base) == "numpy.ndarray":
            return base
    return None


def of_array(value, name):
    kind = array_type(type(value))
    return names_in(kind)[name].__get__(value) if kind else None


def is_frame(kind):
    return type_name(kind) in ("pandas.core.frame.DataFrame", "pandas.core.series.Series")


def inner_array(value):
    """The array of numpy in which pandas keeps an index or a column; None where it is not one."""
    for name in "_data", "_ndarray", "_codes":
        if array_type(type(value)):
            break
        value = stored(value, name)
    return value if array_type(type(value)) else None


def axis_len(axis):
    numbers = stored(axis, "_range")
    if type(numbers) is range:
        return len_of(numbers, None)
    labels = inner_array(axis)
    return of_array(labels, "size") if labels is not None else None


def frame_shape(value):
    axes = stored(stored(value, "_mgr"), "axes")
    if type(axes) is not list:
        return None
    lengths = [axis_len(axis) for axis in reversed(axes)]
    return None if None in lengths else lengths


def frame_size(value):
    manager = stored(value, "_mgr")
    axes, blocks = stored(manager, "axes"), stored(manager, "blocks")
    if type(axes) is not list or type(blocks) is not tuple:
        return None
    arrays = [inner_array(axis) for axis in axes if type(stored(axis, "_range")) is not range]
    arrays += [inner_array(stored(block, "values")) for block in blocks]
    return None if any(a is None for a in arrays) else sum(of_array(a, "nbytes") for a in arrays)


def shape_of(value):
    kind = type(value)
    if array_type(kind):
        return list(of_array(value, "shape"))
    return frame_shape(value) if is_frame(kind) else None


def len_of(value, shape):
    for base in SIZED:
        if issubclass(type(value), base):
            try:
                return base.__len__(value)
            except OverflowError:  # a range can be longer than that
                return None
    return shape[0] if shape else None


def size_of(value):
    kind = type(value)
    if array_type(kind):
        return of_array(value, "nbytes")
    if is_frame(kind):
        return frame_size(value)
    for base in SIZED:
        if issubclass(kind, base):
            return base.__sizeof__(value)
    return getsizeof(value) if is_own(kind) and kind is not type else object.__sizeof__(value)


# ---- as text


def cut(text):
    return text if len(text) <= REPR_MAX else text[: REPR_MAX - 3] + "..."


def known_repr(value, depth=DEPTH_MAX):
    """repr() of what is Python's own through and through; None for everything else."""
    kind = type(value)
    if is_own(kind) and kind in BARE:
        return repr(value)
    if kind is int:
        bits = value.bit_length()
        return repr(value) if bits <= BITS_MAX else f"<int of {bits} bits>"
    if kind is str or kind is bytes:
        return repr(value[:REPR_MAX])
    if kind is dict:
        return joined("{", value.items(), "}", len(value), depth, known_pair)
    if kind is tuple and len(value) == 1:
        return joined("(", value, ",)", 1, depth, known_repr)
    if is_own(kind) and kind in CONTAINERS:
        opened, closed = CONTAINERS[kind]
        if not value and opened != "[" and opened != "(":
            return f"{kind.__name__}()"
        return joined(opened, value, closed, len(value), depth, known_repr)
    if kind is range or kind is Function:
        return repr(value)
    if kind is type:
        return f"<class '{text_of_class(value)}'>"
    if kind is Module:
        return describe_module(value)
    if type_name(kind) == "pandas.core.frame.DataFrame" and (shape := shape_of(value)):
        return "{} rows x {} columns".format(*shape)
    return None


def text_of_class(kind):
    module, name = module_of(kind), text_or(name_in_type(kind), "object")
    return name if module == "builtins" else f"{module}.{name}"


def describe_module(value):
    names = module_names(value)
    name, file = text_or(find(names, "__name__"), "?"), text_or(find(names, "__file__"), None)
    return f"<module {name!r}" + (f" from {file!r}>" if file else ">")


def known_pair(pair, depth):
    key, value = known_repr(pair[0], depth), known_repr(pair[1], depth)
    return None if key is None or value is None else f"{key}: {value}"


def joined(opened, items, closed, count, depth, shown):
    if depth == 0:
        return f"{opened}...{closed}" if count else opened + closed
    texts = [shown(item, depth - 1) for item in islice(items, SHOWN_MAX)]
    if None in texts:
        return None
    return opened + ", ".join(texts + ["..."] * (count > SHOWN_MAX)) + closed


def describe(value):
    """What can be said about a value in one line, and whether that is all there is to say."""
    kind = type(value)
    shape, text = shape_of(value), known_repr(value)
    name = type_name(kind)
    said = {"type": name, "shape": shape, "len": len_of(value, shape), "size": size_of(value)}
    size = f" {tuple(shape)}" if shape is not None else ""
    said["repr"] = cut(" ".join(text.split())) if text is not None else cut(f"<{name}{size}>")
    return said, text is not None
