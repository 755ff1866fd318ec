"""The end of each run is told truly: a table of ways to die, and what is said of each.

Each row of DEATHS has a session of its own; some are used at the same time. Before the deadly run another one sets a
variable and makes a file; after it a third looks whether they are still there, and what the runs say has to
agree with that. How a row went is asserted in a test of its own.
"""
import concurrent.futures
import os
import pathlib
import re
import signal
import unittest

from base import ApiTest, Client, Server, eventually

ONE = "/api/v1/sessions/"
LANES = 4
LIMITS = {"memory_mb": 256, "pids": 48, "disk_mb": 12}
LOST = "Variables are lost; files in /mnt/data are kept."
KEPT = "Variables are kept."
# What is left, as a number: it is shown even where nothing can be imported.
LOOK = "2 * (globals().get('mark') == 'here') + __import__('os').path.exists('/mnt/data/kept.txt')"


class Death:
    """What is run, and what has to be said of it. `hint`, `message`, `stdout`, `stderr` and `result` are parts of what
    is there; without a hint none may be there."""

    def __init__(self, title, code, end, lives=True, hint=None, error=None, message="", stdout="", stderr="", result=None,
                 language="python", timeout_s=20, act=None, more=None, keeps_files=True):
        self.title, self.code, self.end, self.lives, self.hint = title, code, end, lives, hint
        self.error, self.message, self.stdout, self.stderr, self.result = error, message, stdout, stderr, result
        self.language, self.timeout_s, self.act, self.more = language, timeout_s, act, more or {}
        self.keeps_files = keeps_files
        self.before = self.run = self.stored = self.after = None

    def go(self, client):
        workspace = client.ok("POST", "/api/v1/workspaces", {"name": self.title.replace("/", " ")}, 201)["id"]
        session = client.session(limits=LIMITS, workspace=workspace)
        self.before = client.run(session, "mark = 'here'; open('kept.txt', 'w').close()")
        wishes = {"language": self.language, "timeout_s": self.timeout_s}
        if self.act:
            run = client.run(session, self.code, 202, background=True, **wishes)
            for name, _, _ in client.events("GET", f"/api/v1/runs/{run['id']}/events"):
                if name in ("stdout", "run.done"):
                    break
            self.act(client, run)
            self.run = client.ok("GET", f"/api/v1/runs/{run['id']}?wait_s=30")
        else:
            self.run = client.run(session, self.code, **wishes)
        self.stored = client.ok("GET", "/api/v1/runs/" + self.run["id"])
        self.after = client.run(session, LOOK)
        client.ok("DELETE", ONE + session, status=204)


def cancel(client, run):
    client.ok("POST", f"/api/v1/runs/{run['id']}/cancel")


def interrupt(client, run):
    client.ok("POST", f"{ONE}{run['session_id']}/interrupt")


ON = "print('on', flush=True)\n"
# The main thread is in C for minutes and looks at no signal; another one says so.
DEAF = ("import hashlib, threading\nthreading.Timer(0.2, print, ['on']).start()\n"
        "hashlib.pbkdf2_hmac('sha256', b'x', b'y', 1 << 30)")
# Not `while True: pass` in the try itself: in 3.11 an interrupt at its jump is outside of the try.
SWALLOW = "def spin():\n    while True: x = 1\nwhile True:\n    try: spin()\n    except KeyboardInterrupt: pass"
STUBBORN = SWALLOW.replace("    while", "    print('on', flush=True)\n    while", 1)  # and says when it has begun
CTYPES = "import ctypes\n"
OVER_TIME = "longer than its time limit"
OVER_MEMORY = "more memory than its limit"
REFUSED_MEMORY = "more memory than its session has left"
DIED = "interpreter itself died"
NOT_STOPPED = "did not stop when it was asked to"

