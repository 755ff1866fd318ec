"""Questions in plain words: asked of a scripted model (upstream.py), answered with code, files, figures, citations."""
import json
import signal
import threading
import unittest

import documents
from base import KEY, ApiTest, Client, Server, eventually
from upstream import KEY as UPSTREAM_KEY, Upstream

ASK = "/api/v1/ask"
ANSWERS = "/api/v1/answers"
SALES = "city,units\nBerlin,30\nRome,20\nOslo,12\nParis,8\nBern,5\nGraz,1\n"
TOTAL = "import csv\nrows = list(csv.DictReader(open('/mnt/data/sales.csv')))\nprint('total', sum(int(r['units']) for r in rows))\n"


def script(*steps, question="What comes out?"):
    return f"{question}\n#script\n{json.dumps(list(steps))}"


class AskTest(ApiTest):
    """A server with a model of its own, and a workspace for each test."""

    more = {}

    @classmethod
    def setUpClass(cls):
        cls.up = Upstream(key=UPSTREAM_KEY)
        cls.settings = {"model.url": cls.up.url, "model.key": UPSTREAM_KEY, "model.name": "scripted-1", "model.retries": 1, **cls.more}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        log = cls.server.log()
        super().tearDownClass()
        cls.up.close()
        assert UPSTREAM_KEY not in log, "the key of the model is in the log"

    def setUp(self):
        super().setUp()
        self.ws = self.client.ok("POST", "/api/v1/workspaces", {"name": self.id().rpartition(".")[2]}, 201)["id"]

    def put(self, path, data):
        answer = self.client.request("PUT", f"/api/v1/workspaces/{self.ws}/files/{path}", raw=data)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def ask(self, *steps, **more):
        question = more.pop("question", None)
        wishes = {"question": question or script(*steps), "workspace": self.ws, **more}
        if "session" in more:
            del wishes["workspace"]
        return self.client.ok("POST", ASK, wishes)


