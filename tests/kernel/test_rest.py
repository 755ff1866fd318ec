"""What a kernel does beside running code, as far as it needs no image: ENTER, RESEED, WARM, SAVE, RESTORE,
and why it would not sleep."""
import os
import pathlib
import struct
import sys
import unittest

import client
from base import KernelTest, cold_only
from client import Kernel, Run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "rest"))
import zoo  # noqa: E402


@cold_only
class Cold(KernelTest):
    def test_without_an_image_it_neither_sleeps_nor_splits(self):
        run, delta = self.kernel.sleep()
        self.assertIn("not started from an image", run.reasons[0])
        self.assertEqual(delta, b"")
        run, copy = self.kernel.copy()
        self.assertIn("not started from an image", run.reasons[0])
        self.assertIsNone(copy)
        self.assertEqual(self.text("1+1"), "2")

    def test_nothing_to_write_to(self):
        for kind in client.SLEEP, client.COPY:
            self.kernel.send(kind)
            self.assertIn("there is no", self.kernel.finish(Run()).reasons[0])
        self.kernel.send(client.SAVE)
        self.assertTrue(self.kernel.finish(Run()).lost)

    def test_descriptors_do_not_pile_up(self):
        read, write = os.pipe()
        self.kernel.send(client.RUN, [(client.CODE, b"1")], write)
        self.kernel.finish(Run())
        self.kernel.send(client.SLEEP, [(client.STAYS, struct.pack("<I", 0))], write)
        self.kernel.finish(Run())
        self.kernel.send(client.SAVE, fd=write)
        self.kernel.finish(Run())
        os.close(write)
        os.set_blocking(read, False)
        while os.read(read, 1 << 16):  # raises, rather than ends, while somebody has the other end
            pass
        os.close(read)


class Reasons(KernelTest):
    def test_each_is_named_and_goes_away(self):
        self.run_ok("import _cicada_rest\ndef reasons(): return _cicada_rest.settle(('sleep', -1))")
        self.assertEqual(self.text("reasons()"), "[]")
        for name, setup, words, undo in zoo.REFUSED:
            with self.subTest(name):
                self.run_ok(setup)
                found = self.out("print(*reasons(), sep='\\n')")
                self.assertIn(words, found)
                self.run_ok(undo)
                self.assertEqual(self.text("reasons()"), "[]")

    def test_many_are_cut(self):
        self.run_ok("import _cicada_rest, os\npipes = [os.pipe() for _ in range(50)]")
        self.assertEqual(self.text("len(_cicada_rest.settle(('sleep', -1)))"), "21")
        self.run_ok("for pair in pipes:\n    for fd in pair: os.close(fd)")

    def test_a_copy_is_less_particular_about_files(self):
        self.run_ok("import _cicada_rest, tempfile\nf = tempfile.TemporaryFile()\nimport _cicada_carry\n"
                    "f.truncate(_cicada_carry.BYTES_MAX + 1)")
        self.assertIn("too large", self.text("_cicada_rest.settle(('sleep', -1))"))
        self.assertEqual(self.text("_cicada_rest.settle(('copy', -1))"), "[]")
        self.run_ok("f.close()")


