"""Timeouts, caps, hang-ups, clients that do not read, and the end of the server."""
import errno
import os
import resource
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import PATIENCE, PROGRAM, Closed, Server

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
UPLOAD = b"POST /discard HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"


def took(call):
    begin = time.monotonic()
    result = call()
    return result, time.monotonic() - begin


class Slow(unittest.TestCase):
    def test_a_head_that_does_not_end_is_a_408(self):
        with Server(head_ms=150) as s, s.connect() as c:
            c.send(b"GET / HTTP/1.1\r\nHost: x\r\n")
            answers, seconds = took(c.answers)
            self.assertEqual([a.status for a in answers], [408])
            self.assertGreater(seconds, 0.1)
            self.assertLess(seconds, 5)

    def test_bytes_one_after_the_other_do_not_help(self):
        with Server(head_ms=200) as s, s.connect() as c:
            c.sock.settimeout(0.01)
            received = b""
            begin = time.monotonic()
            while time.monotonic() < begin + PATIENCE:
                try:
                    c.send(b"X")
                    received += c.sock.recv(1000)
                    break
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            self.assertLess(time.monotonic() - begin, 5)
            self.assertIn(b" 408 ", received)

    def test_who_says_nothing_is_closed(self):
        with Server(head_ms=100) as s, s.connect() as c:
            self.assertTrue(c.is_closed())

    def test_an_idle_connection_is_closed(self):
        with Server(idle_ms=100, head_ms=60000) as s, s.connect() as c:
            c.get("/")
            self.assertTrue(c.is_closed())

    def test_the_time_between_two_requests_is_not_that_of_a_head(self):
        with Server(idle_ms=60000, head_ms=50) as s, s.connect() as c:
            c.get("/")
            time.sleep(0.15)  # three times what a head may take
            self.assertEqual(c.get("/").status, 200)

    def test_a_body_that_stops_is_a_408(self):
        with Server(progress_ms=100) as s, s.connect() as c:
            c.send(UPLOAD + b"abc")
            self.assertEqual([a.status for a in c.answers()], [408])
            self.assertEqual(s.state()["bodies_gone"], 1)

    def test_a_body_that_only_trickles_is_a_408(self):
        with Server(progress_ms=200) as s, s.connect() as c:
            c.send(UPLOAD)
            c.sock.settimeout(0.02)
            begin = time.monotonic()
            received = b""
            while time.monotonic() < begin + PATIENCE:
                try:
                    c.send(b"x")
                    received += c.sock.recv(1000)
                    break
                except TimeoutError:
                    continue
            self.assertIn(b" 408 ", received)

    def test_a_slow_body_that_moves_is_waited_for(self):
        with Server(progress_ms=500) as s, s.connect() as c:
            c.send(b"POST /discard HTTP/1.1\r\nHost: x\r\nContent-Length: 20480\r\n\r\n")
            for _ in range(10):  # longer than progress_ms in all
                c.send(bytes(2048))
                time.sleep(0.07)
            self.assertEqual(c.answer().body, b"20480")

    def test_a_client_that_does_not_read_is_given_up(self):
        with Server(progress_ms=150) as s, s.connect(receive_buffer=4096) as c:
            c.send(b"GET /flood?n=64 HTTP/1.1\r\nHost: x\r\n\r\n")
            s.until(lambda state: state["floods_gone"] == 1)

    def test_a_client_that_reads_slowly_gets_everything(self):
        with Server(progress_ms=500) as s, s.connect(receive_buffer=4096) as c:
            c.send(b"GET /flood?n=8 HTTP/1.1\r\nHost: x\r\n\r\n")
            c.head()
            for _ in range(10):
                c.exactly(100000)
                time.sleep(0.07)
            c.exactly((8 << 20) - 1000000)
            self.assertEqual(c.get("/").status, 200)

    def test_loris_by_the_hundred_do_not_hurt_the_others(self):
        with Server(head_ms=60000) as s:
            slow = [s.connect() for _ in range(300)]
            for c in slow:
                c.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
            with s.connect() as c:
                times = sorted(took(lambda: c.get("/"))[1] for _ in range(200))
            self.assertLess(times[190], 0.1)
            self.assertLessEqual(s.state()["workers"], 4)
            for c in slow:
                c.sock.close()
            s.until(lambda state: state["connections"] == 1)