class Answers(AskTest):
    def test_a_question_is_answered_with_code_and_kept(self):
        self.put("sales.csv", SALES)
        got = self.ask({"think": "I add them up.", "code": TOTAL}, {"say": "They sold 76 units, {{last}}."}, files=["/mnt/data/sales.csv"])
        self.assertEqual((got["status"], got["end"], got["error"]), ("done", "ok", None), got)
        self.assertTrue(got["answer"].startswith("They sold 76 units"), got["answer"])
        self.assertEqual([(r["code"], r["end"], r["stdout_head"]) for r in got["runs"]], [(TOTAL, "ok", "total 76\n")])
        self.assertEqual(got["workspace_id"], self.ws)
        self.assertEqual(got["model"], "scripted-1")
        self.assertGreater(got["usage"]["total_tokens"], 0)
        self.assertEqual(got["usage"]["questions"], 2)
        self.assertEqual((got["figures"][0]["text"], got["figures"][0]["run_id"], got["figures"][0]["line"]),
                         ("76", got["runs"][0]["id"], "total 76"))
        self.assertEqual(self.client.ok("GET", f"{ANSWERS}/{got['id']}"), got)
        run = self.client.ok("GET", "/api/v1/runs/" + got["runs"][0]["id"])
        self.assertEqual(run["session_id"], got["session_id"])
        self.assertIn("/mnt/data/sales.csv", json.dumps(self.up.bodies[-1]))
        listed = self.client.ok("GET", f"{ANSWERS}?limit=1")
        self.assertEqual(listed["data"][0], got)
        self.client.ok("DELETE", f"{ANSWERS}/{got['id']}", status=204)
        self.fails(self.client.get(f"{ANSWERS}/{got['id']}"), 404, "not_found")

    def test_a_question_without_code_has_no_session(self):
        got = self.ask({"say": "Forty-two."})
        self.assertEqual((got["end"], got["answer"], got["session_id"], got["runs"], got["figures"]),
                         ("ok", "Forty-two.", None, [], []))

    def test_two_failures_then_success(self):
        got = self.ask({"code": "1/0"}, {"code": "print(undefined_name)"}, {"code": "print(6 * 7)"}, {"say": "It is 42."})
        self.assertEqual((got["end"], got["answer"]), ("ok", "It is 42."))
        self.assertEqual([r["end"] for r in got["runs"]], ["error", "error", "ok"])
        self.assertTrue(got["runs"][0]["error"].startswith("ZeroDivisionError"), got["runs"][0])
        self.assertEqual(got["figures"][0]["run_id"], got["runs"][2]["id"])
        self.assertIn("ZeroDivisionError", json.dumps(self.up.bodies[-1]))  # it was told what went wrong

    def test_a_model_that_never_succeeds_stops_at_the_limit_and_says_so(self):
        failing = [{"code": "raise ValueError('no')"}] * 3
        got = self.ask(*failing, {"say": "I could not find out."}, max_runs=3)
        self.assertEqual((got["end"], got["answer"], len(got["runs"])), ("limit", "I could not find out.", 3), got)
        self.assertEqual(got["error"]["code"], "limit_exceeded")
        self.assertIn("3 runs", got["error"]["message"])

    def test_a_run_that_takes_too_long_and_one_that_takes_too_much_memory(self):
        session = self.client.session(workspace=self.ws, limits={"wall_s": 1, "memory_mb": 128})
        got = self.ask({"code": "while True: pass"}, {"code": "x = bytearray(10**9)\nprint(len(x))"}, {"say": "Neither worked."},
                       session=session)
        self.assertEqual((got["end"], got["session_id"]), ("ok", session))
        self.assertEqual(got["runs"][0]["end"], "timeout")
        self.assertIn(got["runs"][1]["end"], ("memory", "error"))

    def test_a_file_that_is_made_is_listed_and_can_be_had(self):
        got = self.ask({"code": "open('/mnt/data/out.txt', 'w').write('made')"}, {"say": "It is in [out.txt](sandbox:/mnt/data/out.txt)."})
        self.assertEqual([(f["path"], f["change"], f["version"], f["run_id"]) for f in got["files"]],
                         [("out.txt", "created", 1, got["runs"][0]["id"])])
        self.assertEqual(self.client.get(got["files"][0]["url"]).body, b"made")

    def test_of_very_many_files_some_are_listed(self):
        got = self.ask({"code": "for i in range(600):\n    open(f'/mnt/data/{i:03}.txt', 'w').write('x')"}, {"say": "Made."})
        self.assertEqual((got["end"], len(got["files"]), got["files"][0]["path"]), ("ok", 500, "000.txt"), got["error"])
        kept = self.client.ok("GET", f"{ANSWERS}/{got['id']}/transcript?format=json")
        self.assertEqual(len(kept["runs"][0]["files"]), 500)
        self.assertEqual(len(self.client.ok("GET", f"/api/v1/runs/{got['runs'][0]['id']}")["files"]), 600)

    def test_a_session_is_continued_with_its_variables_and_its_conversation(self):
        first = self.ask({"code": "x = 41"}, {"say": "Noted."})
        second = self.ask(question=script({"code": "print(x + 1)"}, {"say": "It is {{last}}"}, question="And one more?"),
                          session=first["session_id"])
        self.assertEqual(second["session_id"], first["session_id"])
        self.assertEqual(second["runs"][0]["stdout_head"], "42\n")
        said = json.dumps(self.up.bodies[-1])
        self.assertIn("Noted.", said)
        self.assertIn("x = 41", said)
        listed = self.client.ok("GET", f"{ANSWERS}?session={first['session_id']}")
        self.assertEqual([a["id"] for a in listed["data"]], [second["id"], first["id"]])
        third = self.ask(question="Who are you?", session=second["id"])  # by the answer's id
        self.assertEqual(third["session_id"], first["session_id"])

    def test_an_answer_without_a_session_is_gone_on_from(self):
        first = self.ask({"say": "Blue."})
        second = self.ask({"say": "I said so before."}, session=first["id"])
        self.assertEqual(second["end"], "ok")
        self.assertIn("Blue.", json.dumps(self.up.bodies[-1]))
        third = self.ask({"code": "1"}, {"say": "Done."}, session=second["id"])
        fourth = self.ask({"say": "Good."}, session=third["session_id"])
        self.assertEqual(fourth["end"], "ok")
        self.assertIn("Blue.", json.dumps(self.up.bodies[-1]))

    def test_a_conversation_outlives_its_session(self):
        first = self.ask({"code": "x = 41\nopen('/mnt/data/kept.txt', 'w').write('41')"}, {"say": "Blue."})
        self.client.ok("DELETE", "/api/v1/sessions/" + first["session_id"], status=204)
        second = self.ask({"code": "print(open('/mnt/data/kept.txt').read())"}, {"say": "There."}, session=first["session_id"])
        self.assertEqual((second["end"], second["runs"][0]["stdout_head"]), ("ok", "41\n"), second)
        self.assertNotEqual(second["session_id"], first["session_id"])
        self.assertIn("variables", json.dumps(self.up.bodies[-1]))  # it was told that they are gone
        third = self.ask({"say": "Yes."}, session=second["session_id"])
        self.assertEqual(third["end"], "ok")
        self.assertIn("Blue.", json.dumps(self.up.bodies[-1]))

    def test_a_session_elsewhere_or_nowhere_is_refused(self):
        first = self.ask({"code": "1"}, {"say": "ok"})
        answer = self.client.post(ASK, {"question": "?", "session": first["session_id"], "workspace": "default"})
        self.fails(answer, 400, "invalid_request")
        self.fails(self.client.post(ASK, {"question": "?", "session": "ses_none"}), 404, "not_found")
        self.fails(self.client.post(ASK, {"question": "?", "session": "ans_none"}), 404, "not_found")
        self.fails(self.client.post(ASK, {"question": "?", "workspace": self.ws, "files": ["none.csv"]}), 404, "not_found")

    def test_another_model_and_how_to_go_about_it(self):
        got = self.ask({"say": "Oui."}, model="lab/scripted-2", instructions="Answer in French.")
        self.assertEqual((got["model"], self.up.bodies[-1]["model"]), ("lab/scripted-2", "lab/scripted-2"))
        self.assertIn("Answer in French.", self.up.bodies[-1]["messages"][0]["content"])

    def test_a_server_without_an_index_says_so_to_the_model(self):
        self.ask({"calls": [{"name": "search_workspace", "arguments": {"query": "walrus"}}]}, {"say": "No idea."}, search=True)
        self.assertIn("keeps no index", json.dumps(self.up.bodies[-1]))

    def test_a_model_that_fails_is_an_answer_that_failed(self):
        got = self.ask({"status": 400, "body": {"error": {"message": "no such thing"}}})
        self.assertEqual((got["status"], got["end"], got["answer"]), ("done", "failed", ""))
        self.assertTrue(got["error"]["message"])
        self.assertNotIn(UPSTREAM_KEY, json.dumps(got))

    def test_time_for_all_of_it(self):
        got = self.ask({"code": "print(1)"}, {"hang": 60, "say": "too late"}, timeout_s=3)
        self.assertEqual((got["end"], got["answer"]), ("limit", ""), got)
        self.assertEqual(got["error"]["code"], "limit_exceeded")
        self.assertEqual(got["runs"][0]["stdout_head"], "1\n")
        self.assertLess(got["duration_ms"], 30000)

    def test_tokens_for_all_of_it(self):
        got = self.ask({"code": "print(1)", "usage": {"prompt_tokens": 900, "completion_tokens": 200, "total_tokens": 1100}},
                       {"say": "x"}, max_tokens=1000)
        self.assertEqual(got["end"], "limit", got)

    def test_the_same_request_twice_is_answered_once(self):
        wishes = {"question": script({"code": "print(1)"}, {"say": "One."}), "workspace": self.ws}
        first = self.client.ok("POST", ASK, wishes, headers={"Idempotency-Key": "k1"})
        again = self.client.ok("POST", ASK, wishes, headers={"Idempotency-Key": "k1"})
        self.assertEqual(first, again)

    def test_the_same_request_again_does_not_wait_for_one_that_goes_on(self):
        wishes = {"question": script({"hang": 60, "say": "no"}), "workspace": self.ws}
        key = {"Idempotency-Key": "k2"}
        stream = self.client.events("POST", ASK, wishes, headers=key)
        _, started, _ = next(stream)
        eventually(lambda: self.up.active > 0)
        client = Client(self.server)
        self.addCleanup(client.close)
        for _ in range(3):
            answer = client.request("POST", ASK, wishes, headers=key)
            self.assertEqual((answer.status, answer.json), (202, started), answer.body)
            self.assertEqual(answer.headers["X-Answer-Id"], started["id"])
        again = client.events("POST", ASK, wishes, headers=key)
        self.assertEqual(next(again)[1], started)
        again.close()
        # Who only listened in has left: it goes on.
        self.assertEqual(self.client.ok("GET", f"{ANSWERS}/{started['id']}")["status"], "running")
        done = self.client.ok("POST", f"{ANSWERS}/{started['id']}/cancel")
        self.assertEqual(client.ok("POST", ASK, wishes, headers=key), done)
        self.assertEqual([(n, d) for n, d, _ in client.events("POST", ASK, wishes, headers=key)], [("answer.done", done)])
        stream.close()

    def test_lists_are_paged(self):
        made = [self.ask({"say": str(i)})["id"] for i in range(3)]
        page = self.client.ok("GET", f"{ANSWERS}?limit=2")
        self.assertEqual([a["id"] for a in page["data"]], [made[2], made[1]])
        self.assertTrue(page["has_more"])
        rest = self.client.ok("GET", f"{ANSWERS}?limit=2&cursor={page['next_cursor']}")
        self.assertEqual(rest["data"][0]["id"], made[0])


