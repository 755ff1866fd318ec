"""Requests and answers: bodies both ways, keep-alive, pipelining, HEAD, HTTP/1.0, files, parts."""
import hashlib
import os
import random
import tempfile
import unittest

from harness import Closed, Server

HEAD = b" HTTP/1.1\r\nHost: x\r\n"


def chunked(data, sizes):
    out, at = [], 0
    while at < len(data):
        size = next(sizes)
        piece = data[at:at + size]
        out.append(b"%x\r\n%s\r\n" % (len(piece), piece))
        at += size
    return b"".join(out) + b"0\r\n\r\n"


def sizes(seed, largest):
    r = random.Random(seed)
    while True:
        yield r.randint(1, largest)


class Exchange(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.file = cls.enterClassContext(tempfile.NamedTemporaryFile())
        cls.content = random.Random(1).randbytes(3 << 20)
        cls.file.write(cls.content)
        cls.file.flush()
        cls.server = cls.enterClassContext(Server(f"file={cls.file.name}"))

    def setUp(self):
        self.client = self.enterContext(self.server.connect())

    def post(self, target, body, *headers):
        lines = b"".join(h + b"\r\n" for h in headers)
        self.client.send(b"POST " + target + HEAD + b"Content-Length: %d\r\n" % len(body) + lines + b"\r\n" + body)
        return self.client.answer()

    def test_an_answer_has_what_it_needs_and_nothing_else(self):
        answer = self.client.get("/")
        self.assertEqual((answer.status, answer.reason, answer.body), (200, "OK", b"hello"))
        self.assertEqual(set(answer.headers), {"date", "content-type", "content-length"})
        self.assertRegex(answer["date"], r"^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$")

    def test_a_connection_serves_many_requests(self):
        for i in range(200):
            self.assertEqual(self.client.get("/").body, b"hello")

    def test_pipelined_requests_are_answered_in_order(self):
        self.client.send(b"".join(b"GET /about?%d" % i + HEAD + b"\r\n" for i in range(500)))
        for i in range(500):
            self.assertIn(b"\nquery=%d\n" % i, self.client.answer().body)

    def test_pipelined_bodies_end_where_they_should(self):
        one = b"POST /echo" + HEAD + b"Content-Length: 5\r\n\r\n12345"
        two = b"POST /echo" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: v\r\n\r\n"
        self.client.send((one + two) * 50)
        for _ in range(50):
            self.assertEqual(self.client.answer().body, b"12345")
            self.assertEqual(self.client.answer().body, b"abc")

    def test_bodies_of_all_sizes_come_back(self):
        for size in (0, 1, 2, 4095, 4096, 16383, 16384, 16385, 32767, 65536, 1 << 20, (1 << 20) + 1):
            data = os.urandom(size)
            with self.subTest(size=size):
                self.assertEqual(self.post(b"/all?max=2000000", data).body, data)
                self.client.send(b"POST /all?max=2000000" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
                                 + chunked(data, sizes(size, 20000)))
                self.assertEqual(self.client.answer().body, data)

    def test_a_body_that_comes_byte_by_byte(self):
        for head, body in ((b"Content-Length: 10\r\n\r\n", b"0123456789"),
                           (b"Transfer-Encoding: chunked\r\n\r\n", chunked(b"0123456789", sizes(3, 4)))):
            for byte in b"POST /all" + HEAD + head + body:
                self.client.send(bytes([byte]))
            self.assertEqual(self.client.answer().body, b"0123456789")

    def test_tiny_chunks(self):
        data = os.urandom(5000)
        self.client.send(b"POST /hash" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
                         + chunked(data, sizes(1, 3)))
        self.assertEqual(self.client.answer().body.decode(), hashlib.sha256(data).hexdigest())

    def test_a_large_upload_arrives_whole(self):
        data = random.Random(2).randbytes(8 << 20)
        wanted = hashlib.sha256(data).hexdigest()
        self.assertEqual(self.post(b"/hash", data).body.decode(), wanted)
        self.client.send(b"POST /hash" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
                         + chunked(data, sizes(5, 200000)))
        self.assertEqual(self.client.answer().body.decode(), wanted)

    def test_a_body_can_come_back_while_it_is_sent(self):
        self.client.send(b"POST /echo" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        self.assertEqual(self.client.head().status, 200)
        for i in range(20):
            self.client.send(b"3\r\nabc\r\n")
            self.assertEqual(self.client.chunk(), b"abc")
        self.client.send(b"0\r\n\r\n")
        self.assertEqual(self.client.chunk(), b"")
        self.assertEqual(self.client.get("/").status, 200)

    def test_an_answer_in_pieces_is_chunked(self):
        answer = self.client.get("/pieces?n=3")
        self.assertEqual(answer.chunks, [b"piece 0\n", b"piece 1\n", b"piece 2\n"])
        self.assertIsNone(answer["content-length"])
        self.assertEqual(self.client.get("/").status, 200)

    def test_head_has_the_headers_and_no_body(self):
        for target in ("/", "/pieces", "/file"):
            whole = self.server.get(target)
            head = self.client.get(target, method="HEAD")
            for name in ("content-length", "transfer-encoding", "content-type"):
                self.assertEqual(head[name], whole[name])
        self.assertEqual(self.client.get("/").body, b"hello")

    def test_an_expecting_client_is_told_to_go_on_when_the_body_is_read(self):
        self.client.send(b"POST /all" + HEAD + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        answer = self.client.answer()
        self.assertEqual((answer.status, answer.reason), (100, "Continue"))
        self.client.send(b"abc")
        self.assertEqual(self.client.answer().body, b"abc")
        self.assertEqual(self.client.get("/").status, 200)

    def test_nobody_is_told_to_go_on_whose_body_is_there(self):
        answer = self.post(b"/all", b"abc", b"Expect: 100-Continue")
        self.assertEqual((answer.status, answer.body), (200, b"abc"))

    def test_an_expecting_client_that_is_refused_keeps_its_body(self):
        self.client.send(b"POST /refuse" + HEAD + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        answer = self.client.answer()
        self.assertEqual((answer.status, answer["connection"]), (401, "close"))
        self.assertTrue(self.client.is_closed())

    def test_expect_without_a_body_means_nothing(self):
        self.assertEqual(self.client.get("/", "Expect: 100-continue").status, 200)
        self.assertEqual(self.client.get("/").status, 200)

    def test_a_large_body_is_refused_before_it_comes(self):
        self.client.send(b"POST /all?max=10" + HEAD + b"Content-Length: 1000000000\r\n\r\n")
        answer = self.client.answer()
        self.assertEqual((answer.status, answer["connection"]), (413, "close"))
        self.assertTrue(self.client.is_closed())

    def test_a_client_that_is_still_sending_reads_its_refusal(self):
        for _ in range(20):
            with self.server.connect() as c:
                c.send(b"POST /refuse" + HEAD + b"Content-Length: 1000000000\r\n\r\n")
                try:
                    for _ in range(16):
                        c.send(bytes(65536))
                except ConnectionError:
                    self.fail("cut off before it could read the answer")
                self.assertEqual(c.answer().status, 401)

    def test_a_small_body_that_nobody_read_does_not_cost_the_connection(self):
        for headers, body in ((b"Content-Length: 5\r\n\r\n", b"12345"),
                              (b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\n12345\r\n0\r\n\r\n")):
            self.client.send(b"POST /refuse" + HEAD + headers + body)
            self.assertEqual(self.client.answer().status, 401)
            self.assertEqual(self.client.get("/").body, b"hello")

    def test_chunks_may_not_be_more_than_the_limit(self):
        self.client.send(b"POST /all?max=10" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
                         + chunked(b"x" * 10, sizes(1, 3)))
        self.assertEqual(self.client.answer().status, 200)
        self.client.send(b"POST /all?max=10" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
                         + chunked(b"x" * 11, sizes(1, 3)))
        self.assertEqual(self.client.answer().status, 413)

    def test_line_ends_do_not_get_into_headers(self):
        answer = self.client.get("/refuse")
        self.assertEqual(answer["www-authenticate"], "Bearer  X-Bad: 1")
        self.assertIsNone(answer["x-bad"])

    def test_http_1_0_closes(self):
        for target, body in (("/", b"hello"), ("/pieces?n=2", b"piece 0\npiece 1\n")):
            with self.server.connect() as c:
                c.send(f"GET {target} HTTP/1.0\r\n\r\n".encode())
                answer = c.answer()
                self.assertEqual((answer.body, answer["connection"]), (body, "close"))
                self.assertIsNone(answer["transfer-encoding"])
                self.assertTrue(c.is_closed())

    def test_http_1_0_may_ask_to_be_kept(self):
        for _ in range(3):
            self.client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            self.assertEqual(self.client.answer()["connection"], "keep-alive")

    def test_close_is_obeyed(self):
        answer = self.client.get("/", "Connection: foo, Close")
        self.assertEqual(answer["connection"], "close")
        self.assertTrue(self.client.is_closed())

    def test_nothing_is_answered_after_a_close(self):
        self.client.send((b"GET /" + HEAD + b"Connection: close\r\n\r\n") * 3)
        self.assertEqual(len(self.client.answers()), 1)

    def test_a_handler_without_an_answer_is_a_500(self):
        answer = self.client.get("/?close")
        self.assertEqual((answer.status, answer["content-type"]), (500, "application/json"))

    def test_half_an_answer_is_seen_as_such(self):
        with self.assertRaises(Closed):
            self.client.get("/half")

    def test_a_client_that_has_stopped_sending_gets_its_answer(self):
        self.client.send(b"POST /all" + HEAD + b"Content-Length: 3\r\n\r\nabc")
        self.client.sock.shutdown(1)
        self.assertEqual(self.client.answer().body, b"abc")
        self.assertTrue(self.client.is_closed())

    def test_a_file_in_all_ways(self):
        content, size = self.content, len(self.content)
        self.assertEqual(self.client.get("/file").body, content)
        for wanted, part in (("0-0", content[:1]), ("0-99999", content[:100000]), (f"{size - 3}-", content[-3:]),
                             ("-10", content[-10:]), (f"1000-{size * 2}", content[1000:])):
            answer = self.client.get("/file", f"Range: bytes={wanted}")
            self.assertEqual((answer.status, answer.body), (206, part))
            first = content.index(part) if len(part) > 1 else 0
            self.assertEqual(answer["content-range"], f"bytes {first}-{first + len(part) - 1}/{size}")
        self.assertEqual(self.client.get("/file", f"Range: bytes={size}-").status, 416)
        self.assertEqual(self.client.get("/file", "Range: bytes=0-1,3-4").body, content)
        self.assertEqual(self.client.get("/file", "Range: lines=0-1").body, content)

    def form(self, parts, boundary=b"-->'()+_,-./:=?<--"[3:-3], preamble=b""):
        out = preamble
        for head, body in parts:
            out += b"--" + boundary + b"\r\n" + head + b"\r\n\r\n" + body + b"\r\n"
        return out + b"--" + boundary + b"--\r\n", boundary

    def test_parts_of_a_form_with_and_without_a_length(self):
        big = random.Random(3).randbytes(300000)
        body, boundary = self.form([
            (b'Content-Disposition: form-data; name="a"', b"1"),
            (b'content-disposition: FORM-DATA; filename="x \\"y\\".bin"; name=f\r\nContent-Type: image/png', big),
            (b'Content-Disposition: form-data; name="empty"; filename=""', b""),
            (b'Content-Disposition: form-data; name="tricky"', b"\r\n--" + b"\r\n-\r\r\n--'(" * 50),
        ])
        wanted = b"a|-|text/plain|1\nf|x \"y\".bin|image/png|300000\nempty||text/plain|0\ntricky|-|text/plain|504\n"
        kind = b'Content-Type: multipart/form-data; charset=utf-8; boundary="%s"' % boundary
        answer = self.post(b"/multipart", body, kind)
        self.assertEqual((answer.status, answer.body), (200, wanted))
        for seed, largest in ((1, 7), (2, 100), (3, 100000)):
            self.client.send(b"POST /multipart" + HEAD + kind + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
                             + chunked(body, sizes(seed, largest)))
            answer = self.client.answer()
            self.assertEqual((answer.status, answer.body), (200, wanted))

    def test_a_form_that_ends_early_is_refused(self):
        body, boundary = self.form([(b'Content-Disposition: form-data; name="a"', b"1")])
        kind = b"Content-Type: multipart/form-data; boundary=" + b"B"
        for cut in (b"", b"--B", b"--B\r\n", b"--B\r\nContent-Disposition: form-data; name=a\r\n\r\nabc\r\n--B"):
            with self.subTest(cut):
                self.assertEqual(self.post(b"/multipart", cut, kind).status, 400)
        self.assertEqual(self.post(b"/multipart", b"x", b"Content-Type: text/plain").status, 415)

    def test_static_files_are_sent_as_the_client_likes_them(self):
        plain = self.client.get("/static")
        self.assertEqual((plain.status, plain.body, plain["content-encoding"]), (200, b"plain content", None))
        zipped = self.client.get("/static", "Accept-Encoding: br, gzip")
        self.assertEqual((zipped.status, zipped.body, zipped["content-encoding"]), (200, b"zipped", "gzip"))
        self.assertEqual((plain["vary"], zipped["vary"]), ("Accept-Encoding", "Accept-Encoding"))
        self.assertIn("immutable", plain["cache-control"])
        self.assertNotEqual(plain["etag"], zipped["etag"])
        again = self.client.get("/static", f"If-None-Match: {plain['etag']}")
        self.assertEqual((again.status, again["etag"], again["content-length"]), (304, plain["etag"], None))
        other = self.client.get("/static", f"If-None-Match: {plain['etag']}", "Accept-Encoding: gzip")
        self.assertEqual(other.status, 200)
        head = self.client.get("/static", method="HEAD")
        self.assertEqual((head.status, head["content-length"]), (200, "13"))
        wrong = self.client.get("/static", method="POST")
        self.assertEqual((wrong.status, wrong["allow"]), (405, "GET, HEAD"))
