"""What the kernel changes in libraries at the moment code imports them, and not before.

IPython     display() and get_ipython() lead to the kernel
matplotlib  figures become displays; text falls back to fonts for CJK and symbols
numpy       its numbers are shown as quickly as Python's own
psutil      does without /proc/stat, which no sandbox shows: joblib's workers need it
"""
import _cicada_hooks as hooks
import _cicada_proxy as proxy

plain = set()  # types of values that are shown by their repr alone; shell.py's


def _getipython(module):
    module.get_ipython = proxy.get_ipython


def _display_functions(module):
    display = hooks.own_import("_cicada_display")
    module.display = display.display
    module.publish_display_data = display.publish_display_data
    module.clear_output = display.clear_output


def _matplotlib(module):
    module.rcParams["backend"] = "module://_cicada_figures"


def _agg(module):
    """Code that asks for Agg still expects plt.show() to show."""

    def show(*args, **kwargs):
        hooks.own_import("_cicada_figures").show()

    module.show = show


def _numpy(module):
    """What a sum or a mean of a table is."""
    plain.update((module.int64, module.float64, module.bool_))


def _psutil_before(module):
    """It prints a traceback at import when there is no /proc/stat; nobody asked for it."""
    traceback = hooks.own_import("traceback")
    loud = traceback.print_exc
    traceback.print_exc = lambda *args, **kwargs: None

    def after(psutil):
        traceback.print_exc = loud
        time = hooks.own_import("time")
        psutil.BOOT_TIME = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    hooks.after["psutil._pslinux"] = after


def fonts():
    return hooks.own_import("_cicada_fonts")


hooks.after["IPython.core.getipython"] = _getipython
hooks.after["IPython.core.display_functions"] = _display_functions
hooks.after["matplotlib"] = _matplotlib
hooks.after["matplotlib.backends.backend_agg"] = _agg
hooks.before["matplotlib.font_manager"] = lambda module: fonts().list_short()
hooks.after["matplotlib.font_manager"] = lambda module: fonts().extend(module)
hooks.after["matplotlib._mathtext"] = lambda module: fonts().extend_math(module)
hooks.after["numpy"] = _numpy
hooks.before["psutil._pslinux"] = _psutil_before
