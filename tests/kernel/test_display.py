"""Rich results and display()."""
import json
import unittest

from base import KernelTest

CLASS = "class R:\n    def __repr__(self): return 'plain'\n"


class Bundles(KernelTest):
    def test_each_representation_is_asked_for(self):
        methods = {
            "html": ("text/html", "'<b>h</b>'"), "markdown": ("text/markdown", "'*m*'"),
            "svg": ("image/svg+xml", "'<svg/>'"), "latex": ("text/latex", "'$x$'"),
            "javascript": ("application/javascript", "'1'"), "json": ("application/json", "{'a': [1]}"),
            "png": ("image/png", "b'\\x89PNG'"), "jpeg": ("image/jpeg", "b'\\xff\\xd8'"),
            "pdf": ("application/pdf", "b'%PDF'"),
        }
        code = CLASS + "".join(f"    def _repr_{n}_(self): return {v}\n" for n, (_, v) in methods.items())
        bundle = self.run_ok(code + "R()").result
        self.assertEqual(set(bundle), {"text/plain", *(mime for mime, _ in methods.values())})
        self.assertEqual(bundle["image/png"], b"\x89PNG")
        self.assertEqual(json.loads(bundle["application/json"]), {"a": [1]})
        self.assertEqual(bundle["text/plain"], "plain")

    def test_mimebundle_comes_first_and_metadata_is_dropped(self):
        code = CLASS + ("    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                        "        return {'text/html': 'from bundle', 'x/y': 'z'}, {'text/html': {}}\n"
                        "    def _repr_html_(self): return 'other', {'meta': 1}\nR()")
        self.assertEqual(self.run_ok(code).result,
                         {"text/html": "from bundle", "x/y": "z", "text/plain": "plain"})

    def test_ipython_display_takes_over(self):
        run = self.run_ok(CLASS + "    def _ipython_display_(self): print('myself')\nR()")
        self.assertEqual((run.stdout, run.result), ("myself\n", None))

    def test_representations_that_fail_are_contained(self):
        run = self.run_ok("class B:\n    def __repr__(self): raise ValueError('no text')\n"
                          "    def _repr_html_(self): raise KeyError('no html')\n"
                          "    def _repr_latex_(self): return 5\n"
                          "    def _repr_png_(self): raise NotImplementedError\nB()")
        self.assertIn("its repr failed with ValueError: no text", run.text)
        self.assertIn("text/latex left out", run.text)
        self.assertEqual(set(run.result), {"text/plain"})
        self.assertIn("KeyError: 'no html'", run.stderr)
        self.assertNotIn("cicada", run.stderr)

    def test_wrong_types_of_repr(self):
        self.assertIn("returned non-string", self.text("class W:\n    def __repr__(self): return 5\nW()"))

    def test_objects_that_claim_everything_show_as_text(self):
        self.assertEqual(set(self.run_ok("from unittest.mock import MagicMock\nMagicMock()").result),
                         {"text/plain"})
        self.assertEqual(set(self.run_ok(CLASS + "    def _repr_html_(self): return 'x'\nR").result),
                         {"text/plain"})

    def test_too_large_representations_are_left_out_with_a_note(self):
        run = self.run_ok(CLASS + "    def _repr_html_(self): return 'x' * (9 << 20)\nR()")
        self.assertEqual(set(run.result), {"text/plain"})
        self.assertIn("text/html of 9.0 MiB left out", run.text)
        run = self.run_ok(CLASS + "".join(f"    def _repr_{n}_(self): return 'x' * (7 << 20)\n"
                                          for n in ("html", "latex", "svg", "markdown")) + "R()")
        self.assertEqual(len(run.result), 4)
        self.assertLess(sum(map(len, run.result.values())), 24 << 20)

    def test_exactly_the_limit_fits(self):
        run = self.run_ok(CLASS + "    def _repr_html_(self): return 'x' * (8 << 20)\nR()")
        self.assertEqual(len(run.result["text/html"]), 8 << 20)

    def test_a_repr_can_be_interrupted(self):
        run = self.kernel.begin("class Slow:\n    def __repr__(self):\n        print('in repr')\n"
                                "        while True: pass\nSlow()")
        self.kernel.wait_for(run, "in repr")
        self.kernel.interrupt()
        self.assertEqual(self.kernel.finish(run).error["name"], "KeyboardInterrupt")