class Events(AskTest):
    def test_a_stream_tells_all_as_it_happens(self):
        wishes = {"question": script({"think": "Let me see.", "code": "print(6 * 7)\nopen('/mnt/data/f.txt', 'w').write('x')"},
                                     {"say": "It is {{last}}"}), "workspace": self.ws}
        events = list(self.client.events("POST", ASK, wishes))
        names = [name for name, _, _ in events]
        self.assertEqual([i for _, _, i in events], list(range(1, len(events) + 1)))
        self.assertEqual((names[0], names[-1]), ("answer.started", "answer.done"))
        order = [n for i, n in enumerate(names) if i == 0 or names[i - 1] != n]
        self.assertEqual(order, ["answer.started", "thinking", "code", "run.started", "run.done", "file", "text", "answer.done"])
        joined = {kind: "".join(d["text"] for n, d, _ in events if n == kind) for kind in ("thinking", "code", "text")}
        answer = events[-1][1]
        self.assertEqual(joined["thinking"], "Let me see.")
        self.assertEqual(joined["code"], answer["runs"][0]["code"])
        self.assertEqual(joined["text"], answer["answer"])
        done = next(d for n, d, _ in events if n == "run.done")
        self.assertEqual((done["id"], done["end"], done["stdout"]), (answer["runs"][0]["id"], "ok", "42\n"))
        self.assertEqual(next(d for n, d, _ in events if n == "file")["path"], "f.txt")
        self.assertEqual(self.client.ok("GET", f"{ANSWERS}/{answer['id']}"), answer)

    def test_in_the_background_and_resumed(self):
        begun = self.client.ok("POST", ASK, {"question": script({"code": "print('one')"}, {"say": "Two.", "delta": 1}),
                                             "workspace": self.ws, "background": True}, 202)
        self.assertEqual((begun["status"], begun["end"]), ("running", None))
        path = f"{ANSWERS}/{begun['id']}/events"
        whole = list(self.client.events("GET", path))
        self.assertEqual(whole[-1][0], "answer.done")
        seen = whole[2][2]
        rest = list(self.client.events("GET", path, headers={"Last-Event-ID": str(seen)}))
        self.assertEqual(rest, whole[3:])
        self.assertEqual(self.client.ok("GET", f"{ANSWERS}/{begun['id']}")["answer"], "Two.")

    def test_events_of_long_ago_are_the_last_one(self):
        got = self.ask({"say": "Hello."})
        self.server.stop()
        self.server.start()
        client = Client(self.server)
        self.addCleanup(client.close)
        events = list(client.events("GET", f"{ANSWERS}/{got['id']}/events"))
        self.assertEqual([(n, d) for n, d, _ in events], [("answer.done", got)])

    def test_cancelled(self):
        begun = self.client.ok("POST", ASK, {"question": script({"code": "print('x', flush=True)\nimport time\ntime.sleep(60)"}, {"say": "no"}),
                                             "workspace": self.ws, "background": True}, 202)
        for name, _, _ in self.client.events("GET", f"{ANSWERS}/{begun['id']}/events"):
            if name == "run.started":
                break
        got = self.client.ok("POST", f"{ANSWERS}/{begun['id']}/cancel")
        self.assertEqual((got["status"], got["end"], got["answer"]), ("done", "cancelled", ""), got)
        self.assertLess(got["duration_ms"], 30000)
        again = self.client.ok("POST", f"{ANSWERS}/{begun['id']}/cancel")
        self.assertEqual(again, got)
        if got["session_id"]:  # its run has ended, too
            runs = self.client.ok("GET", f"/api/v1/runs?session={got['session_id']}")["data"]
            self.assertEqual([r["status"] for r in runs], ["done"] * len(runs))

    def test_a_client_that_leaves_ends_it(self):
        hangups = self.up.hangups
        stream = self.client.events("POST", ASK, {"question": script({"hang": 60, "say": "no"}), "workspace": self.ws})
        name, started, _ = next(stream)
        self.assertEqual(name, "answer.started")
        eventually(lambda: self.up.active > 0)
        stream.close()
        eventually(lambda: self.up.hangups > hangups)
        got = eventually(lambda: [a for a in [self.client.ok("GET", f"{ANSWERS}/{started['id']}")] if a["status"] == "done"])[0]
        self.assertEqual(got["end"], "cancelled")

    def test_deleting_one_that_goes_on_ends_it(self):
        begun = self.client.ok("POST", ASK, {"question": script({"hang": 60, "say": "no"}), "workspace": self.ws, "background": True}, 202)
        self.client.ok("DELETE", f"{ANSWERS}/{begun['id']}", status=204)
        eventually(lambda: self.up.active == 0)
        self.fails(self.client.get(f"{ANSWERS}/{begun['id']}"), 404, "not_found")

    def test_many_at_once(self):
        failed = []

        def one(i):
            client = Client(self.server)
            try:
                events = list(client.events("POST", ASK, {"question": script({"say": f"answer {i}"}), "workspace": self.ws}))
                if events[-1][1]["answer"] != f"answer {i}":
                    failed.append(events[-1])
            except Exception as problem:  # told below
                failed.append(problem)
        threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])


