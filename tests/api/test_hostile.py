"""Clients that mean harm or are broken: values of every wrong kind in every field of every operation, requests
that are too much of something, and many at once where one would do.

Whatever comes: no 5xx but 503, every refusal is an error object, nothing of the host and no secret is in an answer or
in the log, and afterwards the server is as quick as before and holds nothing more than before.
$CICADA_HOSTILE_REQUESTS is how many are made up in the first part, $CICADA_HOSTILE_SEED another seed.
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import re
import socket
import threading
import time
import unittest
import urllib.parse

from base import KEY, ApiTest, Client, eventually

ONE = "/api/v1/sessions/"
REQUESTS = int(os.environ.get("CICADA_HOSTILE_REQUESTS", 500))
SEED = os.environ.get("CICADA_HOSTILE_SEED", "cicada")

TEXTS = ["", " ", "a", "..", "../../etc/passwd", "/etc/passwd", "a/b", "a\0b", "\u202e", "\U0001f997", "ses_" + "0" * 24, "null", "%00", "%2e%2e",
         "x" * 65, "x" * 129, "x" * 300, "\n", "a\r\nX-Injected: 1", "'; DROP TABLE runs; --", "\u0000", "\ufffd", "\u00e4" * 128, "$(id)", "{{7*7}}",
         "<script>", "%s%n%p", "NaN", "-1", "true"]
NUMBERS = [0, 1, -1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**64), 10**30, 0.1, -0.0, 1e308, 1e-320, 1.5, 86401]
OTHERS = [None, True, False, [], {}, [[]], [None], {"": ""}, {"a": {"b": {}}}, [1, "a", None]]


class Maker:
    """Requests made up from the description: mostly right, and wrong in a place or two."""

    def __init__(self, document, known, seed):
        self.random = random.Random(seed)
        self.known = known  # ids that exist
        self.operations = [(method.upper(), path, op) for path, item in document["paths"].items() for method, op in item.items()]

    def any(self):
        kind = self.random.randrange(3)
        return self.random.choice((TEXTS, NUMBERS, OTHERS)[kind])

    def value(self, schema, wrong):
        """One that fits, or one that may not."""
        if self.random.random() < wrong:
            return self.any()
        kind = schema.get("type", "string")
        kind = kind[0] if isinstance(kind, list) else kind
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if kind == "object":
            return self.thing(schema, wrong)
        if kind == "array":
            return [self.value(schema.get("items", {}), wrong) for _ in range(self.random.randrange(3))]
        if kind in ("integer", "number"):
            low, high = schema.get("minimum", 0), schema.get("maximum", 100)
            return self.random.choice([low, high, low - 1, high + 1, min(low + 1, high)]) if wrong else low
        if kind == "boolean":
            return self.random.random() < 0.5
        return self.random.choice(["1", "x", "y = 2", "a.txt"])

    def thing(self, schema, wrong):
        properties = schema.get("properties", {})
        made = {name: self.value(part, wrong) for name, part in properties.items()
                if name in schema.get("required", ()) or self.random.random() < 0.4}
        if self.random.random() < wrong / 2:
            made[self.random.choice(TEXTS)] = self.any()
        if made and self.random.random() < wrong / 2:
            del made[self.random.choice(list(made))]
        if "timeout_s" in properties:
            made["timeout_s"] = 0.3 if self.random.random() > wrong else self.any()
        return made

    def body(self, op):
        content = op.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            return None if self.random.random() < 0.9 else json.dumps(self.any())
        text = json.dumps(self.value(content["schema"], 0.25), ensure_ascii=self.random.random() < 0.5)
        if self.random.random() < 0.1:
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + self.random.choice(["", "{", '"', "\\ud800", "\\u0000", ",", "]", "}", "\t", "1e999"]) + text[at + self.random.randrange(2):]
        return text

    def next(self):
        method, path, op = self.random.choice(self.operations)
        query = {}
        for part in op.get("parameters", []):
            if part["in"] == "path":
                filled = self.random.choice(self.known) if self.random.random() < 0.6 else str(self.any())
                path = path.replace("{" + part["name"] + "}", urllib.parse.quote(filled, safe="" if self.random.random() < 0.7 else "/"))
            elif part["in"] == "query" and self.random.random() < 0.4:
                query[part["name"]] = self.value(part["schema"], 0.4)
        if "wait_s" in query:
            query["wait_s"] = self.random.choice(["0", "-1", "x", "61", "0.1"])
        if self.random.random() < 0.05:
            query[self.random.choice(TEXTS)] = "1"
        headers = {"Content-Type": self.random.choice(["application/json"] * 8 + ["text/plain", "application/json; charset=utf-8", ""])}
        if method == "POST" and self.random.random() < 0.2:
            headers["Idempotency-Key"] = self.random.choice(["k1", "k2", "x" * 300, " ", "a,b", "\x7f"])
        if self.random.random() < 0.1:
            headers["Last-Event-ID"] = self.random.choice(["0", "-1", "x", "99999999999999999999"])
        if query:
            path += "?" + urllib.parse.urlencode({k: str(v) for k, v in query.items()})
        return method, path, self.body(op), headers


def usage(server):
    """What the server process holds: (descriptors, threads)."""
    pid = server.process.pid
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


class Hostile(ApiTest):
    # No kernels in store: what they hold comes and goes by itself.
    settings = {"sessions.per_principal_max": 40, "sessions.pool_min": 0, "sessions.pool_max": 0}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.threads = usage(cls.server)[1]

    def setUp(self):
        super().setUp()
        self.client.run(self.client.session(), "1")  # everything that is made once has been made
        self.clear()
        self.before = usage(self.server)

    def tearDown(self):
        self.clear()
        self.client.close()
        self.check_alive()
        eventually(self.is_back, 60)  # runs that have ended stay for half a minute, for those who come back
        log = self.server.log()
        self.assertNotIn(KEY, log)
        self.assertNotRegex(log, r"level=error")

    @classmethod
    def tearDownClass(cls):
        try:
            eventually(lambda: usage(cls.server)[1] <= cls.threads + 4)
        finally:
            super().tearDownClass()

    def clear(self):
        for row in self.client.ok("GET", "/api/v1/sessions?limit=100")["data"]:
            self.client.ok("DELETE", ONE + row["id"], status=204)

    def check_alive(self):
        client = Client(self.server)
        begun = time.monotonic()
        self.assertEqual(client.ok("GET", "/healthz"), {"status": "ok"})
        self.assertEqual(client.ok("POST", "/api/v1/runs", {"code": "1+1"})["result"]["text/plain"], "2")
        self.assertLess(time.monotonic() - begun, 5)
        client.close()

    def is_back(self):
        """No more descriptors than before; threads of the pool stay for a while and are seen to at the end."""
        return usage(self.server)[0] <= self.before[0] + 2

    def decent(self, answer, what):
        """What every answer has to be."""
        self.assertTrue(answer.status < 500 or answer.status == 503, (what, answer.status, answer.body))
        text = answer.body.decode()
        self.assertNotIn(self.server.data, text, what)
        self.assertNotIn(KEY, text, what)
        if answer.status == 503:
            self.assertIn("Retry-After", answer.headers, what)
        if answer.status >= 400 and answer.headers["Content-Type"].startswith("text/html"):  # a page for people
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"], what)
            self.assertNotIn("<script", text, what)
        elif answer.status >= 400:
            error = answer.json["error"]
            self.assertTrue(error["code"] and error["message"], what)
            self.assertEqual(set(error), {"code", "message", "hint", "request_id"}, what)

    def raw(self, data, wait_s=20):
        """Bytes as they are; the whole answer, which ends with the connection."""
        with contextlib.closing(socket.create_connection(self.server.address, timeout=wait_s)) as sock:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(data)
            got = b""
            with contextlib.suppress(ConnectionResetError):
                sock.shutdown(socket.SHUT_WR)
                while chunk := sock.recv(65536):
                    got += chunk
        return got

    def status(self, data):
        got = re.match(rb"HTTP/1\.1 (\d+) ", self.raw(data))
        return int(got[1]) if got else None

    # ---- one request at a time

    def test_values_of_every_kind_in_every_field(self):
        session = self.client.session(name="known")
        run = self.client.run(session, "1")["id"]
        document = Client(self.server, None).request("GET", "/openapi.json").json
        maker = Maker(document, [session, "known", run, "me"], SEED)
        seen = {}
        for number in range(REQUESTS):
            method, path, body, headers = maker.next()
            if "secret" in path or method == "DELETE" and (session in path or "known" in path):
                continue
            try:
                answer = self.client.request(method, path, raw=body.encode("utf-8", "surrogatepass") if body is not None else None, headers=headers)
            except (ValueError, http.client.InvalidURL):
                continue  # the client library would not send it
            except Exception as failure:
                raise AssertionError(f"request {number}: {method} {path} {headers} {body!r:.500}: {failure!r}") from failure
            self.decent(answer, (number, method, path, headers, body))
            seen[answer.status] = seen.get(answer.status, 0) + 1
        self.assertGreater(seen.get(200, 0) + seen.get(201, 0), REQUESTS // 50, seen)  # they get past the door
        self.assertGreater(seen.get(400, 0), REQUESTS // 10, seen)

    def test_each_field_with_each_wrong_type(self):
        document = Client(self.server, None).request("GET", "/openapi.json").json
        session = self.client.session()
        for method, path, op in Maker(document, [], 0).operations:
            content = op.get("requestBody", {}).get("content", {}).get("application/json")
            if not content:
                continue
            schema = content["schema"]
            good = {name: "x" for name in schema.get("required", ())}
            for name, part in schema["properties"].items():
                kinds = part["type"] if isinstance(part.get("type"), list) else [part.get("type")]
                for kind, wrong in (("string", 5), ("string", [5]), ("integer", "5"), ("object", []), ("array", {}), ("boolean", 1), ("boolean", "true")):
                    if kind not in kinds:
                        continue
                    answer = self.client.request(method, path.replace("{id}", session).replace("{ws}", "default"), {**good, name: wrong})
                    self.decent(answer, (path, name, wrong))
                    self.assertEqual(answer.status, 400, (path, name, wrong, answer.body))
                    self.assertIn(name, answer.json["error"]["message"])

    def test_json_that_is_too_much_of_something(self):
        path = "/api/v1/sessions"
        deep = b"[" * 100000
        for body in (deep, b'{"limits":' * 5000 + b"1" + b"}" * 5000, b'{"name":"' + b"x" * 3000000 + b'"}',
                     b"{" + b",".join(b'"k%d":1' % i for i in range(100000)) + b"}", b'{"idle_s":' + b"9" * 100000 + b"}",
                     b'{"idle_s":1e999999999}', b'{"name":"a","name":"b"}', b'{"limits":{"cpu":1,"cpu":1}}', b'\xff\xfe{}', b"\xef\xbb\xbf{}",
                     b'{"name":"\xc0\xaf"}', b'{"name":"\\ud800"}', b"{}{}", b"{} x", b"nul", b"'", b'{"a":1,}', b"{'name':1}", b'{"name":NaN}',
                     b'{"name":"\x01"}', b'{"__proto__":{}}', b"[]", b'"text"', b"1", b"null", b"true"):
            answer = self.client.request("POST", path, raw=body, headers={"Content-Type": "application/json"})
            self.decent(answer, body[:60])
            self.assertEqual(answer.status, 400, (body[:60], answer.body))

    def test_a_body_that_is_too_large_is_refused_before_it_comes(self):
        head = b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + KEY.encode() + b"\r\nContent-Type: application/json\r\n"
        self.assertEqual(self.status(head + b"Content-Length: 99999999999\r\n\r\n"), 413)
        self.assertEqual(self.status(head + b"Content-Length: 99999999999999999999999\r\n\r\n"), 400)
        self.assertIn(self.status(head + b"Content-Length: -1\r\n\r\n"), (400,))

    def test_heads_that_are_too_much_of_something(self):
        line = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
        many = b"".join(b"X-%d: 1\r\n" % i for i in range(100000))
        for data in (line + many + b"\r\n", line + b"X: " + b"y" * 1000000 + b"\r\n\r\n", b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     line + b"X" * 100000 + b": 1\r\n\r\n"):
            self.assertIn(self.status(data), (400, 414, 431), data[:60])
        for data in (b"\0" * 10000, b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\r\n" * 1000, b"G" * 100000):
            self.assertIn(self.status(data), (None, 400, 404, 405, 414, 431, 501, 505), data[:60])

    def test_paths_that_lead_nowhere(self):
        for path in ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "/api/v1/sessions/..", "/api/v1/sessions/../runs", "/api/v1/./sessions", "//api/v1/sessions",
                     "/api/v1/sessions/%2e%2e", "/api/v1/sessions/%00", "/api/v1/sessions/%ff%fe", "/api/v1/sessions/%", "/api/v1/sessions/%zz",
                     "/api/v1/sessions/" + "a" * 5000, "/api/v1/sessions/a%2Fb", "/api/v1/sessions;x=1", "/api/v1/sessions/ses_x%0d%0aX:1", "/api/v1/runs/*",
                     "/API/V1/SESSIONS", "/api/v1/sessions%20", "/api/v1/sessions/{id}", "/api/v1/runs/run_/events", "/api/v1/sessions/%F0%9F%A6%97"):
            answer = self.client.get(path)
            self.decent(answer, path)
            self.assertIn(answer.status, (400, 404, 405), path)

    def test_unicode_goes_in_and_comes_out(self):
        name = "\U0001f997 \u202e\u00e4\u0301"
        session = self.client.session(name=name)
        self.assertEqual(self.client.ok("GET", ONE + urllib.parse.quote(name))["id"], session)
        run = self.client.run(session, "print('\U0001f997\u2028\u202e')")
        self.assertEqual(run["stdout"], "\U0001f997\u2028\u202e\n")

    def test_secrets_are_nowhere(self):
        key = self.client.ok("POST", "/api/v1/keys", {"scopes": ["run"]}, 201)
        bad = Client(self.server, key["secret"][:-1] + "!")
        bad.get("/api/v1/sessions")
        bad.get("/api/v1/sessions?api_key=" + key["secret"])
        Client(self.server, None).get("/api/v1/sessions", headers={"X-API-Key": key["secret"] + "x"})
        self.client.ok("DELETE", "/api/v1/keys/" + key["id"], status=204)
        log = self.server.log()
        self.assertNotIn(key["secret"], log)
        self.assertNotIn(key["secret"], json.dumps(self.client.ok("GET", "/api/v1/keys")))

    # ---- many at once

    def together(self, *calls):
        """Each on a connection of its own, all at the same time; their answers."""
        gate = threading.Barrier(len(calls))

        def one(call):
            client = Client(self.server)
            gate.wait()
            try:
                return call(client)
            finally:
                client.close()

        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            answers = list(pool.map(one, calls))
        for answer in answers:
            self.decent(answer, answer.status)
        return answers

    def post(self, path, body=None, **more):
        return lambda client: client.post(path, body, **more)

    def test_fifty_clients_on_one_session(self):
        session = self.client.session()
        self.client.run(session, "count = 0")
        answers = self.together(*[self.post(ONE + session + "/runs", {"code": "count += 1"})] * 50)
        done = [a for a in answers if a.status == 200]
        self.assertTrue(all(a.json["end"] == "ok" for a in done))
        self.assertTrue(all(a.status in (200, 409) for a in answers), [a.status for a in answers])
        self.assertEqual(self.client.run(session, "count")["result"]["text/plain"], str(len(done)))

    def test_deleted_while_it_runs_sleeps_forks_and_restarts(self):
        for _ in range(5):
            session = self.client.session()
            path = ONE + session
            answers = self.together(self.post(path + "/runs", {"code": "import time; time.sleep(5)"}), self.post(path + "/sleep"), self.post(path + "/fork", {}),
                                    self.post(path + "/restart"), lambda c: c.request("DELETE", path), lambda c: c.request("DELETE", path),
                                    lambda c: c.get(path), lambda c: c.get(path + "/variables"))
            self.assertIn(204, (answers[4].status, answers[5].status))
            self.assertTrue({answers[4].status, answers[5].status} <= {204, 404})
            self.assertEqual(self.client.ok("GET", path)["status"], "closed")

    def test_forked_slept_and_restarted_at_once(self):
        session = self.client.session()
        self.client.run(session, "x = 1")
        path = ONE + session
        for _ in range(3):
            answers = self.together(*[self.post(path + "/fork", {}), self.post(path + "/sleep"), self.post(path + "/restart"),
                                      self.post(path + "/runs", {"code": "1"}), self.post(path + "/rollback", {}), self.post(path + "/interrupt"),
                                      self.post(path + "/complete", {"code": "pri"})])
            self.assertTrue(all(a.status in (200, 201, 404, 409) for a in answers), [(a.status, a.body) for a in answers])
        self.assertEqual(self.client.run(session, "1+1")["result"]["text/plain"], "2")

    def test_one_name_for_many(self):
        answers = self.together(*[self.post("/api/v1/sessions", {"name": "only"})] * 8)
        self.assertEqual(sorted(a.status for a in answers), [201] + [409] * 7)

    def test_one_key_for_many(self):
        session = self.client.session()
        self.client.run(session, "count = 0")
        answers = self.together(*[self.post(ONE + session + "/runs", {"code": "count += 1; count"}, headers={"Idempotency-Key": "race"})] * 16)
        self.assertEqual(len({a.json["id"] for a in answers if a.status == 200}), 1)
        self.assertTrue(all(a.status in (200, 409) for a in answers))
        self.assertEqual(self.client.run(session, "count")["result"]["text/plain"], "1")
        answers = self.together(*[self.post("/api/v1/sessions", {}, headers={"Idempotency-Key": "made"})] * 8)
        self.assertEqual(len({a.json["id"] for a in answers if a.status == 201}), 1)

    def test_a_storm_of_cancels(self):
        session = self.client.session()
        for _ in range(3):
            run = self.client.run(session, "import time\nwhile True: time.sleep(1)", 202, background=True)["id"]
            path = f"/api/v1/runs/{run}/cancel"
            answers = self.together(*[self.post(path)] * 12, self.post(ONE + session + "/interrupt"))
            self.assertTrue(all(a.status == 200 for a in answers))
            self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=10")["end"], "cancelled")
        self.assertEqual(self.client.run(session, "1+1")["result"]["text/plain"], "2")

    def test_watchers_that_come_and_go(self):
        session = self.client.session()
        run = self.client.run(session, "import time\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.02)", 202, background=True)["id"]

        def glance(_):
            events = Client(self.server).events("GET", f"/api/v1/runs/{run}/events")
            next(events)
            events.close()

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(glance, range(60)))
        self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=20")["end"], "ok")

    def test_clients_that_vanish(self):
        session = self.client.session()
        body = json.dumps({"code": "import time; time.sleep(0.05)"}).encode()
        head = (f"POST {ONE}{session}/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        whole = head + body
        for i in range(100):
            sock = socket.create_connection(self.server.address)
            sock.sendall(whole[:len(whole) * i // 99])
            sock.close()
        eventually(lambda: self.client.ok("GET", ONE + session)["status"] == "idle")
        self.assertEqual(self.client.run(session, "1+1")["result"]["text/plain"], "2")


if __name__ == "__main__":
    unittest.main()
