"""`cicada events` and `cicada webhooks`, beside a real server."""
import http.server
import json
import os
import queue
import subprocess
import threading
import unittest.mock

from harness import CICADA, PATIENCE_S, Case
from served import Served


class Eventful(Served):
    more = {}

    def setUp(self):
        Case.setUp(self)
        self.run_dir = self.place / "run"
        (self.run_dir / "cicada").mkdir(parents=True, mode=0o700)
        self.socket = self.run_dir / "cicada" / "cicada.sock"
        os.chmod(self.place, 0o711)  # a server that was started as root goes on as somebody else
        self.standin = self.real = None
        with unittest.mock.patch.dict(os.environ, self.more):
            self.start_real()

    def put(self, path, *more):
        self.assertEqual(0, self.cicada("files", "put", "-", "--to", path, *more, stdin=b"x").code)


class Events(Eventful):
    def test_lists_for_eyes_and_programs(self):
        self.put("a.csv")
        self.put("b.csv")
        rows = [line.split("\t") for line in self.good("events", "--types", "putFile").out.splitlines()]
        self.assertEqual([row[2] for row in rows], ["putFile"] * 2)
        self.assertEqual(rows[0][3:5], ["a.csv", "1"])
        events = self.objects("events", "--types", "put*")
        self.assertEqual([e["path"] for e in events], ["a.csv", "b.csv"])
        self.assertEqual([e["path"] for e in self.objects("events", "--types", "putFile", "--since", str(events[0]["seq"]))],
                         ["b.csv"])
        some = self.good("events", "--types", "putFile", "-n", "1")
        self.assertEqual(len(some.out.splitlines()), 1)
        self.assertIn(f"--since {events[0]['seq']} shows them", some.err)
        self.assertIn("no events", self.good("events", "--types", "nothing").err)

    def test_mistakes(self):
        self.assertIn("since", self.fails(2, "events", "--since", "x"))
        self.assertIn("no name of an event", self.fails(2, "events", "--types", "a b"))
        self.assertIn("nowhere", self.fails(2, "events", "-w", "nowhere"))

    def test_follow_prints_as_it_happens_and_goes_on_after_a_restart(self):
        self.put("before")
        seq = self.objects("events", "--types", "putFile")[0]["seq"]
        follower = subprocess.Popen([CICADA, "events", "--follow", "--json", "--types", "putFile", "--since", str(seq - 1)],
                                    env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.kill)
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(json.loads(line)) for line in follower.stdout], daemon=True).start()
        self.assertEqual(lines.get(timeout=PATIENCE_S)["path"], "before")
        self.put("while")
        self.assertEqual(lines.get(timeout=PATIENCE_S)["path"], "while")
        self.real.terminate()
        self.real.wait(PATIENCE_S)
        self.start_real()
        self.put("after")
        self.assertEqual(lines.get(timeout=PATIENCE_S)["path"], "after")


class Webhooks(Eventful):
    more = {"CICADA_WEBHOOKS_ALLOW_PRIVATE": "127.0.0.1"}

    def setUp(self):
        self.got, self.answer = queue.Queue(), 204
        test = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                test.got.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(test.answer)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(self.receiver.server_close)
        self.addCleanup(self.receiver.shutdown)
        threading.Thread(target=self.receiver.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.receiver.server_address[1]}/hook"
        super().setUp()

    def test_add_test_pause_resume_rm(self):
        ran = self.good("webhooks", "add", self.url, "--events", "putFile,moveFile")
        self.assertRegex(ran.out, r"^whsec_[0-9a-z]{40}\n$")
        hook = self.object("webhooks")
        self.assertEqual((hook["url"], hook["events"]), (self.url, ["putFile", "moveFile"]))
        self.assertIn("delivered: it answered 204", self.good("webhooks", "test", hook["id"]).err)
        self.assertEqual(self.got.get(timeout=PATIENCE_S)["type"], "webhook.test")
        self.answer = 500
        failed = self.cicada("webhooks", "test", hook["id"])
        self.assertEqual((failed.code, "not delivered: it answered 500" in failed.err), (1, True), failed)
        self.got.get(timeout=PATIENCE_S)
        self.answer = 204
        self.good("webhooks", "pause", hook["id"])
        self.assertEqual(self.good("webhooks", "ls").out.split("\t")[3], "paused")
        self.put("one")
        self.good("webhooks", "resume", hook["id"])
        self.assertEqual(self.got.get(timeout=PATIENCE_S)["event"]["path"], "one")
        self.assertIsNone(self.object("webhooks", "show", hook["id"])["paused_at"])
        self.good("webhooks", "rm", hook["id"])
        self.assertIn("no webhooks", self.good("webhooks").err)
        self.fails(2, "webhooks", "rm", hook["id"])

    def test_where_it_may_not_lead(self):
        self.assertIn("not on the public internet", self.fails(2, "webhooks", "add", "http://169.254.169.254/"))
        self.assertIn("only http and https", self.fails(2, "webhooks", "add", "file:///etc/passwd"))