class Carried(KernelTest):
    """What lies in /tmp, with another directory in its place."""

    def setUp(self):
        self.run_ok("import _cicada_carry as carry, os, shutil\nos.makedirs('tmp', exist_ok=True)\n"
                    "carry.PLACES = (os.path.abspath('tmp'),)\ncarry.is_ours = lambda place: True\n"
                    "def packed(): return carry.pack(carry.Budget())")

    def tearDown(self):
        self.run_ok("!chmod -R u+w tmp; rm -r tmp")

    def test_everything_comes_back_as_it_was(self):
        self.run_ok("""
os.makedirs('tmp/a/b'); open('tmp/a/b/file', 'wb').write(bytes(range(256)) * 1000)
os.symlink('b/file', 'tmp/a/link'); os.symlink('nowhere', 'tmp/dangling'); os.chmod('tmp/a/b/file', 0o400)
os.utime('tmp/a/b/file', (1, 2)); os.chmod('tmp/a/b', 0o500)
open('tmp/empty', 'w').close()
def described():
    return sorted((p, os.lstat(p).st_mode, os.lstat(p).st_mtime_ns, os.path.islink(p) and os.readlink(p),
                   os.path.isfile(p) and open(p, 'rb').read()) for d, ds, fs in os.walk('tmp') for n in ds + fs
                  for p in [os.path.join(d, n)])
before = described(); what, why = packed()
""")
        self.assertEqual(self.text("why, len(what)"), "([], 6)")
        self.run_ok("!chmod -R u+w tmp; rm -r tmp; mkdir tmp\nlost = []\ncarry.unpack(what, lost)")
        self.assertEqual(self.text("lost, described() == before"), "([], True)")

    def test_too_much_is_a_reason(self):
        self.run_ok("carry.BYTES_MAX = 1000\nopen('tmp/a', 'wb').write(bytes(1000))")
        self.assertEqual(self.text("len(packed()[0]), packed()[1]"), "(1, [])")
        self.run_ok("open('tmp/b', 'wb').write(b'1')")
        self.assertIn("holds more than can be carried", self.text("packed()[1]"))
        self.run_ok("carry.BYTES_MAX = 1 << 30; carry.FILES_MAX = 10\nfor i in range(11): open(f'tmp/{i}', 'w')")
        self.assertIn("holds more than can be carried", self.text("packed()[1]"))

    def test_a_deep_tree_is_only_a_tree(self):
        self.run_ok("top = os.getcwd(); os.chdir('tmp')\nfor _ in range(300): os.mkdir('d'); os.chdir('d')\n"
                    "os.chdir(top); carry.FILES_MAX = 2000")
        self.assertEqual(self.text("len(packed()[0])"), "300")

    def test_what_cannot_be_put_back_is_named(self):
        self.run_ok("lost = []\ncarry.unpack([('/proc/nowhere/x', 0o100600, 0, b'x')], lost)")
        self.assertEqual(self.text("lost"), "['/proc/nowhere/x: No such file or directory']")


class Warm(unittest.TestCase):
    def test_it_leaves_no_trace(self):
        look = ("[sorted(globals()), sorted(vars(sys)), sorted(vars(builtins)), In[:], dict(Out), sys.path[:], _dh[:],"
                " dict(os.environ), os.listdir('/proc/self/fd'), os.listdir('/proc/self/task')]")
        with Kernel() as k:
            k.run(f"import sys, os, builtins\nbefore = {look}\nnow = None")
            self.assertTrue(k.warm().is_done)
            self.assertEqual(k.warm().events, [])
            k.run(f"now = {look}")
            # The second cell itself, and nothing else.
            self.assertEqual(k.run("now[0].remove('_i2'); now[0].remove('before'); now[0].remove('now'); now[3].pop()\n"
                                   "[i for i, (a, b) in enumerate(zip(before, now)) if a != b]").text, "[]")
            self.assertEqual(k.run("len(In)").text, "5")
            self.assertIn("NameError", k.run("df").error["traceback"])

    def test_warnings_come_as_if_for_the_first_time(self):
        with Kernel() as k:
            k.warm()
            self.assertIn("RuntimeWarning", k.run("import numpy as np\nnp.log(np.zeros(1))").stderr)


class Enter(unittest.TestCase):
    def test_what_differs_is_set(self):
        with Kernel(env={"SAME": "1"}) as k:
            k.enter(["SAME=1", "OTHER=a=b", "EMPTY="])
            self.assertEqual(k.run("import os\n[os.environ[n] for n in ('SAME', 'OTHER', 'EMPTY')]").text,
                             "['1', 'a=b', '']")
            self.assertEqual(k.run("!echo $OTHER").stdout, "a=b\n")

    def test_libraries_that_are_loaded_hear_of_it(self):
        with Kernel(env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}) as k:
            k.run("import numpy as np, sklearn.cluster, os, threadpoolctl\n"
                  "def counts(): return sorted((i['internal_api'], i['num_threads']) for i in threadpoolctl.threadpool_info())")
            self.assertEqual(k.run("counts()").text, "[('openblas', 1), ('openmp', 1)]")
            k.enter(["OPENBLAS_NUM_THREADS=2", "OMP_NUM_THREADS=2"])
            self.assertEqual(k.run("len(os.listdir('/proc/self/task'))").text, "1")
            self.assertEqual(k.run("counts()").text, "[('openblas', 2), ('openmp', 2)]")
            self.assertEqual(k.run("a = np.ones((500, 500)); (a @ a).sum()").text, "125000000.0")


