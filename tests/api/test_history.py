"""The history that made a state: undone runs are marked, a branch knows where it comes from, and reproduce,
why and export follow what really happened."""
import json
import sqlite3
import unittest

from base import IMAGES, Client, eventually
from test_lineage import LineageTest as Base

RUN = "/api/v1/runs/"
ONE = "/api/v1/sessions/"


class HistoryTest(Base):
    def rollback(self, session, steps=1):
        """As soon as the snapshot is there, which is made after the answer to the run."""
        eventually(lambda: self.client.ok("GET", ONE + session)["rollback_steps"] >= steps)
        return self.client.ok("POST", f"{ONE}{session}/rollback", {"steps": steps})

    def runs(self, session, *codes):
        return [self.run_in(session, code) for code in codes]

    def undone(self, session):
        """By the store, oldest first: ids of those that are marked."""
        listed = self.client.ok("GET", f"/api/v1/runs?session={session}&limit=100")["data"]
        return [r["id"] for r in reversed(listed) if r.get("undone_at")]

    def cells(self, session):
        answer = self.client.get(f"{ONE}{session}/export")
        self.assertEqual(answer.status, 200, answer.body)
        return ["".join(c["source"]) for c in json.loads(answer.body)["cells"]]

    def script(self, session):
        answer = self.client.get(f"{ONE}{session}/export?format=py")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body.decode()

    def same(self, path, runs=None, **more):
        answer = self.reproduce(path, **more)
        self.assertEqual((answer["result"], answer["how"]), ("same", "bytes"), answer)
        self.assertTrue(answer["complete"], answer)
        if runs is not None:
            self.assertEqual([r["run_id"] for r in answer["runs"]], [r["id"] for r in runs])
        return answer

    def states(self, path, **more):
        """Runs whose variables the newest version may have used."""
        graph = self.lineage(path, **more)
        return {e["from"] for e in graph["edges"] if e["kind"] == "state"}

    def baked(self, **wishes):
        """A session that can branch and go back: a server that has just begun may not have looked at its image yet."""
        def one():
            session = self.session(**wishes)
            return session if self.client.ok("GET", ONE + session)["baked"] else None
        return eventually(one, 120)

    def in_store(self, *statements):
        """Each with its values, while no server has it open."""
        self.server.stop()
        store = sqlite3.connect(self.server.data + "/data/meta.db")
        for text, *values in statements:
            store.execute(text, values)
        store.commit()
        store.close()
        self.server.start()
        self.client = Client(self.server)

    def fork(self, session):
        made = self.client.ok("POST", f"{ONE}{session}/fork", {}, 201)
        self.addCleanup(lambda: Client(self.server).request("DELETE", ONE + made["id"]))
        return made


