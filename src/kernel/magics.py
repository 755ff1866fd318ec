"""IPython's shell, for what only IPython does. Made on first need, see proxy.py.

It shares __main__ and the history lists with our own shell. It never runs cells itself unless code
asks it to: transform_cell turns magics into Python, which run.c evaluates like any other.
"""
import os
import subprocess
import sys
import types

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils import io as ipython_io
from IPython.utils.text import LSString, SList
from traitlets import Any, Bool, Dict, Type, Unicode, observe
from traitlets.config import Config, Configurable

import _cicada_cell as cell
import _cicada_display as display
import _cicada_shell as ours
import _cicada_world as world

FORMATTER_DEFAULTS = {"max_width": 79, "max_seq_length": 1000, "pprint": True, "float_format": "%r"}


class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        display.publish(data, (transient or {}).get("display_id"), update)

    def clear_output(self, wait=False):
        display.clear_output(wait)


class Hook(DisplayHook):
    """Shows values as sys.displayhook does here."""

    def __init__(self, shell=None, cache_size=1000, **kwargs):
        kept = {name: shell.user_ns.get(name, "") for name in ("_", "__", "___")}
        super().__init__(shell=shell, cache_size=cache_size, **kwargs)
        shell.user_ns.update(kept)

    def __call__(self, result=None):
        ours.displayhook(result)
        self.fill_exec_result(result)


class InlineBackend(Configurable):
    """Stands in for matplotlib_inline's, so that %config InlineBackend... does what it says."""

    figure_formats = Any(["png"]).tag(config=True)
    figure_format = Unicode("").tag(config=True)
    print_figure_kwargs = Dict({"bbox_inches": "tight"}).tag(config=True)
    close_figures = Bool(True).tag(config=True)
    rc = Dict({}).tag(config=True)

    @observe("figure_format")
    def _one_format(self, change):
        self.figure_formats = [change["new"]]

    def formats(self):
        found = self.figure_formats
        return [found] if isinstance(found, str) else list(found)


class ZMQInteractiveShell(InteractiveShell):
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)
    kernel = None  # libraries look whether there is one
    cell_info = None

    # ---- made from what is there already

    def init_virtualenv(self):
        pass

    def init_user_ns(self):
        manager = self.history_manager
        manager.input_hist_parsed = cell.inputs
        manager.input_hist_raw = cell.raw_inputs
        manager.output_hist = cell.outputs
        self.user_ns_hidden.update(cell.hidden_names)
        for name, value in ours.initial_names().items():
            self.user_ns.setdefault(name, value)  # missing after %reset

    def init_builtins(self):
        super().init_builtins()
        import builtins

        builtins.display = ours.display

    def init_completer(self):
        super().init_completer()
        self.Completer.use_jedi = False

    def init_display_formatter(self):
        super().init_display_formatter()
        self._tables = [(table, dict(table)) for table in self._printer_tables()]

    # ---- between our shell and this one

    def before_cell(self, number, code):
        self.execution_count = number
        self.cell_info = types.SimpleNamespace(
            raw_cell=code, store_history=True, silent=False, shell_futures=True, cell_id=None
        )
        self.events.trigger("pre_execute")
        self.events.trigger("pre_run_cell", self.cell_info)

    def after_cell(self):
        ended = types.SimpleNamespace(
            info=self.cell_info,
            execution_count=self.execution_count,
            result=None,
            error_before_exec=None,
            error_in_exec=None,
            success=True,
        )
        self.events.trigger("post_execute")
        self.events.trigger("post_run_cell", ended)

    def _printer_tables(self):
        """Everything this shell has been told about showing values."""
        for formatter in self.display_formatter.formatters.values():
            yield formatter.type_printers
            yield formatter.singleton_printers
            yield formatter.deferred_printers

    def has_formatters(self):
        """Whether somebody taught this shell to show some type, or to show text otherwise."""
        text = self.display_formatter.formatters["text/plain"]
        return any(table != before for table, before in self._tables) or any(
            getattr(text, name) != value for name, value in FORMATTER_DEFAULTS.items()
        )

    def is_captured(self):
        """Whether displays are being collected, as %%capture does."""
        return type(self.display_pub) is not Publisher

    # ---- commands over pipes: the jail has no terminals

    def _run(self, command, **streams):
        shell = os.environ.get("SHELL") or "/bin/sh"
        return subprocess.Popen([shell, "-c", command], **streams)

    def system(self, cmd):
        """Runs a command; its output goes where ours goes."""
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        cmd = self.var_expand(cmd, depth=1)
        if sys.stdout is world.streams["stdout"]:
            sys.stderr.flush()
            code = self._wait(self._run(cmd))
        else:  # the code collects what is printed
            process = self._run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for line in process.stdout:
                sys.stdout.write(line.decode("utf-8", "replace"))
            code = self._wait(process)
        self.user_ns["_exit_code"] = -(code - 128) if code > 128 else code

    system_piped = system_raw = system

    def _wait(self, process):
        try:
            return process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise

    def getoutput(self, cmd, split=True, depth=0):
        """What a command prints, as a list of lines or a string."""
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        cmd = self.var_expand(cmd, depth=depth + 1)
        process = self._run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            out = process.communicate()[0].decode("utf-8", "replace")
        finally:
            self._wait(process)
        return SList(out.splitlines()) if split else LSString(out)

    # ---- what makes no sense here

    def ask_exit(self):
        raise SystemExit

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        return "inline", "module://_cicada_figures"  # it is always on

    def _showtraceback(self, etype, evalue, stb):
        sys.stderr.write(self.InteractiveTB.stb2text(stb) + "\n")


def pager(text, *args, **kwargs):
    """`name?` prints; nobody turns pages here."""
    if isinstance(text, dict):
        text = text.get("text/plain", "")
    print(text)


def make_shell():
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.autocall = 0
    config.InteractiveShell.banner1 = ""
    config.InteractiveShell.history_length = 0
    displayhook = sys.displayhook
    shell = ZMQInteractiveShell.instance(config=config, user_module=cell.main)
    shell.display_trap.__enter__()  # for good: cells run inside a cell must not replace the hook,
    sys.displayhook = displayhook  # which may be that of %%capture
    shell.set_hook("show_in_pager", lambda self, data, start, screen_lines: pager(data))
    shell.execution_count = cell.Cell.number
    shell.inline_backend = InlineBackend(parent=shell)
    shell.configurables.append(shell.inline_backend)
    cell.hidden_names.setdefault("_exit_code", 0)
    ipython_io.devnull.close()  # a descriptor for nothing
    return shell
