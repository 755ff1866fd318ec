#!/usr/bin/python3
"""What a real IPython makes of cells: reads a JSON list of cells, prints a JSON list of outcomes.

An outcome is {result, displays, stdout, stderr, error}, as the tests get it from the kernel.
"""
import base64
import builtins
import contextlib
import io
import json
import sys
import types

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

seen = {}


def readable(bundle):
    return {k: v if isinstance(v, str) else base64.b64encode(v).decode() if isinstance(v, bytes)
            else json.dumps(v) for k, v in bundle.items()}


class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        seen["displays"].append(readable(data))

    def clear_output(self, wait=False):
        pass


class Hook(DisplayHook):
    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        seen["result"] = readable(format_dict)

    def finish_displayhook(self):
        pass


class Shell(InteractiveShell):
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)

    def init_virtualenv(self):
        pass

    def enable_gui(self, gui=None):
        pass

    def ask_exit(self):
        pass

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        kind, value, _ = self._get_exc_info(exc_tuple)
        seen["error"] = [kind.__name__, str(value)]

    def showsyntaxerror(self, *args, **kwargs):
        kind, value, _ = sys.exc_info()
        seen["error"] = [kind.__name__, value.msg]


def make_shell():
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "NoColor"
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    shell = Shell.instance(config=config, user_module=main)
    sys.modules["__main__"] = main
    return shell


def main():
    cells = json.load(sys.stdin)
    shell = make_shell()
    import matplotlib
    from matplotlib_inline.backend_inline import configure_inline_support

    matplotlib.use("module://matplotlib_inline.backend_inline")
    configure_inline_support(shell, "module://matplotlib_inline.backend_inline")
    matplotlib.interactive(True)
    outcomes = []
    for cell in cells:
        seen.clear()
        seen.update(result=None, displays=[], error=None)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                shell.run_cell(cell, store_history=True)
            except SystemExit as error:
                seen["error"] = ["SystemExit", str(error)]
        outcomes.append({**seen, "stdout": out.getvalue(), "stderr": err.getvalue()})
    json.dump(outcomes, sys.stdout)


main()
