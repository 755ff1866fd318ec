"""Speaks to a cicada-kernel outside any jail, as the engine would: frames on a socket, two pipes.

Everything that comes back is kept in the order in which an engine sees it: the pipes are drained before
a frame is looked at.
"""
import ctypes
import os
import pathlib
import select
import signal
import socket
import struct
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = os.environ.get("CICADA_KERNEL") or str(HERE.parent.parent / "build" / "cicada-kernel")
LOADER = os.path.join(os.path.dirname(KERNEL), "cicada-load")
IMAGE = os.environ.get("CICADA_IMAGE")  # what kernels start from that are not told otherwise
CONTROL_FD = 600  # image and delta follow
DATA_MAX = str(64 << 30)  # of a woken one
ADDR_NO_RANDOMIZE, PR_SET_NO_NEW_PRIVS = 0x40000, 38
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
LIBC = ctypes.CDLL(None, use_errno=True)
TIMEOUT_S = float(os.environ.get("CICADA_TEST_TIMEOUT", "60"))

ROOM_ENV = {
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "MPLCONFIGDIR": "/tmp/.cache/matplotlib",
    "IPYTHONDIR": "/tmp/.ipython",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
RUN, ACK, ASK, ENTER, WARM, SLEEP, COPY, SAVE, RESTORE, RESEED = range(1, 11)
HELLO, SYNC, DISPLAY, CLEAR, RESULT, ERROR, DONE, REPLY, SLEPT, REFUSED, SAVED, PROGRESS, READS = range(64, 77)
(
    CODE, NAME, STDIN, ENV, TOPIC, CURSOR, VERSION, MIME, FORM, DATA, MESSAGE, LINE, TRACEBACK, ID, UPDATE,
    WAIT, STAYS, LOST, LANGUAGE, PATH, GUESS, PARTIAL,
) = range(1, 23)
TEXT, BINARY, JSON = 1, 2, 3
LANGUAGES = {"python": 0, "bash": 1, "javascript": 2}


def place(path, flags, number):
    """Opens a file at that number."""
    fd = os.open(path, flags, 0o600)
    os.dup2(fd, number)
    os.close(fd)


def mount(source, target, kind=None, flags=0):
    if LIBC.mount(source.encode(), target.encode(), kind, flags, None):
        raise OSError(ctypes.get_errno(), f"mount {target}")


def enter_room(data):
    """For this process only: as much of a sandbox as images need. The program is at /opt/cicada/kernel,
    `data` at /mnt/data, /tmp and /dev/shm are fresh."""
    uid, gid = os.getuid(), os.getgid()
    if LIBC.unshare(CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)):
        raise OSError(ctypes.get_errno(), "unshare")
    if uid:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    for folder in "/opt", "/mnt", "/dev/shm":
        mount("none", folder, b"tmpfs")
    for folder in "/opt/cicada", "/mnt/data":
        os.mkdir(folder)
    pathlib.Path("/opt/cicada/kernel").touch()
    mount(KERNEL, "/opt/cicada/kernel", flags=MS_BIND)
    mount(data, "/mnt/data", flags=MS_BIND)
    mount("none", "/tmp", b"tmpfs")  # last: the others may come from there
    os.chdir("/mnt/data")


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
        self.reasons = None  # of REFUSED
        self.names = self.lost = None  # of SAVED
        self.progress = []
        self.reads, self.guesses, self.is_partial = [], [], False

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
    """A cold one (image=False); or, with the path of an image, one from that, woken if there is a delta; or
    one that bakes, with the path to write to."""

    def __init__(self, cwd=None, env=None, image=None, delta=None, bake=None):
        self.image = IMAGE if image is None else image
        self.delta, self.bake = delta, bake
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
        if self.image or self.bake:
            self.env.update(ROOM_ENV)
        self.started_at = time.perf_counter()
        self._start()
        self._begin()

    def _begin(self):
        self.held = b""
        self.status = None
        self.hello = None
        self.lost = []
        self.idle_events = Run()
        while self.hello is None:
            self._pump(self.idle_events, self.started_at + TIMEOUT_S)
        self.hello_after = time.perf_counter() - self.started_at

    def _become_kernel(self):
        """In the child, whose descriptors are in place: executes what is to be the kernel."""
        if not self.image and not self.bake:
            os.chdir(self.cwd)
            os.execve(KERNEL, [KERNEL], self.env)
        how = "bake" if self.bake else "delta" if self.delta else "image"
        if self.bake:
            place(self.bake, os.O_RDWR | os.O_CREAT | os.O_TRUNC, CONTROL_FD + 1)
        else:
            place(self.image, os.O_RDONLY, CONTROL_FD + 1)
        if self.delta:
            place(self.delta, os.O_RDONLY, CONTROL_FD + 2)
        loader = os.open(LOADER, os.O_RDONLY)
        enter_room(self.cwd)
        LIBC.personality(ADDR_NO_RANDOMIZE)
        LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        os.execve(loader, ["python3", str(CONTROL_FD), how, *([DATA_MAX] if self.delta else [])], self.env)

    def _start(self):
        ours, theirs = socket.socketpair()
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(null, 0)
                os.dup2(out_w, 1)
                os.dup2(err_w, 2)
                os.dup2(theirs.fileno(), CONTROL_FD)
                os.set_inheritable(CONTROL_FD, True)
                os.closerange(3, CONTROL_FD)
                self._become_kernel()
            except OSError as error:
                os.write(2, f"the kernel was not started: {error}".encode())
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

    @property
    def where(self):
        """The current directory, as the kernel sees it."""
        return "/mnt/data" if self.image else self.cwd

    # ---- talking

    def send(self, kind, fields=(), fd=None):
        data = frame(kind, fields)
        if fd is not None:
            data = data[socket.send_fds(self.control, [data], [fd]) :]
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
            self.lost = [data.decode() for tag, data in fields if tag == LOST]
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
        elif kind == READS:
            run.reads = [data.decode("utf-8", "surrogateescape") for tag, data in fields if tag == PATH]
            run.guesses = [data.decode("utf-8", "surrogateescape") for tag, data in fields if tag == GUESS]
            run.is_partial = PARTIAL in values
        elif kind == DONE:
            run.is_done = True
        elif kind == REPLY:
            self.reply = values[DATA].decode()
            run.is_done = True
        elif kind == SLEPT:
            run.is_done = True
        elif kind == REFUSED:
            run.reasons = [data.decode() for tag, data in fields if tag == MESSAGE]
            assert run.reasons, "refused for no reason"
            run.is_done = True
        elif kind == SAVED:
            run.names = [data.decode() for tag, data in fields if tag == NAME]
            run.lost = [data.decode() for tag, data in fields if tag == LOST]
            run.is_done = True
        elif kind == PROGRESS:
            run.progress.append(values[MESSAGE].decode())
        else:
            raise AssertionError(f"frame of kind {kind}")

    def begin(self, code, name=None, stdin=None, env=(), language=None):
        fields = [(CODE, code if isinstance(code, bytes) else code.encode("utf-8", "surrogateescape"))]
        if name is not None:
            fields.append((NAME, name.encode()))
        if language is not None:
            fields.append((LANGUAGE, struct.pack("<I", LANGUAGES.get(language, language))))
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

    # ---- rest

    def _collect(self, kind, fields=()):
        """Sends a request with the write end of a pipe; (run, bytes that came through it)."""
        read, write = os.pipe()
        self.send(kind, fields, write)
        os.close(write)
        chunks = []

        def drain():
            while chunk := os.read(read, 1 << 20):
                chunks.append(chunk)

        reader = threading.Thread(target=drain)
        reader.start()
        run = Run()
        try:
            self.finish(run)
        finally:
            reader.join()
            os.close(read)
        return run, b"".join(chunks)

    def sleep(self, stays=False):
        """(run, delta); run.reasons is None unless it was refused."""
        return self._collect(SLEEP, [(STAYS, struct.pack("<I", stays))])

    def save(self):
        return self._collect(SAVE)

    def restore(self, data):
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            self.send(RESTORE, fd=file.fileno())
        return self.finish(Run())

    def warm(self):
        self.send(WARM)
        return self.finish(Run())

    def enter(self, env=()):
        self.send(ENTER, [(ENV, pair.encode()) for pair in env])

    def reseed(self):
        self.send(RESEED)

    def copy(self):
        """(run, Copy or None)"""
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.send(COPY, fd=theirs.fileno())
        theirs.close()
        run = self.finish(Run())
        if run.reasons:
            ours.close()
            return run, None
        return run, Copy(self, ours)

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


class Copy:
    """A copy of a running kernel, which waits. It is a child of whoever is the kernel's parent."""

    def __init__(self, original, control):
        self.original, self.control = original, control
        control.settimeout(TIMEOUT_S)
        data, ancillary, _, _ = control.recvmsg(8, socket.CMSG_SPACE(12))
        assert data == frame(HELLO), data
        assert [kind for _, kind, _ in ancillary] == [socket.SCM_CREDENTIALS]
        self.pid = struct.unpack_from("i", ancillary[0][2])[0]

    def take_over(self):
        """The original ends, and its Kernel object talks to the copy from now on."""
        k = self.original
        os.kill(k.pid, signal.SIGKILL)
        os.waitpid(k.pid, 0)
        self.control.send(b"!")
        self.control.close()
        k.pid, k.started_at = self.pid, time.perf_counter()
        k._begin()

    def close(self):
        """Gives up the copy; its exit status."""
        self.control.close()
        return os.waitpid(self.pid, 0)[1]