class Transcripts(AskTest):
    def test_all_formats(self):
        got = self.ask({"code": "1/0"}, {"code": "print('total', 76)\n'```'"}, {"say": "They sold 76 units, not 99."})
        path = f"{ANSWERS}/{got['id']}/transcript"
        text = self.client.get(path).body.decode()
        for part in ("# Question", "1/0", "ZeroDivisionError", "total 76", "## Answer", f"| 76 | {got['runs'][1]['id']} | total 76 |",
                     "| 99 | not found in any output |"):
            self.assertIn(part, text)
        book = json.loads(self.client.get(path + "?format=notebook").body)
        self.assertEqual([c["cell_type"] for c in book["cells"]], ["markdown", "code", "code", "markdown"])
        self.assertEqual(book["cells"][2]["outputs"][0]["text"], "total 76\n")
        whole = json.loads(self.client.get(path + "?format=json").body)
        self.assertEqual(whole["answer"], got)
        self.assertEqual(len(whole["runs"]), 2)
        self.assertNotIn(UPSTREAM_KEY, json.dumps(whole))
        self.fails(self.client.get(path + "?format=pdf"), 400, "invalid_request")


class Verification(AskTest):
    def test_the_same_comes_out(self):
        self.put("sales.csv", SALES)
        code = TOTAL + "open('/mnt/data/total.txt', 'w').write('76')\nsum([0.1] * 3)"
        got = self.ask({"code": "k = 2"}, {"code": code}, {"code": "print(k * 38)"}, {"say": "76."}, verify=True)
        seen = got["verification"]
        self.assertEqual((seen["status"], seen["complete"]), ("same", True), seen)
        self.assertEqual([r["run_id"] for r in seen["runs"]], [r["id"] for r in got["runs"]])
        self.assertEqual([(f["path"], f["status"]) for f in seen["files"]], [("total.txt", "same")])
        files = self.client.ok("GET", f"/api/v1/workspaces/{self.ws}/files")["data"]
        self.assertEqual(sorted((f["path"], f["version"]) for f in files), [("sales.csv", 1), ("total.txt", 1)])
        names = [w["name"] for w in self.client.ok("GET", "/api/v1/workspaces?limit=100")["data"]]
        self.assertEqual([n for n in names if n.startswith("reproduce")], [])

    def test_something_else_comes_out(self):
        got = self.ask({"code": "import secrets\nprint('secret', secrets.token_hex(8))"}, {"say": "It is random."})
        self.assertIsNone(got["verification"])
        seen = self.client.ok("POST", f"{ANSWERS}/{got['id']}/verify")
        self.assertEqual(seen["verification"]["status"], "different")
        change = seen["verification"]["runs"][0]["differences"][0]
        self.assertEqual((change["what"], change["line"]), ("output", 1))
        self.assertNotEqual(change["was"], change["is"])
        self.assertEqual(self.client.ok("GET", f"{ANSWERS}/{got['id']}"), seen)
        self.assertIn("## Verification: different", self.client.get(f"{ANSWERS}/{got['id']}/transcript").body.decode())

    def test_it_reads_what_was_there_then(self):
        self.put("sales.csv", SALES)
        got = self.ask({"code": TOTAL}, {"say": "76"})
        self.put("sales.csv", "city,units\nBerlin,1\n")
        self.assertEqual(self.client.ok("POST", f"{ANSWERS}/{got['id']}/verify")["verification"]["status"], "same")

    def test_code_may_look_at_what_is_there_without_reading_it(self):
        self.put("a/one.txt", "x")
        self.put("two.txt", "old")
        self.put("two.txt", "x" * 100)
        code = "import os\nprint(sorted(os.listdir('/mnt/data')), os.path.getsize('/mnt/data/two.txt'), os.listdir('/mnt/data/a'))"
        got = self.ask({"code": code}, {"say": "Two."})
        self.put("two.txt", "newer")
        self.put("three.txt", "later")
        seen = self.client.ok("POST", f"{ANSWERS}/{got['id']}/verify")["verification"]
        self.assertEqual((seen["status"], seen["complete"]), ("same", True), seen)

    def test_it_fails_the_second_time(self):
        self.put("once", "x")
        got = self.ask({"code": "import os\nassert os.path.exists('/mnt/data/once')\nprint('was there')"}, {"say": "Yes."})
        self.client.ok("DELETE", f"/api/v1/workspaces/{self.ws}/files/once", status=204)
        seen = self.client.ok("POST", f"{ANSWERS}/{got['id']}/verify")["verification"]
        self.assertEqual(seen["status"], "failed", seen)
        self.assertEqual((seen["runs"][0]["differences"][0]["what"], seen["runs"][0]["differences"][0]["was"]), ("end", "ok"))
        self.assertIn("AssertionError", seen["runs"][0]["differences"][0]["is"])

    def test_who_leaves_ends_the_repetition(self):
        self.put("fast", "x")
        code = "import os, time\ntime.sleep(0 if os.path.exists('/mnt/data/fast') else 600)\nprint('done')"
        got = self.ask({"code": code}, {"say": "Done."})
        self.assertEqual(got["runs"][0]["stdout_head"], "done\n")
        self.client.ok("DELETE", f"/api/v1/workspaces/{self.ws}/files/fast", status=204)

        def running():
            return self.client.ok("GET", "/api/v1/runs?status=running")["data"]
        leaving = Client(self.server).connect()
        leaving.request("POST", f"{ANSWERS}/{got['id']}/verify", headers={"Authorization": "Bearer " + KEY})
        again = eventually(running)[0]["id"]
        leaving.close()
        eventually(lambda: not running())
        self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{again}")["end"], "cancelled")
        self.assertIsNone(self.client.ok("GET", f"{ANSWERS}/{got['id']}")["verification"])

    def test_without_code_there_is_nothing_to_verify(self):
        got = self.ask({"say": "Hello."}, verify=True)
        self.assertIsNone(got["verification"])
        self.fails(self.client.post(f"{ANSWERS}/{got['id']}/verify"), 409, "conflict")


