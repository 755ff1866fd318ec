"""The state of a session, and of the run that goes on: what the other modules share.

IPython's shell, once there is one, uses the same lists and the same namespace.
"""
import sys

import _cicada_hooks as hooks

main = sys.modules["__main__"]
namespace = main.__dict__
hidden_names = {}  # what is in it that the code did not put there
inputs, raw_inputs, outputs = [""], [""], {}  # In, the same before rewriting, Out
sources = {}  # file name -> code, for tracebacks
lines_known = None  # the cache of the module linecache, once that is imported


class Cell:
    """The run that goes on, or the last one."""

    number = 0
    name = ""  # as a file name
    has_file = False  # whether it came with a name of its own
    names = ()  # global names in its code
    is_awaited = False
    pending = None  # the fields of the result, until it is certain that no other comes
    input_id = None  # of the text given to input(), while there is one
    saved_env = ()
    futures = 0  # flags of `from __future__ import`, which hold for later cells too
    recent = ["", "", ""]  # what _, __ and ___ should be, unless the code set them


def remember_source(code):
    sources[Cell.name] = code
    if lines_known is not None:
        add_lines(Cell.name, code)


def add_lines(name, code):
    lines = [line + "\n" for line in code.replace("\r\n", "\n").split("\n")]
    lines_known[name] = len(code), None, lines, name


def fill_linecache(module):
    global lines_known
    lines_known = module.cache
    for name, code in sources.items():
        add_lines(name, code)


hooks.after["linecache"] = fill_linecache
