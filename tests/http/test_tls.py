"""TLS: versions, reload, goodbyes, and everything that works without it."""
import contextlib
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

from harness import Client, Server


def certificate(folder, name):
    cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key,
                    "-out", cert], check=True, capture_output=True)
    return cert, key


class Tls(unittest.TestCase):
    def setUp(self):
        self.dir = self.enterContext(tempfile.TemporaryDirectory())
        self.cert, self.key = certificate(self.dir, "one.test")

    def serve(self, **limits):
        return Server(f"cert={self.cert}", f"key={self.key}", **limits)

    def context(self):
        context = ssl.create_default_context(cafile=self.cert)
        context.set_alpn_protocols(["http/1.1"])
        return context

    def connect(self, server, name="one.test", context=None):
        sock = socket.create_connection(("127.0.0.1", server.port()))
        return self.enterContext(Client((context or self.context()).wrap_socket(sock, server_hostname=name)))

    def test_requests_bodies_and_files_work(self):
        content = os.urandom(300000)
        path = f"{self.dir}/file"
        with open(path, "wb") as f:
            f.write(content)
        with Server(f"cert={self.cert}", f"key={self.key}", f"file={path}") as s:
            c = self.connect(s)
            self.assertEqual(c.get("/").body, b"hello")
            self.assertIn(b"\ntls=1\n", c.get("/about").body)
            self.assertEqual(c.get("/file").body, content)
            self.assertEqual(len(c.get("/pieces?n=1000").chunks), 1000)
            c.send(b"POST /all HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n" + content)
            self.assertEqual(c.answer().body, content)
            c.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
            for _ in range(100):
                self.assertEqual(c.answer().body, b"hello")
            c.get("/", "Connection: close")

    def test_the_goodbye_is_part_of_the_protocol(self):
        with self.serve() as s:
            c = self.connect(s)
            c.get("/", "Connection: close")
            self.assertEqual(c.sock.recv(100), b"")  # would raise without a close_notify

    def test_http_1_1_is_chosen_and_nothing_else_offered(self):
        with self.serve() as s:
            c = self.connect(s)
            self.assertEqual(c.sock.selected_alpn_protocol(), "http/1.1")
            self.assertIn(c.sock.version(), ("TLSv1.2", "TLSv1.3"))
            context = self.context()
            context.set_alpn_protocols(["h2"])
            with self.assertRaises(ssl.SSLError):
                self.connect(s, context=context)
            c.sock.close()

    def test_old_versions_are_refused(self):
        context = self.context()
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with self.serve() as s, self.assertRaises(OSError):
            self.connect(s, context=context)

    def test_plain_http_and_noise_are_closed(self):
        with self.serve() as s:
            for noise in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + bytes(500), b"\0"):
                with s_connect(s) as c:
                    c.send(noise)
                    with contextlib.suppress(OSError):  # it may be closed already
                        c.sock.shutdown(1)
                    self.assertNotIn(b"200 OK", c.rest())
            self.connect(s).get("/", "Connection: close")

    def test_a_handshake_that_stops_is_closed_and_hinders_nobody(self):
        with self.serve(head_ms=150) as s:
            with s_connect(s) as c:
                c.send(b"\x16\x03\x01")
                self.assertEqual(self.connect(s).get("/").body, b"hello")
                self.assertTrue(c.is_closed())

    def test_events_and_hang_ups(self):
        with self.serve(heartbeat_ms=50) as s:
            c = self.connect(s)
            c.send(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(c.head().status, 200)
            self.assertEqual(c.chunk(), b": ping\n\n")
            other = self.connect(s)
            other.get("/wake")
            self.assertIn(b"event 0", c.chunk() + c.chunk())
            other.send(b"GET /big?n=8 HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(len(other.answer().body), 8 << 20)
            c.sock.close()
            while b"streams_gone=2" not in other.get("/state").body:
                pass

    def test_a_new_certificate_is_for_new_connections(self):
        with self.serve() as s:
            old = self.connect(s)
            old.get("/")
            certificate(self.dir, "two.test")
            s.process.send_signal(signal.SIGHUP)
            self.assertEqual(s.process.stdout.readline(), "reload ok\n")
            self.assertEqual(old.get("/").body, b"hello")
            self.assertEqual(self.connect(s, "two.test").get("/").body, b"hello")

    def test_a_bad_certificate_changes_nothing(self):
        with self.serve() as s:
            with open(self.key, "w") as f:
                f.write("nonsense")
            s.process.send_signal(signal.SIGHUP)
            self.assertIn("key is not good", s.process.stdout.readline())
            self.assertEqual(self.connect(s).get("/").body, b"hello")
            os.unlink(self.key)
            s.process.send_signal(signal.SIGHUP)
            self.assertIn("read the TLS key", s.process.stdout.readline())
            self.assertEqual(self.connect(s).get("/").body, b"hello")


def s_connect(server):
    return Client(socket.create_connection(("127.0.0.1", server.port())))
