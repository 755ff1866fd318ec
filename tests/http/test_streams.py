"""Answers without a thread: events for many who listen and cost almost nothing."""
import time
import unittest

from harness import Closed, Server, is_sanitized

EVENTS = b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n"


def event(number):
    return b"id: %d\nevent: tick\ndata: event %d\n\n" % (number + 1, number)


class Parked(unittest.TestCase):
    def open(self, server, target=b"/events", **how):
        c = self.enterContext(server.connect(**how))
        c.send(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        head = c.head()
        self.assertEqual((head.status, head["content-type"]), (200, "text/event-stream"))
        return c

    def test_events_come_when_they_are_published(self):
        with Server() as s:
            c = self.open(s)
            s.until(lambda state: state["parked"] == 1)
            for i in range(20):
                s.get("/wake")
                self.assertEqual(c.chunk(), event(i))

    def test_a_stream_takes_no_thread(self):
        with Server() as s:
            clients = [self.open(s) for _ in range(50)]
            s.until(lambda state: state["parked"] == 50 and state["workers_busy"] <= 1)
            s.get("/wake")
            for c in clients:
                self.assertEqual(c.chunk(), event(0))

    def test_silence_is_filled_with_comments(self):
        with Server(heartbeat_ms=50) as s:
            c = self.open(s)
            for _ in range(3):
                self.assertEqual(c.chunk(), b": ping\n\n")
            s.get("/wake")
            chunk = c.chunk()
            while chunk == b": ping\n\n":
                chunk = c.chunk()
            self.assertEqual(chunk, event(0))

    def test_after_its_end_the_connection_serves_on(self):
        with Server() as s:
            c = self.open(s, b"/events?n=2")
            s.until(lambda state: state["parked"] == 1)
            s.get("/wake?n=2")
            self.assertEqual(c.chunk(), event(0) + event(1))
            self.assertEqual(c.chunk(), b"")
            self.assertEqual(c.get("/").body, b"hello")
            self.assertEqual(s.state()["streams_gone"], 1)

    def test_a_request_that_came_during_the_stream_is_answered_after_it(self):
        with Server() as s:
            c = self.open(s, b"/events?n=1")
            s.until(lambda state: state["parked"] == 1)
            c.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            s.get("/wake")
            self.assertEqual((c.chunk(), c.chunk()), (event(0), b""))
            self.assertEqual(c.answer().body, b"hello")

    def test_a_request_that_came_with_the_streams_own_is_answered_after_it(self):
        with Server() as s, s.connect() as c:
            c.send(b"GET /events?n=1 HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(c.head().status, 200)
            s.until(lambda state: state["parked"] == 1)
            s.get("/wake")
            self.assertEqual((c.chunk(), c.chunk()), (event(0), b""))
            self.assertEqual(c.answer().body, b"hello")

    def test_a_listener_that_leaves_is_noticed_at_once(self):
        with Server() as s:
            c = self.open(s)
            s.until(lambda state: state["parked"] == 1)
            c.sock.close()
            s.until(lambda state: state["parked"] == 0 and state["streams_gone"] == 1)

    def test_http_1_0_reads_until_the_close(self):
        with Server() as s, s.connect() as c:
            c.send(b"GET /events?n=1 HTTP/1.0\r\n\r\n")
            s.until(lambda state: state["parked"] == 1)
            s.get("/wake")
            self.assertEqual(c.answer().body, event(0))

    def test_head_ends_at_once(self):
        with Server() as s, s.connect() as c:
            self.assertEqual(c.get("/events", method="HEAD").status, 200)
            self.assertEqual(c.get("/").body, b"hello")
            self.assertEqual(s.state()["streams_gone"], 1)

    def test_a_large_stream_arrives_whole(self):
        with Server() as s, s.connect() as c:
            c.send(b"GET /big?n=32 HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(len(c.answer().body), 32 << 20)
            self.assertEqual(c.get("/").body, b"hello")

    def test_who_does_not_read_pauses_the_source_and_is_given_up(self):
        with Server(progress_ms=300) as s:
            before = s.memory()
            clients = [self.open(s, b"/big?n=1000", receive_buffer=4096) for _ in range(20)]
            if not is_sanitized():
                self.assertLess(s.memory() - before, 20 * (200 << 10))
            s.until(lambda state: state["streams_gone"] == 20)
            for c in clients:
                with self.assertRaises(Closed):
                    while True:
                        c.chunk()

    def test_one_who_does_not_read_does_not_stop_the_others(self):
        with Server(progress_ms=60000, drain_ms=100) as s:
            self.open(s, b"/big?n=1000", receive_buffer=4096)
            c = self.open(s)
            s.until(lambda state: state["parked"] == 2)
            for i in range(20):
                s.get("/wake")
                self.assertEqual(c.chunk(), event(i))


class Many(unittest.TestCase):
    COUNT = 2000

    def test_thousands_of_idle_streams_cost_little_and_all_are_told(self):
        with Server(per_address_max=10000) as s:
            s.get("/")
            before = s.memory()
            clients = []
            for _ in range(self.COUNT):
                clients.append(s.connect())
                clients[-1].send(EVENTS)
            for c in clients:
                self.assertEqual(c.head().status, 200)
            state = s.until(lambda state: state["parked"] == self.COUNT)
            if not is_sanitized():
                threads = state["workers"] << 16  # they came with the rush and end by themselves
                self.assertLess((s.memory() - before - threads) / self.COUNT, 1024)
            with s.connect() as c:
                times = []
                for _ in range(200):
                    begin = time.monotonic()
                    c.get("/")
                    times.append(time.monotonic() - begin)
                self.assertLess(sorted(times)[100], 0.02 if not is_sanitized() else 0.2)
                self.assertLess(sorted(times)[190], 0.2 if not is_sanitized() else 1)
            s.get("/wake")
            for c in clients:
                self.assertEqual(c.chunk(), event(0))
                c.sock.close()
            s.until(lambda state: state["parked"] == 0 and state["streams_gone"] == self.COUNT)

    def test_a_thousand_dropped_in_the_middle_of_a_body(self):
        head = b"POST /discard HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
        with Server(workers_max=64) as s:
            peak = []
            for _ in range(3):
                for _ in range(1000 // 3 + 1):
                    with s.connect() as c:
                        c.send(head + bytes(5000))
                state = s.until(lambda state: state["connections"] == 1)
                self.assertEqual(state["parked"], 0)
                peak.append(s.memory())
            if not is_sanitized():
                self.assertLess(peak[2] - peak[0], 4 << 20)
                self.assertLess(peak[2], 16 << 20)

    def test_a_large_upload_costs_no_memory(self):
        size = 256 << 20
        with Server() as s, s.connect() as c:
            s.get("/")
            before = s.memory()
            c.send(b"POST /discard HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
            piece = bytes(1 << 20)
            for _ in range(size >> 20):
                c.send(piece)
            self.assertEqual(c.answer().body, b"%d" % size)
            if not is_sanitized():
                self.assertLess(s.memory() - before, 2 << 20)

    def test_idle_connections_cost_little(self):
        with Server(per_address_max=10000) as s:
            s.get("/")
            before = s.memory()
            clients = [s.connect() for _ in range(self.COUNT)]
            for c in clients:
                c.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(c.answer().status, 200)
            state = s.until(lambda state: state["workers_busy"] <= 1)
            if not is_sanitized():
                threads = state["workers"] << 16
                self.assertLess((s.memory() - before - threads) / self.COUNT, 1024)
            for c in clients:
                c.sock.close()
