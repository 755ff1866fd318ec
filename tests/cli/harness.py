"""Calls the real program and looks at everything it leaves: streams, exit code, files, processes."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CICADA = os.environ.get("CICADA") or str(HERE.parent.parent / "build" / "cicada")
PATIENCE_S = 30  # for anything that should take a moment; a sanitizer build is slow

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Ran:
    def __init__(self, code, out, err):
        self.code, self.raw_out, self.raw_err = code, out, err
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def __str__(self):
        return f"exit {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}"


def children():
    """Processes below this one, orphans of what it started included."""
    path = pathlib.Path("/proc/self/task", str(os.getpid()), "children")
    return [int(pid) for pid in path.read_text().split()]


def reap():
    """Collects orphans that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def await_true(what, condition):
    """Waits for something that has no descriptor to wait on."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE_S} s: {what}")
        time.sleep(0.01)


class Case(unittest.TestCase):
    """Each test has a directory of its own, in which it also starts, and leaves no trace."""

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cicada-cli-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.work = self.place / "work"  # where sessions live
        self.here = self.place / "here"  # the current directory
        self.tmp = self.place / "tmp"    # TMPDIR
        for path in (self.work, self.here, self.tmp):
            path.mkdir()
        self.started = []

    def tearDown(self):
        for child in self.started:
            if child.poll() is None:  # the test failed before it came to an end
                child.kill()
            child.wait()
            for stream in (child.stdout, child.stderr):
                if stream:
                    stream.close()
        try:
            await_true("all processes are gone", lambda: (reap(), not children())[1])
        finally:
            for pid in children():
                os.kill(pid, signal.SIGKILL)
        if self._outcome.success:
            self.assertEqual([], os.listdir(self.work), "a session directory is left")

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items()
               if k not in ("NO_COLOR", "TERM", "TERM_PROGRAM", "CICADA_IMAGES", "CICADA_URL",
                            "CICADA_API_KEY")}
        # No server of this machine takes part, and nothing is written to a home.
        env.update(CICADA_TMP=str(self.work), TMPDIR=str(self.tmp), CICADA_SOCKET="off",
                   XDG_STATE_HOME=str(self.place / "state"), XDG_RUNTIME_DIR=str(self.place / "run"))
        env.update(more)
        return env

    def start(self, *words, env=None, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **options}
        child = subprocess.Popen([CICADA, *map(str, words)], cwd=self.here,
                                 env=env or self.environment(), **options)
        self.started.append(child)
        return child

    def finish(self, child):
        out, err = child.communicate(timeout=PATIENCE_S)
        return Ran(child.returncode, out or b"", err or b"")

    def cicada(self, *words, stdin=None, env=None):
        child = self.start(*words, env=env,
                           stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        out, err = child.communicate(stdin, timeout=PATIENCE_S)
        return Ran(child.returncode, out, err)

    def ok(self, *words, **more):
        """A run that must end well."""
        ran = self.cicada("run", *words, **more)
        self.assertEqual(0, ran.code, ran)
        return ran

    def run_object(self, *words, code=0, **more):
        """The object of `cicada run --json`."""
        ran = self.cicada("run", "--json", *words, **more)
        self.assertEqual(code, ran.code, ran)
        self.assertEqual(1, ran.raw_out.count(b"\n"), ran)
        return json.loads(ran.raw_out)

    def file(self, name, content=""):
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def tree(self, folder):
        """Path to content of all files below."""
        root = self.here / folder
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    def interrupt_when(self, child, ready, signals=(signal.SIGINT,)):
        """Sends signals once the code has printed `ready`."""
        while (line := child.stdout.readline()) and ready not in line:
            pass
        for number in signals:
            child.send_signal(number)
        return self.finish(child)
