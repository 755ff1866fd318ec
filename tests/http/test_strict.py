"""What is malformed is answered once and the connection is closed, whatever follows it."""
import unittest

from harness import Server

HOST = b"Host: x\r\n"
POST = b"POST /discard HTTP/1.1\r\n" + HOST
BODY = b"Content-Length: 2\r\n\r\n{}"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
NEXT = b"GET /about HTTP/1.1\r\nHost: smuggled\r\n\r\n"


def get(line, *headers):
    return b"\r\n".join([line, b"Host: x", *headers]) + b"\r\n\r\n"


def header(*lines):
    return get(b"GET / HTTP/1.1", *lines)


REFUSED = {
    # The twelve cases every server should refuse; see the table of docs.
    "no Host": (b"POST /discard HTTP/1.1\r\n" + BODY, 400),
    "two Host": (POST + b"Host: y\r\n" + BODY, 400),
    "two equal Host": (POST + HOST + BODY, 400),
    "Content-Length and Transfer-Encoding":
        (POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
    "Transfer-Encoding and Content-Length":
        (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
    "two different Content-Length": (POST + b"Content-Length: 3\r\n" + BODY, 400),
    "two equal Content-Length": (POST + b"Content-Length: 2\r\n" + BODY, 400),
    "Content-Length +2": (POST + b"Content-Length: +2\r\n\r\n{}", 400),
    "Content-Length -2": (POST + b"Content-Length: -2\r\n\r\n{}", 400),
    "Content-Length 0x2": (POST + b"Content-Length: 0x2\r\n\r\n{}", 400),
    "Content-Length 2, 2": (POST + b"Content-Length: 2, 2\r\n\r\n{}", 400),
    "Content-Length 2 2": (POST + b"Content-Length: 2 2\r\n\r\n{}", 400),
    "Content-Length 2.0": (POST + b"Content-Length: 2.0\r\n\r\n{}", 400),
    "Content-Length 1_0": (POST + b"Content-Length: 1_0\r\n\r\n{}", 400),
    "Content-Length empty": (POST + b"Content-Length:\r\n\r\n{}", 400),
    "Content-Length huge": (POST + b"Content-Length: 99999999999999999999\r\n\r\n{}", 400),
    "Content-Length 2^64": (POST + b"Content-Length: 18446744073709551618\r\n\r\n{}", 400),
    "Transfer-Encoding xchunked": (POST + b"Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 501),
    "Transfer-Encoding chunkedx": (POST + b"Transfer-Encoding: chunkedx\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 501),
    "Transfer-Encoding gzip": (POST + b"Transfer-Encoding: gzip\r\n\r\n{}", 501),
    "Transfer-Encoding gzip, chunked":
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 501),
    "Transfer-Encoding identity": (POST + b"Transfer-Encoding: identity\r\n" + BODY, 501),
    "Transfer-Encoding identity alone": (POST + b"Transfer-Encoding: identity\r\n\r\n", 501),
    "Transfer-Encoding empty": (POST + b"Transfer-Encoding:\r\n\r\n", 501),
    "Transfer-Encoding quoted": (POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n', 501),
    "Transfer-Encoding chunked, chunked":
        (POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
    "Transfer-Encoding chunked, identity":
        (POST + b"Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400),
    "Transfer-Encoding with a vertical tab":
        (POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400),
    "two Transfer-Encoding":
        (POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "Transfer-Encoding in HTTP/1.0":
        (b"POST /discard HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "blank before the colon": (POST + b"Content-Length : 2\r\n\r\n{}", 400),
    "tab before the colon": (POST + b"Content-Length\t: 2\r\n\r\n{}", 400),
    "obs-fold": (POST + b"X-A: b\r\n c\r\n" + BODY, 400),
    "obs-fold with a tab": (POST + b"X-A: b\r\n\tc\r\n" + BODY, 400),
    "blank before the first header": (b"POST /discard HTTP/1.1\r\n Host: x\r\n" + BODY, 400),
    "bare LF everywhere": (b"POST /discard HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}", 400),
    "bare LF after the request line": (b"POST /discard HTTP/1.1\nHost: x\r\n" + BODY, 400),
    "bare LF after a header": (b"POST /discard HTTP/1.1\r\nHost: x\n" + BODY, 400),
    "bare LF at the end of the head": (POST + b"Content-Length: 2\r\n\n{}", 400),
    "bare CR in a value": (POST + b"X-A: b\rc\r\n" + BODY, 400),
    "bare CR as a line end": (POST + b"X-A: b\rX-B: c\r\n" + BODY, 400),
    "CR CR LF": (POST + b"X-A: b\r\r\n" + BODY, 400),
    "bare CR in the request line": (b"GET /\rHTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "NUL in a value": (POST + b"X-A: b\0c\r\n" + BODY, 400),
    "NUL in a name": (POST + b"X-\0A: b\r\n" + BODY, 400),
    "NUL in the target": (get(b"GET /\0 HTTP/1.1"), 400),
    "control character in a value": (header(b"X-A: \x01"), 400),
    "DEL in a value": (header(b"X-A: \x7f"), 400),
    "escaped NUL in the target": (get(b"GET /%00 HTTP/1.1"), 400),
    "chunk size of 17 digits": (CHUNKED + b"10000000000000002\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size of 16 digits": (CHUNKED + b"0000000000000002\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size 0x2": (CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size +2": (CHUNKED + b"+2\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size -2": (CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size empty": (CHUNKED + b"\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size with a leading blank": (CHUNKED + b" 2\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size with a trailing blank": (CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n", 400),
    "chunk size with an underscore": (CHUNKED + b"1_0\r\n{}\r\n0\r\n\r\n", 400),
    "chunk size ends in LF": (CHUNKED + b"2\n{}\r\n0\r\n\r\n", 400),
    "chunk size ends in CR": (CHUNKED + b"2\r{}\r\n0\r\n\r\n", 400),
    "chunk ends in LF": (CHUNKED + b"2\r\n{}\n0\r\n\r\n", 400),
    "chunk longer than its size": (CHUNKED + b"2\r\n{}x\r\n0\r\n\r\n", 400),
    "chunk extension with LF": (CHUNKED + b"2;a\nb\r\n{}\r\n0\r\n\r\n", 400),
    "chunk extension with NUL": (CHUNKED + b"2;a\0b\r\n{}\r\n0\r\n\r\n", 400),
    "chunk extension without end": (CHUNKED + b"2;" + b"a" * 8192 + b"\r\n{}\r\n0\r\n\r\n", 400),
    "last chunk ends in LF": (CHUNKED + b"0\n\n", 400),
    "trailer without colon": (CHUNKED + b"0\r\nabc\r\n\r\n", 400),
    "trailer folded": (CHUNKED + b"0\r\nA: b\r\n c\r\n\r\n", 400),
    "trailer ends in LF": (CHUNKED + b"0\r\nA: b\n\r\n", 400),
    "trailers too long": (CHUNKED + b"0\r\nA: " + b"b" * 8192 + b"\r\n\r\n", 400),
    # The request line.
    "two blanks before the target": (get(b"GET  / HTTP/1.1"), 400),
    "two blanks before the version": (get(b"GET /  HTTP/1.1"), 400),
    "tab in the request line": (get(b"GET\t/ HTTP/1.1"), 400),
    "blank at the end of the request line": (get(b"GET / HTTP/1.1 "), 400),
    "blank at its begin": (get(b" GET / HTTP/1.1"), 400),
    "no version": (get(b"GET /"), 400),
    "no target": (get(b"GET HTTP/1.1"), 400),
    "method alone": (b"GET\r\n", 400),
    "blank in the target": (get(b"GET /a b HTTP/1.1"), 400),
    "fragment": (get(b"GET /a#b HTTP/1.1"), 400),
    "quote in the target": (get(b'GET /a"b HTTP/1.1'), 400),
    "less-than in the target": (get(b"GET /<script> HTTP/1.1"), 400),
    "backslash in the path": (get(b"GET /a\\b HTTP/1.1"), 400),
    "target without slash": (get(b"GET a HTTP/1.1"), 400),
    "target of raw UTF-8": (get("GET /ä HTTP/1.1".encode()), 400),
    "broken escape": (get(b"GET /%zz HTTP/1.1"), 400),
    "cut escape": (get(b"GET /a?b=%4 HTTP/1.1"), 400),
    "other scheme": (get(b"GET ftp://x/ HTTP/1.1"), 400),
    "absolute target without a host": (get(b"GET http:///a HTTP/1.1"), 400),
    "absolute target with a user": (get(b"GET http://me@x/ HTTP/1.1"), 400),
    "absolute target with a bad port": (get(b"GET http://x:99999/ HTTP/1.1"), 400),
    "star with GET": (get(b"GET * HTTP/1.1"), 400),
    "authority with GET": (get(b"GET x:80 HTTP/1.1"), 400),
    "CONNECT": (get(b"CONNECT x:80 HTTP/1.1"), 501),
    "method with a bad character": (get(b"G(T / HTTP/1.1"), 400),
    "method with a colon": (get(b"GET: / HTTP/1.1"), 400),
    "method too long": (get(b"G" * 33 + b" / HTTP/1.1"), 501),
    "HTTP/1.2": (get(b"GET / HTTP/1.2"), 505),
    "HTTP/2.0": (get(b"GET / HTTP/2.0"), 505),
    "HTTP/0.9": (get(b"GET / HTTP/0.9"), 505),
    "preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "http/1.1": (get(b"GET / http/1.1"), 400),
    "HTTP/1.10": (get(b"GET / HTTP/1.10"), 400),
    "HTTP/11": (get(b"GET / HTTP/11"), 400),
    "HTTP/1.": (get(b"GET / HTTP/1."), 400),
    "HTTP /1.1": (get(b"GET / HTTP /1.1"), 400),
    "HTTPS/1.1": (get(b"GET / HTTPS/1.1"), 400),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "two empty lines before the request": (b"\r\n\r\n" + header(), 400),
    "a bare LF before the request": (b"\n" + header(), 400),
    "a blank line before the request": (b" \r\n" + header(), 400),
    # Host.
    "Host empty": (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    "Host with a path": (b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400),
    "Host with a user": (b"GET / HTTP/1.1\r\nHost: me@x\r\n\r\n", 400),
    "Host list": (b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400),
    "Host list without blank": (b"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400),
    "Host with a blank": (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    "Host with a bad port": (b"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400),
    "Host with port 65536": (b"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400),
    "Host of a cut IPv6 address": (b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400),
    "Host with a broken escape": (b"GET / HTTP/1.1\r\nHost: a%2\r\n\r\n", 400),
    "absolute target without Host": (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
    # Headers.
    "header without colon": (header(b"X-A"), 400),
    "header without name": (header(b": a"), 400),
    "header name with a blank": (header(b"X A: b"), 400),
    "header name with a bracket": (header(b"X[A]: b"), 400),
    "header name of raw UTF-8": (header("Ä: b".encode()), 400),
    "65 headers": (header(*[b"X-%d: a" % i for i in range(64)]), 431),
    "head too large": (header(b"X-A: " + b"a" * 16384), 431),
    "head too large without end": (b"GET / HTTP/1.1\r\n" + HOST + b"X-A: " + b"a" * 20000, 431),
    "target too long": (get(b"GET /" + b"a" * 8192 + b" HTTP/1.1"), 414),
    "request line without end": (b"GET /" + b"a" * 9000, 414),
    "Expect of something else": (POST + b"Expect: 200-ok\r\n" + BODY, 417),
    "Expect twice, one of something else": (POST + b"Expect: 100-continue\r\nExpect: x\r\n" + BODY, 417),
}

ACCEPTED = {
    "one empty line before the request": (b"\r\n" + get(b"GET /about HTTP/1.1"), "x"),
    "absolute target": (get(b"GET http://other:81/about HTTP/1.1"), "other:81"),
    "absolute target in capitals": (get(b"GET HTTP://other/about HTTP/1.1"), "other"),
    "absolute target with a query": (get(b"GET http://other/about?a=1 HTTP/1.1"), "other"),
    "star with OPTIONS": (get(b"OPTIONS * HTTP/1.1"), "x"),
    "64 headers": (get(b"GET /about HTTP/1.1", *[b"X-%d: a" % i for i in range(63)]), "x"),
    "target as long as may be": (get(b"GET /about?" + b"a" * (8192 - 7) + b" HTTP/1.1"), "x"),
    "obs-text in a value": (get(b"GET /about HTTP/1.1", b"X-A: \xe4\xff"), "x"),
    "underscore in a name": (get(b"GET /about HTTP/1.1", b"X_A: b"), "x"),
    "empty value": (get(b"GET /about HTTP/1.1", b"X-A:"), "x"),
    "value without blank, and with many": (get(b"GET /about HTTP/1.1", b"A:b", b"B:  \t c \t "), "x"),
    "method of 32 letters": (get(b"M" * 32 + b" /about HTTP/1.1"), "x"),
    "Host of an IPv6 address": (b"GET /about HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "[::1]:80"),
    "Host with an empty port": (b"GET /about HTTP/1.1\r\nHost: x:\r\n\r\n", "x:"),
    "what browsers do not escape": (get(b"GET /about?a[]={|}^`\\ HTTP/1.1"), "x"),
    "header names in any case": (b"GET /about HTTP/1.1\r\nhOsT: x\r\n\r\n", "x"),
    "body of a GET": (get(b"GET /about HTTP/1.1", b"Content-Length: 2") + b"{}", "x"),
    "Content-Length with zeros": (get(b"POST /about HTTP/1.1", b"Content-Length: 0002") + b"{}", "x"),
    "chunks with extensions and trailers": (get(b"POST /about HTTP/1.1", b"Transfer-Encoding: Chunked")
                                            + b"2;a=b;c=\"d\"\r\n{}\r\n00\r\nA: b\r\nC: d\r\n\r\n", "x"),
    "chunk size of 15 digits": (get(b"POST /about HTTP/1.1", b"Transfer-Encoding: chunked")
                                + b"000000000000002\r\n{}\r\n0\r\n\r\n", "x"),
}


class Strict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server())

    def test_everything_malformed_is_refused_once_and_closed(self):
        for name, (request, status) in REFUSED.items():
            with self.subTest(name), self.server.connect() as c:
                c.send(request + NEXT)
                answers = c.answers()
                self.assertEqual([a.status for a in answers], [status])
                self.assertEqual(answers[0]["connection"], "close")

    def test_the_same_when_it_comes_byte_by_byte(self):
        for name, (request, status) in REFUSED.items():
            if len(request) > 500:
                continue
            with self.subTest(name), self.server.connect() as c:
                try:
                    for i in range(len(request)):
                        c.send(request[i:i + 1])
                    c.send(NEXT)
                except ConnectionError:
                    pass  # refused before its end
                self.assertEqual([a.status for a in c.answers()], [status])

    def test_what_is_good_is_answered_and_so_is_what_follows(self):
        for name, (request, host) in ACCEPTED.items():
            with self.subTest(name), self.server.connect() as c:
                c.send(request + NEXT)
                for expected in (host, "smuggled"):
                    answer = c.answer()
                    self.assertEqual(answer.status, 200)
                    self.assertIn(f"\nhost={expected}\n", answer.body.decode("latin-1"))

    def test_a_head_of_exactly_the_limit_fits_and_one_byte_more_does_not(self):
        short = get(b"GET / HTTP/1.1", b"X-A: ")
        for extra, status in ((0, 200), (1, 431)):
            with self.server.connect() as c:
                c.send(get(b"GET / HTTP/1.1", b"X-A: " + b"a" * (16384 - len(short) + extra)))
                self.assertEqual(c.answer().status, status)

    def test_the_server_explains_its_refusals(self):
        with self.server.connect() as c:
            c.send(REFUSED["two Host"][0])
            answer = c.answer()
            self.assertEqual(answer["content-type"], "application/json")
            self.assertIn(b"more than one Host", answer.body)


