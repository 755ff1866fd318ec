"""Speaks to a cicada-kernel outside any jail, as the engine would: frames on a socket, two pipes.

Everything that comes back is kept in the order in which an engine sees it: the pipes are drained before
a frame is looked at.
"""
import os
import pathlib
import select
import signal
import socket
import struct
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = os.environ.get("CICADA_KERNEL") or str(HERE.parent.parent / "build" / "cicada-kernel")
CONTROL_FD = 600
TIMEOUT_S = float(os.environ.get("CICADA_TEST_TIMEOUT", "60"))

RUN, ACK, ASK, HELLO, SYNC, DISPLAY, CLEAR, RESULT, ERROR, DONE, REPLY = (
    1, 2, 3, 64, 65, 66, 67, 68, 69, 70, 71,
)
CODE, NAME, STDIN, ENV, TOPIC, CURSOR, VERSION, MIME, FORM, DATA, MESSAGE, LINE, TRACEBACK, ID, UPDATE, WAIT = (
    range(1, 17)
)
TEXT, BINARY, JSON = 1, 2, 3


def frame(kind, fields=()):
    payload = b"".join(struct.pack("<HHI", tag, 0, len(data)) + data for tag, data in fields)
    return struct.pack("<IBBBB", len(payload), kind, 0, 0, 0) + payload


def fields_of(payload):
    at, found = 0, []
    while at < len(payload):
        tag, zero, size = struct.unpack_from("<HHI", payload, at)
        assert zero == 0 and at + 8 + size <= len(payload), "broken field"
        found.append((tag, payload[at + 8 : at + 8 + size]))
        at += 8 + size
    return found


def bundle_of(fields):
    """{mime: str or bytes}"""
    bundle, mime, form = {}, None, None
    for tag, data in fields:
        if tag == MIME:
            mime = data.decode()
        elif tag == FORM:
            form = data[0]
        elif tag == DATA:
            bundle[mime] = data if form == BINARY else data.decode()
    return bundle


class Died(Exception):
    def __init__(self, status, run):
        super().__init__(f"the kernel ended with status {status}: {run.stderr!r}")
        self.status, self.run = status, run


class Run:
    """What became of one RUN. `events` is everything in order: (kind, content)."""

    def __init__(self):
        self.events = []
        self.displays = []
        self.result = None
        self.error = None
        self.syncs = 0
        self.is_done = False

    def _text(self, stream):
        return b"".join(data for kind, data in self.events if kind == stream)

    @property
    def out_bytes(self):
        return self._text("stdout")

    @property
    def stdout(self):
        return self._text("stdout").decode("utf-8", "backslashreplace")

    @property
    def stderr(self):
        return self._text("stderr").decode("utf-8", "backslashreplace")

    @property
    def text(self):
        """text/plain of the result"""
        return None if self.result is None else self.result.get("text/plain")