class Libraries(KernelTest):
    def test_data_frames_are_tables(self):
        run = self.run_ok("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\ndf")
        self.assertEqual(run.text, "   a  b\n0  1  x\n1  2  y")
        self.assertIn("<table", run.result["text/html"])
        if not self.kernel.image:
            self.assertEqual(self.text("'IPython' in __import__('sys').modules"), "False")

    def test_wide_frames_keep_their_columns(self):
        code = "pd.DataFrame([[1000000] * 18], columns=[f'column_{i}' for i in range(18)])"
        self.assertIn("column_9", self.text("import pandas as pd\n" + code))
        self.assertNotIn("...", self.text(code))

    def test_series_and_arrays(self):
        self.assertEqual(self.text("import numpy as np\nnp.arange(3)"), "array([0, 1, 2])")
        self.assertEqual(self.text("np.float64(0.5), np.int64(2)"), "(0.5, 2)")
        self.assertIn("dtype: int64", self.text("import pandas as pd\npd.Series([1])"))

    def test_sympy_gives_latex(self):
        run = self.run_ok("import sympy\nsympy.sqrt(sympy.Symbol('x')) / 2")
        self.assertEqual(run.result["text/latex"], "$\\displaystyle \\frac{\\sqrt{x}}{2}$")
        self.assertEqual(run.text, "sqrt(x)/2")

    def test_images(self):
        bundle = self.run_ok("from PIL import Image\nImage.new('RGB', (8, 8), 'red')").result
        self.assertTrue(bundle["image/png"].startswith(b"\x89PNG"))


class Display(KernelTest):
    def test_display_shows_many_objects(self):
        run = self.run_ok("display(1, 'two', [3])")
        self.assertEqual([d["text/plain"] for d in run.displays], ["1", "'two'", "[3]"])

    def test_ids_and_updates(self):
        run = self.run_ok("h = display('a', display_id='here')\nh.update('b')\nh.display_id")
        _, first, update = run.events[0][1]
        self.assertEqual((first, update), (b"here", None))
        bundle, again, update = run.events[1][1]
        self.assertEqual((bundle["text/plain"], again, update), ("'b'", b"here", b"\1"))
        self.assertEqual(run.text, "'here'")
        self.assertIsNotNone(self.run_ok("display(display_id=True)").events[0][1][1])

    def test_objects_and_functions_of_ipython_display(self):
        run = self.run_ok("from IPython.display import *\ndisplay(HTML('<b>x</b>'), Markdown('*m*'))\n"
                          "display(JSON({'k': 1}), SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))\n"
                          "display(Latex('$x$'), Javascript('1'))\nclear_output(wait=True)\n"
                          "display({'text/plain': 'raw'}, raw=True)\n"
                          "h = display(1, display_id=True)\nh.update(2)\nupdate_display(3, display_id=h.display_id)")
        mimes = [set(d) - {"text/plain"} for d in run.displays]
        self.assertEqual(mimes[:6], [{"text/html"}, {"text/markdown"}, {"application/json"},
                                     {"image/svg+xml"}, {"text/latex"}, {"application/javascript"}])
        self.assertIn(("clear", b"\1"), run.events)
        self.assertEqual(run.displays[6], {"text/plain": "raw"})
        self.assertEqual([d["text/plain"] for d in run.displays[7:]], ["1", "2", "3"])

    def test_image_objects_become_bytes(self):
        code = ("import base64, io\nfrom PIL import Image as I\nb = io.BytesIO()\n"
                "I.new('RGB', (2, 2)).save(b, 'png')\nfrom IPython.display import Image\n"
                "Image(data=b.getvalue())")
        self.assertTrue(self.run_ok(code).result["image/png"].startswith(b"\x89PNG"))

    def test_display_from_a_thread_and_a_child(self):
        run = self.run_ok("import threading\nt = threading.Thread(target=display, args=('t',))\n"
                          "t.start(); t.join()")
        self.assertEqual(run.displays[0]["text/plain"], "'t'")
        run = self.run_ok("import os\nif os.fork() == 0:\n    display('child')\n    os._exit(0)\nos.wait()[1]")
        self.assertEqual((run.stdout, run.text, run.displays), ("'child'\n", "0", []))


if __name__ == "__main__":
    unittest.main()