class Reseed(unittest.TestCase):
    def test_nothing_that_is_random_goes_on_as_before(self):
        code = """
import random, numpy as np, sympy.core.random, tempfile, multiprocessing, uuid, ssl, sqlite3
class Own(random.Random): pass
made = [random.Random(1), Own(2), np.random.default_rng(3), np.random.RandomState(4),
        np.random.Generator(np.random.Philox(5)), np.random.Generator(np.random.SFC64(6)), np.random.MT19937(7)]
random.seed(1); np.random.seed(1); sympy.core.random.rng.seed(1)
def numbers():
    return [random.random(), np.random.rand(), sympy.core.random.rng.random(), made[0].random(), made[1].random(),
            made[2].random(), made[3].rand(), made[4].random(), made[5].random(), int(made[6].random_raw()),
            random.gauss(0, 1), made[3].normal()]
kept = ([random.getstate(), np.random.get_state(), sympy.core.random.rng.getstate(), made[0].getstate(),
         made[1].getstate(), made[2].bit_generator.state, made[3].get_state(), made[4].bit_generator.state,
         made[5].bit_generator.state, made[6].state])
key = bytes(multiprocessing.current_process().authkey)
"""
        with Kernel() as k:
            self.assertIsNone(k.run(code).error)
            first = k.run("numbers()").text
            k.run("random.setstate(kept[0]); np.random.set_state(kept[1]); sympy.core.random.rng.setstate(kept[2])\n"
                  "made[0].setstate(kept[3]); made[1].setstate(kept[4]); made[2].bit_generator.state = kept[5]\n"
                  "made[3].set_state(kept[6]); made[4].bit_generator.state = kept[7]\n"
                  "made[5].bit_generator.state = kept[8]; made[6].state = kept[9]")
            self.assertEqual(k.run("again = numbers(); again").text, first)
            k.run("random.setstate(kept[0]); np.random.set_state(kept[1]); sympy.core.random.rng.setstate(kept[2])\n"
                  "made[0].setstate(kept[3]); made[1].setstate(kept[4]); made[2].bit_generator.state = kept[5]\n"
                  "made[3].set_state(kept[6]); made[4].bit_generator.state = kept[7]\n"
                  "made[5].bit_generator.state = kept[8]; made[6].state = kept[9]")
            k.reseed()
            self.assertEqual(k.run("[i for i, (a, b) in enumerate(zip(numbers(), again)) if a == b]").text, "[]")
            self.assertEqual(k.run("bytes(multiprocessing.current_process().authkey) == key").text, "False")
            self.assertIsNone(k.run("random.seed(1); assert random.random() == 0.13436424411240122").error)