@unittest.skipIf(IMAGES == "off", "of a session that started cold no snapshots can be made")
class Undone(HistoryTest):
    def test_runs_that_a_rollback_undid_say_when(self):
        session = self.baked(snapshots=4)
        a, b, c = self.runs(session, "x = 1", "x += 1", "x += 1")
        self.assertNotIn("undone_at", self.client.ok("GET", RUN + c["id"]))
        self.rollback(session, 2)
        for run in (b, c):
            self.assertRegex(self.client.ok("GET", RUN + run["id"])["undone_at"], r"^\d{4}-.*Z$")
        self.assertNotIn("undone_at", self.client.ok("GET", RUN + a["id"]))
        self.assertEqual(self.undone(session), [b["id"], c["id"]])

    def test_a_rollback_that_fails_marks_nothing(self):
        session = self.session()
        self.runs(session, "x = 1", "x += 1")
        self.assertEqual(self.client.post(f"{ONE}{session}/rollback", {"steps": 1}).status, 404)
        self.assertEqual(self.undone(session), [])

    def test_back_to_before_a_run(self):
        session, other = self.baked(snapshots=4), self.baked(snapshots=4)
        a, b, c = self.runs(session, "x = [1]", "x.append(2)", "x.append(3)")
        stranger, = self.runs(other, "x = 1")
        path = f"{ONE}{session}/rollback"
        eventually(lambda: self.client.ok("GET", ONE + session)["rollback_steps"] >= 2)
        for run in (stranger["id"], "run_none", other):
            answer = self.client.post(path, {"run": run})
            self.assertEqual((answer.status, answer.code), (404, "not_found"), answer.body)
        self.assertEqual(self.client.post(path, {"run": b["id"], "steps": 1}).status, 400)
        self.assertEqual(self.client.ok("POST", path, {"run": b["id"]})["runs"], 1)
        self.assertEqual(self.undone(session), [b["id"], c["id"]])
        self.assertEqual(self.client.post(path, {"run": c["id"]}).status, 404)
        d, = self.runs(session, "open('x.txt', 'w').write(str(x))")
        self.same("x.txt", [a, d])
        self.client.ok("POST", f"{ONE}{session}/restart")
        self.assertEqual(self.client.post(path, {"run": a["id"]}).status, 404)

    def test_the_mark_survives_a_restart_of_the_server(self):
        session = self.baked(snapshots=2)
        _, b = self.runs(session, "x = 1", "x = 2")
        self.rollback(session)
        self.server.stop()
        self.server.start()
        self.client = Client(self.server)
        self.assertIn("undone_at", self.client.ok("GET", RUN + b["id"]))

    def test_a_file_made_after_a_rollback_comes_out_the_same(self):
        session = self.baked(snapshots=4)
        a, _, _ = self.runs(session, "x = [1]", "x.append(2)", "x.append(3)")
        self.rollback(session, 2)
        d, e = self.runs(session, "x.append(4)", "open('x.txt', 'w').write(str(x))")
        self.assertEqual(self.data("x.txt"), b"[1, 4]")
        self.same("x.txt", [a, d, e])

    def test_rolled_back_twice_and_in_the_middle(self):
        session = self.baked(snapshots=6)
        a, b, c, d = self.runs(session, "x = [1]", "x.append(2)", "x.append(3)", "x.append(4)")
        self.rollback(session, 1)
        e, = self.runs(session, "x.append(5)")
        self.rollback(session, 2)
        self.assertEqual(self.undone(session), [c["id"], d["id"], e["id"]])
        f, g = self.runs(session, "x.append(6)", "open('x.txt', 'w').write(str(x))")
        self.assertEqual(self.data("x.txt"), b"[1, 2, 6]")
        self.same("x.txt", [a, b, f, g])
        self.rollback(session, 4)
        h, = self.runs(session, "open('y.txt', 'w').write(str('x' in globals()))")
        self.same("y.txt", [h])
        self.assertEqual(self.undone(session), [r["id"] for r in (a, b, c, d, e, f, g)])

    def test_what_an_undone_run_made_has_the_history_it_had(self):
        session = self.baked(snapshots=4)
        a, b, c = self.runs(session, "x = [1]", "x.append(2)", "open('x.txt', 'w').write(str(x))")
        self.rollback(session, 2)
        self.runs(session, "x.append(9)")
        self.same("x.txt", [a, b, c], version=1)
        node = next(n for n in self.lineage("x.txt", version=1)["nodes"] if n["id"] == c["id"])
        self.assertRegex(node["undone_at"], r"^\d{4}-.*Z$")

    def test_variables_of_undone_runs_are_not_where_a_version_comes_from(self):
        self.make("one.txt", b"1")
        self.make("two.txt", b"2")
        session = self.baked(snapshots=4)
        a, _ = self.runs(session, "x = open('one.txt').read()", "x = open('two.txt').read()")
        self.rollback(session)
        b, = self.runs(session, "open('x.txt', 'w').write(x)")
        self.assertEqual(self.states("x.txt"), {a["id"]})
        self.assertEqual({n["path"] for n in self.lineage("x.txt")["nodes"] if n["kind"] == "version"}, {"one.txt", "x.txt"})
        self.assertIsNone(next(n for n in self.lineage("x.txt")["nodes"] if n["id"] == b["id"])["undone_at"])

    def test_two_histories_of_one_session_lead_to_one_file(self):
        """What an undone run made was used elsewhere: with the newest inputs both ways are gone again."""
        session, other = self.baked(snapshots=4), self.session()
        a, b = self.runs(session, "x = [1]", "x.append(2); open('b.txt', 'w').write(str(x))")
        u, = self.runs(other, "open('u.txt', 'w').write(open('b.txt').read())")
        self.rollback(session)
        c, = self.runs(session, "x.append(3); open('c.txt', 'w').write(str(x) + open('u.txt').read())")
        self.assertEqual(self.data("c.txt"), b"[1, 3][1, 2]")
        answer = self.same("c.txt", inputs="latest")
        self.assertEqual(sorted(r["run_id"] for r in answer["runs"]), sorted(r["id"] for r in (a, a, b, u, c)))

    def test_exports_leave_undone_runs_out(self):
        session = self.baked(snapshots=4)
        self.runs(session, "x = 1", "x = 2  # undone", "x")
        self.rollback(session, 2)
        self.runs(session, "x + 10")
        self.assertEqual(self.cells(session), ["x = 1", "x + 10"])
        self.assertNotIn("undone", self.script(session))
        again = self.session()
        self.assertEqual([self.client.run(again, c)["result"] for c in self.cells(session)][-1], {"text/plain": "11"})

    def test_after_a_restart_nothing_before_it_counts(self):
        session = self.baked(snapshots=4)
        self.runs(session, "x = 1", "x = 2")
        self.client.ok("POST", f"{ONE}{session}/restart")
        self.client.ok("GET", f"{ONE}{session}/variables?wake=true")
        c, d = self.runs(session, "y = 3", "y = 4")
        self.rollback(session)
        e, = self.runs(session, "open('y.txt', 'w').write(str(y))")
        self.same("y.txt", [c, e])
        self.assertEqual(self.undone(session), [d["id"]])
        self.rollback(session, 2)
        f, = self.runs(session, "open('z.txt', 'w').write(str('y' in globals()))")
        self.same("z.txt", [f])

    def test_a_kernel_that_died_is_where_a_history_begins(self):
        session = self.baked(snapshots=4)
        self.runs(session, "x = 1")
        self.run_in(session, "import os; os._exit(3)", end="crashed")
        c, _ = self.runs(session, "y = 1", "y = 2")
        self.rollback(session)
        e, = self.runs(session, "open('y.txt', 'w').write(str(y))")
        self.same("y.txt", [c, e])

    def test_back_over_a_run_that_killed_the_kernel(self):
        session = self.baked(snapshots=4)
        a, b = self.runs(session, "x = [1]", "x.append(2)")
        c = self.run_in(session, "import os; os._exit(3)", end="crashed")
        d, = self.runs(session, "y = 1")
        self.rollback(session, 2)
        self.assertEqual(self.undone(session), [c["id"], d["id"]])
        e, = self.runs(session, "open('x.txt', 'w').write(str(x))")
        self.assertEqual(self.data("x.txt"), b"[1, 2]")
        self.same("x.txt", [a, b, e])
        self.assertEqual(self.cells(session), ["x = [1]", "x.append(2)", "open('x.txt', 'w').write(str(x))"])

    def test_back_after_a_sleep_and_after_the_server_was_killed(self):
        session = self.baked(snapshots=4)
        a, b, c = self.runs(session, "x = [1]", "x.append(2)", "x.append(3)")
        self.client.ok("POST", f"{ONE}{session}/sleep")
        self.rollback(session)
        d, = self.runs(session, "open('x.txt', 'w').write(str(x))")
        self.same("x.txt", [a, b, d])
        self.assertEqual(self.undone(session), [c["id"]])
        self.server.stop(9)
        self.server.start()
        self.client = Client(self.server)
        self.rollback(session, 2)
        e, = self.runs(session, "open('y.txt', 'w').write(str(x))")
        self.assertEqual(self.data("y.txt"), b"[1]")
        self.same("y.txt", [a, e])
        self.assertEqual(self.undone(session), [b["id"], c["id"], d["id"]])

    def test_killed_in_the_middle_nothing_is_said_that_did_not_happen(self):
        session = self.baked(snapshots=4)
        a, b = self.runs(session, "x = 1", "open('x.txt', 'w').write(str(x))")
        self.rollback(session)
        self.server.stop(9)
        self.server.start()
        self.client = Client(self.server)
        self.assertEqual(self.undone(session), [b["id"]])
        c, = self.runs(session, "open('y.txt', 'w').write(str('x' in globals()))")
        self.same("y.txt", [c] if c["state"] == "lost" else [a, c])


