"""Kernels from an image: what they are at birth, asleep, awake, split."""
import os
import pathlib
import signal
import struct
import sys
import time
import unittest

from base import image
from client import KERNEL, Died, Kernel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "rest"))
import zoo  # noqa: E402

RANDOM = """
import random, numpy as np, sympy.core.random, multiprocessing, tempfile, uuid, secrets, ssl, networkx as nx, os
from sklearn.utils import check_random_state
print(random.random(), random.gauss(0, 1), np.random.rand(), np.random.normal(), np.random.default_rng().random(),
      sympy.core.random.rng.random(), bytes(multiprocessing.current_process().authkey).hex(),
      next(tempfile._get_candidate_names()), uuid.uuid4(), secrets.token_hex(8), ssl.RAND_bytes(8).hex(),
      check_random_state(None).rand(), hash(nx.gnp_random_graph(30, 0.5).size()) and random.getrandbits(64))
"""


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = image()

    def kernel(self, **options):
        k = Kernel(image=self.path, **options)
        self.addCleanup(k.close)
        return k

    def run_ok(self, k, code):
        run = k.run(code)
        self.assertIsNone(run.error, run.error and run.error["traceback"])
        return run

    def text(self, k, code):
        return self.run_ok(k, code).text

    def delta(self, k, **options):
        """A file with the sleeping kernel in it."""
        run, data = k.sleep(**options)
        self.assertIsNone(run.reasons)
        path = os.path.join(k.folder.name, "delta")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def woken(self, k, **options):
        return self.kernel(delta=self.delta(k), cwd=k.cwd, **options)


class Baking(ImageTest):
    def deps(self):
        with open(self.path, "rb") as file:
            at, length = struct.unpack_from("<QQ", file.read(64), 32)
            file.seek(at)
            return file.read(length).decode().splitlines()

    def test_it_knows_what_it_was_made_of(self):
        lines = self.deps()
        self.assertEqual(lines, sorted(set(lines)))
        found = {}
        for line in lines:
            when, size, path = line.split(" ", 2)
            found[path] = int(size)
            if not path.startswith("/opt/"):
                status = os.stat(path)
                self.assertEqual(when, "%d.%09d" % divmod(status.st_mtime_ns, 10**9), path)
                self.assertEqual(int(size), 0 if os.path.isdir(path) else status.st_size, path)
        import numpy

        self.assertEqual(found[os.path.dirname(numpy.__file__)], 0)
        self.assertTrue(any(path.endswith("/libc.so.6") for path in found))
        self.assertEqual(found["/opt/cicada/kernel"], os.path.getsize(KERNEL))

    def test_one_that_fails_says_why(self):
        with self.assertRaises(Died) as caught:
            Kernel(bake="/dev/full")
        self.assertNotEqual(caught.exception.status, 0)
        self.assertIn("cicada-kernel: ", caught.exception.run.stderr)


