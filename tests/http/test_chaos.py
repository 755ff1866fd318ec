"""Many clients that do everything at once, well and badly: afterwards the server is as it was before."""
import contextlib
import random
import threading
import time
import unittest

from harness import Closed, Server

SECONDS = 3
HOST = b" HTTP/1.1\r\nHost: x\r\n"


def whole(c, r):
    for _ in range(r.randint(1, 5)):
        assert c.get("/").body == b"hello"


def pipelined(c, r):
    count = r.randint(1, 20)
    c.send((b"GET /pieces?n=2" + HOST + b"\r\n") * count)
    for _ in range(count):
        assert len(c.answer().chunks) == 2


def upload(c, r):
    size = r.randint(0, 300000)
    c.send(b"POST /discard" + HOST + b"Content-Length: %d\r\n\r\n" % size + bytes(size))
    assert c.answer().body == b"%d" % size


def cut_body(c, r):
    c.send(b"POST /discard" + HOST + b"Content-Length: 100000\r\n\r\n" + bytes(r.randint(0, 50000)))


def cut_head(c, r):
    c.send((b"GET /" + HOST)[:r.randint(1, 20)])


def noise(c, r):
    c.send(r.randbytes(r.randint(1, 100)))
    c.rest()


def listen(c, r):
    c.send(b"GET /events?n=3" + HOST + b"\r\n")
    assert c.head().status == 200
    for _ in range(3):
        if r.random() < 0.2:
            return
        c.chunk()


def wake(c, r):
    c.get("/wake")


def leave_flood(c, r):
    c.send(b"GET /flood?n=4" + HOST + b"\r\n")
    c.exactly(r.randint(1, 100000))


def big(c, r):
    c.send(b"GET /big?n=1" + HOST + b"\r\n")
    assert len(c.answer().body) == 1 << 20


def hang_up(c, r):
    c.send(b"GET /slow" + HOST + b"\r\n")
    time.sleep(r.random() / 100)


def release(c, r):
    c.get("/release")


DEEDS = [whole, whole, pipelined, upload, cut_body, cut_head, noise, listen, listen, wake, wake, wake, leave_flood, big,
         hang_up, release]
WHOLE = [whole, pipelined, upload, wake, big, release]  # leave nothing unread


class Chaos(unittest.TestCase):
    def test_everything_at_once(self):
        failures = []
        with Server(workers_max=64, head_ms=500, progress_ms=1000, heartbeat_ms=20) as s:
            end = time.monotonic() + SECONDS

            def live(seed):
                r = random.Random(seed)
                while time.monotonic() < end:
                    deed = r.choice(DEEDS)
                    try:
                        with s.connect() as c:
                            c.sock.settimeout(5)
                            deed(c, r)
                            if deed in WHOLE and r.random() < 0.3:
                                deed(c, r)
                    except (Closed, ConnectionError, TimeoutError):
                        pass  # refused, or cut short by the deed itself
                    except Exception as e:  # what came was wrong
                        failures.append((deed.__name__, repr(e)))

            threads = [threading.Thread(target=live, args=(seed,)) for seed in range(16)]
            for t in threads:
                t.start()
            waker = threading.Event()

            def keep_waking():
                while not waker.wait(0.05):
                    with contextlib.suppress(Closed, ConnectionError):
                        s.get("/wake")
                        s.get("/release")

            helper = threading.Thread(target=keep_waking)
            helper.start()
            for t in threads:
                t.join()
            waker.set()
            helper.join()
            self.assertEqual([f for f in failures if "503" not in f[1]], [])
            state = s.until(lambda state: state["connections"] == 1 and state["parked"] == 0 and state["slow"] == 0)
            self.assertGreater(state["requests"], 200)