class WorkspaceChat(AskTest):
    more = {"search.index": "on"}

    def indexed(self, count):
        def is_done():
            state = self.client.ok("GET", f"/api/v1/workspaces/{self.ws}/index")
            return not state["pending"] and state["ready"] >= count
        eventually(is_done, 120)

    def test_answers_from_files_with_citations(self):
        self.put("report.pdf", documents.pdf(["Introduction", "The turnover in the third quarter was 512 crates.", "Thanks"]))
        self.put("notes.md", "# Meeting\n\nThe walrus was late.\n")
        self.indexed(2)
        got = self.ask({"calls": [{"name": "search_workspace", "arguments": {"query": "turnover third quarter"}}]},
                       {"calls": [{"name": "search_workspace", "arguments": {"query": "walrus", "limit": 3}}]},
                       {"say": "\U0001f600 \u65e5\u672c: 512 crates [1]. Late [2]. Nobody knows [9]."}, search=True)
        self.assertEqual(got["end"], "ok", got)
        pdf, notes = got["citations"]
        self.assertEqual((pdf["path"], pdf["version"], pdf["page"], pdf["mark"]), ("report.pdf", 1, 2, 1))
        self.assertEqual((notes["path"], notes["where"]), ("notes.md", "line 3"))
        self.assertEqual(got["answer"][pdf["start"]:pdf["end"]], "[1]")
        self.assertEqual(got["answer"][notes["start"]:notes["end"]], "[2]")
        self.assertTrue(self.client.get(pdf["url"].partition("#")[0]).body.startswith(b"%PDF"))
        self.assertTrue(pdf["url"].endswith("#page=2"), pdf["url"])
        self.assertEqual(got["unknown_marks"], [9])
        self.assertEqual([(f["text"], f["run_id"]) for f in got["figures"]], [("512", None)])
        self.assertIn("512", got["figures"][0]["line"])  # it was read, not computed
        self.assertIn("[9] stands for nothing", self.client.get(f"{ANSWERS}/{got['id']}/transcript").body.decode())
        # What it was shown can be cited later, too.
        later = self.ask({"say": "As I said [1]."}, session=got["id"], search=True)
        self.assertEqual(later["citations"][0]["path"], "report.pdf")

    def test_files_are_read_also_pages_of_documents(self):
        self.put("report.pdf", documents.pdf(["first page", "second page: 31 barrels", "third page"]))
        self.put("long.txt", "".join(f"line {i}\n" for i in range(10000)))
        self.put("blob.bin", b"\0\1\2" * 100)
        calls = [("read_file", {"path": "report.pdf", "page": 2}), ("read_file", {"path": "/mnt/data/long.txt"}),
                 ("read_file", {"path": "long.txt", "offset": 80000}), ("read_file", {"path": "blob.bin"}),
                 ("read_file", {"path": "missing.txt"}), ("read_file", {"path": "report.pdf", "page": 7}), ("read_file", {})]
        got = self.ask(*({"calls": [{"name": n, "arguments": a}]} for n, a in calls), {"code": "print(31 * 2)"}, {"say": "62 in two [1]."},
                       search=True)
        self.assertEqual((got["end"], got["citations"][0]["page"]), ("ok", 2), got)
        self.assertEqual(got["figures"][0]["run_id"], got["runs"][-1]["id"])
        whole = json.loads(self.client.get(f"{ANSWERS}/{got['id']}/transcript?format=json").body)
        shown = [i["output"] for i in whole["items"] if i["type"] == "function_call_output"]
        self.assertTrue(shown[0].startswith("[1] report.pdf, page 2 (version 1"), shown[0])
        self.assertIn("31 barrels", shown[0])
        self.assertNotIn("third page", shown[0])
        self.assertIn("call again with offset", shown[1])
        self.assertIn("line 9999", shown[2])
        self.assertIn("no text", shown[3])
        self.assertIn("missing.txt", shown[4])
        self.assertIn("3 pages", shown[5])
        self.assertIn("name a file", shown[6])

    def test_without_search_there_are_no_such_tools(self):
        self.ask({"say": "No [1]."})
        tools = json.dumps(self.up.bodies[-1].get("tools"))
        self.assertNotIn("search_workspace", tools)


