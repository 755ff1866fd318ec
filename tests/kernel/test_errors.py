"""Tracebacks: Python's own format, the right line, nothing of ours."""
import os
import signal
import subprocess
import tempfile
import unittest

from base import KernelTest
from client import Died, Kernel


def by_python(code):
    """What python3 prints for the code as a script called script.py."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "script.py"), "w") as file:
            file.write(code)
        env = {**os.environ, "PYTHONHASHSEED": "0"}
        done = subprocess.run(["/usr/bin/python3", "script.py"], cwd=folder, env=env, text=True,
                              stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    return done.stderr.replace(folder + "/", "")


CASES = {
    "plain": "def f(n):\n    return n / 0\n\nx = [f(i) for i in range(3)]\n",
    "from": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n",
    "context": "try:\n    {}['a']\nexcept KeyError:\n    int('x')\n",
    "none": "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('b') from None\n",
    "group": "raise ExceptionGroup('g', [ValueError(1), ExceptionGroup('h', [TypeError('t')])])\n",
    "note": "e = ValueError('v')\ne.add_note('look here')\nraise e\n",
    "recursion": "def r():\n    return r()\nr()\n",
    "mutual": "def a(): return b()\ndef b(): return a()\na()\n",
    "library": "import json\njson.loads('{')\n",
    "import": "import no_such_module_anywhere\n",
    "name": "printt = 1\nprnit\n",
    "attribute": "import math\nmath.sine\n",
    "suggested": "def f():\n    value = 1\n    return valeu\ntry:\n    f()\nexcept NameError as e:\n    ''.uper()\n",
    "unbound": "def f():\n    x += 1\nf()\n",
    "unicode": "ü = 'ä'\nraise ValueError(ü)\n",
    "long": "x = (1 +\n     2 +\n     undefined)\n",
    "syntax": "x = 1\nfor i in range(3)\n    pass\n",
    "syntax2": "print 'x'\n",
    "indent": "if True:\nx = 1\n",
    "tab": "def f():\n\tx = 1\n        y = 2\n",
    "eof": "x = (1,\n",
    "string": "x = 'abc\n",
    "return": "return 5\n",
    "custom": "class Mine(Exception):\n    pass\nraise Mine('m', 2)\n",
    "empty": "raise Exception\n",
    "multiline": "raise ValueError('a\\nb')\n",
    "keyboard": "raise KeyboardInterrupt\n",
    "assert": "assert 1 == 2, 'no'\n",
}


class LikePython(KernelTest):
    def test_tracebacks_equal_those_of_python(self):
        for title, code in CASES.items():
            with self.subTest(title):
                error = self.error(code, name="script.py")
                self.assertEqual(error["traceback"], by_python(code))

    def test_name_message_and_line(self):
        error = self.error("x = 1\ndef f():\n    int('z')\nf()")
        self.assertEqual(error["name"], "ValueError")
        self.assertEqual(error["message"], "invalid literal for int() with base 10: 'z'")
        self.assertEqual(error["line"], 3)
        error = self.error("import json\n\njson.loads('{')")
        self.assertEqual((error["name"], error["line"]), ("JSONDecodeError", 3))
        error = self.error("a = 1\n  b = 2")
        self.assertEqual((error["name"], error["message"], error["line"]),
                         ("IndentationError", "unexpected indent", 2))

    def test_the_line_is_one_of_this_code_not_of_earlier_code(self):
        self.run_ok("\n\n\ndef old():\n    raise ValueError('from before')")
        error = self.error("x = 1\nold()")
        self.assertEqual(error["line"], 2)
        self.assertIn("in old\n    raise ValueError('from before')", error["traceback"])

    def test_cells_are_named_and_their_lines_shown(self):
        error = self.error("1/0")
        self.assertRegex(error["traceback"], r'File "<cell \d+>", line 1, in <module>\n    1/0\n    ~\^~')

    def test_last_error_is_there_for_post_mortems(self):
        self.error("1/0")
        self.assertEqual(self.text("import sys\nsys.last_type"), "ZeroDivisionError")
        self.assertIn("ZeroDivisionError", self.out("import traceback\ntry:\n    1/0\nexcept Exception:\n"
                                                    "    print(traceback.format_exc())"))


class Hostile(KernelTest):
    def test_exceptions_that_cannot_be_described(self):
        error = self.error("class Bad(Exception):\n    def __str__(self): raise RuntimeError\nraise Bad")
        self.assertEqual((error["name"], error["message"]), ("Bad", "<exception str() failed>"))
        self.assertEqual(self.error("class Exits(Exception):\n    def __str__(self): raise SystemExit\n"
                                    "raise Exits")["name"], "Exits")
        self.assertEqual(self.text("1"), "1")

    def test_a_description_that_never_ends_can_be_interrupted(self):
        run = self.kernel.begin("class Slow(Exception):\n    def __str__(self):\n        print('in str')\n"
                                "        while True: pass\nraise Slow")
        self.kernel.wait_for(run, "in str")
        self.kernel.interrupt()
        self.assertEqual(self.kernel.finish(run).error["name"], "Slow")

    def test_cycles_of_causes_end(self):
        code = "a = ValueError('a')\nb = ValueError('b')\na.__cause__ = b\nb.__cause__ = a\nraise a"
        self.assertIn("ValueError: a", self.error(code)["traceback"])

    def test_huge_messages_and_tracebacks_are_cut(self):
        error = self.error("raise ValueError('x' * (50 << 20))")
        self.assertLess(len(error["message"]), 40 << 10)
        self.assertLessEqual(len(error["traceback"]), 256 << 10)
        self.assertTrue(error["traceback"].startswith("Traceback"))

    def test_running_out_of_memory_is_an_error(self):
        error = self.error("x = bytearray(1 << 62)")
        self.assertEqual(error["name"], "MemoryError")

    def test_traceback_survives_modules_of_the_session_with_bad_names(self):
        names = "token", "tokenize", "linecache", "traceback", "re", "json", "random", "types", "inspect"
        with Kernel() as k:
            for name in names:
                with open(f"{k.cwd}/{name}.py", "w") as file:
                    file.write("print('shadow', __name__)\n")
            run = k.run("1/0")
            self.assertEqual((run.error["name"], run.stdout), ("ZeroDivisionError", ""))
            self.assertIn("    1/0\n", run.error["traceback"])
            self.assertEqual(k.run("!echo fine").stdout, "fine\n")
            self.assertIn("text/plain", k.run("print").result)

    def test_a_shadow_that_was_imported_first_does_not_hurt_us_either(self):
        with Kernel() as k:
            for name in "token", "linecache":
                with open(f"{k.cwd}/{name}.py", "w") as file:
                    file.write("mine = True\n")
            self.assertIsNone(k.run("import token, linecache\nassert token.mine and linecache.mine").error)
            self.assertIn("    1/0\n", k.run("1/0").error["traceback"])
            self.assertEqual(k.run("import linecache\nlinecache.mine").text, "True")


class Threads(KernelTest):
    def test_exceptions_in_threads_are_printed_and_do_not_end_the_run(self):
        code = ("import threading\ndef work():\n    raise ValueError('in a thread')\n"
                "t = threading.Thread(target=work)\nt.start()\nt.join()\n'fine'")
        run = self.run_ok(code)
        self.assertEqual(run.text, "'fine'")
        self.assertIn("Exception in thread", run.stderr)
        self.assertIn("ValueError: in a thread", run.stderr)


class Deaths(unittest.TestCase):
    def died(self, code):
        k = Kernel()
        with self.assertRaises(Died) as caught:
            k.run(code)
        k.close()
        return caught.exception

    def test_os_exit(self):
        died = self.died("import os\nprint('last words')\nos._exit(7)")
        self.assertEqual(os.waitstatus_to_exitcode(died.status), 7)
        self.assertEqual(died.run.stdout, "last words\n")

    def test_a_segfault_says_where(self):
        died = self.died("import ctypes\n\ndef f():\n    ctypes.string_at(0)\nf()")
        self.assertEqual(os.waitstatus_to_exitcode(died.status), -signal.SIGSEGV)
        self.assertIn("Fatal Python error: Segmentation fault", died.run.stderr)
        self.assertIn('File "<cell 1>", line 4 in f', died.run.stderr)
        self.assertNotIn("cicada", died.run.stderr)

    def test_abort_and_kill(self):
        self.assertEqual(os.waitstatus_to_exitcode(self.died("import os\nos.abort()").status), -6)
        died = self.died("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(os.waitstatus_to_exitcode(died.status), -9)


if __name__ == "__main__":
    unittest.main()
