"""Clients that mean harm or are broken. Each test: the server serves others meanwhile, and is as small
afterwards as it was before.

A test takes the stage (see run) and returns what is wrong, or None.
"""
import contextlib
import re
import resource
import socket
import struct
import threading
import time

from served import KEY

HEAD_S = 10  # that the server gives a request's head: HTTP_LIMITS_DEFAULT
PROGRESS_S = 60  # and a body to move on
RUNS_HEAD = ("POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
             "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n")


class Crowd:
    """Many connections that all do the same."""

    def __init__(self, server, count, first, small_window=False):
        self.sockets = []
        for _ in range(count):
            s = socket.socket()
            if small_window:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(30)
            s.connect(("127.0.0.1", server.port))
            s.sendall(first)
            self.sockets.append(s)

    def read(self):
        """What each has received first; b"" when its connection ended."""
        answers = []
        for s in self.sockets:
            try:
                answers.append(s.recv(65536))
            except ConnectionError:
                answers.append(b"")
        return answers

    def close(self, is_rude=False):
        for s in self.sockets:
            if is_rude:  # a reset instead of an end
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        self.sockets = []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class Dripping:
    """Sends a byte to each of a crowd once a second, until the block is left."""

    def __init__(self, crowd, byte):
        self.crowd, self.byte, self.over = crowd, byte, threading.Event()
        self.thread = threading.Thread(target=self.drip, daemon=True)

    def drip(self):
        while not self.over.wait(1):
            for s in self.crowd.sockets:
                with contextlib.suppress(OSError):
                    s.send(self.byte)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *unused):
        self.over.set()
        self.thread.join()


def await_calm(stage, streams=0):
    """Until the server has let go of what the others did; what it holds if it does not."""
    end = time.monotonic() + 30
    while True:
        text = stage.client.must("GET", "/metrics").decode()
        now = {name: int(re.search(rf"^cicada_{name} (\d+)", text, re.M)[1])
               for name in ("connections", "streams", "workers_busy")}
        if now["connections"] <= 8 and now["streams"] == streams and now["workers_busy"] <= 2:
            return None
        if time.monotonic() > end:
            return f"afterwards: {now}"
        time.sleep(0.05)


def settled(stage, before_kib):
    return await_calm(stage) or stage.memory_returns(before_kib)


# ---- the tests ----


def open_files(stage):
    """A shell's limit of 1,024 descriptors is not the server's."""
    with open(f"/proc/{stage.server.pid}/limits") as f:
        soft = next(line.split()[3] for line in f if line.startswith("Max open files"))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None if soft == str(hard) else f"{soft} of {hard}"


def slow_heads(stage):
    before = stage.memory_kib()
    with Crowd(stage.server, stage.many, b"GET / HTTP/1.1\r\nX-Slow: ") as crowd:
        begun = time.monotonic()
        with Dripping(crowd, b"a"):
            wrong = stage.beside(6)
            answers = crowd.read()
        took = time.monotonic() - begun
    late = [a for a in answers if not a.startswith(b"HTTP/1.1 408 ")]
    if late:
        return f"{len(late)} were not told that they are late: {late[0][:80]!r}"
    if took > HEAD_S + 15:
        return f"they were told after {took:.0f} s"
    return wrong or settled(stage, before)


def slow_bodies_of_strangers(stage):
    """Who has no key is refused before the body: no thread waits for it."""
    before = stage.memory_kib()
    head = re.sub("Authorization.*?\r\n", "", RUNS_HEAD).format(path="/api/v1/runs", length=1000)
    first = head.encode() + b"{"
    with Crowd(stage.server, stage.many, first) as crowd:
        answers = crowd.read()
    wrong = [a for a in answers if not a.startswith(b"HTTP/1.1 401 ")]
    return f"{len(wrong)} were answered {wrong[0][:80]!r}" if wrong else settled(stage, before)


def slow_bodies(stage):
    before = stage.memory_kib()
    first = RUNS_HEAD.format(path="/api/v1/runs", key=KEY, length=1000).encode() + b'{"code": "'
    with Crowd(stage.server, 300, first) as crowd:
        with Dripping(crowd, b"a"):
            wrong = stage.beside(5)
            if stage.is_long:
                time.sleep(PROGRESS_S)
                ended = [a for a in crowd.read() if a == b"" or a.startswith(b"HTTP/1.1 408 ")]
                if len(ended) != 300:
                    wrong = wrong or f"{300 - len(ended)} bodies may take forever"
    return wrong or settled(stage, before)