class Variables(unittest.TestCase):
    def carried_over(self, code):
        """(what SAVE said, what RESTORE said, a kernel with the variables)"""
        with Kernel() as k:
            run = k.run(code)
            self.assertIsNone(run.error, run.error)
            saved, data = k.save()
            self.assertEqual(k.run("1+1").text, "2")
        other = Kernel()
        self.addCleanup(other.close)
        return saved, other.restore(data), other

    def test_what_pickles_comes_back_and_the_rest_is_named(self):
        saved, restored, k = self.carried_over("""
import numpy as np, os.path, threading
from math import sqrt
a = [1, 2]; b = {'a': a}; _own = 5
def f(n): return n * factor + len(a)
factor = 10
class P:
    def __init__(self, x): self.x = x
    def g(self): return f(self.x)
class Q(P): pass
p = P(3); q = [p, Q(4)]; array = np.arange(5)
table = __import__('pandas').DataFrame({'a': [1]})
gen = (i for i in range(3)); lock = threading.Lock(); handle = open('x', 'w')
uses_lock = lambda: lock
""")
        names = "P Q _own a array b f factor np os p q sqrt table threading uses_lock".split()
        self.assertEqual((saved.names, restored.names, restored.lost), (names, names, []))
        self.assertEqual(sorted(text.partition(":")[0] for text in saved.lost), ["gen", "handle", "lock"])
        self.assertIn("gen: cannot pickle 'generator' object", saved.lost)
        self.assertEqual(k.run("b['a'] is a, q[0] is p, type(p) is P, isinstance(q[1], P), f(2), q[1].g(), _own").text,
                         "(True, True, True, True, 22, 42, 5)")
        self.assertEqual(k.run("factor = 1; f(2), p.g(), f.__globals__ is globals()").text, "(4, 5, True)")
        self.assertEqual(k.run("array.sum(), table.a[0], np.pi > 3, os.path.sep, sqrt(4), len(In)").text,
                         "(10, 1, True, '/', 2.0, 5)")
        self.assertIn("uses_lock = lambda: lock", k.run("uses_lock()").error["traceback"])
        self.assertEqual(k.run("__builtins__.__name__").text, "'builtins'")

    def test_history_and_directory_go_on(self):
        saved, restored, k = self.carried_over("import os; os.makedirs('/tmp/cicada-test-dir', exist_ok=True)\n"
                                               "os.chdir('/tmp/cicada-test-dir')\n1")
        self.assertEqual(k.run("1/0").error["traceback"].split("\n")[1], '  File "<cell 2>", line 1, in <module>')
        self.assertIn("os.chdir", k.run("In[1]").text)
        if not k.image:
            self.assertEqual(k.run("os.getcwd()").text, "'/tmp/cicada-test-dir'")
            os.rmdir("/tmp/cicada-test-dir")

    def test_too_large_is_left_behind(self):
        with Kernel() as k:
            k.run("import _cicada_save; _cicada_save.ONE_MAX = 1000\nsmall = b'x'; large = b'x' * 2000")
            saved, _ = k.save()
            self.assertEqual(saved.lost, ["large: too large"])
            self.assertIn("small", saved.names)
            k.run("_cicada_save.SECONDS_MAX = -1")
            saved, _ = k.save()
            self.assertIn("small: took too long", saved.lost)

    def test_large_ones_come_back_too(self):
        with Kernel() as k:
            k.run("import _cicada_save; _cicada_save.PIECES_MAX = 1000\nimport numpy as np\n"
                  "a = np.arange(100000); b = a[10:]; c = [a]; x = 1")
            saved, data = k.save()
            self.assertEqual((saved.lost, saved.names), ([], ["_cicada_save", "a", "b", "c", "np", "x"]))
        with Kernel() as k:
            self.assertEqual(k.restore(data).names, saved.names)
            self.assertEqual(k.run("a.sum(), len(b), c[0] is a, x").text, "(4999950000, 99990, True, 1)")

    def test_one_that_cannot_be_read_does_not_take_the_others_along(self):
        with Kernel() as k:
            open(k.cwd + "/mine.py", "w").write("class C: pass")
            k.run("import mine\nc = mine.C(); x = 1")
            saved, data = k.save()
            self.assertEqual(saved.names, ["c", "mine", "x"])
        with Kernel() as k:  # whose directory has no mine.py
            restored = k.restore(data)
            self.assertEqual(restored.names, ["x"])
            self.assertEqual(sorted(text.partition(":")[0] for text in restored.lost), ["c", "mine"])

    def test_nonsense_is_refused(self):
        with Kernel() as k:
            for data in b"", b"nonsense", b"\x80\x05N.", b"\x80\x05}\x94.":
                run = k.restore(data)
                self.assertEqual(run.names, [])
                self.assertIn("everything else", run.lost[-1])
            self.assertEqual(k.run("1+1").text, "2")

    def test_an_interrupt_ends_it(self):
        with Kernel() as k:
            k.run("import time\nclass Slow:\n    def __reduce__(self):\n        print('go', flush=True); time.sleep(100)\n"
                  "slow = Slow(); x = 1")
            read, write = os.pipe()
            k.send(client.SAVE, fd=write)
            os.close(write)
            run = Run()
            k.wait_for(run, "go")
            k.interrupt()
            k.finish(run, 20)
            os.close(read)
            self.assertEqual(run.lost, ["slow: KeyboardInterrupt"])
            self.assertIn("x", run.names)
