"""matplotlib: figures come without being asked for, once, with every character drawn."""
import struct
import unittest

from base import KernelTest, cold_only
from client import Kernel

TEXT = "漢字かな한글 😀 ★ ∑ 🚀"


def size_of(png):
    return struct.unpack(">II", png[16:24])


class Figures(KernelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.first = cls.kernel.run("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])")

    def pictures(self, run):
        return [d["image/png"] for d in run.displays if "image/png" in d]

    def test_a_forgotten_show_shows(self):
        self.assertIsNone(self.first.error)
        self.assertEqual(len(self.pictures(self.first)), 1)
        self.assertEqual(self.first.displays[0]["text/plain"], "<Figure size 640x480 with 1 Axes>")
        width, height = size_of(self.pictures(self.first)[0])
        self.assertTrue(500 < width < 640 and 380 < height < 480, (width, height))  # tight
        self.assertEqual(self.first.stderr, "")

    def test_show_shows_at_its_place_and_closes(self):
        run = self.run_ok("plt.plot([1])\nplt.show()\nprint('between')\nplt.plot([2])\nplt.show()")
        self.assertEqual([kind for kind, _ in run.events if kind != "stdout" or _ != b"\n"],
                         ["display", "stdout", "display"])
        self.assertEqual(self.text("plt.get_fignums()"), "[]")

    def test_many_figures_come_in_order(self):
        run = self.run_ok("for i in range(3):\n    plt.figure(figsize=(i + 2, 2))\n    plt.plot([i])")
        self.assertEqual([d["text/plain"].split()[2] for d in run.displays],
                         ["200x200", "300x200", "400x200"])

    def test_a_figure_as_result_is_shown_once(self):
        run = self.run_ok("fig, ax = plt.subplots()\nax.plot([1])\nfig")
        self.assertIn("image/png", run.result)
        self.assertEqual(run.displays, [])
        run = self.run_ok("ax.set_title('later')\nfig")
        self.assertIn("image/png", run.result)

    def test_a_displayed_figure_is_shown_again_only_if_it_changed(self):
        self.assertEqual(len(self.run_ok("fig, ax = plt.subplots()\nax.plot([1])\ndisplay(fig)").displays), 1)
        self.assertEqual(len(self.run_ok("fig, ax = plt.subplots()\nax.plot([1])\ndisplay(fig)\n"
                                         "ax.plot([2])").displays), 2)

    def test_closed_and_empty_figures_are_not_shown(self):
        self.assertEqual(self.run_ok("plt.plot([1])\nplt.close()").displays, [])
        self.assertEqual(self.run_ok("plt.figure();").displays, [])

    def test_savefig_still_works(self):
        run = self.run_ok("plt.plot([1])\nplt.savefig('a.png')\nplt.savefig('a.pdf')\nplt.savefig('a.svg')\n"
                          "import os\nsorted(n for n in os.listdir() if n.startswith('a.'))")
        self.assertEqual(run.text, "['a.pdf', 'a.png', 'a.svg']")

    def test_figures_of_failing_code_come_before_the_error(self):
        run = self.kernel.run("plt.plot([1])\n1/0")
        self.assertEqual([kind for kind, _ in run.events], ["display", "error"])

    def test_a_figure_that_cannot_be_drawn_is_an_error(self):
        error = self.error("plt.title('$\\\\notacommand$')")
        self.assertEqual(error["name"], "ValueError")
        self.assertNotIn("cicada", error["traceback"])
        self.assertEqual(self.text("plt.get_fignums()"), "[]")

    def test_figures_outside_pyplot(self):
        run = self.run_ok("from matplotlib.figure import Figure\nf = Figure()\nf.subplots().plot([1])\nf")
        self.assertIn("image/png", run.result)

    def test_pandas_and_seaborn_plots(self):
        run = self.run_ok("import pandas as pd\npd.Series([1, 3, 2]).plot()")
        self.assertEqual(len(self.pictures(run)), 1)
        run = self.run_ok("import seaborn as sns\nsns.set_theme()\nsns.barplot(x=['苹果', '香蕉'], y=[1, 2])")
        self.assertEqual((len(self.pictures(run)), run.stderr), (1, ""))
        self.run_ok("sns.reset_orig()")

    def test_too_large_figures_are_drawn_smaller(self):
        run = self.run_ok("import numpy as np\nplt.figure(figsize=(25, 25))\n"
                          "plt.imshow(np.random.rand(2400, 2400), interpolation='nearest')", timeout=120)
        self.assertEqual(len(self.pictures(run)), 1)
        self.assertLessEqual(len(self.pictures(run)[0]), 8 << 20)
        self.assertIn("dpi", run.stderr)


class Fonts(unittest.TestCase):
    def test_every_character_is_drawn_without_a_warning(self):
        code = ("import warnings, logging\nwarnings.simplefilter('error')\nimport matplotlib.pyplot as plt\n"
                f"plt.title({TEXT!r})\nplt.xlabel('{TEXT} $x^2$')\nplt.ylabel({TEXT!r}, family='serif')\n"
                f"plt.text(0, 0, {TEXT!r}, family='monospace', weight='bold')\n"
                "plt.rcParams['font.family'] = ['DejaVu Serif']\nplt.figtext(0, 0, '中文')")
        with Kernel() as k:
            run = k.run(code)
            self.assertIsNone(run.error, run.error)
            self.assertEqual((len(run.displays), run.stderr), (1, ""))
            threads = k.run("import threading\nthreading.active_count()")
            self.assertEqual(threads.text, "1")

    @cold_only
    def test_other_families_are_searched_for(self):
        with Kernel() as k:
            code = "import matplotlib.font_manager as fm\nlen(fm.fontManager.ttflist)"
            short = int(k.run(code).text)
            self.assertIsNone(k.run("fm.findfont('cmr10')").error)
            self.assertEqual(int(k.run(code).text), short)
            run = k.run("fm.findfont('No Such Family')")
            self.assertIn("not found", run.stderr)
            self.assertGreater(int(k.run(code).text), short)
            self.assertIn(".afm", k.run("fm.findfont('Helvetica', fontext='afm')").text)


class Backends(unittest.TestCase):
    def test_agg_shows_too(self):
        with Kernel() as k:
            run = k.run("import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
                        "plt.plot([1])\nplt.show()\nprint('after')\nplt.plot([2])")
            kinds = [kind for kind, data in run.events if data != b"\n"]
            self.assertEqual(kinds, ["display", "stdout", "result", "display"])
            self.assertEqual(run.stderr, "")

    def test_inline_magics(self):
        with Kernel() as k:
            k.run("%matplotlib inline\nimport matplotlib.pyplot as plt")
            plain = k.run("plt.plot([1]);").displays[0]["image/png"]
            k.run("%config InlineBackend.figure_format = 'retina'")
            retina = k.run("plt.plot([1]);").displays[0]["image/png"]
            self.assertGreater(size_of(retina)[0], 1.8 * size_of(plain)[0])
            k.run("%config InlineBackend.figure_formats = ['svg']")
            self.assertIn("<svg", k.run("plt.plot([1]);").displays[0]["image/svg+xml"])

    def test_the_inline_backend_of_ipython(self):
        with Kernel() as k:
            run = k.run("import matplotlib\nmatplotlib.use('module://matplotlib_inline.backend_inline')\n"
                        "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()")
            self.assertIsNone(run.error, run.error)
            self.assertEqual(sum("image/png" in d for d in run.displays), 1)

    def test_a_subprocess_can_still_use_matplotlib(self):
        with Kernel() as k:
            run = k.run("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import "
                        "matplotlib.pyplot as p; p.plot([1]); p.savefig(\"b.png\")'], check=True).returncode")
            self.assertEqual(run.text, "0", run.stderr)


if __name__ == "__main__":
    unittest.main()
