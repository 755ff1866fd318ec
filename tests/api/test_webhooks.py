"""Webhooks: events that are sent to somebody else's server, here one that is real and can be told to misbehave."""
import hashlib
import hmac
import http.server
import json
import queue
import signal
import threading
import time
import unittest

from base import ApiTest, Client, Server, eventually
from files import WORKSPACES

HOOKS = WORKSPACES + "/default/webhooks"
SETTINGS = {"webhooks.allow_private": "127.0.0.1", "webhooks.retry_s": "1"}


class Receiver:
    """An HTTP server; what comes lands in a queue. `answers` says what is answered next, then 204."""

    def __init__(self):
        self.got = queue.Queue()
        self.answers = queue.Queue()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    answer = receiver.answers.get_nowait()
                except queue.Empty:
                    answer = 204
                receiver.got.put((self.path, dict(self.headers), body))
                if callable(answer):
                    answer(self)
                    return
                self.send_response(answer)
                if answer in (301, 302, 307, 308):
                    self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                receiver.got.put((self.path, dict(self.headers), None))
                self.send_error(400)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.port}{path}"

    def next(self, seconds=30):
        """(headers, decoded body) of the next delivery."""
        path, headers, body = self.got.get(timeout=seconds)
        assert path == "/hook", path
        return headers, json.loads(body), body

    def event(self, type_of="putFile"):
        """The next event of that type."""
        while True:
            _, body, _ = self.next()
            if body["type"] == type_of:
                return body["event"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def is_signed(headers, body, secret, now=None):
    """As docs/events.md shows it."""
    parts = dict(part.split("=", 1) for part in headers["Cicada-Signature"].split(","))
    right = hmac.new(secret.encode(), parts["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(right, parts["v1"]) and abs((now or time.time()) - int(parts["t"])) < 300


class Base(ApiTest):
    settings = SETTINGS

    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.ws = self.client.ok("POST", WORKSPACES, {"name": self.id().rpartition(".")[2][-200:]}, 201)["id"]
        self.hooks = f"{WORKSPACES}/{self.ws}/webhooks"

    def hook(self, url=None, **wishes):
        made = self.client.ok("POST", self.hooks, {"url": url or self.receiver.url(), **wishes}, 201)
        self.addCleanup(lambda: Client(self.server).request("DELETE", f"{self.hooks}/{made['id']}"))
        return made

    def put(self, path, data=b"x", client=None):
        answer = (client or self.client).request("PUT", f"{WORKSPACES}/{self.ws}/files/{path}", raw=data)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def look(self, made):
        return self.client.ok("GET", f"{self.hooks}/{made['id']}")


class Delivering(Base):
    def test_an_event_is_sent_signed(self):
        made = self.hook(events=["putFile"])
        self.assertTrue(made["secret"].startswith("whsec_") and len(made["secret"]) > 40)
        file = self.put("a.csv")
        headers, body, raw = self.receiver.next()
        self.assertTrue(is_signed(headers, raw, made["secret"]))
        self.assertFalse(is_signed(headers, raw + b" ", made["secret"]))
        self.assertFalse(is_signed(headers, raw, made["secret"][:-1] + "x"))
        self.assertEqual((headers["Cicada-Event"], headers["Content-Type"]), ("putFile", "application/json"))
        self.assertEqual((body["type"], body["webhook_id"], body["id"]), ("putFile", made["id"], headers["Cicada-Delivery"]))
        listed = self.client.ok("GET", f"{WORKSPACES}/{self.ws}/events?types=putFile")["data"]
        self.assertEqual(body["event"], listed[0])
        self.assertEqual(body["event"]["file_id"], file["id"])
        seen = eventually(lambda: self.look(made)["delivered_seq"] >= listed[0]["seq"] and self.look(made))
        self.assertEqual((seen["failures"], seen["last_status"], seen["last_error"], seen["paused_at"]), (0, 204, None, None))
        self.assertNotIn("secret", seen)

    def test_everything_in_order_once(self):
        self.hook(events=["putFile"])
        writers = [threading.Thread(target=lambda w=w: [self.put(f"{w}-{i}", client=Client(self.server)) for i in range(10)])
                   for w in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        seen = [self.receiver.event() for _ in range(30)]
        numbers = [e["seq"] for e in seen]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual({e["path"] for e in seen}, {f"{w}-{i}" for w in range(3) for i in range(10)})
        self.assertTrue(self.receiver.got.empty())

    def test_a_refusal_is_tried_again_with_the_same_id_and_before_what_follows(self):
        made = self.hook(events=["putFile"])
        self.receiver.answers.put(500)
        self.receiver.answers.put(503)
        self.put("first")
        headers, body, _ = self.receiver.next()
        self.put("second")
        failing = eventually(lambda: self.look(made)["failures"] == 1 and self.look(made))
        self.assertEqual((failing["last_status"], failing["last_error"]), (500, "it answered 500"))
        self.assertTrue(failing["next_attempt_at"] and failing["failing_since"])
        again, body_again, raw = self.receiver.next()
        self.assertEqual((again["Cicada-Delivery"], body_again), (headers["Cicada-Delivery"], body))
        self.assertTrue(is_signed(again, raw, made["secret"]))
        self.assertEqual([self.receiver.event()["path"] for _ in range(2)], ["first", "second"])
        healed = eventually(lambda: self.look(made)["failures"] == 0 and self.look(made))
        self.assertEqual((healed["failing_since"], healed["next_attempt_at"], healed["last_error"]), (None, None, None))

    def test_a_slow_one_holds_up_nobody(self):
        release = threading.Event()
        self.addCleanup(release.set)
        slow = Receiver()
        self.addCleanup(slow.close)

        def wait(handler):
            release.wait(20)
            handler.send_response(204)
            handler.end_headers()

        slow.answers.put(wait)
        self.hook(url=slow.url(), events=["putFile"])
        self.hook(events=["putFile"])
        self.put("one")
        slow.next()  # it has it, and does not answer
        for name in "two", "three":
            self.put(name)
        self.assertEqual([self.receiver.event()["path"] for _ in range(3)], ["one", "two", "three"])
        self.assertTrue(slow.got.empty())
        release.set()
        self.assertEqual([slow.event()["path"] for _ in range(2)], ["two", "three"])

    def test_a_long_answer_is_not_read_to_its_end(self):
        made = self.hook(events=["putFile"])

        def flood(handler):
            handler.send_response(200)
            handler.end_headers()
            try:
                for _ in range(1000):
                    handler.wfile.write(b"x" * 65536)
            except OSError:
                self.receiver.answers.put(204)
            handler.close_connection = True

        self.receiver.answers.put(flood)
        self.put("f")
        self.receiver.next()
        self.assertEqual(eventually(lambda: self.look(made)["last_status"]), 200)
        self.assertEqual(self.look(made)["failures"], 0)

    def test_what_a_run_leaves(self):
        self.hook(events=["saveFiles"])
        session = self.client.session(workspace=self.ws)
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        run = self.client.run(session, "open('out.txt', 'w').write('x')")
        self.assertEqual(self.receiver.event("saveFiles")["run_id"], run["id"])

    def test_redirects_are_not_followed(self):
        made = self.hook(events=["putFile"])
        for status in 301, 302, 307, 308:
            self.receiver.answers.put(status)
            answer = self.client.ok("POST", f"{self.hooks}/{made['id']}/test")
            self.assertEqual((answer["delivered"], answer["status"]), (False, status))
            self.assertIn("redirects are not followed", answer["error"])
            self.assertEqual(self.receiver.next()[1]["type"], "webhook.test")
        self.assertTrue(self.receiver.got.empty())

    def test_410_pauses_it_and_a_change_sets_it_going(self):
        made = self.hook(events=["putFile"])
        self.receiver.answers.put(410)
        self.put("one")
        self.receiver.next()
        paused = eventually(lambda: self.look(made)["paused_at"] and self.look(made))
        self.assertEqual((paused["last_status"], paused["next_attempt_at"]), (410, None))
        self.put("two")
        changed = self.client.ok("PATCH", f"{self.hooks}/{made['id']}", {})
        self.assertEqual((changed["paused_at"], changed["failures"]), (None, 0))
        self.assertEqual([self.receiver.event()["path"] for _ in range(2)], ["one", "two"])

    def test_paused_and_not(self):
        made = self.hook(events=["putFile"])
        self.assertTrue(self.client.ok("PATCH", f"{self.hooks}/{made['id']}", {"paused": True})["paused_at"])
        other = self.hook(events=["putFile"])
        self.put("one")
        self.assertEqual(self.receiver.next()[1]["webhook_id"], other["id"])
        self.put("two")
        self.assertEqual(self.receiver.next()[1]["webhook_id"], other["id"])
        self.client.ok("PATCH", f"{self.hooks}/{made['id']}", {"paused": False})
        self.assertEqual([self.receiver.next()[1]["webhook_id"] for _ in range(2)], [made["id"]] * 2)

    def test_a_removed_one_gets_nothing(self):
        gone, stays = self.hook(events=["putFile"]), self.hook(events=["putFile"])
        self.assertEqual(self.client.request("DELETE", f"{self.hooks}/{gone['id']}").status, 204)
        self.fails(self.client.request("DELETE", f"{self.hooks}/{gone['id']}"), 404, "not_found")
        self.put("one")
        self.put("two")
        self.assertEqual([self.receiver.next()[1]["webhook_id"] for _ in range(2)], [stays["id"]] * 2)
        self.assertTrue(self.receiver.got.empty())

    def test_begins_with_what_happens_after_it_was_made(self):
        self.put("before")
        self.hook(events=["putFile"])
        self.put("after")
        self.assertEqual(self.receiver.event()["path"], "after")

    def test_another_secret_and_other_events(self):
        made = self.hook(events=["deleteFile"])
        changed = self.client.ok("PATCH", f"{self.hooks}/{made['id']}", {"events": ["put*"], "secret": "0123456789abcdef"})
        self.assertEqual((changed["events"], changed["secret"], changed["url"]), (["put*"], "0123456789abcdef", made["url"]))
        self.put("x")
        headers, _, raw = self.receiver.next()
        self.assertTrue(is_signed(headers, raw, "0123456789abcdef"))

    def test_who_made_it_is_no_admin_any_more(self):
        who = self.client.ok("POST", "/api/v1/principals", {"name": "admin for a while", "kind": "human"}, 201)["id"]
        key = self.client.ok("POST", "/api/v1/keys", {"principal": who, "scopes": ["share", "files:read"]}, 201)
        member = f"{WORKSPACES}/{self.ws}/members/{who}"
        self.client.ok("PUT", member, {"role": "admin"})
        theirs = Client(self.server, key["secret"])
        made = theirs.ok("POST", self.hooks, {"url": self.receiver.url(), "events": ["putFile"]}, 201)
        self.put("seen")
        self.assertEqual(self.receiver.event()["path"], "seen")
        self.client.ok("PUT", member, {"role": "editor"})
        self.fails(theirs.get(self.hooks), 403, "permission_denied")
        self.put("unseen")
        paused = eventually(lambda: self.look(made)["paused_at"] and self.look(made))
        self.assertIn("no admin", paused["last_error"])
        self.assertTrue(self.receiver.got.empty())
        self.assertEqual(self.client.ok("PATCH", f"{self.hooks}/{made['id']}", {})["paused_at"], None)
        self.assertEqual(self.receiver.event()["path"], "unseen")


class Refusing(Base):
    def refused(self, url):
        answer = self.client.request("POST", self.hooks, {"url": url})
        self.fails(answer, 400, "invalid_request")
        return answer.json["error"]["message"]

    def test_addresses_that_are_not_outside(self):
        for host in ("127.0.0.2", "10.0.0.1", "192.168.1.1", "172.16.3.4", "169.254.169.254", "100.64.0.1", "0.0.0.0",
                     "224.0.0.1", "255.255.255.255", "168.63.129.16", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
                     "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::1]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]",
                     "2130706434", "0x7f000002", "0177.0.0.2", "127.2", "2852039166", "0"):
            self.assertIn("allow_private", self.refused(f"http://{host}/hook"), host)

    def test_urls_that_are_none_of_the_web(self):
        for url in ("ftp://example.org/", "file:///etc/passwd", "gopher://example.org/", "unix:///run/x", "example.org", "/x", "",
                    "https://user:password@example.org/", "https://user@example.org/", "https://example.org:22/",
                    "https://example.org:6379/", "http://exa mple.org/", "https://example.org/\r\nX: y", "http://[fe80::1%25lo]/",
                    "https://example.org/" + "a" * 2030):
            self.refused(url)

    def test_wishes_that_cannot_be(self):
        url = self.receiver.url()
        for wishes in ({"secret": "short"}, {"secret": "x" * 129}, {"secret": "with a blank in it"}, {"events": ["a b"]},
                       {"events": ["a,b"]}, {"events": ["x"] * 33}, {"events": [""]}, {"nothing": 1}, {"paused": True}):
            self.fails(self.client.request("POST", self.hooks, {"url": url, **wishes}), 400, "invalid_request")
        self.fails(self.client.request("POST", self.hooks, {}), 400, "invalid_request")
        self.assertEqual(self.client.ok("GET", self.hooks)["data"], [])

    def test_twenty_and_not_one_more(self):
        made = [self.hook(events=["nothing"]) for _ in range(20)]
        self.assertIn(self.client.request("POST", self.hooks, {"url": self.receiver.url()}).status, (409, 429))
        listed = self.client.ok("GET", self.hooks)
        self.assertEqual([h["id"] for h in listed["data"]], [h["id"] for h in made])
        self.assertNotIn("secret", json.dumps(listed))

    def test_only_admins_of_the_workspace(self):
        who = self.client.ok("POST", "/api/v1/principals", {"name": "p", "kind": "human"}, 201)["id"]
        key = self.client.ok("POST", "/api/v1/keys", {"principal": who, "scopes": ["share", "files:read", "files:write"]}, 201)
        other = Client(self.server, key["secret"])
        made = self.hook()
        asks = (("GET", self.hooks), ("GET", f"{self.hooks}/{made['id']}"), ("DELETE", f"{self.hooks}/{made['id']}"),
                ("POST", f"{self.hooks}/{made['id']}/test"))
        for method, path in asks:
            self.assertEqual(other.request(method, path).status, 404)
        self.client.ok("PUT", f"{WORKSPACES}/{self.ws}/members/{who}", {"role": "editor"})
        for method, path in asks:
            self.assertEqual(other.request(method, path).status, 403)
        reader = self.client.ok("POST", "/api/v1/keys", {"scopes": ["files:read", "files:write"]}, 201)
        for method, path in asks:
            self.assertEqual(Client(self.server, reader["secret"]).request(method, path).status, 403)

    def test_a_test_says_how_it_went(self):
        made = self.hook(events=["nothing"])
        answer = self.client.ok("POST", f"{self.hooks}/{made['id']}/test")
        self.assertEqual(answer, {"delivered": True, "status": 204, "error": None})
        headers, body, raw = self.receiver.next()
        self.assertTrue(is_signed(headers, raw, made["secret"]))
        self.assertEqual((body["type"], body["event"]["workspace_id"]), ("webhook.test", self.ws))
        self.receiver.answers.put(500)
        answer = self.client.ok("POST", f"{self.hooks}/{made['id']}/test")
        self.assertEqual((answer["delivered"], answer["status"]), (False, 500))
        self.assertEqual(self.look(made)["failures"], 0)

    def test_once_with_an_idempotency_key(self):
        headers = {"Idempotency-Key": "hook-1"}
        one = self.client.ok("POST", self.hooks, {"url": self.receiver.url()}, 201, headers=headers)
        two = self.client.ok("POST", self.hooks, {"url": self.receiver.url()}, 201, headers=headers)
        self.assertEqual(one["id"], two["id"])
        self.assertNotIn("secret", two)
        self.assertEqual(len(self.client.ok("GET", self.hooks)["data"]), 1)


class Names(Base):
    """A name that leads to this host is found out when the socket is made, whatever it is called."""

    settings = {"webhooks.retry_s": "1"}

    def test_this_host_by_its_names(self):
        for name in "localhost", "LOCALHOST.", "x.localhost":
            self.fails(self.client.request("POST", self.hooks, {"url": f"http://{name}:{self.receiver.port}/hook"}), 400, "invalid_request")
        self.fails(self.client.request("POST", self.hooks, {"url": self.receiver.url()}), 400, "invalid_request")

    def test_a_name_that_leads_inside(self):
        import socket
        name = socket.gethostname()
        try:
            addresses = {a[4][0] for a in socket.getaddrinfo(name, self.receiver.port, type=socket.SOCK_STREAM)}
        except OSError:
            raise unittest.SkipTest("this host has no name") from None
        if not all(a.startswith(("127.", "10.", "172.", "192.168.", "169.254.")) or ":" in a for a in addresses):
            raise unittest.SkipTest("the name of this host leads to the public internet")
        made = self.hook(url=f"http://{name}:{self.receiver.port}/hook", events=["putFile"])
        answer = self.client.ok("POST", f"{self.hooks}/{made['id']}/test")
        self.assertEqual((answer["delivered"], answer["status"]), (False, None))
        self.assertIn("not on the public internet", answer["error"])
        self.put("x")
        seen = eventually(lambda: self.look(made)["failures"] > 0 and self.look(made))
        self.assertIn("not on the public internet", seen["last_error"])
        self.assertTrue(self.receiver.got.empty())


class Off(Base):
    settings = {"webhooks.enabled": "off"}

    def test_switched_off(self):
        answer = self.client.request("POST", self.hooks, {"url": "https://example.org/"})
        self.fails(answer, 503, "unavailable")
        self.assertEqual(self.client.ok("GET", self.hooks)["data"], [])


class Restarting(unittest.TestCase):
    def setUp(self):
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        self.server = Server(settings=SETTINGS)
        self.addCleanup(self.server.close)

    def put(self, path):
        client = Client(self.server)
        self.assertEqual(client.request("PUT", f"{WORKSPACES}/default/files/{path}", raw=b"x").status, 201)
        client.close()

    def test_what_was_not_delivered_is_delivered_by_the_next_server(self):
        made = Client(self.server).ok("POST", HOOKS, {"url": self.receiver.url(), "events": ["putFile"]}, 201)
        self.put("one")
        self.assertEqual(self.receiver.event()["path"], "one")
        eventually(lambda: Client(self.server).ok("GET", f"{HOOKS}/{made['id']}")["last_status"] == 204)
        for _ in range(100):
            self.receiver.answers.put(500)
        self.put("two")
        self.receiver.next()
        self.put("three")
        self.server.stop()
        while not self.receiver.answers.empty():
            self.receiver.answers.get()
        while not self.receiver.got.empty():
            self.receiver.got.get()
        self.server.start()
        self.assertEqual([self.receiver.event()["path"] for _ in range(2)], ["two", "three"])
        self.put("four")
        self.assertEqual(self.receiver.event()["path"], "four")
        self.assertTrue(self.receiver.got.empty())

    def test_after_a_kill_nothing_is_missing(self):
        Client(self.server).ok("POST", HOOKS, {"url": self.receiver.url(), "events": ["putFile"]}, 201)
        for i in range(10):
            self.put(f"f{i}")
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.put("last")
        seen = []
        while "last" not in seen:
            seen.append(self.receiver.event()["path"])
        once = sorted(set(seen), key=seen.index)  # some may come twice, and then in the same order
        self.assertEqual(once, [f"f{i}" for i in range(10)] + ["last"])
