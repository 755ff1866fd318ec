"""Values as MIME bundles, by IPython's rules, and display().

Every representation runs code of the session: each is contained on its own. What raises is reported
on stderr and left out, what is too large is left out with a note in text/plain.
"""
import binascii
import sys
import types

import _cicada_hooks as hooks
import _cicada_pretty as pretty
import _cicada_proxy as proxy
from _cicada_start import native

DATA_MAX = 8 << 20
BUNDLE_MAX = 24 << 20
TEXT_MAX = 1 << 20
STR_MAX = 1 << 18  # of a string whose repr is asked for

METHODS = {  # in IPython's order
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "application/pdf": "_repr_pdf_",
    "image/jpeg": "_repr_jpeg_",
    "text/latex": "_repr_latex_",
    "application/json": "_repr_json_",
    "application/javascript": "_repr_javascript_",
}
BINARY = ("image/png", "image/jpeg", "application/pdf", "image/gif", "image/webp")
PLAIN = frozenset((int, float, bool, complex, str, bytes, list, tuple, dict, set, frozenset))
CANARY = "_ipython_canary_method_should_not_exist_"


# ---- one value


def bundle(value, include=None, exclude=None):
    """{mime: str, bytes or JSON value} for a value; empty if it displays itself."""
    shell = proxy.existing()
    if shell is not None and shell.has_formatters():
        return shell.display_formatter.format(value, include, exclude)[0]

    def is_wanted(mime):
        return (not include or mime in include) and not (exclude and mime in exclude)

    if type(value) in PLAIN:
        return {"text/plain": plain_text(value)} if is_wanted("text/plain") else {}
    itself = method(value, "_ipython_display_")
    if itself is not None and contained(itself) is not FAILED:
        return {}
    found = from_mimebundle(value, include, exclude)
    found = {mime: data for mime, data in found.items() if is_wanted(mime)}
    if "text/plain" not in found and is_wanted("text/plain"):
        found["text/plain"] = plain_text(value)
    for mime, data in figure_images(value).items():
        if is_wanted(mime):
            found[mime] = data
    for mime, name in METHODS.items():
        if mime not in found and is_wanted(mime):
            data = from_method(value, name)
            if data is not None:
                found[mime] = data
    return found


def method(value, name):
    """A method the value really has: not one of its class when it is a class, and not a pretence of
    an object that has every attribute."""
    try:
        if getattr(value, CANARY, None) is not None:
            return None
        found = getattr(value, name, None)
    except Exception:
        return None
    if isinstance(value, type) and not isinstance(found, types.MethodType):
        return None
    return found if callable(found) else None


FAILED = object()


def contained(function, *args, **options):
    """The function's value, or FAILED; then stderr says why."""
    try:
        return function(*args, **options)
    except NotImplementedError:
        return FAILED
    except Exception as error:
        hooks.own_import("_cicada_trace").complain(error)
        return FAILED


def from_method(value, name):
    function = method(value, name)
    data = None if function is None else contained(function)
    if data is FAILED:
        return None
    if isinstance(data, tuple) and len(data) == 2:
        data = data[0]  # the other is metadata
    return data


def from_mimebundle(value, include, exclude):
    function = method(value, "_repr_mimebundle_")
    if function is None:
        return {}
    data = contained(function, include=include, exclude=exclude)
    if isinstance(data, tuple) and len(data) == 2:
        data = data[0]
    if not isinstance(data, dict):
        return {}
    return {mime: d for mime, d in data.items() if isinstance(mime, str) and d is not None}


def figure_images(value):
    module = sys.modules.get("matplotlib.figure")
    if module is None or not isinstance(value, getattr(module, "Figure", ())):
        return {}
    images = contained(hooks.own_import("_cicada_figures").images, value)
    return {} if images is FAILED else images


def plain_text(value):
    """What IPython would print. A repr that fails is named, not raised."""
    try:
        if type(value) in (str, bytes) and len(value) > STR_MAX:
            return f"{value[:STR_MAX]!r}... ({len(value)} in all)"
        try:
            return pretty.pretty(value)
        except pretty.Unknown:
            return hooks.own_import("IPython.lib.pretty").pretty(value)
    except Exception as error:
        kind = type(error).__name__
        try:
            why = f"{kind}: {error}"
        except Exception:
            why = kind
        return f"<{type(value).__qualname__} object at {id(value):#x}; its repr failed with {why}>"


# ---- as frames