class Others(AskTest):
    def test_answers_of_others_do_not_exist(self):
        people = []
        for name in ("ada", "ben"):
            principal = self.client.ok("POST", "/api/v1/principals", {"name": name}, 201)["id"]
            key = self.client.ok("POST", "/api/v1/keys", {"principal": principal, "scopes": ["run", "files:read", "files:write"]}, 201)
            people.append(Client(self.server, key["secret"]))
        ada, ben = people
        got = ada.ok("POST", ASK, {"question": script({"code": "print(1)"}, {"say": "Mine."})})
        one = f"{ANSWERS}/{got['id']}"
        for method, path in (("GET", one), ("DELETE", one), ("POST", one + "/cancel"), ("GET", one + "/events"),
                             ("GET", one + "/transcript"), ("POST", one + "/verify")):
            self.fails(ben.request(method, path), 404, "not_found")
        self.assertEqual(ben.ok("GET", ANSWERS)["data"], [])
        self.fails(ben.post(ASK, {"question": "?", "session": got["id"]}), 404, "not_found")
        self.fails(ben.post(ASK, {"question": "?", "session": got["session_id"]}), 404, "not_found")
        self.assertEqual(ben.ok("GET", f"{ANSWERS}?session={got['session_id']}")["data"], [])
        self.fails(ben.post(ASK, {"question": "?", "workspace": self.ws}), 404, "not_found")
        self.assertEqual(ada.ok("GET", one)["answer"], "Mine.")
        self.assertEqual(self.client.ok("GET", one)["answer"], "Mine.")  # the server's admin
        for client in people:
            client.close()


