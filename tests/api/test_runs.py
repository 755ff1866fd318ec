"""Runs: output, errors, languages, streaming, background, cancelling, records."""
import concurrent.futures
import threading
import time

from base import ApiTest, Client, Server, b64, eventually

ONE = "/api/v1/sessions/"


class Runs(ApiTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.one = Client(cls.server).session()

    def test_the_run_object_has_everything(self):
        run = self.client.run(self.one, "import sys; print('out'); print('err', file=sys.stderr); 6 * 7", name="cell.py")
        self.assertEqual((run["stdout"], run["stderr"]), ("out\n", "err\n"))
        self.assertEqual(run["result"]["text/plain"], "42")
        self.assertEqual((run["status"], run["end"], run["language"], run["name"]), ("done", "ok", "python", "cell.py"))
        self.assertEqual(run["session_id"], self.one)
        again = self.client.ok("GET", "/api/v1/runs/" + run["id"])
        self.assertEqual(again, run)

    def test_an_error_has_a_traceback(self):
        run = self.client.run(self.one, "def f():\n    return 1 / 0\nf()")
        self.assertEqual((run["end"], run["error"]["name"], run["error"]["line"]), ("error", "ZeroDivisionError", 2))
        self.assertIn("return 1 / 0", run["error"]["traceback"])

    def test_files_figures_input_and_environment(self):
        run = self.client.run(self.one, "open('made.csv', 'w').write('a,b')\nimport os\nprint(input(), os.environ['TOKEN'])",
                              stdin="typed\n", env={"TOKEN": "secret-value"})
        self.assertEqual([(f["path"], f["change"], f["mime"]) for f in run["files"]], [("made.csv", "created", "text/csv")])
        self.assertEqual(run["stdout"], "typed secret-value\n")
        run = self.client.run(self.one, "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
        self.assertIn("image/png", run["displays"][0])

    def test_values_of_env_are_kept_nowhere(self):
        self.client.run(self.one, "1", env={"TOKEN": "needle-in-a-haystack"})
        eventually(lambda: "1" in self.client.ok("GET", "/api/v1/runs?limit=1")["data"][0]["code"])
        with open(self.server.data + "/data/meta.db", "rb") as f:
            self.assertNotIn(b"needle-in-a-haystack", f.read())
        self.assertNotIn("needle-in-a-haystack", self.server.log())

    def test_other_languages_share_the_files(self):
        self.client.run(self.one, "x = 5; open('n.txt', 'w').write('12')")
        run = self.client.run(self.one, "n=$(( $(cat n.txt) * 2 )); echo $n | tee n.txt", language="bash")
        self.assertEqual((run["end"], run["stdout"], run["language"]), ("ok", "24\n", "bash"))
        run = self.client.run(self.one, "console.log(require('fs').readFileSync('n.txt', 'utf8').trim() * 2)", language="javascript")
        self.assertEqual((run["end"], run["stdout"]), ("ok", "48\n"))
        self.assertEqual(self.client.run(self.one, "x")["result"]["text/plain"], "5")
        run = self.client.run(self.one, "exit 3", language="bash")
        self.assertEqual((run["end"], run["error"]["message"]), ("error", "bash ended with status 3"))

    def test_code_is_text_of_any_kind(self):
        run = self.client.run(self.one, "'äöü 漢字 🦗 \\u2028'")
        self.assertIn("漢字 🦗", run["result"]["text/plain"])
        self.assertEqual(run["code"], "'äöü 漢字 🦗 \\u2028'")
        self.assertEqual(self.client.run(self.one, "")["end"], "ok")
        run = self.client.run(self.one, "import sys; sys.stdout.buffer.write(b'\\xff\\xfe ok')")
        self.assertEqual(run["stdout"], "\ufffd\ufffd ok")

    def test_what_is_malformed_is_refused_with_the_field(self):
        path = ONE + self.one + "/runs"
        for body, text in (({}, "code"), ({"code": 1}, "code"), ({"code": "1", "langauge": "python"}, "language"),
                           ({"code": "1", "language": "ruby"}, "language"), ({"code": "1", "timeout_s": 0}, "timeout_s"),
                           ({"code": "1", "timeout_s": 1e9}, "timeout_s"), ({"code": "1", "env": {"A": 1}}, "env"),
                           ({"code": "1", "env": [1]}, "env"), ({"code": "1", "background": "yes"}, "background")):
            answer = self.fails(self.client.post(path, body), 400, "invalid_request")
            self.assertIn(text, answer.json["error"]["message"], body)
        for raw in b"", b"{", b"[1]", b'{"code": "1", "code": "2"}', b'{"code": "\xff"}', b"nul", b'{"code":"1"} x':
            answer = self.client.post(path, raw=raw, headers={"Content-Type": "application/json"})
            self.fails(answer, 400, "invalid_request")
        answer = self.client.post(path, raw=b"code=1", headers={"Content-Type": "text/plain"})
        self.fails(answer, 415, "unsupported_media_type")
        self.fails(self.client.post(path, {"code": "1", "env": {"A=B": "x"}}), 400, "invalid_request")

    def test_a_longer_timeout_than_the_server_allows_is_refused(self):
        self.fails(self.client.post(ONE + self.one + "/runs", {"code": "1", "timeout_s": 86400}), 400, "invalid_request")

    def test_timeouts_end_the_run_and_keep_the_variables(self):
        self.client.run(self.one, "kept = 1")
        run = self.client.run(self.one, "while True: pass", timeout_s=0.3)
        self.assertEqual(run["end"], "timeout")
        self.assertEqual(self.client.run(self.one, "kept")["result"]["text/plain"], "1")

    def test_events_come_while_it_runs_and_the_last_is_the_run(self):
        events = self.client.events("POST", ONE + self.one + "/runs", {
            "code": "import time\nprint('first', flush=True)\ninput()\n" "print('second')\n7", "stdin": "x\n"})
        seen = list(events)
        names = [name for name, _, _ in seen]
        self.assertEqual(names[0], "run.started")
        self.assertEqual(names[-1], "run.done")
        self.assertEqual("".join(data["text"] for name, data, _ in seen if name == "stdout"), "first\nsecond\n")
        self.assertIn("result", names)
        self.assertEqual([number for _, _, number in seen], sorted(number for _, _, number in seen))
        self.assertEqual(seen[-1][1]["result"]["text/plain"], "7")
        stored = self.client.ok("GET", "/api/v1/runs/" + seen[-1][1]["id"])
        self.assertEqual(stored, seen[-1][1])

    def test_a_character_torn_between_two_writes_arrives_whole(self):
        events = self.client.events("POST", ONE + self.one + "/runs", {
            "code": "import os, time\nfor b in '€😀'.encode():\n    os.write(1, bytes([b]))\n    time.sleep(0.02)"})
        text = "".join(data["text"] for name, data, _ in events if name == "stdout")
        self.assertEqual(text, "€😀")

    def test_background_runs_are_fetched_followed_and_resumed(self):
        run = self.client.run(self.one, "import time\nfor i in range(5):\n    print(i, flush=True)\n    time.sleep(0.05)", 202, background=True)
        self.assertIn(run["status"], ("queued", "running"))
        events = self.client.events("GET", f"/api/v1/runs/{run['id']}/events")
        first = [next(events), next(events)]
        events.close()
        rest = list(self.client.events("GET", f"/api/v1/runs/{run['id']}/events",
                                       headers={"Last-Event-ID": str(first[-1][2])}))
        self.assertEqual(rest[0][2], first[-1][2] + 1)
        text = "".join(data["text"] for name, data, _ in first + rest if name == "stdout")
        self.assertEqual(text, "0\n1\n2\n3\n4\n")
        done = self.client.ok("GET", f"/api/v1/runs/{run['id']}?wait_s=10")
        self.assertEqual((done["status"], done["end"]), ("done", "ok"))
        late = list(self.client.events("GET", f"/api/v1/runs/{run['id']}/events"))
        self.assertEqual(late[-1][0], "run.done")

    def test_a_run_is_cancelled_and_the_variables_stay(self):
        self.client.run(self.one, "kept = 2")
        run = self.client.run(self.one, "import time\nprint('on', flush=True)\ntime.sleep(60)", 202, background=True)
        events = self.client.events("GET", f"/api/v1/runs/{run['id']}/events")
        while next(events)[0] != "stdout":
            pass
        ended = self.client.ok("POST", f"/api/v1/runs/{run['id']}/cancel")
        self.assertEqual((ended["status"], ended["end"]), ("done", "cancelled"))
        self.assertEqual(self.client.run(self.one, "kept")["result"]["text/plain"], "2")
        again = self.client.ok("POST", f"/api/v1/runs/{run['id']}/cancel")
        self.assertEqual(again, ended)

    def test_runs_of_a_session_wait_for_each_other_in_order(self):
        session = self.client.session()
        blocker = self.client.run(session, "import time; time.sleep(0.5); order = []", 202, background=True)
        queued = [self.client.run(session, f"order.append({i})", 202, background=True)["id"] for i in range(5)]
        self.fails(self.client.post(ONE + session + "/runs", {"code": "1", "queue": False}), 409, "busy")
        for run in queued:
            self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=20")["end"], "ok")
        self.assertEqual(self.client.run(session, "order")["result"]["text/plain"], "[0, 1, 2, 3, 4]")
        self.assertEqual(self.client.ok("GET", "/api/v1/runs/" + blocker["id"])["end"], "ok")
        self.client.ok("DELETE", ONE + session, status=204)

    def test_a_run_that_waits_can_be_cancelled_without_having_begun(self):
        session = self.client.session()
        blocker = self.client.run(session, "import time; time.sleep(60)", 202, background=True)
        waits = self.client.run(session, "print('never')", 202, background=True)
        self.assertEqual(waits["status"], "queued")
        ended = self.client.ok("POST", f"/api/v1/runs/{waits['id']}/cancel")
        self.assertEqual((ended["end"], ended["stdout"]), ("cancelled", ""))
        self.client.ok("POST", f"/api/v1/runs/{blocker['id']}/cancel")
        self.client.ok("DELETE", ONE + session, status=204)

    def test_deleting_a_session_ends_its_run(self):
        session = self.client.session()
        run = self.client.run(session, "import time; time.sleep(60)", 202, background=True)
        eventually(lambda: self.client.ok("GET", "/api/v1/runs/" + run["id"])["status"] == "running")
        self.client.ok("DELETE", ONE + session, status=204)
        self.assertEqual(self.client.ok("GET", "/api/v1/runs/" + run["id"])["end"], "cancelled")

    def test_one_shots_bring_files_and_leave_no_session(self):
        run = self.client.ok("POST", "/api/v1/runs", {
            "code": "print(open('in/a.txt').read(), open('b.bin', 'rb').read())",
            "files": [{"path": "in/a.txt", "content": "text"}, {"path": "b.bin", "content_base64": b64(b"\0\xff")}]})
        self.assertEqual((run["end"], run["state"], run["stdout"]), ("ok", "fresh", "text b'\\x00\\xff'\n"))
        closed = eventually(lambda: (s := self.client.ok("GET", ONE + run["session_id"]))["status"] == "closed" and s)
        self.assertEqual(closed["closed_why"], "one-shot")
        self.assertNotIn(run["session_id"], [s["id"] for s in self.client.ok("GET", "/api/v1/sessions?limit=100")["data"]])
        for files, status in (([{"path": "../x", "content": ""}], 400), ([{"path": "/", "content": ""}], 400),
                              ([{"path": "a", "content": "1"}, {"path": "a/b", "content": "2"}], 409),
                              ([{"path": "a"}], 400), ([{"path": "a", "content_base64": "!"}], 400)):
            self.assertEqual(self.client.post("/api/v1/runs", {"code": "1", "files": files}).status, status, files)

    def test_the_same_key_makes_one_run(self):
        path = ONE + self.one + "/runs"
        self.client.run(self.one, "count = 0")
        body, headers = {"code": "count += 1; count"}, {"Idempotency-Key": "k-1"}
        first = self.client.ok("POST", path, body, headers=headers)
        again = self.client.request("POST", path, body, headers=headers)
        self.assertEqual((again.json, again.headers["Idempotent-Replayed"]), (first, "true"))
        self.assertEqual(self.client.run(self.one, "count")["result"]["text/plain"], "1")
        other = self.client.request("POST", path, {"code": "2"}, headers=headers)
        self.fails(other, 422, "idempotency_mismatch")
        made = self.client.ok("POST", "/api/v1/sessions", {}, 201, headers={"Idempotency-Key": "s-1"})
        self.assertEqual(self.client.ok("POST", "/api/v1/sessions", {}, 201, headers={"Idempotency-Key": "s-1"})["id"], made["id"])
        self.fails(self.client.request("POST", path, body, headers={"Idempotency-Key": "x" * 256}), 400, "invalid_request")
        self.client.ok("DELETE", ONE + made["id"], status=204)

    def test_a_repeated_request_while_the_first_runs_waits_for_the_same_run(self):
        path, headers = ONE + self.one + "/runs", {"Idempotency-Key": "k-2"}
        body = {"code": "import time; time.sleep(0.5); 'slow'"}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: Client(self.server).request("POST", path, body, headers=headers), range(4)))
        ids = {a.json["id"] for a in answers if a.status == 200}
        self.assertEqual(len(ids), 1, [a.body for a in answers])
        self.assertTrue(all(a.status in (200, 409) for a in answers))

    def test_a_client_that_hangs_up_does_not_end_the_run(self):
        client = Client(self.server)
        connection = client.connect()
        body = '{"code": "import time; time.sleep(0.4); survived = True"}'
        connection.request("POST", ONE + self.one + "/runs", body, {"Authorization": "Bearer " + client.key, "Content-Type": "application/json"})
        eventually(lambda: self.client.ok("GET", ONE + self.one)["status"] == "running")
        connection.close()
        self.assertEqual(self.client.run(self.one, "survived")["result"]["text/plain"], "True")

    def test_runs_are_listed_by_session_and_end(self):
        session = self.client.session()
        good = self.client.run(session, "1")["id"]
        bad = self.client.run(session, "1/0")["id"]
        rows = self.client.ok("GET", f"/api/v1/runs?session={session}")["data"]
        self.assertEqual([row["id"] for row in rows], [bad, good])
        rows = self.client.ok("GET", f"/api/v1/runs?session={session}&end=error")["data"]
        self.assertEqual([row["id"] for row in rows], [bad])
        page = self.client.ok("GET", f"/api/v1/runs?session={session}&limit=1")
        self.assertTrue(page["has_more"])
        page = self.client.ok("GET", f"/api/v1/runs?session={session}&limit=1&cursor={page['next_cursor']}")
        self.assertEqual(page["data"][0]["id"], good)
        self.fails(self.client.get("/api/v1/runs?status=odd"), 400, "invalid_request")
        self.client.ok("DELETE", ONE + session, status=204)

    def test_a_flood_of_output_is_cut_in_the_object_and_in_the_events(self):
        seen = list(self.client.events("POST", ONE + self.one + "/runs", {"code": "print('x' * 79 + '\\n', end='') if 0 else [print('x' * 79) for _ in range(200000)] and None"}))
        run = seen[-1][1]
        self.assertEqual(run["end"], "ok")
        self.assertLess(len(run["stdout"]), 1100000)
        self.assertGreater(run["truncated"]["stdout"], 14000000)

    def test_many_watchers_see_the_same(self):
        run = self.client.run(self.one, "import time\nfor i in range(20):\n    print(i, flush=True)\n    time.sleep(0.01)", 202, background=True)
        texts, threads = [], []

        def watch():
            events = Client(self.server).events("GET", f"/api/v1/runs/{run['id']}/events")
            texts.append("".join(data["text"] for name, data, _ in events if name == "stdout"))

        for _ in range(20):
            threads.append(threading.Thread(target=watch))
            threads[-1].start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(set(texts), {"".join(f"{i}\n" for i in range(20))})
        self.assertEqual(len(texts), 20)

    def test_as_many_displays_as_there_may_be_are_kept(self):
        server = Server()
        self.addCleanup(server.close)
        client = Client(server)
        code = ("import os, base64\nfrom IPython.display import display\n"
                "for i in range(4): display({'image/png': base64.b64encode(os.urandom(15 << 20)).decode()}, raw=True)\nNone")
        run = client.run(client.session(), code)
        self.assertEqual((run["end"], len(run["displays"]), run["truncated"]["displays"]), ("ok", 4, 0))
        server.stop()
        server.start()
        self.assertEqual(Client(server).ok("GET", f"/api/v1/runs/{run['id']}")["displays"], run["displays"])
