"""Sessions: made, named, listed, put to sleep, branched, rolled back, ended."""
import concurrent.futures
import unittest

from base import IMAGES, ApiTest, Client, eventually

ONE = "/api/v1/sessions/"


class Life(ApiTest):
    settings = {"sessions.per_principal_max": 12}

    def tearDown(self):
        for row in self.client.ok("GET", "/api/v1/sessions?limit=100")["data"]:
            self.client.ok("DELETE", ONE + row["id"], status=204)

    def test_a_session_is_made_used_and_ended(self):
        made = self.client.ok("POST", "/api/v1/sessions", {}, 201)
        self.assertEqual((made["status"], made["name"], made["tz"]), ("idle", None, "UTC"))
        self.assertEqual(made["limits"]["memory_mb"], 1024)
        self.assertEqual(self.client.run(made["id"], "x = 41")["state"], "fresh")
        run = self.client.run(made["id"], "x + 1")
        self.assertEqual((run["end"], run["state"], run["result"]["text/plain"]), ("ok", "kept", "42"))
        self.assertEqual(self.client.ok("GET", ONE + made["id"])["runs"], 2)
        self.client.ok("DELETE", ONE + made["id"], status=204)
        self.fails(self.client.post(ONE + made["id"] + "/runs", {"code": "1"}), 404, "not_found")
        closed = self.client.ok("GET", ONE + made["id"])
        self.assertEqual((closed["status"], closed["closed_why"]), ("closed", "deleted"))

    def test_no_body_is_as_good_as_an_empty_one(self):
        self.assertTrue(self.client.ok("POST", "/api/v1/sessions", status=201)["id"])

    def test_names_are_unique_while_the_session_is_open_and_work_as_ids(self):
        first = self.client.session(name="mine")
        self.fails(self.client.post("/api/v1/sessions", {"name": "mine"}), 409, "conflict")
        self.assertEqual(self.client.ok("GET", ONE + "mine")["id"], first)
        self.client.run("mine", "a = 1")
        self.client.ok("PATCH", ONE + "mine", {"name": "yours", "idle_s": 7})
        self.fails(self.client.get(ONE + "mine"), 404, "not_found")
        shown = self.client.ok("GET", ONE + "yours")
        self.assertEqual((shown["id"], shown["idle_s"]), (first, 7))
        self.client.ok("DELETE", ONE + "yours", status=204)
        self.assertNotEqual(self.client.session(name="yours"), first)

    def test_odd_names_and_values_are_refused_with_the_field(self):
        for body, text in (
            ({"name": ""}, "name"), ({"name": "a/b"}, "name"), ({"name": "x" * 129}, "name"),
            ({"name": "ses_1"}, "name"), ({"nmae": "x"}, "name"), ({"idle_s": 0}, "idle_s"),
            ({"idle_s": "1"}, "idle_s"), ({"snapshots": 99}, "snapshots"),
            ({"limits": {"memory_mb": 1}}, "memory_mb"), ({"limits": {"cpu": 1000}}, "cpu"),
            ({"limits": {"memory_mb": 10**6}}, "memory_mb"), ({"limits": {"ram": 1}}, "ram"),
            ({"tz": "Mars/Olympus"}, "tz"), ({"workspace": "ws_none"}, "workspace"), ([], "object"),
            ({"name": "a\u0000b"}, "name"), ({"on_behalf_of": ""}, "on_behalf_of"),
        ):
            answer = self.client.post("/api/v1/sessions", body)
            self.assertIn(answer.status, (400, 404), (body, answer.body))
            self.assertIn(text, answer.body.decode(), body)

    def test_sessions_of_containers_give_way_to_each_other(self):
        kept = self.client.session()
        made = []
        for number in range(13):
            ws = self.client.ok("POST", "/api/v1/workspaces",
                                {"name": f"cntr_{number}", "kind": "container"}, 201)["id"]
            made.append((ws, self.client.session(workspace=ws)))
            self.client.run(made[-1][1], f"open('n.txt', 'w').write('{number}')")
        states = [self.client.ok("GET", ONE + session) for _, session in made]
        self.assertEqual([state["status"] == "closed" for state in states], [True, True] + [False] * 11)
        self.assertEqual(states[0]["closed_why"], "made room")
        self.assertNotEqual(self.client.ok("GET", ONE + kept)["status"], "closed")
        self.assertEqual(self.client.get(f"/api/v1/workspaces/{made[0][0]}/files/n.txt").body, b"0")
        self.fails(self.client.post("/api/v1/sessions", {}), 429, "limit_exceeded")

    def test_limits_are_those_that_were_asked_for(self):
        session = self.client.session(limits={"memory_mb": 200, "cpu": 0.5, "pids": 20, "wall_s": 1.5,
                                              "output_bytes": 2000, "disk_mb": 10})
        limits = self.client.run(session, "1")["limits"]
        self.assertEqual(limits, {"memory_mb": 200, "cpu": 0.5, "wall_s": 1.5, "pids": 20,
                                  "output_bytes": 2000, "disk_mb": 10})

    def test_as_many_as_allowed_and_one_more(self):
        have = len(self.client.ok("GET", "/api/v1/sessions?limit=100")["data"])
        for _ in range(12 - have):
            self.client.session()
        answer = self.fails(self.client.post("/api/v1/sessions", {}), 429, "limit_exceeded")
        self.assertIn("close some", answer.json["error"]["message"])

    def test_the_limit_holds_also_when_many_ask_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(lambda _: Client(self.server).post("/api/v1/sessions", {}).status, range(30)))
        self.assertEqual((answers.count(201), answers.count(429)), (12, 18))

    def test_lists_come_in_pages_newest_first(self):
        made = [self.client.session() for _ in range(5)]
        seen, cursor = [], ""
        while True:
            page = self.client.ok("GET", "/api/v1/sessions?limit=2" + cursor)
            seen += [row["id"] for row in page["data"]]
            if not page["has_more"]:
                break
            cursor = "&cursor=" + page["next_cursor"]
        self.assertEqual(seen[:5], made[::-1])
        for query in "limit=0", "limit=101", "limit=x", "cursor=zz", "nonsense=1", "limit=1&limit=2", "status=odd":
            self.fails(self.client.get("/api/v1/sessions?" + query), 400, "invalid_request")

    def test_lists_by_status(self):
        session = self.client.session()
        run = self.client.run(session, "import time; time.sleep(60)", 202, background=True)
        listed = lambda status: [row["id"] for row in self.client.ok("GET", "/api/v1/sessions?status=" + status)["data"]]
        eventually(lambda: session in listed("running"))
        self.assertNotIn(session, listed("idle") + listed("asleep") + listed("closed"))
        self.client.ok("POST", f"/api/v1/runs/{run['id']}/cancel")
        eventually(lambda: session in listed("idle"))
        self.client.ok("DELETE", ONE + session, status=204)
        self.assertIn(session, listed("closed"))
        self.assertIn(session, listed("any"))
        self.assertNotIn(session, listed("open"))

    def test_a_time_zone_is_the_code_s(self):
        session = self.client.session(tz="Asia/Tokyo")
        run = self.client.run(session, "import time; time.strftime('%z')")
        self.assertEqual(run["result"]["text/plain"], "'+0900'")

    def test_restart_forgets_and_keeps_files(self):
        session = self.client.session()
        self.client.run(session, "x = 1; open('kept.txt', 'w').write('here')")
        self.client.ok("POST", ONE + session + "/restart")
        run = self.client.run(session, "print('x' in globals(), open('kept.txt').read())")
        self.assertEqual((run["state"], run["stdout"]), ("fresh", "False here\n"))

    def test_questions_about_code(self):
        session = self.client.session()
        self.client.run(session, "def greet(name):\n    'Says hello.'\nvalue = [1, 2, 3]")
        found = self.client.ok("POST", ONE + session + "/complete", {"code": "val"})
        self.assertEqual(found["matches"], ["value"])
        found = self.client.ok("POST", ONE + session + "/inspect", {"code": "greet(", "cursor": 5})
        self.assertEqual((found["found"], found["doc"]), (True, "Says hello."))
        names = {v["name"]: v for v in self.client.ok("GET", ONE + session + "/variables")["variables"]}
        self.assertEqual(names["value"]["len"], 3)

    def test_answers_of_a_session_that_was_tampered_with_are_refused(self):
        session = self.client.session()
        ask = lambda: self.client.post(ONE + session + "/complete", {"code": "pri", "wake": True})
        self.assertEqual(ask().json["matches"], ["print"])
        self.client.run(session, "import builtins; builtins.sorted = lambda *a, **k: 1 / 0")
        self.assertEqual(ask().json["matches"], ["print"])
        for answer in "1 / 0", "'not JSON'", "'[]'", "'{\"matches\": [1], \"cursor_start\": 0, \"cursor_end\": 3}'":
            self.client.run(session, f"import sys; sys.modules['_cicada_ask'].answer = lambda *a: {answer}")
            self.fails(ask(), 409, "conflict")
        self.client.ok("POST", ONE + session + "/restart")
        self.assertEqual(ask().json["matches"], ["print"])

    def test_interrupting_an_idle_session_does_nothing(self):
        session = self.client.session()
        self.assertEqual(self.client.ok("POST", ONE + session + "/interrupt")["status"], "idle")

    def test_what_belongs_to_others_does_not_exist(self):
        other = self.client.ok("POST", "/api/v1/principals", {"name": "other"}, 201)["id"]
        key = self.client.ok("POST", "/api/v1/keys", {"principal": other, "scopes": ["run"]}, 201)
        stranger = Client(self.server, key["secret"])
        session = self.client.session()
        run = self.client.run(session, "1")["id"]
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/sleep"), ("POST", "/restart"),
                             ("GET", "/variables"), ("POST", "/interrupt"), ("POST", "/fork")):
            self.fails(stranger.request(method, ONE + session + path), 404, "not_found")
        self.fails(stranger.post(ONE + session + "/runs", {"code": "1"}), 404, "not_found")
        self.fails(stranger.get("/api/v1/runs/" + run), 404, "not_found")
        self.fails(stranger.post("/api/v1/runs/" + run + "/cancel"), 404, "not_found")
        self.assertEqual(stranger.ok("GET", "/api/v1/sessions")["data"], [])
        self.assertEqual(stranger.ok("GET", "/api/v1/runs")["data"], [])

    def test_each_user_of_a_product_has_sessions_of_their_own(self):
        key = self.client.ok("POST", "/api/v1/keys", {"scopes": ["run"]}, 201)
        product = Client(self.server, key["secret"])
        alice = product.ok("POST", "/api/v1/sessions", {"on_behalf_of": "alice", "name": "s"}, 201)
        bob = product.ok("POST", "/api/v1/sessions", {"on_behalf_of": "bob", "name": "s"}, 201)
        again = product.ok("POST", "/api/v1/sessions", {"on_behalf_of": "alice"}, 201)
        self.assertNotEqual(alice["principal_id"], bob["principal_id"])
        self.assertNotEqual(alice["workspace_id"], bob["workspace_id"])
        self.assertEqual(alice["principal_id"], again["principal_id"])


