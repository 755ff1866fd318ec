"""A server (server.c) for tests, and a client that sends exactly the bytes it is told to.

    with Server(idle_ms=100) as s, s.connect() as c:
        c.send(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        assert c.answer().body == b"hello"
"""
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import time

BUILD = pathlib.Path(os.environ.get("CICADA", "build/cicada")).resolve().parent
PROGRAM = BUILD / "tests/http/serve"
PATIENCE = 20  # seconds until a test gives up waiting for what has to come


def is_sanitized():
    program = PROGRAM.read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


class Answer:
    def __init__(self, status, reason, headers, body=b"", chunks=None):
        self.status, self.reason, self.headers, self.body = status, reason, headers, body
        self.chunks = chunks or []

    def __getitem__(self, name):
        return self.headers.get(name.lower())

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:60]!r}>"


class Closed(Exception):
    """The server has closed the connection."""


class Client:
    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(PATIENCE)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def get(self, target="/", *headers, method="GET"):
        lines = [f"{method} {target} HTTP/1.1", "Host: x", *headers]
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")
        return self.answer(is_head=method == "HEAD")

    def more(self):
        try:
            data = self.sock.recv(65536)
        except (ConnectionError, ssl.SSLEOFError):
            data = b""
        if not data:
            raise Closed(f"after {len(self.buffer)} bytes: {self.buffer[:200]!r}")
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode("latin-1")

    def exactly(self, count):
        while len(self.buffer) < count:
            self.more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def head(self):
        version, status, reason = self.line().split(" ", 2)
        assert version == "HTTP/1.1", version
        headers = {}
        while line := self.line():
            name, _, value = line.partition(": ")
            assert name.lower() not in headers, f"{name} twice"
            headers[name.lower()] = value
        return Answer(int(status), reason, headers)

    def chunk(self):
        """The next chunk of an answer, or b"" at its end."""
        size = int(self.line(), 16)
        data = self.exactly(size)
        assert self.line() == ""
        return data

    def rest(self):
        """Everything until the server closes the connection."""
        try:
            while True:
                self.more()
        except Closed:
            data, self.buffer = self.buffer, b""
            return data

    def answer(self, is_head=False):
        a = self.head()
        if a.status in (100, 204, 304) or is_head:
            return a
        if a["transfer-encoding"] == "chunked":
            while data := self.chunk():
                a.chunks.append(data)
            a.body = b"".join(a.chunks)
        elif a["content-length"] is not None:
            a.body = self.exactly(int(a["content-length"]))
        else:
            a.body = self.rest()
        return a

    def answers(self):
        """All answers until the server closes the connection."""
        found = []
        try:
            while True:
                found.append(self.answer())
        except Closed:
            assert not self.buffer, f"half an answer: {self.buffer[:200]!r}"
            return found

    def is_closed(self):
        """Waits until the server closes the connection, without another byte."""
        return self.rest() == b""


class Server:
    def __init__(self, *args, may_complain=False, **limits):
        self.args = [*args, *(f"{name}={value}" for name, value in limits.items())]
        self.may_complain = may_complain

    def __enter__(self):
        if not any(a.startswith("listen=") for a in self.args):
            self.args.append("listen=127.0.0.1:0")
        self.process = subprocess.Popen([PROGRAM, *self.args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.addresses = []
        while line := self.process.stdout.readline().strip():
            self.addresses.append(line)
        if not self.addresses:
            raise RuntimeError(self.process.communicate()[1])
        return self

    def __exit__(self, kind, *exc):
        self.stop()
        if kind is None and not self.may_complain:
            assert self.process.returncode == 0 and not self.complaint, \
                f"the server ended with {self.process.returncode}: {self.complaint}"

    def stop(self):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            self.wait()

    def wait(self):
        try:
            _, self.complaint = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, self.complaint = self.process.communicate()
            raise

    def port(self, index=0):
        return int(self.addresses[index].rpartition(":")[2])

    def connect(self, index=0, receive_buffer=None, source=None):
        address = self.addresses[index]
        if address.startswith("unix:"):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(address[5:])
            return Client(sock)
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            sock.bind((source, 0))
        sock.connect(("127.0.0.1", self.port(index)))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Client(sock)

    def get(self, target="/", *headers, **how):
        with self.connect() as c:
            return c.get(target, *headers, **how)

    def state(self):
        """Counters of the server; empty when it has no thread for them."""
        answer = self.get("/state")
        if answer.status == 503:
            return {}
        text = answer.body.decode()
        return {name: int(value) for name, _, value in (line.partition("=") for line in text.split())}

    def until(self, condition):
        """Asks for the state until it is as wanted; returns it."""
        end = time.monotonic() + PATIENCE
        while not ((state := self.state()) and condition(state)):
            assert time.monotonic() < end, f"never came: {state}"
            time.sleep(0.005)
        return state

    def memory(self):
        """Bytes of its own, without shared files."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
