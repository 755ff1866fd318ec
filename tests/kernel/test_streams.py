"""stdout and stderr: order, bytes, closing, replacing."""
import unittest

from base import KernelTest
from client import Died, Kernel


def words(run):
    """(stream, text) in the order they came, neighbours of one stream joined."""
    joined = []
    for kind, data in run.events:
        content = data.decode() if kind in ("stdout", "stderr") else ""
        if joined and joined[-1][0] == kind and content:
            joined[-1][1] += content
        else:
            joined.append([kind, content])
    return [tuple(pair) for pair in joined]


class Order(KernelTest):
    def test_the_order_across_streams_is_exact(self):
        code = "import sys\nfor i in range(50):\n    print(i)\n    print(-i, file=sys.stderr)"
        expected = []
        for i in range(50):
            expected += [("stdout", f"{i}\n"), ("stderr", f"{-i}\n")]
        self.assertEqual(words(self.run_ok(code)), expected)

    def test_one_stream_alone_needs_no_synchronisation(self):
        self.assertEqual(self.run_ok("for i in range(1000): print(i)").syncs, 0)

    def test_displays_results_and_text_are_in_order(self):
        run = self.run_ok("print(1)\ndisplay(2)\nprint(3)\ndisplay(4)\n5")
        self.assertEqual([kind for kind, _ in words(run)],
                         ["stdout", "display", "stdout", "display", "result"])

    def test_output_of_children_is_in_order(self):
        code = ("import subprocess, sys\nprint('a')\nsubprocess.run(['sh', '-c', 'echo b; echo c >&2'])\n"
                "print('d')\nprint('e', file=sys.stderr)")
        run = self.run_ok(code)
        self.assertEqual((run.stdout, run.stderr), ("a\nb\nd\n", "c\ne\n"))

    def test_what_c_libraries_print_comes_too(self):
        code = "import ctypes\nlibc = ctypes.CDLL(None)\nprint('p')\nlibc.printf(b'from c\\n')\nprint('q')"
        self.assertEqual(self.out(code), "p\nfrom c\nq\n")
        self.assertEqual(self.out("_ = libc.printf(b'no newline')"), "no newline")

    def test_output_comes_while_the_code_runs(self):
        run = self.kernel.begin("import time\nprint('now', end='')\ntime.sleep(30)")
        self.kernel.wait_for(run, "now")
        self.kernel.interrupt()
        self.kernel.finish(run)
        self.assertEqual(run.error["name"], "KeyboardInterrupt")

    def test_large_output_arrives_whole(self):
        run = self.run_ok("print('x' * (5 << 20))\nimport sys\nsys.stderr.write('y' * (1 << 20)) and None")
        self.assertEqual(len(run.stdout), (5 << 20) + 1)
        self.assertEqual(len(run.stderr), 1 << 20)


class Bytes(KernelTest):
    def test_binary_output_passes_unchanged(self):
        data = bytes(range(256))
        run = self.run_ok("import sys\nsys.stdout.buffer.write(bytes(range(256))) and None")
        self.assertEqual(run.out_bytes, data)
        self.assertEqual(self.text("sys.stdout.buffer.write(b'abc')"), "3")
        self.assertEqual(self.run_ok("import os\nos.write(1, b'\\x00\\xff') and None").out_bytes, b"\0\xff")

    def test_smuggled_bytes_come_out_raw_and_lone_surrogates_escaped(self):
        run = self.run_ok("print('a\\udcffb\\ud800c')")
        self.assertEqual(run.out_bytes, b"a\xffb\\ud800c\n")
        self.assertEqual(self.text("'\\ud800'"), "'\\ud800'")

    def test_streams_look_as_they_should(self):
        code = ("import sys\n(sys.stdout.isatty(), sys.stdout.fileno(), sys.stderr.fileno(), "
                "sys.stdout.encoding, sys.stdout.name, sys.stdout.writable(), sys.__stdout__ is sys.stdout)")
        self.assertEqual(self.text(code), "(False, 1, 2, 'utf-8', '<stdout>', True, True)")


class Damage(unittest.TestCase):
    def test_closed_streams_are_back_in_the_next_run(self):
        with Kernel() as k:
            k.run("import sys\nsys.stdout.close()\nsys.stderr.close()\nsys.stdin.close()")
            run = k.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdin.read()")
            self.assertEqual((run.stdout, run.stderr, run.text), ("out\n", "err\n", "''"))
            self.assertIsNone(k.run("sys.stdout.detach()").error)
            self.assertEqual(k.run("print('again')").stdout, "again\n")
            k.run("sys.stdout = None\ndel sys.stderr")
            self.assertEqual(k.run("print('and again')").stdout, "and again\n")

    def test_replaced_streams_are_left_and_flushed(self):
        with Kernel() as k:
            k.run("import io, sys\nsys.stdout = io.TextIOWrapper(open(1, 'wb', closefd=False))")
            self.assertEqual(k.run("print('buffered by the code')").stdout, "buffered by the code\n")
            k.run("sys.stdout = io.StringIO()")
            self.assertEqual(k.run("print('kept')").stdout, "")
            self.assertEqual(k.run("sys.stdout.getvalue()").text, "'kept\\n'")

    def test_closed_descriptors_are_an_error_of_the_code_and_no_hang(self):
        with Kernel() as k:
            run = k.run("import os\nos.close(1)\nprint('gone')")
            self.assertEqual(run.error["name"], "OSError")
            self.assertEqual(k.run("1+1").text, "2")
            k.run("os.close(2)")
            self.assertEqual(k.run("1+1").text, "2")

    def test_losing_the_control_socket_ends_the_process(self):
        k = Kernel()
        with self.assertRaises(Died):
            k.run("import os\nos.close(600)\nprint('still here')\n1+1")
        k.close()

    def test_nonblocking_stdout_loses_nothing(self):
        with Kernel() as k:
            run = k.run("import os\nos.set_blocking(1, False)\nprint('z' * (3 << 20))")
            self.assertIsNone(run.error)
            self.assertEqual(len(run.stdout), (3 << 20) + 1)


class Warnings(KernelTest):
    def test_warnings_name_the_line_of_the_code(self):
        run = self.run_ok("import warnings\n\nwarnings.warn('careful')", name="w.py")
        self.assertEqual(run.stderr, "w.py:3: UserWarning: careful\n  warnings.warn('careful')\n")
        run = self.run_ok("import warnings\n\nwarnings.warn('careful')", name="w.py")
        self.assertIn("careful", run.stderr)  # each run warns anew

    def test_syntax_warnings_come_once(self):
        self.assertEqual(self.run_ok("1 is 1").stderr.count("SyntaxWarning"), 1)


if __name__ == "__main__":
    unittest.main()
