"""What IPython's shell does for a cell of plain Python, without IPython.

run.c calls the functions below in the order written there. IPython itself comes in only for what
needs it, see parse.py. Both share the namespace of __main__ and its history.
"""
import builtins
import os
import sys

import _cicada_ask as asking
import _cicada_hooks as hooks
import _cicada_libraries as libraries
import _cicada_parse as parse
import _cicada_proxy as proxy
import _cicada_world as world
from _cicada_cell import Cell, hidden_names, inputs, namespace, outputs, raw_inputs, remember_source
from _cicada_start import native

COROUTINE = 0x80
OUTPUTS_MAX = 1000  # values kept in Out
PLAIN = {int, float, bool, complex, bytes, str}  # and later
libraries.plain = PLAIN
PLAIN_MAX = 1 << 16
TEXT = (native.FIELD_MIME, b"text/plain"), (native.FIELD_FORM, bytes((native.FORM_TEXT,)))


def initial_names():
    """What is in the namespace before any code has run."""
    names = dict.fromkeys(("_", "__", "___", "_i", "_ii", "_iii"), "")
    names.update(In=inputs, Out=outputs, _ih=inputs, _oh=outputs, _dh=[os.getcwd()])
    names.update(get_ipython=proxy.get_ipython)
    return names


def fill_namespace():
    namespace.update(initial_names())
    hidden_names.update(namespace)
    builtins.get_ipython = proxy.get_ipython
    builtins.display = display
    sys.displayhook = displayhook


# ---- before


def prepare(code, name, text, env):
    """Gives the steps of the code, see parse.steps."""
    world.restore()
    hooks.make_way()
    if text is not None:
        world.give_input(text)
    world.set_env(env)
    Cell.is_awaited = Cell.has_file = False
    Cell.pending = None
    Cell.names = ()
    namespace.pop("__warningregistry__", None)  # so that each run warns anew
    if not code or code.isspace():
        return ()
    code = code.removeprefix("\ufeff")
    Cell.number += 1
    Cell.name = name or f"<cell {Cell.number}>"
    if name and name[0] != "<":
        Cell.has_file = True
        namespace["__file__"] = name
    remember_source(code)
    remember_input(code.rstrip("\n"))
    shell = proxy.existing()
    if shell is not None:
        shell.before_cell(Cell.number, raw_inputs[-1])
    return parse.steps(code, show, show_more)


def remember_input(code):
    """In and _i, _ii, _iii, _i3, by IPython's rules."""
    inputs.append(code)
    raw_inputs.append(code)
    namespace["_iii"] = namespace.get("_ii", "")
    namespace["_ii"] = namespace.get("_i", "")
    namespace["_i"] = raw_inputs[-2]
    namespace[f"_i{Cell.number}"] = code


# ---- meanwhile


def wait(steps):
    """Runs code with a top-level await; all of it, so that a loop is running for the rest too."""
    Cell.is_awaited = True
    return hooks.own_import("_cicada_loop").wait(run_steps(steps))


async def run_steps(steps):
    for code, sink in steps:
        value = eval(code, namespace)
        if code.co_flags & COROUTINE:
            value = await value
        if sink is not None and value is not None:
            sink(value)


def show(value):
    hook = getattr(sys, "displayhook", None)  # ours, unless the code put another in its place
    (hook if callable(hook) else displayhook)(value)


def show_more(value):
    """A value that is not the last of its cell."""
    display(value)
    remember(value)


def displayhook(value):
    """Shows the value of the last expression and remembers it."""
    if value is None:
        return
    is_plain = type(value) in PLAIN and (type(value) not in (str, bytes) or len(value) < PLAIN_MAX)
    if is_plain and proxy.existing() is None:
        fields = show_plain(value)
    else:
        fields = hooks.own_import("_cicada_display").result(value)
    remember(value)
    if fields:
        show_pending(native.FRAME_DISPLAY)
        Cell.pending = fields


def show_pending(kind):
    """A run has one result, the last value shown. Code can make more with get_ipython().run_cell();
    those before become displays."""
    fields, Cell.pending = Cell.pending, None
    if fields:
        native.send(kind, fields, kind == native.FRAME_DISPLAY)


def show_plain(value):
    try:
        text = repr(value).encode("utf-8", "backslashreplace")
    except ValueError:  # an int with too many digits
        return hooks.own_import("_cicada_display").result(value)
    return TEXT + ((native.FIELD_DATA, text),)


def remember(value):
    """_, __, ___, _3 and Out[3], by IPython's rules."""
    if value is outputs:
        return
    if len(outputs) >= OUTPUTS_MAX:
        for number in sorted(outputs)[: OUTPUTS_MAX // 5]:
            del outputs[number]
            namespace.pop(f"_{number}", None)
    names = ("_", "__", "___")
    is_ours = all(namespace.get(n, v) is v for n, v in zip(names, Cell.recent))
    Cell.recent = [value, *Cell.recent[:2]]
    if is_ours and "_" not in builtins.__dict__:  # gettext puts one there
        namespace.update(zip(names, Cell.recent))
    outputs[Cell.number] = namespace[f"_{Cell.number}"] = value


def display(*objects, **options):
    """Shows objects as rich as they can be shown. See IPython.display.display."""
    return hooks.own_import("_cicada_display").display(*objects, **options)


# ---- after


def flush(has_failed):
    """Shows the result, then the figures nobody has shown yet."""
    show_pending(native.FRAME_DISPLAY if has_failed else native.FRAME_RESULT)
    shell = proxy.existing()
    if shell is not None:
        shell.after_cell()
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if getattr(getattr(helpers, "Gcf", None), "figs", None):
        hooks.own_import("_cicada_figures").flush(has_failed)


def fail(error, is_bare):
    hooks.own_import("_cicada_trace").report(error, is_bare)


def finish():
    world.reset_env()
    if Cell.has_file:
        namespace.pop("__file__", None)
    world.flush_streams()
    world.flush_files()
    if Cell.input_id is not None:
        world.take_input_away()


def ask(topic, code, cursor, room, limit):
    return asking.answer(topic, code or "", cursor, room, limit)


fill_namespace()