def dropped_bodies(stage):
    before = stage.memory_kib()
    path = f"/api/v1/sessions/{stage.session}/runs"
    half = RUNS_HEAD.format(path=path, key=KEY, length=100000).encode() + b'{"code": "' + b"#" * 50000
    load = []
    beside = threading.Thread(target=lambda: load.append(stage.beside(5)))
    beside.start()
    for part in range(20):
        Crowd(stage.server, 50, half).close(is_rude=part % 2 == 1)
    beside.join()
    return load[0] or settled(stage, before)


def event_streams(stage):
    """5,000 who follow one run that says nothing."""
    count, allowed_kib = 5000, 40 << 10
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < count + 200:
        return f"the machine allows {hard} descriptors; {count + 200} are needed"
    client, session = stage.client, stage.client.session()
    run = client.run(session, "import time; time.sleep(600)", status=202, background=True,
                     timeout_s=600)["id"]
    first = (f"GET /api/v1/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n"
             f"Authorization: Bearer {KEY}\r\nAccept: text/event-stream\r\n\r\n").encode()
    before = stage.memory_kib()
    with Crowd(stage.server, count, first) as crowd:
        wrong = [a for a in crowd.read() if not a.startswith(b"HTTP/1.1 200 ")]
        if wrong:
            return f"{len(wrong)} were not served: {wrong[0][:200]!r}"
        problem = await_calm_but_streams(stage, count) or stage.beside(35 if stage.is_long else 8)
        added = stage.memory_kib() - before
        stage.note(f"{count} event streams add {added} KiB")
        if added > allowed_kib:
            problem = problem or f"{added} KiB were added, {allowed_kib} are allowed"
        # All of them hear of the end.
        client.must("POST", f"/api/v1/runs/{run}/cancel")
        deaf = sum(b"event: run.done" not in read_to_end(s) for s in crowd.sockets)
        if deaf:
            problem = problem or f"{deaf} were not told of the end"
    client.must("DELETE", f"/api/v1/sessions/{session}", status=204)
    return problem or settled(stage, before)


def await_calm_but_streams(stage, count):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        text = stage.client.must("GET", "/metrics").decode()
        if f"\ncicada_streams {count}\n" in text:
            return None
        time.sleep(0.05)
    return "the streams are not parked: " + "".join(re.findall(r"\ncicada_streams \d+", text))


def read_to_end(s):
    """Until the last chunk of an answer."""
    text = b""
    while not text.endswith(b"0\r\n\r\n"):
        try:
            piece = s.recv(65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    return text


def never_reading(stage):
    """Some follow a run that prints without end, and never read; some do so with a run of their own."""
    client, before = stage.client, stage.memory_kib()
    session, own = client.session(), [client.session() for _ in range(3)]
    code = "while True: print('x' * 1000)"
    run = client.run(session, code, status=202, background=True, timeout_s=120)["id"]
    follow = (f"GET /api/v1/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\n"
              f"Authorization: Bearer {KEY}\r\nAccept: text/event-stream\r\n\r\n").encode()
    body = b'{"code": "for i in range(20000): print(\'x\' * 1000)", "timeout_s": 60}'
    with contextlib.ExitStack() as stack:
        stack.enter_context(Crowd(stage.server, 100, follow, small_window=True))
        for each in own:
            first = RUNS_HEAD.format(path=f"/api/v1/sessions/{each}/runs", key=KEY, length=len(body))
            first = first.replace("\r\n\r\n", "\r\nAccept: text/event-stream\r\n\r\n").encode() + body
            stack.enter_context(Crowd(stage.server, 1, first, small_window=True))
        wrong = stage.beside(6)
        added = stage.memory_kib() - before
        stage.note(f"103 clients that do not read add {added} KiB")
        if added > 64 << 10:
            wrong = wrong or f"they made the server {added} KiB larger"
        for each in own:  # nobody listens, and the run ends all the same
            runs = client.must("GET", f"/api/v1/runs?session={each}")["data"]
            end = client.must("GET", f"/api/v1/runs/{runs[0]['id']}?wait_s=60")["end"]
            if end not in ("ok", "output_limit"):
                wrong = wrong or f"a run that nobody listened to ended {end}"
    client.must("POST", f"/api/v1/runs/{run}/cancel")
    for each in (session, *own):
        client.must("DELETE", f"/api/v1/sessions/{each}", status=204)
    return wrong or settled(stage, before)


TESTS = {
    "the server takes as many descriptors as it may": open_files,
    "5,000 idle event streams": event_streams,  # first, when nothing is left of others
    "heads that come a byte a second": slow_heads,
    "bodies of strangers that do not come": slow_bodies_of_strangers,
    "300 bodies that come a byte a second": slow_bodies,
    "1,000 connections dropped in the middle of a body": dropped_bodies,
    "clients that never read much output": never_reading,
}