DEATHS = [
    # ---- time
    Death("a loop over its time", "while True: pass", "timeout", hint=OVER_TIME, error="KeyboardInterrupt", timeout_s=0.2),
    Death("a sleep over its time", "import time; time.sleep(99)", "timeout", hint=OVER_TIME, error="KeyboardInterrupt", timeout_s=0.2),
    Death("a regular expression over its time", "import re; re.match(r'(a+)+$', 'a' * 40 + 'b')", "timeout", hint=OVER_TIME,
          error="KeyboardInterrupt", timeout_s=0.2),
    Death("a product of matrices over its time", "import numpy\nm = numpy.ones((400, 400))\nwhile True: m @ m", "timeout", hint=OVER_TIME,
          error="KeyboardInterrupt", timeout_s=3),
    Death("C code that looks at no signal over its time", "import collections, itertools; collections.deque(itertools.repeat(1), maxlen=0)",
          "timeout", lives=False, hint=OVER_TIME, timeout_s=0.2),
    Death("an interrupt that is swallowed", SWALLOW, "timeout", lives=False, hint=OVER_TIME, timeout_s=0.2),
    Death("SIGINT ignored", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass", "timeout", lives=False,
          hint=OVER_TIME, timeout_s=0.2),
    Death("an interrupt that is obeyed", "import time\ntry: time.sleep(99)\nexcept KeyboardInterrupt: print('tidied up')", "timeout",
          hint=OVER_TIME, stdout="tidied up\n", timeout_s=0.2),
    Death("a child that waits over its time", "import subprocess; subprocess.run(['sleep', '99'])", "timeout", hint=OVER_TIME,
          error="KeyboardInterrupt", timeout_s=0.5),
    Death("bash over its time", "while :; do :; done", "timeout", hint=OVER_TIME, error="Signal", message="SIGINT", language="bash", timeout_s=0.3),
    Death("bash that ignores the interrupt", "trap '' INT; while :; do :; done", "timeout", hint=OVER_TIME, error="Signal", message="SIGKILL",
          language="bash", timeout_s=0.3),
    Death("node over its time", "for (;;) ;", "timeout", hint=OVER_TIME, error="Signal", message="SIGINT", language="javascript", timeout_s=0.8),
    # ---- memory, processes, descriptors, disk
    Death("memory in the interpreter", "x = []\nwhile True: x.append(bytearray(1 << 20))", "error", hint=REFUSED_MEMORY, error="MemoryError"),
    Death("memory that nobody can refuse", "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1", "memory",
          lives=False, hint=OVER_MEMORY),
    Death("memory in a child", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = [bytearray(1 << 20) for _ in range(4096)]'])",
          "ok", stderr="MemoryError", result="returncode=1"),
    Death("memory of children together", "import os, time\nfor i in range(4):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (90 << 20)\n"
          "        time.sleep(60)\ntime.sleep(60)", "memory", lives=False, hint=OVER_MEMORY),
    Death("memory asked for at once", "x = bytearray(1 << 40)", "error", hint=REFUSED_MEMORY, error="MemoryError"),
    Death("memory in bash", "x=$(head -c 600M /dev/zero | tr '\\0' x)", "memory", lives=False, hint=OVER_MEMORY, language="bash"),
    Death("memory in node", "const a = []; for (;;) a.push(new Array(1e5).fill(a.length));", "error", error="Signal", message="SIGABRT",
          stderr="heap out of memory", language="javascript"),
    Death("a fork bomb", "import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(60)", "error", error="BlockingIOError",
          message="Resource temporarily unavailable"),
    Death("a thread bomb", "import threading\ne = threading.Event()\ntry:\n    while True: threading.Thread(target=e.wait).start()\n"
          "finally: e.set()", "error", error="RuntimeError", message="can't start new thread"),
    Death("too many descriptors", "import os\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', 0))\n"
          "finally: [os.close(f) for f in fds]", "error", error="OSError", message="Too many open files"),
    Death("descriptors that stay open", "import os\nfds = []\nwhile True: fds.append(os.open('/dev/null', 0))", "error", error="OSError",
          message="Too many open files"),
    Death("a disk that is full", "import time\nfor i in range(99):\n    open(f'big{i}', 'wb').write(b'x' * (4 << 20))\n    time.sleep(0.05)", "disk",
          lives=False, hint="/mnt/data grew over its limit"),
    Death("one file that is too large", "f = open('one', 'wb', 0)\nwhile True: f.write(b'x' * (1 << 20))", "error", error="OSError", message="File too large",
          hint="limits.disk_mb"),
    Death("a file that is too large in bash", "head -c 300M /dev/zero > one", "error", error="ExitStatus", stderr="File size limit exceeded", language="bash"),
    Death("more files than there may be", "import os, time\nos.mkdir('many')\nfor i in range(21000): os.close(os.open(f'many/{i}', os.O_CREAT))\n"
          "time.sleep(20)", "disk", lives=False, hint="/mnt/data grew over its limit", timeout_s=60),
    Death("a full /tmp", "for i in range(99): open(f'/tmp/{i}', 'wb').write(b'x' * (8 << 20))", "error", error="OSError", message="No space left"),
    # ---- the interpreter itself
    Death("a segmentation fault", CTYPES + "ctypes.string_at(0)", "crashed", lives=False, hint=DIED, more={"signal": "SIGSEGV"}),
    Death("a jump into nothing", CTYPES + "ctypes.CFUNCTYPE(None)(1)()", "crashed", lives=False, hint=DIED, more={"signal": "SIGSEGV"}),
    Death("recursion", "def f(): f()\nf()", "error", error="RecursionError", message="maximum recursion depth"),
    Death("recursion through the C stack", "import sys\nsys.setrecursionlimit(10**7)\nclass A:\n    def __repr__(self): return repr([self])\nrepr(A())",
          "crashed", lives=False, hint=DIED, more={"signal": "SIGSEGV"}),
    Death("abort", "import os; os.abort()", "crashed", lives=False, hint=DIED, stderr="Fatal Python error: Aborted", more={"signal": "SIGABRT"}),
    Death("os._exit(0)", "import os; os._exit(0)", "crashed", lives=False, hint="os._exit", more={"exit_code": 0}),
    Death("os._exit(3)", "import os; print('last words', flush=True); os._exit(3)", "crashed", lives=False, hint="os._exit", stdout="last words\n",
          more={"exit_code": 3}),
    Death("sys.exit(3)", "import sys; sys.exit(3)", "error", error="SystemExit", message="3"),
    Death("sys.exit(0)", "import sys; sys.exit(0)", "ok"),
    Death("exit, as IPython has it", "exit()", "ok"),
    Death("SIGKILL to itself", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crashed", lives=False, hint="or a signal did it", more={"signal": "SIGKILL"}),
    Death("SIGTERM to itself", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "crashed", lives=False, hint="or a signal did it", more={"signal": "SIGTERM"}),
    Death("SIGINT to itself", "import os, signal; os.kill(os.getpid(), signal.SIGINT)", "error", error="KeyboardInterrupt"),
    Death("SIGSTOP to itself", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "timeout", lives=False, hint=OVER_TIME, timeout_s=0.3),
    Death("SIGKILL to everybody else", "import os, signal; os.kill(-1, signal.SIGKILL)", "error", error="ProcessLookupError"),
    Death("SIGKILL to the first process of the jail", "import os, signal; os.kill(1, signal.SIGKILL)", "error", error="PermissionError"),
    Death("a system call that is forbidden", CTYPES + "print(ctypes.CDLL(None).syscall(101, 0, 0, 0, 0))", "ok", stdout="-1\n"),
    Death("Python taken apart", "import sys, builtins\nsys.modules.clear()\nfor n in list(vars(builtins)):\n    if n != 'list': delattr(builtins, n)",
          "error", lives=None, error="NameError", message="name 'delattr' is not defined"),
    # ---- output
    Death("more output than is kept", "for _ in range(20): print('x' * (1 << 20))", "ok", stdout="bytes left out"),
    Death("more output than is read", "while True: print('x' * (1 << 20))", "output_limit", hint="printed too much", error="KeyboardInterrupt",
          stdout="bytes left out"),
    Death("more output than is read, without end", "def spin():\n    while True: print('x' * (1 << 20))\nwhile True:\n    try: spin()\n"
          "    except KeyboardInterrupt: pass", "output_limit", lives=False, hint="printed too much", stdout="bytes left out"),
    Death("a result that is huge", "'x' * (30 << 20)", "ok", result="... (31457280 in all)"),
    Death("a display that is huge", "from IPython.display import display, HTML\ndisplay(HTML('x' * (40 << 20)))", "ok"),
    Death("displays without number", "from IPython.display import display\nfor i in range(1000): display(i)", "ok"),
    Death("output that is not UTF-8", "import os; os.write(1, b'a\\xff\\xfe\\n');", "ok", stdout="a\ufffd\ufffd\n"),
    Death("stdout closed", "import os; os.close(1)\nprint('nobody hears this')", "error", error="OSError", message="Bad file descriptor"),
    Death("sys.stdout closed", "import sys; sys.stdout.close()\nprint('nobody hears this')", "error", error="ValueError", message="closed file"),
    Death("both streams closed", "import os; os.close(1); os.close(2)\n1/0", "error", error="ZeroDivisionError"),
    Death("all descriptors closed that it could have opened", "import os; os.closerange(3, 4096)", "ok"),
    Death("all descriptors closed", "import os; os.closerange(3, 1 << 16)", "crashed", lives=False, hint="closed descriptors", more={"exit_code": 1}),
    # ---- the world it lives in
    Death("its files deleted", "import os\nfor e in os.scandir('/mnt/data'): os.unlink(e)", "ok", keeps_files=False),
    Death("the current directory removed", "import os; os.mkdir('d'); os.chdir('d'); os.rmdir('/mnt/data/d'); os.getcwd()", "error", error="FileNotFoundError"),
    Death("/mnt/data made unreadable", "import os; os.chmod('/mnt/data', 0)", "ok"),
    Death("a child that is killed", "import subprocess\np = subprocess.Popen(['sleep', '99']); p.kill(); p.wait()", "ok", result="-9"),
    Death("zombies left behind", "import os\nfor _ in range(10):\n    if os.fork() == 0: os._exit(0)", "ok"),
    Death("a child that goes on", "import subprocess; p = subprocess.Popen(['sleep', '99'])", "ok"),
    Death("a child that falls off the end", "import os\nif os.fork() == 0:\n    raise ValueError('in the child')\nos.wait()\nprint('parent')", "ok",
          stdout="parent\n", stderr="ValueError: in the child"),
    Death("a thread that prints later", "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.02), print('late'))).start()", "ok"),
    Death("an exception in a thread", "import threading\nt = threading.Thread(target=lambda: 1/0); t.start(); t.join()", "ok", stderr="ZeroDivisionError"),
    Death("an exception in the repr of the result", "class A:\n    def __repr__(self): raise ValueError('no repr')\nA()", "ok", result="its repr failed"),
    Death("an exit in the repr of the result", "class A:\n    def __repr__(self): raise SystemExit(1)\nA()", "error", error="SystemExit"),
    Death("an exception without a text", "class E(Exception):\n    def __str__(self): raise KeyError('inner')\nraise E()", "error", error="E",
          message="str() failed"),
    Death("an exception whose name is odd", "raise type('O d d\\n\u20ac', (Exception,), {})('m')", "error", error="O d d\n\u20ac", message="m"),
    Death("an exception whose text is no text", "raise ValueError('\\ud800')", "error", error="ValueError", message="\\ud800"),
    Death("a syntax error", "def f(:\n", "error", error="SyntaxError", message="invalid syntax"),
    Death("a null byte in the code", "x = '\x00'", "error", error="ValueError", message="null bytes"),
    Death("nothing at all", "", "ok"),
    # ---- bash and node
    Death("bash that fails", "echo out; echo err >&2; exit 3", "error", error="ExitStatus", message="status 3", stdout="out\n", stderr="err\n", language="bash"),
    Death("bash that is killed", "kill -KILL $$", "error", error="Signal", message="SIGKILL", language="bash"),
    Death("bash that kills Python", "kill -KILL $PPID", "crashed", lives=False, hint="or a signal did it", language="bash", more={"signal": "SIGKILL"}),
    Death("a fork bomb in bash", "f() { f | f & }; f; wait; sleep 99", "timeout", hint=OVER_TIME, error="Signal", language="bash", timeout_s=0.5),
    Death("a disk that is full in bash", "for i in $(seq 9); do head -c 4M /dev/zero > big$i; sleep 0.1; done; sleep 20", "disk", lives=False,
          hint="/mnt/data grew over its limit", language="bash"),
    Death("node that throws", "throw new Error('thrown')", "error", error="ExitStatus", message="status 1", stderr="Error: thrown", language="javascript"),
    Death("node that aborts", "process.abort()", "error", error="Signal", message="SIGABRT", language="javascript"),
    # ---- somebody asks
    Death("cancelled", ON + "import time; time.sleep(60)", "cancelled", error="KeyboardInterrupt", act=cancel),
    Death("cancelled in C code", DEAF, "cancelled", lives=False, hint=NOT_STOPPED, act=cancel),
    Death("cancelled and not heard", STUBBORN, "cancelled", lives=False, hint=NOT_STOPPED, act=cancel),
    Death("interrupted", ON + "import time; time.sleep(60)", "cancelled", error="KeyboardInterrupt", act=interrupt),
    Death("bash cancelled", "echo on; sleep 60", "cancelled", error="Signal", message="SIGINT", language="bash", act=cancel),
    Death("node cancelled", "console.log('on'); setTimeout(() => 1, 60000)", "cancelled", error="Signal", message="SIGINT", language="javascript", act=cancel),
]


class Table(ApiTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            cls.done = dict(pool.map(cls.one, DEATHS))

    @classmethod
    def one(cls, death):
        client = Client(cls.server)
        try:
            death.go(client)
        except Exception as failure:
            return death.title, failure
        finally:
            client.close()
        return death.title, None

    def check(self, death):
        if self.done[death.title]:
            raise self.done[death.title]
        run = death.run
        self.assertEqual((run["end"], run["status"]), (death.end, "done"), run)
        self.assertEqual(run["state"], "lost" if death.lives is False else "kept", run)
        self.assertEqual(run["error"] and run["error"]["name"], death.error, run)
        self.assertIn(death.message, run["error"]["message"] if run["error"] else "")
        for part in "stdout", "stderr":
            self.assertIn(getattr(death, part), run[part])
        if death.result:
            self.assertIn(death.result, run["result"]["text/plain"])
        self.assertEqual({key: run.get(key) for key in ("signal", "exit_code") if key in run}, death.more)
        self.assertEqual(death.stored, run)
        self.check_hint(death)
        self.check_what_is_left(death)

    def check_hint(self, death):
        hint = death.run.get("hint")
        if death.hint is None:
            self.assertIsNone(hint)
            return
        self.assertIn(death.hint, hint)
        if death.lives is False:
            self.assertTrue(hint.endswith(LOST), hint)
        elif death.end != "ok":
            self.assertTrue(hint.endswith(KEPT), hint)

    def check_what_is_left(self, death):
        """What the run said is so."""
        self.assertEqual((death.before["end"], death.before["state"]), ("ok", "fresh"))
        self.assertEqual(death.after["state"], "fresh" if death.lives is False else "kept", death.after)
        if death.lives is None:
            self.assertEqual((death.after["end"], death.after["error"]["name"]), ("error", "NameError"), death.after)
            return
        self.assertEqual(death.after["end"], "ok", death.after)
        self.assertEqual(death.after["result"]["text/plain"], str(2 * death.lives + death.keeps_files))


def add_tests():
    for death in DEATHS:
        name = "test_" + re.sub(r"\W+", "_", death.title).strip("_").lower()
        assert not hasattr(Table, name), name
        setattr(Table, name, lambda self, death=death: self.check(death))


add_tests()

CLOSED = "The session was closed before this run had ended. Its variables are gone; its files are in the workspace."
RESTARTED = "The session was restarted before this run had ended. " + LOST


class Taken(ApiTest):
    """What a run stands on goes away: its session, its process, its server."""

    def start(self, session, code="import time; print('on', flush=True); time.sleep(60)", **wishes):
        """In the background; it has begun when this returns."""
        run = self.client.run(session, code, 202, background=True, **wishes)["id"]
        for name, _, _ in self.client.events("GET", f"/api/v1/runs/{run}/events"):
            if name == "stdout":
                return run
        raise AssertionError("it did not begin")

    def queue(self, session, code="print('never')"):
        return self.client.run(session, code, 202, background=True)["id"]

    def ended(self, run):
        return self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=20")

    def expect(self, run, end, state, hint):
        run = self.ended(run)
        self.assertEqual((run["status"], run["end"], run["state"]), ("done", end, state), run)
        self.assertIn(hint, run["hint"])
        return run

    def test_cancelled_while_it_waits(self):
        session = self.client.session()
        first, second = self.start(session), self.queue(session)
        self.client.ok("POST", f"/api/v1/runs/{second}/cancel")
        self.expect(second, "cancelled", "kept", "Cancelled before it began.")
        self.client.ok("POST", f"/api/v1/runs/{first}/cancel")
        self.client.ok("DELETE", ONE + session, status=204)

    def test_the_session_is_deleted_meanwhile(self):
        session = self.client.session()
        first, second = self.start(session), self.queue(session)
        self.client.ok("DELETE", ONE + session, status=204)
        self.expect(first, "cancelled", "lost", CLOSED)
        run = self.expect(second, "cancelled", "lost", CLOSED)
        self.assertEqual(run["stdout"], "")

    def test_the_session_is_deleted_and_the_code_does_not_listen(self):
        session = self.client.session()
        run = self.start(session, STUBBORN)
        self.client.ok("DELETE", ONE + session, status=204)
        self.expect(run, "cancelled", "lost", CLOSED)

    def test_the_session_is_restarted_meanwhile(self):
        session = self.client.session()
        self.client.run(session, "x = 1")
        first, second = self.start(session), self.queue(session)
        self.client.ok("POST", ONE + session + "/restart")
        self.expect(first, "cancelled", "lost", RESTARTED)
        self.expect(second, "cancelled", "lost", RESTARTED)
        run = self.client.run(session, "'x' in globals()")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("fresh", "False"))
        self.client.ok("DELETE", ONE + session, status=204)

    def test_a_one_shot_over_its_time(self):
        run = self.client.ok("POST", "/api/v1/runs", {"code": "while True: pass", "timeout_s": 0.2})
        self.assertEqual((run["end"], run["state"]), ("timeout", "fresh"))
        self.assertIn(OVER_TIME, run["hint"])

    def test_a_run_that_nobody_waits_for_any_more(self):
        session = self.client.session()
        events = self.client.events("POST", ONE + session + "/runs", {"code": ON + "import time; time.sleep(0.3); x = 5"})
        run = next(events)[1]["id"]
        events.close()
        self.assertEqual(self.ended(run)["end"], "ok")
        self.assertEqual(self.client.run(session, "x")["result"]["text/plain"], "5")
        self.client.ok("DELETE", ONE + session, status=204)


def descendants(pid):
    """Of this process, as [(pid, name, parent)], parents first."""
    children = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = re.match(r"(\d+) \((.*)\) \S (\d+)", path.read_text(), re.S)
        except OSError:
            continue  # it is gone
        children.setdefault(int(words[3]), []).append((int(words[1]), words[2], int(words[3])))
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(0), []):
            found.append(child)
            todo.append(child[0])
    return found