class Forgotten(HistoryTest):
    """What is not in the store any more, or never was."""

    def test_without_a_run_that_was_forgotten_it_is_not_complete(self):
        session = self.session()
        a, b, c = self.runs(session, "x = 1", "y = 2", "open('y.txt', 'w').write(str(y))")
        self.assertTrue(self.lineage("y.txt")["complete"])
        self.in_store(("DELETE FROM runs WHERE id = ?", a["id"]))
        self.assertFalse(self.lineage("y.txt")["complete"])
        answer = self.reproduce("y.txt")
        self.assertEqual((answer["result"], answer["complete"]), ("same", False), answer)
        self.assertEqual([r["run_id"] for r in answer["runs"]], [b["id"], c["id"]])
        self.assertEqual(len(self.cells(session)), 2)

    def test_runs_from_before_histories_were_kept_follow_each_other_in_time(self):
        session = self.session()
        self.runs(session, "x = 0")
        self.client.ok("POST", f"{ONE}{session}/restart")
        a, b, c = self.runs(session, "x = 1", "y = x + 1", "open('y.txt', 'w').write(str(y))")
        self.in_store(("DELETE FROM run_history",), ("UPDATE sessions SET state_run = NULL",))
        self.same("y.txt", [a, b, c])
        self.assertEqual(len(self.cells(session)), 4)
        d, = self.runs(session, "open('z.txt', 'w').write('z')")  # the first that is written down
        self.assertEqual(self.reproduce("z.txt")["result"], "same")
        self.assertNotIn("undone_at", self.client.ok("GET", RUN + d["id"]))


