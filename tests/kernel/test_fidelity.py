"""The same cells through a real IPython and through the kernel."""
import json
import re
import subprocess
import sys
import unittest

from client import HERE, Kernel

CELLS = [
    "1+1",
    "x=1+1",
    "import pandas as pd, numpy as np\ndf=pd.DataFrame({'a':[1,2]})\ndf",
    "df.a.plot();",
    "import matplotlib.pyplot as plt\nfig,ax=plt.subplots()\nax.plot([1,2])\nplt.show()",
    "plt.figure();plt.plot([1]);plt.figure();plt.plot([2])",
    "import sympy\nsympy.sqrt(sympy.Symbol('x'))/2",
    "from PIL import Image\nImage.new('RGB',(8,8),'red')",
    "from IPython.display import display, HTML, Markdown, JSON, SVG\ndisplay(df, HTML('<b>x</b>'))\n3",
    "!echo hello; exit 3",
    "_exit_code",
    "%timeit -n 10 -r 2 sum(range(100))",
    "%%time\nsum(range(10))",
    "ls /usr/bin/env",
    "import asyncio\nawait asyncio.sleep(0.001)\n'awaited'",
    "async def f(): return 5\nawait f()",
    "def bad(n):\n    if n==0: raise ValueError('deep')\n    return bad(n-1)\nbad(2)",
    "for i in range(3)\n    pass",
    "undefined_name",
    "%who",
    "df?",
    "a=!ls /\nlen(a)>3",
    "%env HOME",
    "1;",
    "'tail semicolon';",
    "_",
    "print('to stdout');import sys;print('err',file=sys.stderr)",
    "exit()",
    "%matplotlib inline",
    "import plotly",
    "{'k':[1,2,{3}]}",
    "object()",
    "class R:\n    def _repr_html_(s): return '<i>r</i>'\nR()",
    # Plain text of many types.
    "[i ** 2 for i in range(40)]",
    "{'name': 'x' * 50, 'values': list(range(30)), 'nested': {'a': {'b': [1.5, None, True]}}}",
    "df.describe()",
    "df.to_dict('records') * 20",
    "np.random.default_rng(0).random((3, 3))",
    "np.arange(2000)",
    "lambda a, b=2: a",
    "ValueError('x', 1)",
    "R, type, Exception, print, len, df.sum",
    "from collections import *\nOrderedDict(a=1), defaultdict(int, b=2), Counter('aab'), deque([1])",
    "import datetime\ndatetime.datetime(2020, 1, 2), datetime.timedelta(1), datetime.date(2020, 1, 2)",
    "import re\nre.compile('a+', re.I), re.match('a', 'a')",
    "import decimal, fractions\ndecimal.Decimal('1.0'), fractions.Fraction(1, 3)",
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\n[P(), P(2)]",
    "_1, _3.shape, Out[1], len(In) > 30",
    "%%capture cap\nprint('inside')\n1",
    "cap.stdout",
    "b'bytes', 'üñí', '\\n', 1e100, float('nan'), -0.0, 10**30, 1j, None, ..., NotImplemented",
    "set('hello'), frozenset([3, 1, 2]), {(1, 2): {3}}, range(5), slice(1, 2)",
    "import types\ntypes.SimpleNamespace(a=1), types.MappingProxyType({'b': 2})",
    "%precision 3\n3.14159265",
    "%precision\n3.14159265",
    "pd.Series([1, 2], name='s'), pd.Timestamp('2020-01-01'), pd.NA, pd.Index([1, 2])",
]

CHANGING = [
    (r"\+-", "±"),
    (r"0x[0-9a-f]+", "0xADDRESS"),
    (r"[0-9.]+(e[+-][0-9]+)? (ns|µs|us|ms|s)\b", "TIME"),
]


def steady(text):
    for pattern, by in CHANGING:
        text = re.sub(pattern, by, text)
    return text


def summary(bundle):
    """What has to be equal of a bundle: all text, and which pictures there are."""
    if bundle is None:
        return None
    return {mime: steady(data) if mime.startswith("text/") else "..." for mime, data in bundle.items()}


class Fidelity(unittest.TestCase):
    maxDiff = 3000

    @classmethod
    def setUpClass(cls):
        with Kernel() as k:
            environment = {name: value for name, value in k.env.items() if name != "CICADA_CONTROL_FD"}
            done = subprocess.run([sys.executable, str(HERE / "reference.py")], input=json.dumps(CELLS),
                                  stdout=subprocess.PIPE, cwd=k.cwd, env=environment, text=True, check=True)
            cls.expected = json.loads(done.stdout)
            cls.runs = [k.run(cell) for cell in CELLS]

    def test_every_cell(self):
        for cell, run, expected in zip(CELLS, self.runs, self.expected):
            with self.subTest(cell):
                self.assertEqual(summary(run.result), summary(expected["result"]))
                self.assertEqual([summary(d) for d in run.displays],
                                 [summary(d) for d in expected["displays"]])
                self.assertEqual(steady(run.stdout), steady(expected["stdout"].replace("\r\n", "\n")))
                error = run.error and [run.error["name"], run.error["message"]]
                self.assertEqual(error, expected["error"])


if __name__ == "__main__":
    unittest.main()
