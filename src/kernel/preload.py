"""What an image has imported before any code comes.

More costs next to nothing: what a session does not touch stays in the file. What is missing on this
system is skipped and named. Nothing here may start a thread or keep a descriptor.
"""
import importlib
import os
import sys

import _cicada_hooks as hooks
from _cicada_start import native

OURS = """
    ask bake birth carry cell display figures files fonts known loop magics parse pretty rest save trace warm
    world
"""

STANDARD = """
    abc argparse array ast asyncio base64 binascii bisect bz2 calendar cmath codecs collections
    collections.abc colorsys concurrent.futures concurrent.futures.process concurrent.futures.thread
    configparser contextlib contextvars copy csv ctypes dataclasses datetime decimal difflib email enum
    fnmatch fractions functools gc getpass glob gzip hashlib heapq hmac html html.parser http.client
    inspect io itertools json keyword linecache locale logging lzma math mimetypes mmap multiprocessing
    multiprocessing.pool multiprocessing.shared_memory numbers operator os pathlib pickle pickletools
    platform pprint queue random re reprlib resource sched secrets select shelve shlex shutil signal
    socket sqlite3 statistics string struct subprocess sysconfig tarfile tempfile textwrap threading
    time timeit tokenize traceback types typing unicodedata unittest urllib.parse urllib.request uuid
    warnings weakref xml.dom.minidom xml.etree.ElementTree zipfile zlib zoneinfo
"""

LIBRARIES = """
    numpy numpy.linalg numpy.fft numpy.random numpy.polynomial numpy.ma numpy.testing
    pandas pandas.plotting pandas.io.excel._openpyxl pandas.io.json
    pandas.tseries.offsets
    matplotlib matplotlib.pyplot matplotlib.animation matplotlib.dates matplotlib.ticker
    matplotlib.patches matplotlib.gridspec matplotlib.colors matplotlib.cm matplotlib.lines
    matplotlib.collections matplotlib.font_manager matplotlib.mathtext matplotlib.backends.backend_agg
    matplotlib.backends.backend_svg matplotlib.backends.backend_pdf mpl_toolkits.mplot3d
    mpl_toolkits.axes_grid1
    scipy scipy.cluster.hierarchy scipy.constants scipy.fft scipy.integrate scipy.interpolate scipy.io
    scipy.linalg scipy.ndimage scipy.odr scipy.optimize scipy.signal scipy.sparse scipy.sparse.csgraph
    scipy.sparse.linalg scipy.spatial scipy.spatial.distance scipy.special scipy.stats
    seaborn
    sklearn sklearn.calibration sklearn.cluster sklearn.compose sklearn.covariance sklearn.datasets
    sklearn.decomposition sklearn.discriminant_analysis sklearn.dummy sklearn.ensemble
    sklearn.feature_extraction.text sklearn.feature_selection sklearn.gaussian_process sklearn.impute
    sklearn.inspection sklearn.isotonic sklearn.kernel_ridge sklearn.linear_model sklearn.manifold
    sklearn.metrics sklearn.mixture sklearn.model_selection sklearn.multiclass sklearn.multioutput
    sklearn.naive_bayes sklearn.neighbors sklearn.neural_network sklearn.pipeline sklearn.preprocessing
    sklearn.random_projection sklearn.svm sklearn.tree
    statsmodels.api statsmodels.formula.api statsmodels.tsa.api statsmodels.tsa.arima.model
    statsmodels.stats.api
    sympy sympy.abc sympy.plotting sympy.physics.units sympy.stats
    networkx
    PIL PIL.Image PIL.ImageDraw PIL.ImageFont PIL.ImageFilter PIL.ImageOps PIL.PngImagePlugin
    PIL.JpegImagePlugin
    openpyxl openpyxl.styles openpyxl.chart openpyxl.utils.dataframe xlsxwriter
    pypdf PyPDF2 docx pptx reportlab.pdfgen.canvas reportlab.platypus
    lxml lxml.etree lxml.html bs4 html5lib yaml
    requests tqdm joblib joblib.externals.cloudpickle cloudpickle dateutil.parser dateutil.relativedelta
    pytz numexpr bottleneck tabulate jinja2 markdown
    IPython IPython.display IPython.lib.pretty IPython.core.interactiveshell
"""

NOT_EXPECTED = frozenset(
    """xlsxwriter pptx reportlab bs4 html5lib yaml requests tqdm cloudpickle numexpr bottleneck
    tabulate jinja2 markdown pytz lxml""".split()
)


def progress(text):
    native.send(native.FRAME_PROGRESS, ((native.FIELD_MESSAGE, text.encode()),), False)


def load():
    """Imports it all, and says which libraries are not there."""
    missing = set()
    before = set(sys.modules), dict(os.environ), sys.getrecursionlimit()
    for name in STANDARD.split():
        attempt(name, missing)
    last = None
    for name in LIBRARIES.split():
        package = name.partition(".")[0]
        if package != last:
            progress(f"importing {package}")
            last = package
        if package not in missing:
            attempt(name, missing)
    for name in OURS.split():
        importlib.import_module(f"_cicada_{name}")
    absent = sorted(missing - NOT_EXPECTED)
    if absent:
        progress(f"not installed: {', '.join(absent)}")
    undo(*before)


def undo(modules, environ, limit):
    """Some libraries change more than themselves when they are imported. A session that has not
    imported them should not notice."""
    hooks.preloaded = frozenset(name for name in sys.modules.keys() - modules if "." not in name)
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    sys.setrecursionlimit(limit)


def attempt(name, missing):
    """Whatever a library raises at import, the others can do without it."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if package not in sys.modules:
            missing.add(package)
        elif error.name != name and not name.startswith(f"{error.name}."):
            progress(f"{name} needs {error.name}, which is not installed")
    except Exception as error:
        progress(f"{name} could not be imported: {type(error).__name__}: {error}")