@unittest.skipIf(IMAGES == "off", "a session that started cold cannot sleep or branch")
class Branches(HistoryTest):
    def test_a_branch_knows_its_parent_and_the_point(self):
        session = self.baked()
        self.assertIsNone(self.client.ok("GET", ONE + session)["parent"])
        early = self.fork(session)
        self.assertEqual(early["parent"], {"session_id": session, "run_id": None})
        _, b = self.runs(session, "x = 1", "x = 2")
        made = self.fork(session)
        parent = {"session_id": session, "run_id": b["id"]}
        self.assertEqual(made["parent"], parent)
        self.runs(session, "x = 3")
        self.assertEqual(self.client.ok("GET", ONE + made["id"])["parent"], parent)
        again = self.fork(made["id"])
        self.assertEqual(again["parent"], {"session_id": made["id"], "run_id": b["id"]})
        listed = self.client.ok("GET", "/api/v1/sessions?limit=100")["data"]
        self.assertEqual(next(s for s in listed if s["id"] == made["id"])["parent"], parent)
        self.client.ok("DELETE", ONE + made["id"], status=204)
        self.assertEqual(self.client.ok("GET", ONE + made["id"])["parent"], parent)

    def test_what_a_branch_made_needs_the_runs_before_the_point(self):
        session = self.baked()
        a, b = self.runs(session, "x = [1]", "x.append(2)")
        branch = self.fork(session)["id"]
        self.runs(session, "x.append(3)")
        c, d = self.runs(branch, "x.append(4)", "open('x.txt', 'w').write(str(x))")
        self.assertEqual(self.data("x.txt"), b"[1, 2, 4]")
        self.same("x.txt", [a, b, c, d])
        self.assertEqual(self.cells(branch), ["x = [1]", "x.append(2)", "x.append(4)", "open('x.txt', 'w').write(str(x))"])
        self.assertIn("x.append(2)", self.script(branch))
        self.assertNotIn("x.append(3)", self.script(branch))

    def test_a_branch_of_a_branch(self):
        session = self.baked()
        a, = self.runs(session, "x = [1]")
        branch = self.fork(session)["id"]
        second = self.fork(branch)["id"]
        b, = self.runs(branch, "x.append(2)")
        third = self.fork(branch)["id"]
        c, = self.runs(second, "open('second.txt', 'w').write(str(x))")
        d, = self.runs(third, "open('third.txt', 'w').write(str(x))")
        self.same("second.txt", [a, c])
        self.same("third.txt", [a, b, d])
        self.assertEqual(self.cells(third)[:2], ["x = [1]", "x.append(2)"])
        self.assertEqual(self.cells(second)[:1], ["x = [1]"])

    def test_after_a_rollback_on_either_side(self):
        session = self.baked(snapshots=4)
        a, b = self.runs(session, "x = [1]", "x.append(2)")
        branch = self.fork(session)["id"]
        self.rollback(session)
        c, = self.runs(session, "x.append(3)")
        second = self.fork(session)["id"]
        d, e = self.runs(branch, "x.append(4)", "x.append(5)")
        self.rollback(branch)
        f, = self.runs(branch, "open('f.txt', 'w').write(str(x))")
        g, = self.runs(second, "open('g.txt', 'w').write(str(x))")
        self.assertEqual((self.data("f.txt"), self.data("g.txt")), (b"[1, 2, 4]", b"[1, 3]"))
        self.same("f.txt", [a, b, d, f])
        self.same("g.txt", [a, c, g])
        self.assertEqual(self.undone(session), [b["id"]])
        self.assertEqual(self.undone(branch), [e["id"]])
        self.assertEqual(self.cells(branch), ["x = [1]", "x.append(2)", "x.append(4)", "open('f.txt', 'w').write(str(x))"])
        self.assertEqual(self.cells(second), ["x = [1]", "x.append(3)", "open('g.txt', 'w').write(str(x))"])

    def test_a_branch_that_was_restarted_begins_anew(self):
        session = self.baked()
        self.runs(session, "x = 1")
        branch = self.fork(session)["id"]
        self.client.ok("POST", f"{ONE}{branch}/restart")
        b, = self.runs(branch, "open('x.txt', 'w').write(str('x' in globals()))")
        self.same("x.txt", [b])
        self.assertEqual(self.cells(branch), ["open('x.txt', 'w').write(str('x' in globals()))"])

    def test_a_branch_of_one_that_was_restarted_begins_there(self):
        session = self.baked()
        self.runs(session, "x = 1")
        self.client.ok("POST", f"{ONE}{session}/restart")
        self.client.ok("GET", f"{ONE}{session}/variables?wake=true")
        made = self.fork(session)
        self.assertEqual(made["parent"], {"session_id": session, "run_id": None})
        b, = self.runs(made["id"], "open('x.txt', 'w').write(str('x' in globals()))")
        self.same("x.txt", [b])
        self.assertEqual(len(self.cells(made["id"])), 1)

    def test_a_branch_of_one_that_sleeps_and_whose_parent_was_closed(self):
        session = self.baked()
        a, = self.runs(session, "x = [1]")
        self.client.ok("POST", f"{ONE}{session}/sleep")
        branch = self.fork(session)["id"]
        self.client.ok("DELETE", ONE + session, status=204)
        b, = self.runs(branch, "open('x.txt', 'w').write(str(x))")
        self.same("x.txt", [a, b])
        self.assertEqual(len(self.cells(branch)), 2)

    def test_a_branch_of_which_the_point_was_forgotten_says_so(self):
        session = self.baked()
        a, = self.runs(session, "x = [1]")
        made = self.fork(session)
        branch = made["id"]
        b, = self.runs(branch, "open('x.txt', 'w').write('x')")
        self.in_store(("DELETE FROM runs WHERE id = ?", a["id"]))
        self.assertEqual(self.client.ok("GET", ONE + branch)["parent"], made["parent"])
        answer = self.reproduce("x.txt")
        self.assertEqual((answer["result"], answer["complete"]), ("same", False), answer)
        self.assertEqual([r["run_id"] for r in answer["runs"]], [b["id"]])
        self.assertEqual(len(self.cells(branch)), 1)

    def test_variables_lead_back_across_the_point(self):
        self.make("raw.csv", b"1")
        session = self.baked()
        a, = self.runs(session, "x = open('raw.csv').read()")
        branch = self.fork(session)["id"]
        self.make("later.csv", b"2")
        self.runs(session, "y = open('later.csv').read()")
        self.runs(branch, "open('x.txt', 'w').write(x)")
        self.assertEqual(self.states("x.txt"), {a["id"]})
        self.assertTrue(self.lineage("x.txt")["complete"])

    def test_both_ways_of_a_branch_lead_to_one_file(self):
        session = self.baked()
        a, = self.runs(session, "x = [1]")
        branch = self.fork(session)["id"]
        b, = self.runs(session, "x.append(2); open('b.txt', 'w').write(str(x))")
        c, = self.runs(branch, "x.append(3); open('c.txt', 'w').write(str(x))")
        d, = self.runs(self.session(), "open('d.txt', 'w').write(open('b.txt').read() + open('c.txt').read())")
        self.assertEqual(self.data("d.txt"), b"[1, 2][1, 3]")
        answer = self.same("d.txt", inputs="latest")
        self.assertEqual(sorted(r["run_id"] for r in answer["runs"]), sorted(r["id"] for r in (a, a, b, c, d)))