class Kernel:
    def __init__(self, cwd=None, env=None):
        self.folder = tempfile.TemporaryDirectory(prefix="cicada-kernel-test-")
        self.cwd = cwd or os.path.join(self.folder.name, "data")
        os.makedirs(self.cwd, exist_ok=True)
        home = os.path.join(self.folder.name, "home")
        os.makedirs(home)
        self.env = {
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "TMPDIR": home,
            "MPLCONFIGDIR": os.path.join(home, ".mpl"),
            "IPYTHONDIR": os.path.join(home, ".ipython"),
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "NUMEXPR_NUM_THREADS": "1",
            "CICADA_CONTROL_FD": str(CONTROL_FD),
            **(env or {}),
        }
        self.started_at = time.perf_counter()
        self._start()
        self.held = b""
        self.status = None
        self.hello = None
        self.idle_events = Run()
        while self.hello is None:
            self._pump(self.idle_events, self.started_at + TIMEOUT_S)
        self.hello_after = time.perf_counter() - self.started_at

    def _start(self):
        ours, theirs = socket.socketpair()
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.chdir(self.cwd)
                os.dup2(null, 0)
                os.dup2(out_w, 1)
                os.dup2(err_w, 2)
                os.dup2(theirs.fileno(), CONTROL_FD)
                os.set_inheritable(CONTROL_FD, True)
                os.closerange(3, CONTROL_FD)
                os.execve(KERNEL, [KERNEL], self.env)
            finally:
                os._exit(127)
        for fd in out_w, err_w, null:
            os.close(fd)
        theirs.close()
        self.control, self.out, self.err = ours, out_r, err_r
        os.set_blocking(out_r, False)
        os.set_blocking(err_r, False)
        self.control.setblocking(False)
        self.poll = select.poll()
        for fd in self.control.fileno(), self.out, self.err:
            self.poll.register(fd, select.POLLIN)

    # ---- talking

    def send(self, kind, fields=()):
        data = frame(kind, fields)
        while data:
            try:
                data = data[self.control.send(data) :]
            except BlockingIOError:
                select.select([], [self.control], [])
            except (BrokenPipeError, ConnectionResetError):
                return

    def _drain(self, run):
        for fd, name in (self.out, "stdout"), (self.err, "stderr"):
            while True:
                try:
                    data = os.read(fd, 1 << 16)
                except BlockingIOError:
                    break
                if not data:
                    if fd in self._closed:
                        break
                    self._closed.add(fd)
                    self.poll.unregister(fd)
                    break
                run.events.append((name, data))

    _closed = frozenset()

    def _pump(self, run, deadline):
        if not self._closed:
            self._closed = set()
        left = deadline - time.perf_counter()
        if left <= 0 or not self.poll.poll(left * 1000):
            raise TimeoutError("the kernel did not answer in time")
        try:
            data = self.control.recv(1 << 20)
        except BlockingIOError:
            data = None
        except ConnectionResetError:
            data = b""
        self._drain(run)
        if data == b"":
            self.control.close()
            self._drain(run)
            _, self.status = os.waitpid(self.pid, 0)
            self._drain(run)
            raise Died(self.status, run)
        self.held += data or b""
        while len(self.held) >= 8:
            size, kind, *zeros = struct.unpack_from("<IBBBB", self.held)
            assert zeros == [0, 0, 0] and size <= 32 << 20, "broken head"
            if len(self.held) < 8 + size:
                break
            payload, self.held = self.held[8 : 8 + size], self.held[8 + size :]
            self._drain(run)
            self._handle(run, kind, fields_of(payload))

    def _handle(self, run, kind, fields):
        values = dict(fields)
        if kind == HELLO:
            self.hello = values[VERSION].decode()
        elif kind == SYNC:
            run.syncs += 1
            self.send(ACK)
        elif kind == DISPLAY:
            bundle = bundle_of(fields)
            run.displays.append(bundle)
            run.events.append(("display", (bundle, values.get(ID), values.get(UPDATE))))
            self.send(ACK)
        elif kind == CLEAR:
            run.events.append(("clear", values[WAIT]))
            self.send(ACK)
        elif kind == RESULT:
            assert run.result is None, "two results"
            run.result = bundle_of(fields)
            run.events.append(("result", run.result))
        elif kind == ERROR:
            assert run.error is None, "two errors"
            run.error = {
                "name": values[NAME].decode(),
                "message": values.get(MESSAGE, b"").decode(),
                "line": struct.unpack("<I", values[LINE])[0] if LINE in values else None,
                "traceback": values.get(TRACEBACK, b"").decode(),
            }
            run.events.append(("error", run.error))
        elif kind == DONE:
            run.is_done = True
        elif kind == REPLY:
            self.reply = values[DATA].decode()
            run.is_done = True
        else:
            raise AssertionError(f"frame of kind {kind}")

    def begin(self, code, name=None, stdin=None, env=()):
        fields = [(CODE, code if isinstance(code, bytes) else code.encode("utf-8", "surrogateescape"))]
        if name is not None:
            fields.append((NAME, name.encode()))
        if stdin is not None:
            fields.append((STDIN, stdin if isinstance(stdin, bytes) else stdin.encode()))
        fields += [(ENV, pair.encode()) for pair in env]
        self.send(RUN, fields)
        return Run()

    def finish(self, run, timeout=None):
        deadline = time.perf_counter() + (timeout or TIMEOUT_S)
        while not run.is_done:
            self._pump(run, deadline)
        self._drain(run)
        return run

    def run(self, code, timeout=None, **options):
        return self.finish(self.begin(code, **options), timeout)

    def wait_for(self, run, text, stream="stdout"):
        """Until the run has printed the text."""
        deadline = time.perf_counter() + TIMEOUT_S
        while text.encode() not in run._text(stream):
            assert not run.is_done, f"ended without printing {text!r}"
            self._pump(run, deadline)

    def ask(self, topic, code="", cursor=None):
        fields = [(TOPIC, topic.encode()), (CODE, code.encode())]
        fields.append((CURSOR, struct.pack("<I", len(code) if cursor is None else cursor)))
        self.send(ASK, fields)
        self.finish(Run())
        return self.reply

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)

    def close(self):
        if self.status is None:
            self.control.close()
            deadline = time.perf_counter() + 10
            while time.perf_counter() < deadline:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.status = status
                    break
                select.select([self.out, self.err], [], [], 0.05)
                for fd in self.out, self.err:
                    try:
                        os.read(fd, 1 << 16)
                    except BlockingIOError:
                        pass
            else:
                os.kill(self.pid, signal.SIGKILL)
                _, self.status = os.waitpid(self.pid, 0)
        os.close(self.out)
        os.close(self.err)
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