class Caps(unittest.TestCase):
    def test_connections_over_the_cap_are_told_so(self):
        with Server(connections_max=3) as s:
            kept = [s.connect() for _ in range(3)]
            for c in kept:
                c.get("/")
            with s.connect() as c:
                c.send(GET)
                answers = c.answers()
                self.assertEqual([a.status for a in answers], [503])
                self.assertTrue(answers[0]["retry-after"])
            for c in kept:
                self.assertEqual(c.get("/").status, 200)
            kept.pop().sock.close()
            self.wait_for_room(s)
            for c in kept:
                c.sock.close()

    def wait_for_room(self, s):
        end = time.monotonic() + PATIENCE
        while s.get("/").status != 200:
            self.assertLess(time.monotonic(), end)

    def test_an_address_has_a_cap_of_its_own(self):
        with Server(per_address_max=2) as s:
            kept = [s.connect(), s.connect()]
            for c in kept:
                c.get("/")
            with s.connect() as c:
                c.send(GET)
                self.assertEqual([a.status for a in c.answers()], [429])
            with s.connect(source="127.0.0.2") as c:
                self.assertEqual(c.get("/").status, 200)
            for c in kept:
                c.sock.close()

    def test_workers_over_the_cap_are_a_503(self):
        with Server(workers_max=2) as s:
            busy = [s.connect(), s.connect()]
            for c in busy:
                c.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            end = time.monotonic() + PATIENCE
            while (answer := s.get("/")).status != 503:
                self.assertLess(time.monotonic(), end)
            self.assertEqual(answer["retry-after"], "1")
            for c in busy:
                c.sock.close()
            end = time.monotonic() + PATIENCE
            while s.get("/").status != 200:
                self.assertLess(time.monotonic(), end)

    def test_without_descriptors_clients_wait_and_nothing_spins(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

        process = subprocess.Popen([PROGRAM, "listen=127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, preexec_fn=few)
        port = int(process.stdout.readline().rpartition(":")[2])
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for c in clients:
            c.settimeout(PATIENCE)
            c.sendall(GET)
        before = self.cpu(process.pid)
        time.sleep(0.5)
        self.assertLess(self.cpu(process.pid) - before, 0.25)
        for i, c in enumerate(clients):  # each that is closed makes room for another
            self.assertIn(b"200 OK", c.recv(1000), i)
            c.close()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.communicate(timeout=PATIENCE)[1], "")
        self.assertEqual(process.returncode, 0)

    def cpu(self, pid):
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Hangup(unittest.TestCase):
    def test_a_client_that_leaves_is_noticed_while_its_handler_works(self):
        with Server() as s:
            with s.connect() as c:
                c.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
                s.until(lambda state: state["slow"] == 1)
            s.until(lambda state: state["hangups"] == 1 and state["slow"] == 0)

    def test_a_reset_is_noticed_as_well(self):
        with Server() as s:
            c = s.connect()
            c.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            s.until(lambda state: state["slow"] == 1)
            c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            c.sock.close()
            s.until(lambda state: state["hangups"] == 1 and state["slow"] == 0)

    def test_who_has_only_stopped_sending_counts_as_gone_and_gets_the_answer(self):
        with Server() as s, s.connect() as c:
            c.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            s.until(lambda state: state["slow"] == 1)
            c.sock.shutdown(1)
            self.assertEqual(c.answer().body, b"hung")

    def test_who_has_left_before_the_hook_was_set_is_noticed(self):
        with Server() as s, s.connect() as c:
            c.send(GET + b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            c.sock.shutdown(1)
            self.assertEqual([a.body for a in c.answers()], [b"hello", b"hung"])

    def test_nobody_is_told_who_stays(self):
        with Server() as s, s.connect() as c:
            c.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            s.until(lambda state: state["slow"] == 1)
            s.get("/release")
            self.assertEqual(c.answer().body, b"released")
            self.assertEqual(s.state()["hangups"], 0)
            self.assertEqual(c.get("/").status, 200)


class End(unittest.TestCase):
    def test_idle_connections_are_closed_at_once(self):
        with Server(drain_ms=60000) as s, s.connect() as idle, s.connect() as fresh:
            idle.get("/")
            begin = time.monotonic()
            s.stop()
            self.assertLess(time.monotonic() - begin, 5)
            self.assertTrue(idle.is_closed())
            self.assertTrue(fresh.is_closed())

    def test_requests_under_way_are_answered_and_then_closed(self):
        with Server(drain_ms=60000) as s, s.connect() as busy, s.connect() as upload, s.connect() as half:
            busy.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            upload.send(b"POST /all HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na")
            half.send(b"GET /release HT")
            s.until(lambda state: state["slow"] == 1 and state["workers_busy"] >= 3)
            port = s.port()
            s.process.send_signal(signal.SIGTERM)
            while not self.is_refused(port):
                pass
            upload.send(b"bc")
            self.assertEqual((upload.answer().body, upload.rest()), (b"abc", b""))
            half.send(b"TP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(half.answer()["connection"], "close")
            answer = busy.answer()
            self.assertEqual((answer.body, answer["connection"]), (b"released", "close"))
            for c in busy, upload, half:
                c.sock.close()
            s.wait()

    def is_refused(self, port):
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED

    def test_what_takes_too_long_is_cut_off(self):
        with Server(drain_ms=100) as s, s.connect() as busy, s.connect() as upload:
            busy.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            upload.send(UPLOAD)
            s.until(lambda state: state["slow"] == 1 and state["workers_busy"] >= 2)
            s.stop()
            for c in busy, upload:
                with self.assertRaises(Closed):
                    c.answer()

    def test_parked_streams_end_properly(self):
        with Server(drain_ms=60000) as s, s.connect() as c:
            c.send(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(c.head().status, 200)
            s.until(lambda state: state["parked"] == 1)
            s.process.send_signal(signal.SIGTERM)
            self.assertEqual(c.chunk(), b"")
            self.assertTrue(c.is_closed())
            c.sock.close()
            s.wait()


class Unix(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.path = f"{self.dir}/s.sock"

    def test_the_peer_is_known_and_the_file_private(self):
        with Server(f"listen=unix:{self.path}", "listen=127.0.0.1:0") as s:
            self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
            about = s.get("/about").body.decode()
            self.assertIn(f"\nuid={os.getuid()}\n", about)
            self.assertIn("\nunix=1\n", about)
            with s.connect(1) as c:
                self.assertIn(b"\nunix=0\n", c.get("/about").body)
        self.assertFalse(os.path.exists(self.path))

    def test_a_dead_servers_socket_is_replaced(self):
        with Server(f"listen=unix:{self.path}", may_complain=True) as s:
            s.process.kill()
            s.wait()
        self.assertTrue(os.path.exists(self.path))
        with Server(f"listen=unix:{self.path}") as s:
            self.assertEqual(s.get("/").status, 200)

    def test_a_living_servers_socket_is_not(self):
        with Server(f"listen=unix:{self.path}") as s:
            with self.assertRaisesRegex(RuntimeError, "another server"):
                Server(f"listen=unix:{self.path}").__enter__()
            self.assertEqual(s.get("/").status, 200)

    def test_another_file_is_not_removed(self):
        with open(self.path, "w") as f:
            f.write("mine")
        with self.assertRaisesRegex(RuntimeError, "something else"):
            Server(f"listen=unix:{self.path}").__enter__()
        with open(self.path) as f:
            self.assertEqual(f.read(), "mine")

    def test_bodies_and_streams_work_there_too(self):
        with Server(f"listen=unix:{self.path}") as s, s.connect() as c:
            c.send(b"POST /all HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + bytes(300000))
            self.assertEqual(len(c.answer().body), 300000)
            c.send(b"GET /big?n=4 HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(len(c.answer().body), 4 << 20)