@unittest.skipIf(IMAGES == "off", "needs an image")
class Rest(ApiTest):
    settings = {"sessions.idle_s": 600}

    def setUp(self):
        super().setUp()
        eventually(lambda: self.client.ok("POST", "/api/v1/runs", {"code": "1"}) and
                   self.client.ok("GET", ONE + self.client.session())["baked"], 120)

    def test_a_session_sleeps_and_wakes_with_its_variables(self):
        session = self.client.session()
        self.client.run(session, "import numpy as np; a = np.arange(5)")
        asleep = self.client.ok("POST", ONE + session + "/sleep")
        self.assertEqual(asleep["status"], "asleep")
        self.assertGreater(asleep["sleep_bytes"], 1000)
        run = self.client.run(session, "a.sum()")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "10"))
        self.assertEqual(self.client.run(session, "1")["state"], "kept")

    def test_a_run_is_not_charged_for_the_start_of_its_session(self):
        run = self.client.run(self.client.session(), "1")
        self.assertLess(run["cpu_ms"], 10)

    def test_idle_sessions_fall_asleep_by_themselves(self):
        session = self.client.session(idle_s=1)
        self.client.run(session, "x = 7")
        eventually(lambda: self.client.ok("GET", ONE + session)["status"] == "asleep")
        self.assertEqual(self.client.run(session, "x")["result"]["text/plain"], "7")

    def test_a_session_that_cannot_sleep_says_why_and_stays_awake(self):
        session = self.client.session()
        self.client.run(session, "import threading; e = threading.Event(); t = threading.Thread(target=e.wait); t.start()")
        answer = self.fails(self.client.post(ONE + session + "/sleep"), 409, "conflict")
        self.assertIn("thread", answer.json["error"]["message"])
        self.assertEqual(self.client.run(session, "e.set(); t.join(); 5")["state"], "kept")

    def test_a_branch_has_the_same_variables_and_files_and_its_own_life(self):
        session = self.client.session()
        self.client.run(session, "x = [1]; open('a.txt', 'w').write('one')")
        branch = self.client.ok("POST", ONE + session + "/fork", {"name": "branch"}, 201)
        self.assertEqual(branch["name"], "branch")
        self.assertEqual(self.client.run(branch["id"], "x.append(2); open('a.txt').read()")["result"]["text/plain"], "'one'")
        self.client.run(branch["id"], "open('a.txt', 'w').write('two')")
        run = self.client.run(session, "print(x, open('a.txt').read())")
        self.assertEqual(run["stdout"], "[1] two\n")  # what it wrote is in the workspace of both
        self.assertEqual(self.client.run("branch", "x")["result"]["text/plain"], "[1, 2]")

    def test_runs_are_undone(self):
        session = self.client.session(snapshots=3)
        for i in range(4):
            self.client.run(session, f"x = {i}")
        back = self.client.ok("POST", ONE + session + "/rollback", {"steps": 2})
        self.assertEqual(back["runs"], 2)
        self.assertEqual(self.client.run(session, "x")["result"]["text/plain"], "1")
        self.fails(self.client.post(ONE + session + "/rollback", {"steps": 14}), 404, "not_found")


if __name__ == "__main__":
    unittest.main()
