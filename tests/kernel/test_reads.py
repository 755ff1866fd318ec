"""Which files a run has read: what the kernel tells before DONE."""
import importlib.util
import os
import unittest

from base import KernelTest


def has(module):
    return importlib.util.find_spec(module) is not None


class Reads(KernelTest):
    def setUp(self):
        self.run_ok(
            "import os, shutil\n"
            "for name in os.listdir('.'):\n"
            "    shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.remove(name)\n"
            "os.mkdir('sub')\n"
            "for name in ('raw.csv', 'other.csv', 'sub/deep.csv'):\n"
            "    with open(name, 'w') as f: f.write('a,b\\n1,2\\n')\n"
        )

    def reads(self, code, **options):
        run = self.run_ok(code, **options)
        return sorted(run.reads)

    def check(self, code, expected, guesses=(), is_partial=False, **options):
        run = self.run_ok(code, **options)
        self.assertEqual(sorted(run.reads), sorted(expected))
        self.assertEqual(sorted(run.guesses), sorted(guesses))
        self.assertEqual(run.is_partial, is_partial)

    def test_nothing_read_nothing_told(self):
        self.check("1 + 1", [])
        self.check("open('/etc/hostname').read() if __import__('os').path.exists('/etc/hostname') else 0", [])

    def test_every_way_of_opening(self):
        for code in (
            "open('raw.csv').read()",
            "open(b'raw.csv').read()",
            "open('./sub/../raw.csv', 'rb').close()",
            "import pathlib; pathlib.Path('raw.csv').read_text()",
            "import os; os.close(os.open('raw.csv', os.O_RDONLY))",
            "import os; os.close(os.open(pathlib.Path('raw.csv'), os.O_RDONLY))",
            "import os; f = os.open('.', os.O_RDONLY); os.close(os.open('raw.csv', os.O_RDONLY, dir_fd=f)); os.close(f)",
            "import os; open(os.path.abspath('raw.csv')).close()",
            "import os; os.chdir('sub'); f = open('../raw.csv').close(); os.chdir('..')",
            "import mmap\nwith open('raw.csv') as f: mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ).close()",
            "import pandas as pd; pd.read_csv('raw.csv')",
            "import numpy as np; np.genfromtxt('raw.csv', delimiter=',')",
            "import sqlite3; sqlite3.connect('raw.csv').close()",
            "%run raw.csv" if False else "exec(open('raw.csv').read().replace('a,b', ''))",
        ):
            with self.subTest(code=code):
                self.assertEqual(self.reads(code), ["raw.csv"])

    def test_libraries_that_open_files_in_c(self):
        if has("lxml"):
            self.run_ok("open('x.xml', 'w').write('<a/>')")
            self.check("import lxml.etree; lxml.etree.parse('x.xml')", ["x.xml"])
        if has("h5py"):
            self.run_ok("import h5py\nwith h5py.File('x.h5', 'w') as f: f['a'] = [1, 2]")
            self.check("with h5py.File('x.h5', 'r') as f: f['a'][:]", ["x.h5"])
        # The loader of the dynamic linker is libc's own affair; a library that is asked by ctypes is not.
        self.check(
            "import ctypes; c = ctypes.CDLL(None); c.fopen.restype = ctypes.c_void_p\n"
            "_ = c.fclose(ctypes.c_void_p(c.fopen(b'raw.csv', b'r')))", ["raw.csv"])

    def test_modules_of_the_session_are_read_too(self):
        self.run_ok("open('helper_of_reads.py', 'w').write('x = 1')")
        self.check("import helper_of_reads", ["helper_of_reads.py"])

    def test_what_is_written_first_is_not_read(self):
        self.check("open('new.csv', 'w').write('1'); open('new.csv').read()", [])
        self.check("open('raw.csv', 'w').write('1'); open('raw.csv').read()", [])
        self.check("open('other.csv').read(); open('other.csv', 'w').write('1')", ["other.csv"])
        self.check("open('sub/deep.csv', 'a').write('1')", ["sub/deep.csv"])
        self.check("import os; os.rename('other.csv', 'third.csv'); open('third.csv').read()", ["other.csv"])

    def test_threads_are_seen(self):
        code = (
            "import threading\n"
            "ts = [threading.Thread(target=lambda i=i: [open('raw.csv').close() for _ in range(200)]"
            " + [open('sub/deep.csv').close()]) for i in range(8)]\n"
            "[t.start() for t in ts]; [t.join() for t in ts]; None"
        )
        self.check(code, ["raw.csv", "sub/deep.csv"])

    def test_children_are_guessed(self):
        for code in (
            "import subprocess; subprocess.run(['cat', 'raw.csv'], capture_output=True)",
            "import subprocess; subprocess.run('cat raw.csv > out.txt', shell=True)",
            "import os; os.system('sort raw.csv > /dev/null')",
            "!wc raw.csv",
            "import subprocess; subprocess.run(['cat', '../raw.csv'], cwd='sub', capture_output=True)",
            "import os; os.waitpid(os.posix_spawn('/bin/cat', ['cat', '--', 'raw.csv'], os.environ), 0)",
        ):
            with self.subTest(code=code):
                self.check(code, [], guesses=["raw.csv"], is_partial=True)

    def test_a_fork_makes_it_partial(self):
        self.check("import os\npid = os.fork()\nif not pid: open('raw.csv'); os._exit(0)\n_ = os.waitpid(pid, 0)",
                   [], is_partial=True)
        self.check("import ctypes; _ = ctypes.CDLL(None).system(b'true')", [], is_partial=True)

    def test_other_languages_are_guessed(self):
        self.check("cat raw.csv | sort > sorted.csv", [], guesses=["raw.csv"], is_partial=True, language="bash")
        if os.path.exists("/usr/bin/node"):
            self.check("require('fs').readFileSync('sub/deep.csv')", [], guesses=["sub/deep.csv"], is_partial=True,
                       language="javascript")

    def test_a_run_that_fails_tells_too(self):
        run = self.kernel.run("open('raw.csv').read(); 1/0")
        self.assertEqual(run.error["name"], "ZeroDivisionError")
        self.assertEqual(run.reads, ["raw.csv"])

    def test_it_is_bounded(self):
        self.run_ok("for i in range(1200): open(f'sub/{i}', 'w').close()")
        run = self.run_ok("for i in range(1000): open(f'sub/{i}').close()")
        self.assertEqual((len(run.reads), run.is_partial), (1000, False))
        run = self.run_ok("for i in range(1001): open(f'sub/{i}').close()")
        self.assertEqual((len(run.reads), run.is_partial), (1000, True))

    def test_hostile_arguments_do_no_harm(self):
        for code in (
            "import sys; sys.audit('subprocess.Popen')",
            "import sys; sys.audit('subprocess.Popen', 1, 2, 3)",
            "import sys; sys.audit('subprocess.Popen', None, ['\\udcff', b'\\0', object()], '\\0', None)",
            "import sys; sys.audit('os.system', '\\ud800')",
            "import sys\nclass L(list):\n    def __iter__(self): raise ValueError\n    def __len__(self): raise ValueError\n"
            "sys.audit('os.exec', L(), L(), {})",
            "import os\ntry: open('x' * 5000)\nexcept OSError: pass",
            "import os\ntry: open('raw.csv\\0x')\nexcept ValueError: pass",
        ):
            with self.subTest(code=code):
                self.run_ok(code)
        self.check("open('raw.csv').close()", ["raw.csv"])

    def test_errno_is_left_alone(self):
        self.assertEqual(self.error("open('/mnt/data/no such file')")["name"], "FileNotFoundError")
        self.assertEqual(self.error("open('sub')")["name"], "IsADirectoryError")

    def test_it_costs_next_to_nothing(self):
        text = self.out(
            "import os, sys, timeit\n"
            "path = os.path.abspath('raw.csv')\n"
            "def opened(name):\n"
            "    def once(): os.close(os.open(name, os.O_RDONLY))\n"
            "    return min(timeit.repeat(once, number=2000, repeat=5)) / 2000\n"
            "inside, outside = opened(path), opened('/dev/null')\n"
            "event = min(timeit.repeat(lambda: id(1), number=20000, repeat=5)) / 20000\n"
            "print(inside - outside, event)")
        inside, event = map(float, text.split())
        self.assertLess(event, 2e-6)
        self.assertLess(inside, 20e-6)  # file systems differ; the note itself is a fraction of a microsecond


if __name__ == "__main__":
    unittest.main()
