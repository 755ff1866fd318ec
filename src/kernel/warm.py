"""Cells that are run so that they have been run: lazy imports and caches belong into the image, and
pages that every session writes to are better copied before one is waiting.

"bake" is what runs before an image is written, "touch" what runs in a kernel that is parked. Nobody
hears them (control_mute), and when they are done nothing of them is left that code could notice.
"""
import builtins
import sys

import _cicada_cell as cell
import _cicada_hooks as hooks
import _cicada_world as world
from _cicada_cell import Cell, inputs, namespace, outputs, raw_inputs, sources

BAKE = [
    "1+1",
    "x = [1, 2.5, 'text', None, {'a': (1, 2)}]\nx",
    "print('text', 1.5, [1, 2])",
    """
import math, json, re, random, datetime, collections, itertools, os, sys, time
from collections import Counter, defaultdict
def f(n):
    return n if n < 2 else f(n - 1) + f(n - 2)
class Point:
    def __init__(self, x):
        self.x = x
print(f'{f(5):>8.3f}', json.dumps({'a': [1, 2]}), re.findall(r'\\d+', 'a1b22'))
Counter('abca').most_common(2), datetime.date(2024, 1, 2), sorted([3, 1, 2], key=lambda v: -v)
""",
    """
import numpy as np
a = np.arange(12.0).reshape(3, 4)
b = a @ a.T + np.eye(3)
np.linalg.inv(b), np.linalg.eigh(b), np.linalg.svd(a), np.random.rand(3), np.random.default_rng(1).normal(size=3)
np.mean(a, axis=0), np.percentile(a, 50), a
""",
    """
import pandas as pd
df = pd.DataFrame({'a': [1, 2, 3, 4], 'b': list('xyxy'), 'c': [0.5, 1.5, float('nan'), 2.0]})
df['d'] = pd.to_datetime(['2024-01-01', '2024-02-01', '2024-03-01', '2024-04-01'])
df.describe()
""",
    "df.info()\ndf.head()",
    "df.groupby('b').agg({'a': 'sum', 'c': ['mean', 'max']})",
    "pd.DataFrame({'a': [1]}).a.sum()",
    """
import io
table = pd.read_csv(io.StringIO('day,city,value\\n2024-01-01,Ulm,1.5\\n2024-01-02,Bonn,2\\n'), parse_dates=['day'])
table.merge(pd.DataFrame({'city': ['Ulm', 'Bonn'], 'n': [1, 2]}), on='city').sort_values('value')
table.pivot_table(index='city', values='value', aggfunc='mean').to_csv()
table.set_index('day').resample('D').sum(numeric_only=True)
table.value.rolling(2).mean(), table.city.str.upper().value_counts(), table.isna().sum(), table.dtypes
display(table)
table
""",
    """
import matplotlib.pyplot as plt
fig, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].plot([1, 2, 3], label='line'); axes[0].legend(); axes[0].set_title('title'); axes[0].grid(True)
axes[1].bar(['a', 'b'], [1, 2]); axes[1].set_xlabel('x'); axes[1].set_ylabel(r'$\\alpha^2$')
plt.tight_layout()
plt.show()
""",
    "plt.hist([1, 2, 2, 3]); plt.scatter([1, 2], [3, 4], c=[1, 2]); plt.colorbar()",
    "df.plot(x='d', y='a'); plt.figure(); plt.imshow([[1, 2], [3, 4]])",
    "import seaborn as sns\nsns.heatmap(df[['a', 'c']].corr(), annot=True)\nplt.figure()\n"
    "sns.barplot(data=df, x='b', y='a')\nplt.figure()\nsns.histplot(df, x='a', kde=True)",
    """
import sympy as sp
s = sp.symbols('s')
sp.solve(s**2 - 2, s), sp.diff(sp.sin(s) * s, s), sp.integrate(sp.exp(-s), s), sp.simplify(s + s)
sp.sqrt(s) / 2
""",
    """
from scipy import stats, optimize, interpolate, integrate, signal
stats.ttest_ind([1, 2, 3], [2, 3, 5]), stats.linregress([1, 2, 3], [2, 4, 7]), stats.norm.ppf(0.9)
optimize.minimize(lambda v: (v[0] - 1) ** 2, [0.0]), optimize.curve_fit(lambda t, k: k * t, [1, 2], [2, 4])
interpolate.interp1d([1, 2], [3, 4])(1.5), integrate.quad(lambda t: t, 0, 1), signal.find_peaks([0, 1, 0])
""",
    """
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split
from sklearn.metrics import accuracy_score, classification_report
X = np.arange(40.0).reshape(20, 2) % 7
y = np.arange(20) % 2
X1, X2, y1, y2 = train_test_split(StandardScaler().fit_transform(X), y, random_state=0)
model = RandomForestClassifier(n_estimators=3, random_state=0).fit(X1, y1)
LogisticRegression().fit(X1, y1), LinearRegression().fit(X1, y1).score(X2, y2)
print(classification_report(y2, model.predict(X2), zero_division=0), accuracy_score(y2, model.predict(X2)))
model
""",
    """
import statsmodels.formula.api as smf
smf.ols('c ~ a', data=df.dropna()).fit().summary()
""",
    "import networkx as nx\ng = nx.erdos_renyi_graph(6, 0.5, seed=1)\nnx.shortest_path_length(g), nx.pagerank(g)",
    "from PIL import Image\nImage.new('RGB', (8, 8), 'red').resize((4, 4))",
    """
import openpyxl, tempfile, pathlib
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, 'a.xlsx')
    df.drop(columns='d').to_excel(path, index=False)
    pd.read_excel(path)
    pathlib.Path(folder, 'a.txt').write_text('text')
    sorted(pathlib.Path(folder).glob('*'))
""",
    "import subprocess\nsubprocess.run(['true'], capture_output=True, text=True)",
    "import asyncio\nawait asyncio.sleep(0)",
    "%timeit -n 1 -r 1 1+1\n!true",
    "np.array?",
    "import warnings\nwarnings.warn('text')\nnp.log(np.array([0.0]))",
    "def outer(): return {}['missing']\nouter()",
    "import no_such_module",
    "x = = 1",
    "pd.DataFrame({'a': [1]})['b']",
]