class WithoutAModel(ApiTest):
    def test_it_says_what_to_set(self):
        answer = self.fails(self.client.post(ASK, {"question": "Why?"}), 503, "unavailable")
        error = answer.json["error"]
        self.assertIn("CICADA_MODEL_URL", error["message"])
        self.assertIn("CICADA_MODEL_NAME", error["message"])
        self.assertIn("Ollama", error["hint"])
        self.assertIn("http://127.0.0.1:11434/v1", error["hint"])
        self.assertIn("CICADA_MODEL_KEY=", error["hint"])
        self.assertEqual(self.client.ok("GET", ANSWERS)["data"], [])


class OverResponses(AskTest):
    more = {"model.api": "responses"}

    def test_the_other_wire(self):
        got = self.ask({"think": "hm", "code": "print(6 * 7)"}, {"say": "It is 42."})
        self.assertEqual((got["end"], got["answer"], got["runs"][0]["stdout_head"]), ("ok", "It is 42.", "42\n"), got)


class Restarted(unittest.TestCase):
    def stopped(self, how, *steps):
        """What becomes of an answer when the server ends so."""
        with Upstream() as up:
            server = Server(settings={"model.url": up.url, "model.name": "m", "server.drain_s": 0})
            self.addCleanup(server.close)
            client = Client(server)
            begun = client.ok("POST", ASK, {"question": script(*steps), "background": True}, 202)
            eventually(lambda: up.active)
            client.close()
            server.stop(how)
            server.start()
            client = Client(server)
            got = client.ok("GET", f"{ANSWERS}/{begun['id']}")
            client.close()
            self.assertEqual((got["status"], got["end"], got["error"]["code"]), ("done", "failed", "unavailable"))
            self.assertIn("the server was stopped", got["error"]["message"])

    def test_one_that_was_being_answered_is_told_as_failed(self):
        self.stopped(signal.SIGKILL, {"hang": 60, "say": "no"})

    def test_so_is_one_of_a_server_that_stops_in_order(self):
        self.stopped(signal.SIGTERM, {"hang": 60, "say": "no"})


if __name__ == "__main__":
    unittest.main()
