"""The matplotlib backend of the kernel: figures become displays.

plt.show() and the end of a run show every open figure as PNG and close it. `images` is also what
makes a picture of a Figure that is the result of a run or given to display().
"""
import io
import sys

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

import _cicada_display as display
import _cicada_proxy as proxy

MIMES = {
    "png": "image/png",
    "retina": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
}
SHRINK_MAX = 4  # times a picture that is too large is drawn smaller


class FigureManager(FigureManagerBase):
    def show(self):
        show_one(self.canvas.figure)

    @classmethod
    def pyplot_show(cls, *args, **kwargs):
        show()


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager


def show(*args, **kwargs):
    """plt.show()"""
    try:
        for manager in Gcf.get_all_fig_managers():
            show_one(manager.canvas.figure)
    finally:
        close_all()


def show_one(figure):
    """Unlike display(), this raises when the figure cannot be drawn: nothing else was asked for."""
    if has_content(figure):
        data = {"text/plain": display.plain_text(figure), **images(figure)}
        display.publish_display_data(data)


def close_all():
    if Gcf.figs:
        Gcf.destroy_all()


def has_content(figure):
    return len(figure.get_children()) > 1  # more than its background


def flush(has_failed):
    """Shows what is open at the end of a run and was not shown as it is now."""
    try:
        for manager in Gcf.get_all_fig_managers():
            figure = manager.canvas.figure
            if figure.stale or not getattr(figure, "_cicada_shown", False):
                show_one(figure)
    except Exception as error:
        if not has_failed:
            raise
        display.hooks.own_import("_cicada_trace").complain(error)
    finally:
        close_all()


def settings():
    """(formats, arguments of savefig), as %config InlineBackend has them."""
    shell = proxy.existing()
    backend = getattr(shell, "inline_backend", None)
    if backend is None:
        return ["png"], {"bbox_inches": "tight"}
    return backend.formats(), dict(backend.print_figure_kwargs)


def images(figure):
    """{mime: data} for a figure, empty if there is nothing on it."""
    found = {}
    if has_content(figure):
        formats, options = settings()
        for name in formats:
            if name in MIMES:
                found[MIMES[name]] = draw(figure, name, options)
    figure._cicada_shown = True
    figure.stale = False
    return found


def draw(figure, name, options):
    dpi = figure.dpi * 2 if name == "retina" else figure.dpi
    kind = "png" if name == "retina" else name
    for _ in range(SHRINK_MAX):
        out = io.BytesIO()
        colors = {"facecolor": figure.get_facecolor(), "edgecolor": figure.get_edgecolor()}
        figure.canvas.print_figure(out, **{"format": kind, "dpi": dpi, **colors, **options})
        if out.tell() <= display.DATA_MAX or kind not in ("png", "jpg", "jpeg"):
            break
        dpi *= 0.9 * (display.DATA_MAX / out.tell()) ** 0.5
        sys.stderr.write(f"figure shown at {dpi:.0f} dpi: it is too large otherwise\n")
    return out.getvalue().decode() if kind == "svg" else out.getvalue()