PARENT = "import subprocess; p = subprocess.Popen(['sleep', '99'])\n" + ON


class Outside(unittest.TestCase):
    """Signals from the host, and the end of the server. Each has a server to itself."""

    start, queue, ended, expect = Taken.start, Taken.queue, Taken.ended, Taken.expect

    def setUp(self):
        self.server = Server(settings={"server.drain_s": 1})
        self.addCleanup(self.server.close)
        self.client = Client(self.server)
        self.session = self.client.session()
        self.client.run(self.session, "mark = 'here'; open('kept.txt', 'w').close()")

    def again(self, how):
        self.client.close()
        self.server.stop(how)
        Client.schemas.clear()
        self.server.start()
        self.client = Client(self.server)

    def processes(self, name):
        return [pid for pid, comm, _ in descendants(self.server.process.pid) if comm == name]

    def kernel(self):
        """(pid of the kernel, pid of the first process of its jail), of the one session that has a child."""
        found = descendants(self.server.process.pid)
        parents = {pid: parent for pid, _, parent in found}
        child = next(pid for pid, name, _ in found if name == "sleep")
        return parents[child], parents[parents[child]]

    def look(self):
        run = self.client.run(self.session, LOOK)
        return run["state"], run["result"]["text/plain"]

    def test_the_kernel_is_killed_by_the_host(self):
        run = self.start(self.session, PARENT + "p.wait()")
        os.kill(self.kernel()[0], signal.SIGKILL)
        run = self.expect(run, "crashed", "lost", LOST)
        self.assertEqual((run["signal"], run["stdout"].strip()), ("SIGKILL", "on"))
        self.assertEqual(self.look(), ("fresh", "1"))

    def test_the_first_process_of_the_jail_is_killed_by_the_host(self):
        run = self.start(self.session, PARENT + "p.wait()")
        os.kill(self.kernel()[1], signal.SIGKILL)
        self.expect(run, "crashed", "lost", LOST)
        self.assertEqual(self.look(), ("fresh", "1"))

    def test_the_kernel_is_killed_while_nothing_runs(self):
        self.client.run(self.session, PARENT)
        os.kill(self.kernel()[0], signal.SIGKILL)
        run = self.client.run(self.session, LOOK)
        # Who comes before the engine has heard of it runs into it.
        self.assertIn((run["end"], run["state"], run.get("signal")), (("ok", "lost", None), ("crashed", "lost", "SIGKILL")))
        self.assertIn(LOST, run["hint"])
        self.assertIn(self.look(), (("kept", "1"), ("fresh", "1")))

    def test_the_server_is_stopped(self):
        first, second = self.start(self.session), self.queue(self.session)
        self.again(signal.SIGTERM)
        self.expect(first, "killed", "kept", "The server was stopped while the code ran.")
        self.expect(second, "killed", "kept", "it did not run at all")
        self.assertEqual(self.look(), ("woken", "3"))

    def test_the_server_is_killed(self):
        first, second = self.start(self.session), self.queue(self.session)
        self.client.ok("GET", "/api/v1/runs")  # what was posted is written
        self.again(signal.SIGKILL)
        for run in first, second:
            self.expect(run, "killed", "lost", "server restarted: it ended before this run did.")
        self.assertEqual(self.look(), ("lost", "1"))

    def test_the_spawner_is_killed(self):
        run = self.start(self.session)
        os.kill(self.processes("cicada-spawn")[0], signal.SIGKILL)
        self.assertEqual(self.server.process.wait(30), 125)  # it could run nothing any more
        self.assertIn("the spawner died", self.server.log())
        self.again(signal.SIGTERM)
        self.expect(run, "killed", "lost", "The process that makes the sandboxes died")
        self.assertEqual(self.look(), ("lost", "1"))


if __name__ == "__main__":
    unittest.main()