def fields_of(data):
    """The fields of a bundle. Text comes first, notes about what was left out are in it."""
    entries, notes, total = [], [], 0
    for mime, value in data.items():
        try:
            form, encoded = encode(mime, value)
        except Exception as error:
            notes.append(f"[{mime} left out: {error}]")
            continue
        if mime == "text/plain":
            encoded = cut(encoded)
        if len(encoded) > DATA_MAX or total + len(encoded) > BUNDLE_MAX:
            notes.append(f"[{mime} of {len(encoded) / (1 << 20):.1f} MiB left out: too large; save it to a file in /mnt/data]")
            continue
        total += len(encoded)
        entries.append((mime, form, encoded))
    if notes:
        add_notes(entries, "\n".join(notes))
    fields = []
    for mime, form, encoded in entries:
        fields += (native.FIELD_MIME, mime.encode("utf-8", "backslashreplace")),
        fields += (native.FIELD_FORM, bytes((form,))),
        fields += (native.FIELD_DATA, encoded),
    return tuple(fields)


def add_notes(entries, text):
    encoded = text.encode("utf-8", "backslashreplace")
    for index, (mime, form, plain) in enumerate(entries):
        if mime == "text/plain":
            entries[index] = mime, form, plain + b"\n" + encoded
            return
    entries.insert(0, ("text/plain", native.FORM_TEXT, encoded))


def cut(text):
    if len(text) <= TEXT_MAX:
        return text
    head = text[:TEXT_MAX].decode("utf-8", "ignore").encode()
    return head + b"\n[cut here: %d of %d bytes]" % (len(head), len(text))


def encode(mime, value):
    """(form, bytes) of one representation. Raises when it is not what its type should be."""
    if mime in BINARY:
        if isinstance(value, str):
            value = binascii.a2b_base64(value)  # IPython's own objects give base64
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"bytes expected, not {type(value).__name__}")
        return native.FORM_BINARY, bytes(value)
    if mime == "application/json" or mime.endswith("+json"):
        text = hooks.own_import("json").dumps(value)
        return native.FORM_JSON, text.encode()
    if isinstance(value, (bytes, bytearray)) and not mime.startswith("text/"):
        return native.FORM_BINARY, bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"a string expected, not {type(value).__name__}")
    return native.FORM_TEXT, value.encode("utf-8", "backslashreplace")


def result(value):
    """The fields of a RESULT."""
    data = bundle(value)
    return fields_of(data) if data else ()


def publish(data, display_id=None, is_update=False):
    fields = fields_of(data)
    if not fields:
        fields = fields_of({"text/plain": ""})
    if display_id is not None:
        fields += ((native.FIELD_ID, str(display_id).encode("utf-8", "backslashreplace")),)
    if is_update:
        fields += ((native.FIELD_UPDATE, b"\1"),)
    if not native.send(native.FRAME_DISPLAY, fields, True):
        print(data.get("text/plain", ""))  # a forked child has only its streams


# ---- what IPython.display offers


class DisplayHandle:
    """What display(display_id=...) gives: shows other objects in the same place."""

    def __init__(self, display_id=None):
        self.display_id = new_id() if display_id is None else display_id

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"

    def display(self, obj, **options):
        display(obj, display_id=self.display_id, **options)

    def update(self, obj, **options):
        display(obj, display_id=self.display_id, update=True, **options)


def new_id():
    return hooks.own_import("os").urandom(16).hex()


def display(
    *objs,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
    **kwargs,
):
    """Shows objects as rich as they can be shown. See IPython.display.display."""
    if display_id is True:
        display_id = new_id()
    transient = dict(transient or {})
    if display_id:
        transient["display_id"] = display_id
    if kwargs.get("update") and "display_id" not in transient:
        raise TypeError("display_id required for update_display")
    if not objs and display_id:
        objs, raw = [{}], True  # a place to be filled later
    if clear:
        clear_output(wait=True)
    for obj in objs:
        data = obj if raw else bundle(obj, include, exclude)
        if data or raw:
            update = kwargs.get("update", False)
            publish_display_data(data, metadata, transient=transient, update=update)
    return DisplayHandle(display_id) if display_id else None


def publish_display_data(data, metadata=None, source=None, *, transient=None, **kwargs):
    """Shows a ready-made bundle. See IPython.display.publish_display_data."""
    shell = proxy.existing()
    update = bool(kwargs.get("update", False))
    if shell is not None and shell.is_captured():
        shell.display_pub.publish(data, metadata, transient=transient, update=update)
    else:
        publish(data, (transient or {}).get("display_id"), update)


def clear_output(wait=False):
    """Forgets what was displayed so far. See IPython.display.clear_output."""
    shell = proxy.existing()
    if shell is not None and shell.is_captured():
        shell.display_pub.clear_output(wait)
    else:
        native.send(native.FRAME_CLEAR, ((native.FIELD_WAIT, bytes((bool(wait),))),), True)