TOUCH = [
    "1+1",
    "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3], 'b': [1.5, 2.5, 3.5]})\ndf.describe()",
    "pd.DataFrame({'a': [1]}).a.sum()",
    "display(df)\nprint(df.b.mean())",
    "[1, 'a', {'b': 2.5}]",
]

EXPECTED = (KeyError, SyntaxError, ModuleNotFoundError)  # of the last cells of BAKE


def cells(kind):
    """Gives one cell after the other to run; cleans up at the end."""
    before = Before()
    failures = []
    is_bake = kind == "bake"
    try:
        for code in BAKE if is_bake else TOUCH:
            sys.last_value = None
            yield code
            if sys.last_value is not None:
                failures.append((code, sys.last_value))
    finally:
        before.restore()
    if is_bake:
        forget_warnings()
        forget_folders()
        report(failures)


def report(failures):
    progress = hooks.own_import("_cicada_preload").progress
    for code, error in failures:
        if not isinstance(error, EXPECTED):
            line = code.strip().split("\n")[0]
            progress(f"a cell failed ({line}): {type(error).__name__}: {error}")


class Before:
    """What code can see of earlier code, and how to bring it back."""

    def __init__(self):
        self.dicts = [(d, dict(d)) for d in (namespace, sys.__dict__, builtins.__dict__)]
        self.lists = [(v, list(v)) for v in (inputs, raw_inputs, sys.path, sys.meta_path)]
        self.outputs = dict(outputs)
        self.sources = dict(sources)
        self.cell = {n: v for n, v in vars(Cell).items() if not n.startswith("__")}
        self.cell["recent"] = list(Cell.recent)
        self.environ = dict(world.os.environ)
        self.open_files = set(world.open_files)
        self.streams = dict(world.streams)

    def restore(self):
        leave_shell()
        close_loop()
        close_figures()
        self.forget_lines()
        for there, before in self.dicts:
            for name in there.keys() - before.keys():
                del there[name]
            there.update(before)
        for there, before in self.lists:
            there[:] = before
        outputs.clear()
        outputs.update(self.outputs)
        for name, value in self.cell.items():
            setattr(Cell, name, value)
        world.streams.update(self.streams)
        world.open_files.clear()
        world.open_files.update(self.open_files)
        restore_environ(self.environ)
        forget_temporary_names()
        for path in "", ".", world.os.getcwd():
            sys.path_importer_cache.pop(path, None)

    def forget_lines(self):
        for name in sources.keys() - self.sources.keys():
            del sources[name]
            if cell.lines_known is not None:
                cell.lines_known.pop(name, None)


def leave_shell():
    """The shell of IPython, if a cell has needed it. Having one makes every later cell slower; the
    next magic makes another."""
    proxy = hooks.own_import("_cicada_proxy")
    shell, proxy._shell = proxy._shell, None
    if shell is not None:
        hooks.own_import("atexit").unregister(shell.atexit_operations)
        shell.restore_sys_module_state()
        type(shell).clear_instance()


def close_loop():
    loop = sys.modules.get("_cicada_loop")
    if loop is not None:
        loop.close_idle()


def close_figures():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is not None and helpers.Gcf.figs:
        helpers.Gcf.destroy_all()


def restore_environ(before):
    environ = world.os.environ
    for name in environ.keys() - before.keys():
        del environ[name]
    for name, value in before.items():
        if environ.get(name) != value:
            environ[name] = value


# The next two look at every module and touch all their pages: not for a kernel that is parked.


def forget_warnings():
    """So that a session is warned like any other."""
    for module in list(sys.modules.values()):
        if "__warningregistry__" in getattr(module, "__dict__", ()):
            del module.__warningregistry__
    if "warnings" in sys.modules:
        sys.modules["warnings"].onceregistry.clear()


def forget_folders():
    """What the import system knows about directories that may be others for a session."""
    for path in sys.path_importer_cache.keys() - set(hooks.system_path):
        if not any(path.startswith(f"{known}/") for known in hooks.system_path):
            del sys.path_importer_cache[path]


def forget_temporary_names():
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = tempfile.tempdir = None