class Birth(ImageTest):
    def test_it_is_ready_and_alone(self):
        k = self.kernel()
        self.assertEqual(os.listdir(f"/proc/{k.pid}/task"), [str(k.pid)])
        self.assertEqual(sorted(os.listdir(f"/proc/{k.pid}/fd"), key=int), ["0", "1", "2", "600"])
        self.assertEqual(pathlib.Path(f"/proc/{k.pid}/comm").read_text(), "python3\n")
        self.assertEqual(k.lost, [])
        self.assertEqual(self.text(k, "import sys\n'pandas' in sys.modules"), "True")

    def test_code_finds_what_it_would_find_in_a_cold_one(self):
        look = """
def look():
    import sys, os, builtins, signal, warnings, gc, linecache, logging, locale, threading
    return [sorted(globals()), sorted(vars(sys)), sys.path, sys.argv, sys.getrecursionlimit(), sorted(os.environ.items()),
            [str(signal.getsignal(s)) for s in signal.Signals], gc.get_threshold(), gc.isenabled(), In, Out,
            [n for n in linecache.cache if n[0] == '<'], logging.root.handlers, locale.setlocale(locale.LC_ALL),
            threading.active_count(), str(sys.flags), signal.pthread_sigmask(signal.SIG_BLOCK, []), os.umask(0o22),
            sys.excepthook is sys.__excepthook__, hasattr(builtins, '_'), warnings.defaultaction, get_ipython().__class__.__name__]
print(*look(), sep='\\n')
"""
        cold = Kernel(image=False, env=self.kernel().env)
        self.addCleanup(cold.close)
        ours, theirs = (self.run_ok(k, look).stdout.splitlines() for k in (self.kernel(), cold))
        self.assertEqual(ours, theirs)

    def test_no_two_are_alike(self):
        seen = set()
        for _ in range(4):
            words = self.run_ok(self.kernel(), RANDOM).stdout.split()
            self.assertEqual(len(words), 13)
            self.assertFalse(seen & set(words))
            seen.update(words)

    def test_what_is_entered(self):
        k = self.kernel()
        k.enter(["OPENBLAS_NUM_THREADS=2", "OMP_NUM_THREADS=2", "HOME=/tmp"])
        self.assertEqual(self.text(k, "import os\nos.getcwd(), _dh, os.environ['OMP_NUM_THREADS']"),
                         "('/mnt/data', ['/mnt/data'], '2')")
        self.run_ok(k, "import threadpoolctl, numpy as np")
        self.assertEqual(self.text(k, "sorted(i['num_threads'] for i in threadpoolctl.threadpool_info())"), "[2, 2]")
        self.assertEqual(self.text(k, "len(os.listdir('/proc/self/task'))"), "1")
        self.assertEqual(self.text(k, "a = np.ones((600, 600)); float((a @ a).sum())"), "216000000.0")

    def test_a_file_of_the_session_comes_before_a_library_of_the_image(self):
        k = self.kernel()
        for name in "statistics", "seaborn":
            pathlib.Path(k.cwd, f"{name}.py").write_text("mine = True")
        os.mkdir(f"{k.cwd}/networkx")
        pathlib.Path(k.cwd, "networkx", "__init__.py").write_text("mine = True")
        self.assertEqual(self.text(k, "import statistics, seaborn, networkx\n"
                                      "statistics.mine, seaborn.mine, networkx.mine"), "(True, True, True)")
        self.run_ok(k, "import pandas as pd\npd.DataFrame({'a': [1]}).plot()")
        self.run_ok(k, "!true")

    def test_plots_need_no_file(self):
        k = self.kernel()
        run = self.run_ok(k, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('$x^2$ \\u4e2d'); plt.show()")
        self.assertEqual((len(run.displays), run.stderr), (1, ""))
        self.assertEqual(self.text(k, "import os\nlen(os.listdir('/proc/self/fd'))"), "5")
        self.run_ok(k, "plt.plot([1]); plt.savefig('a.pdf'); plt.savefig('a.svg')")

    def test_memory_goes_back_after_a_run(self):
        def private(pid):
            with open(f"/proc/{pid}/smaps_rollup") as file:
                return sum(int(line.split()[1]) for line in file if line.startswith("Anonymous"))

        k = self.kernel()
        # The run itself tells what it had: afterwards some of it may be gone already.
        most = int(self.text(k, "import pandas as pd\npd.DataFrame({'a': range(100)}).describe()\n"
                                "sum(int(l.split()[1]) for l in open('/proc/self/smaps_rollup')"
                                " if l.startswith('Anonymous'))"))
        deadline = time.monotonic() + 20
        while private(k.pid) > most * 0.8:
            self.assertLess(time.monotonic(), deadline, f"nothing of {most} kB was given back")
            time.sleep(0.02)
        self.assertEqual(self.text(k, "pd.DataFrame({'a': range(100)}).a.sum()"), "4950")


class Sleep(ImageTest):
    def check_all(self, k, entries):
        for name, _, check in entries:
            with self.subTest(name):
                self.run_ok(k, check)

    def test_the_zoo_lives_through_it(self):
        entries = zoo.ALIVE + zoo.IN_JAIL
        k = self.kernel()
        for name, setup, _ in entries:
            with self.subTest(name):
                self.run_ok(k, setup)
        self.check_all(k, entries)
        for _ in range(3):
            k = self.woken(k)
            self.assertEqual(k.lost, [])
            self.check_all(k, entries)

    def test_what_cannot_is_refused_and_goes_on(self):
        k = self.kernel()
        for name, setup, words, undo in zoo.REFUSED:
            with self.subTest(name):
                self.run_ok(k, setup)
                run, data = k.sleep()
                self.assertIn(words, "\n".join(run.reasons))
                self.assertEqual(data, b"")
                self.run_ok(k, undo)
                self.assertIsNone(k.sleep(stays=True)[0].reasons)

    def test_the_process_ends_and_the_next_goes_on(self):
        k = self.kernel()
        self.run_ok(k, "x = [1]; import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])")
        other = self.woken(k)
        with self.assertRaises(Died) as caught:
            k.run("1")
        self.assertEqual(caught.exception.status, 0)
        self.assertEqual(self.text(other, "x, signal.pthread_sigmask(signal.SIG_BLOCK, []) == {signal.SIGUSR1}"),
                         "([1], True)")
        os.kill(other.pid, signal.SIGINT)
        self.assertEqual(self.text(other, "len(In)"), "4")

    def test_one_that_stays_goes_on_and_so_does_the_other(self):
        k = self.kernel()
        self.run_ok(k, "x = [1]")
        other = self.kernel(delta=self.delta(k, stays=True))
        self.run_ok(k, "x.append(2)")
        self.assertEqual((self.text(k, "x"), self.text(other, "x")), ("[1, 2]", "[1]"))

    def test_a_wake_keeps_random_numbers_and_a_branch_does_not(self):
        k = self.kernel()
        self.run_ok(k, "import random, numpy as np, sympy.core.random; rng = np.random.default_rng(1)")
        draw = "random.random(), np.random.rand(), rng.random(), sympy.core.random.rng.random(), random.gauss(0, 1)"
        path = self.delta(k, stays=True)
        expected = self.text(k, draw)
        self.assertEqual(self.text(self.kernel(delta=path), draw), expected)
        branch = self.kernel(delta=path)
        branch.reseed()
        self.assertFalse(set(eval(self.text(branch, draw))) & set(eval(expected)))

    def test_what_is_gone_is_named_and_its_number_not_used_again(self):
        k = self.kernel()
        self.run_ok(k, "import os\nf = open('gone.txt', 'w'); g = open('kept.txt', 'w+'); g.write('x'); g.flush()\n"
                       "os.mkdir('d'); os.chdir('d')")
        path = self.delta(k)
        os.unlink(f"{k.cwd}/gone.txt")
        os.rmdir(f"{k.cwd}/d")
        other = self.kernel(delta=path, cwd=k.cwd)
        self.assertEqual(sorted(other.lost), ["/mnt/data/d: No such file or directory",
                                              "open file /mnt/data/gone.txt: No such file or directory"])
        self.assertEqual(self.text(other, "h = open('/mnt/data/new.txt', 'w'); h.fileno() != f.fileno()"), "True")
        self.assertEqual(other.run("f.write('x'); f.flush()").error["name"], "OSError")
        self.assertEqual(self.text(other, "g.seek(0); g.read(), os.getcwd()"), "('x', '/mnt/data')")
        self.run_ok(other, "try: f.close()\nexcept OSError: pass\nh.write('fine'); h.close()")
        self.assertEqual(pathlib.Path(k.cwd, "new.txt").read_text(), "fine")

    def test_redirected_streams_stay_redirected(self):
        k = self.kernel()
        self.run_ok(k, "import os\nsaved = os.dup(1); out = os.open('out.txt', os.O_RDWR | os.O_CREAT); os.dup2(out, 1)")
        other = self.woken(k)
        self.assertEqual(other.run("os.write(1, b'to the file'); os.write(saved, b'to the engine')").stdout, "to the engine")
        self.assertEqual(self.run_ok(other, "os.dup2(saved, 1); print('here again')").stdout, "here again\n")
        self.assertEqual(pathlib.Path(k.cwd, "out.txt").read_text(), "to the file")

    def test_too_much_in_tmp_is_a_reason(self):
        k = self.kernel()
        self.run_ok(k, "f = open('/tmp/large', 'wb'); f.truncate(65 << 20); f.close()")
        self.assertIn("/tmp holds more than can be carried", k.sleep()[0].reasons[0])
        self.run_ok(k, "import os; os.unlink('/tmp/large')")
        self.assertIsNone(k.sleep()[0].reasons)


class Copies(ImageTest):
    def test_a_copy_is_how_it_was_then(self):
        k = self.kernel()
        self.run_ok(k, "import os, random, threading\nx = [1]; f = open('f.txt', 'w+'); f.write('0123456789')\n"
                       "f.flush(); f.seek(2); twin = os.dup(f.fileno()); random.seed(5)")
        run, copy = k.copy()
        self.assertIsNone(run.reasons)
        self.run_ok(k, "x.append(2); os.read(twin, 4); first = random.random(); y = 5")
        first, parent = self.text(k, "first"), self.text(k, "os.getppid()")
        self.assertEqual(self.text(k, "os.lseek(f.fileno(), 0, 1)"), "6")
        copy.take_over()
        self.assertEqual(k.lost, [])
        self.assertEqual(self.text(k, "x, f.tell(), os.lseek(twin, 0, 1), 'y' in globals(), len(In)"),
                         "([1], 2, 2, False, 3)")
        self.assertEqual(self.text(k, "random.random()"), first)
        self.assertEqual(self.text(k, "os.getpid(), threading.main_thread().native_id == os.getpid()"),
                         f"({copy.pid}, True)")
        self.assertEqual(self.text(k, "os.getppid()"), parent)
        self.run_ok(k, "f.seek(0); f.write('copy'); f.flush()")
        self.assertEqual(self.text(k, "os.lseek(twin, 0, 1)"), "4")

    def test_the_original_does_not_move_files_under_a_copy(self):
        k = self.kernel()
        self.run_ok(k, "import os\nf = open('f.txt', 'w+'); f.write('0123456789'); f.flush(); f.seek(3)")
        first, second = k.copy()[1], None
        self.run_ok(k, "f.seek(9)")
        second = k.copy()[1]
        self.run_ok(k, "f.seek(0)")
        second.take_over()
        self.assertEqual(self.text(k, "f.tell()"), "9")
        first.take_over()
        self.assertEqual(self.text(k, "f.tell(), f.read()"), "(3, '3456789')")

    def test_copies_of_copies_sleep_too(self):
        k = self.kernel()
        self.run_ok(k, "x = 1")
        copy = k.copy()[1]
        self.run_ok(k, "x += 10")
        copy.take_over()
        self.run_ok(k, "x += 1")
        second = k.copy()[1]
        second.take_over()
        other = self.woken(k)
        self.assertEqual(self.text(other, "x"), "2")

    def test_a_copy_ends_with_its_socket(self):
        k = self.kernel()
        self.assertEqual(k.copy()[1].close(), 0)
        self.assertEqual(self.text(k, "1+1"), "2")

    def test_it_is_refused_like_sleep(self):
        k = self.kernel()
        self.run_ok(k, "import subprocess; child = subprocess.Popen(['sleep', '100'])")
        run, copy = k.copy()
        self.assertIn("(sleep 100)", run.reasons[0])
        self.assertIsNone(copy)
        self.run_ok(k, "child.kill(); child.wait()")
        run, copy = k.copy()
        copy.close()
        self.assertIsNone(run.reasons)

    def test_one_reason_is_enough(self):
        k = self.kernel()
        self.run_ok(k, "import ctypes, mmap, os, signal, threading; libc = ctypes.CDLL(None); timer = ctypes.c_void_p()")
        for begin, end, reason in (
            ("signal.setitimer(signal.ITIMER_VIRTUAL, 1000)", "signal.setitimer(signal.ITIMER_VIRTUAL, 0)", "an alarm is set"),
            ("libc.timer_create(0, None, ctypes.byref(timer))", "libc.timer_delete(timer)", "timers are running"),
            ("m = mmap.mmap(-1, 4096)", "m.close()", "memory is shared"),
            ("e = threading.Event(); t = threading.Thread(target=e.wait); t.start()", "e.set(); t.join()", "threads are running"),
            ("p = os.pipe()", "os.close(p[0]); os.close(p[1])", "a pipe"),
            ("null = os.dup(0); p = os.pipe(); os.dup2(p[0], 0); os.close(p[0]); os.close(p[1]); os.close(null)",
             "os.close(0); os.open('/dev/null', os.O_RDWR)", "a pipe"),
            ("child = os.fork() or signal.pause()", "os.kill(child, 9); os.waitpid(child, 0)", "child processes"),
        ):
            with self.subTest(begin):
                self.run_ok(k, begin)
                run, copy = k.copy()
                self.assertIn(reason, run.reasons[0])
                self.assertIsNone(copy)
                self.run_ok(k, end)
                run, copy = k.copy()
                self.assertIsNone(run.reasons)
                copy.close()

    def test_what_is_nothing_but_memory_is_copied_without_asking_python(self):
        k = self.kernel()
        self.run_ok(k, "import sys; x = 5; sys.modules['_cicada_rest'].settle = lambda request: ['asked']")
        run, copy = k.copy()
        self.assertIsNone(run.reasons)
        self.run_ok(k, "x = 6; f = open('f.txt', 'w')")
        self.assertEqual(k.copy()[0].reasons, ["asked"])
        copy.take_over()
        self.assertEqual(self.text(k, "x"), "5")


class Variables(ImageTest):
    def test_they_move_from_one_image_to_another(self):
        k = self.kernel()
        self.run_ok(k, "import threading, pandas as pd\nlock = threading.Lock(); x = pd.DataFrame({'a': [1, 2]}); y = [x]")
        saved, data = k.save()
        self.assertEqual(saved.names, ["pd", "threading", "x", "y"])
        other = self.kernel()
        self.assertEqual(other.restore(data).names, saved.names)
        self.assertEqual(self.text(other, "y[0] is x, x.a.sum()"), "(True, 3)")
