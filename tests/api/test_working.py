"""Working copies: what sessions write becomes versions, however a run ends, and what others write comes back."""
import concurrent.futures
import signal
import unittest

from base import IMAGES, Client, Server, eventually
from files import FilesTest, noise, quoted, sha256

ONE = "/api/v1/sessions/"
WARM = unittest.skipIf(IMAGES == "off", "a session that started cold cannot sleep, branch or go back")


def start(client, session, code, **more):
    """A run in the background that has printed something by now."""
    run = client.run(session, code, 202, background=True, **more)["id"]
    for name, _, _ in client.events("GET", f"/api/v1/runs/{run}/events"):
        if name == "stdout":
            return run
    raise AssertionError("it said nothing")


class WorkingTest(FilesTest):
    def setUp(self):
        super().setUp()
        self.workspace = self.ws.rpartition("/")[2]

    def session(self, **wishes):
        made = self.client.session(workspace=self.workspace, **wishes)
        self.addCleanup(lambda: Client(self.server).request("DELETE", ONE + made))
        return made

    def run_in(self, session, code, end="ok", **more):
        run = self.client.run(session, code, **more)
        self.assertEqual(run["end"], end, run)
        return run

    def changes(self, run):
        return {f["path"]: f["change"] for f in run["files"]}


class Kept(WorkingTest):
    def test_what_a_run_writes_is_a_version_when_the_answer_comes(self):
        run = self.run_in(self.session(), "import os; os.mkdir('d'); open('d/a.txt', 'w').write('one'); open('b.bin', 'wb').write(bytes(300000)); None")
        self.assertEqual(self.changes(run), {"b.bin": "created", "d/a.txt": "created"})
        self.assertEqual([f["path"] for f in run["files"]], ["b.bin", "d/a.txt"])
        self.assertEqual(self.data("d/a.txt"), b"one")
        self.assertEqual(self.data("b.bin"), bytes(300000))
        stat = self.stat("d/a.txt")
        self.assertEqual(stat["author"]["run_id"], run["id"])
        self.assertEqual(run["files"][1]["sha256"], sha256(b"one"))
        self.assertEqual(self.client.get(run["files"][1]["url"]).body, b"one")

    def test_changes_are_told_run_by_run(self):
        s = self.session()
        self.run_in(s, "open('a', 'w').write('1'); open('b', 'w').write('1'); None")
        self.assertEqual(self.run_in(s, "2")["files"], [])
        run = self.run_in(s, "import os; open('a', 'a').write('2'); os.remove('b'); open('c', 'w').close()")
        self.assertEqual(self.changes(run), {"a": "modified", "b": "deleted", "c": "created"})
        self.assertEqual([v["version"] for v in self.versions("a")], [2, 1])
        self.assertEqual(self.get("b").status, 404)
        self.assertEqual(self.data("c"), b"")
        self.assertEqual([f["path"] for f in self.trash()], ["b"])

    def test_rewriting_the_same_bytes_makes_no_version(self):
        s = self.session()
        self.run_in(s, "open('a', 'w').write('same'); None")
        self.assertEqual(self.run_in(s, "open('a', 'w').write('same'); None")["files"], [])
        self.assertEqual(len(self.versions("a")), 1)

    def test_caches_are_not_kept_and_odd_things_are_named(self):
        run = self.run_in(self.session(), """
import os
os.makedirs('__pycache__'); open('__pycache__/m.pyc', 'w').write('x')
os.symlink('/etc/passwd', 'link'); os.symlink('/', 'root')
open('good', 'w').write('1')
open(b'bad-\\xff', 'w').write('1')
open('ctl-\\x01', 'w').write('1')
None""")
        self.assertEqual(self.changes(run), {"good": "created"})
        reasons = {m["path"]: m["reason"] for m in run["not_saved"]}
        self.assertEqual(reasons["link"], "symbolic link")
        self.assertEqual(reasons["root"], "symbolic link")
        self.assertEqual(len(reasons), 4, reasons)
        self.assertEqual(self.paths(recursive="true"), ["good"])

    def test_a_file_of_many_megabytes_comes_back_byte_by_byte(self):
        run = self.run_in(self.session(), "import random; d = random.Random(3).randbytes(30 << 20); open('big', 'wb').write(d); None")
        data = noise(30 << 20, 3)
        self.assertEqual(run["files"][0]["sha256"], sha256(data))
        self.assertEqual(self.data("big"), data)
        self.assertEqual(self.get("big", Range="bytes=1000000-1000009").body, data[1000000:1000010])

    def test_stores_through_a_mapping_are_noticed(self):
        s = self.session()
        self.run_in(s, "import mmap; f = open('m', 'w+b'); f.write(bytes(8192)); f.flush(); m = mmap.mmap(f.fileno(), 8192); m[0] = 1; None")
        run = self.run_in(s, "m[1] = 2; None")
        self.assertEqual(self.changes(run), {"m": "modified"})
        self.assertEqual(self.data("m")[:2], b"\x01\x02")
        self.run_in(s, "m[4096] = 3; None")
        self.assertEqual(self.data("m")[4096], 3)

    def test_bash_and_javascript_leave_files_too(self):
        s = self.session()
        self.run_in(s, "echo hi > from-bash", language="bash")
        self.run_in(s, "require('fs').writeFileSync('from-js', 'ho')", language="javascript")
        self.assertEqual((self.data("from-bash"), self.data("from-js")), (b"hi\n", b"ho"))


class HoweverItEnds(WorkingTest):
    CASES = {
        "timeout": ("open('f', 'w').write('x'); import time; time.sleep(60)", "timeout", {"timeout_s": 1}),
        "stubborn": ("""
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
open('f', 'w').write('x')
while True:
    try: time.sleep(60)
    except BaseException: pass""", "timeout", {"timeout_s": 1}),
        "memory": ("open('f', 'w').write('x')\nimport mmap; m = mmap.mmap(-1, 1 << 29)\nfor i in range(0, len(m), 4096): m[i] = 1",
                   "memory", {}),
        "refused": ("open('f', 'w').write('x'); b = b'x' * (3 << 30)", "error", {}),
        "segfault": ("open('f', 'w').write('x'); import ctypes; ctypes.string_at(0)", "crashed", {}),
        "exit": ("f = open('f', 'w'); f.write('x'); f.flush(); import os; os._exit(3)", "crashed", {}),
        "error": ("open('f', 'w').write('x'); 1/0", "error", {}),
        "output": ("open('f', 'w').write('x')\nwhile True: print('y' * 1000)", "output_limit", {"timeout_s": 30}),
    }

    def test_what_was_flushed_is_kept(self):
        for name, (code, end, more) in self.CASES.items():
            with self.subTest(name):
                s = self.session(limits={"memory_mb": 256})
                run = self.run_in(s, code.replace("'f'", f"'{name}'"), end, **more)
                self.assertIn(name, self.changes(run))
                self.assertEqual(self.data(name), b"x")
                self.assertEqual(self.run_in(s, f"open('{name}').read()")["result"]["text/plain"], "'x'")

    def test_cancelled_and_interrupted(self):
        for verb in ("cancel", "interrupt"):
            with self.subTest(verb):
                s = self.session()
                run = start(self.client, s, f"open('{verb}', 'w').write('x'); print('on', flush=True)\nimport time; time.sleep(60)")
                self.client.ok("POST", f"/api/v1/runs/{run}/cancel" if verb == "cancel" else f"{ONE}{s}/interrupt", status=200)
                run = self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=20")
                self.assertEqual(run["end"], "cancelled")
                self.assertEqual(self.data(verb), b"x")

    def test_deleting_the_session_in_the_middle(self):
        s = self.session()
        start(self.client, s, "open('f', 'w').write('x')\nprint('there', flush=True)\nimport time; time.sleep(60)")
        self.client.ok("DELETE", ONE + s, status=204)
        self.assertEqual(self.data("f"), b"x")

    def test_a_thread_that_writes_after_the_run_is_kept_by_the_next_one(self):
        s = self.session()
        self.run_in(s, """
import threading
go, done = threading.Event(), threading.Event()
def late():
    go.wait()
    open('late', 'w').write('x')
    done.set()
threading.Thread(target=late).start()""")
        run = self.run_in(s, "go.set(); done.wait(); None")
        self.assertIn("late", self.changes(run))

    def test_over_the_disk_limit_what_fitted_is_kept(self):
        s = self.session(limits={"disk_mb": 16})
        run = self.run_in(s, "open('small', 'w').write('x')\nimport time\nfor i in range(99):\n    open(f'l{i}', 'wb').write(b'x' * (4 << 20))\n    time.sleep(0.05)", "disk", timeout_s=60)
        self.assertIn("small", self.changes(run))
        self.assertEqual(self.data("small"), b"x")


class TheServerEnds(unittest.TestCase):
    def end(self, how):
        server = Server()
        self.addCleanup(server.close)
        client = Client(server)
        s = client.session()
        start(client, s, "open('f', 'w').write('x')\nprint('there', flush=True)\nimport time; time.sleep(600)", timeout_s=600)
        client.ok("GET", f"/api/v1/runs?session={s}")  # its record is durable by now, at the latest
        server.stop(how)
        server.start()
        client = Client(server)
        at = "/api/v1/workspaces/default/files/f"
        eventually(lambda: client.get(at).status == 200)
        self.assertEqual(client.get(at).body, b"x")
        self.assertEqual(client.run(s, "open('f').read()")["result"]["text/plain"], "'x'")
        return client.ok("GET", at + "?versions")["data"][0]

    def test_stopped_in_the_middle_of_a_run(self):
        self.end(signal.SIGTERM)

    def test_killed_in_the_middle_of_a_run(self):
        version = self.end(signal.SIGKILL)
        self.assertTrue(version["author"]["session_id"].startswith("ses_"))
        self.assertTrue(version["author"]["run_id"].startswith("run_"))

    def test_a_session_that_is_deleted_right_after_the_kill(self):
        server = Server()
        self.addCleanup(server.close)
        client = Client(server)
        s = client.session()
        start(client, s, "open('f', 'w').write('x')\nprint('there', flush=True)\nimport time; time.sleep(600)", timeout_s=600)
        server.stop(signal.SIGKILL)
        server.start()
        client = Client(server)
        client.ok("DELETE", ONE + s, status=204)
        self.assertEqual(client.get("/api/v1/workspaces/default/files/f").body, b"x")

    def test_a_deletion_before_the_kill_is_kept_too(self):
        server = Server()
        self.addCleanup(server.close)
        client = Client(server)
        s = client.session()
        client.run(s, "open('f', 'w').write('x'); open('g', 'w').write('y'); None")
        start(client, s, "import os; os.remove('f')\nprint('there', flush=True)\nimport time; time.sleep(600)", timeout_s=600)
        server.stop(signal.SIGKILL)
        server.start()
        client = Client(server)
        eventually(lambda: client.get("/api/v1/workspaces/default/files/f").status == 404)
        self.assertEqual(client.get("/api/v1/workspaces/default/files/g").body, b"y")


    def test_what_was_kept_beside_is_there_after_the_kill(self):
        server = Server()
        self.addCleanup(server.close)
        client = Client(server)
        ws = "/api/v1/workspaces/default"
        put = lambda path, data: self.assertIn(client.request("PUT", f"{ws}/files/{path}", raw=data).status, (200, 201))
        put("f", b"theirs")
        s = client.session()
        client.ok("POST", ws + "/locks", {"path": "f", "holder": "alice"}, 201)
        beside = client.run(s, "open('f', 'w').write('mine'); None")["files"][0]["kept_as"]
        put("other", b"x")  # its rev is beyond that of what was kept beside
        run = client.run(s, f"open({beside!r}).read(), open('other').read()")
        self.assertEqual(run["result"]["text/plain"], "('mine', 'x')")
        server.stop(signal.SIGKILL)
        server.start()
        client = Client(server)
        self.assertEqual(client.run(s, f"open({beside!r}).read()")["result"]["text/plain"], "'mine'")
        self.assertEqual(client.get(f"{ws}/files/{quoted(beside)}").body, b"mine")


class LongRuns(WorkingTest):
    def test_what_a_long_run_has_written_is_kept_while_it_goes_on(self):
        s = self.session()
        run = self.client.run(s, "open('early', 'w').write('x')\nimport time; time.sleep(45)\nopen('late', 'w').write('y'); None",
                              202, background=True, timeout_s=100)
        eventually(lambda: self.get("early").status == 200, 40)
        self.assertEqual(self.client.ok("GET", "/api/v1/runs/" + run["id"])["status"], "running")
        self.assertEqual(self.stat("early")["author"]["run_id"], run["id"])
        run = self.client.ok("GET", f"/api/v1/runs/{run['id']}?wait_s=60")
        self.assertEqual((run["end"], self.changes(run)), ("ok", {"early": "created", "late": "created"}))


class TwoSides(WorkingTest):
    def test_an_upload_is_there_in_the_next_run_of_a_live_session(self):
        s = self.session()
        self.run_in(s, "1")
        self.make("in.csv", b"a,b\n")
        run = self.run_in(s, "open('in.csv').read()")
        self.assertEqual(run["result"]["text/plain"], "'a,b\\n'")
        self.assertEqual(run["updated"], [{"path": "in.csv", "change": "created"}])
        self.assertEqual(run["files"], [])
        self.make("in.csv", b"c\n")
        self.assertEqual(self.run_in(s, "open('in.csv').read()")["result"]["text/plain"], "'c\\n'")
        self.client.ok("DELETE", self.at("in.csv"), status=204)
        self.assertEqual(self.run_in(s, "import os; os.path.exists('in.csv')")["result"]["text/plain"], "False")

    def test_what_was_purged_is_gone_everywhere(self):
        self.make("secret", b"s")
        s = self.session()
        self.run_in(s, "open('secret').read()")
        self.client.ok("DELETE", self.at("secret"), status=204)
        self.do("purge", trash=True)
        self.assertEqual(self.run_in(s, "import os; os.path.exists('secret')")["result"]["text/plain"], "False")
        self.assertEqual((self.trash(), self.paths(recursive="true")), ([], []))
        self.assertEqual(self.make("secret", b"new")["version"], 1)

    def test_moves_arrive(self):
        self.make("a", b"1")
        s = self.session()
        self.run_in(s, "open('a').read()")
        self.do("move", **{"from": "a", "to": "d/b"})
        run = self.run_in(s, "import os; os.path.exists('a'), open('d/b').read()")
        self.assertEqual(run["result"]["text/plain"], "(False, '1')")
        self.assertEqual(run["files"], [])

    def test_two_sessions_each_have_their_copy_and_see_each_other_s_commits(self):
        one, two = self.session(), self.session()
        self.run_in(one, "open('one', 'w').write('1'); None")
        self.assertEqual(self.run_in(two, "open('one').read()")["result"]["text/plain"], "'1'")
        self.run_in(two, "open('two', 'w').write('2'); None")
        self.assertEqual(self.run_in(one, "open('two').read()")["result"]["text/plain"], "'2'")

    def test_a_conflict_keeps_both_and_tells_both(self):
        self.make("f", b"base")
        one, two = self.session(), self.session()
        self.run_in(one, "open('f').read()")
        run = start(self.client, two, "open('f', 'w').write('two')\nprint('x', flush=True)\nimport time; time.sleep(3); None")
        self.run_in(one, "open('f', 'w').write('one'); None")
        told = self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=30")["files"][0]
        self.assertEqual(told["path"], "f")
        self.assertEqual(self.data("f"), b"one")
        self.assertEqual(self.data(told["kept_as"]), b"two")
        self.assertNotEqual(told["kept_as"], "f")
        # the session that lost keeps what it wrote, and goes on writing beside
        self.assertEqual(self.run_in(two, "open('f').read()")["result"]["text/plain"], "'two'")
        again = self.run_in(two, "open('f', 'w').write('two again'); None")["files"][0]
        self.assertEqual((again["kept_as"], self.data(told["kept_as"])), (told["kept_as"], b"two again"))
        # the other one finds the copy
        seen = self.run_in(one, f"open({told['kept_as']!r}).read()")
        self.assertEqual(seen["result"]["text/plain"], "'two again'")
        self.assertEqual([u["path"] for u in seen["updated"]], [told["kept_as"]])
        # until it wants to have what the workspace has
        self.client.ok("POST", f"{ONE}{two}/refresh")
        self.assertEqual(self.run_in(two, "open('f').read()")["result"]["text/plain"], "'one'")
        self.assertEqual(self.run_in(two, "open('f', 'w').write('agreed'); None")["files"][0].get("kept_as"), None)
        self.assertEqual(self.data("f"), b"agreed")

    def test_what_is_kept_beside_is_not_in_conflict_with_itself(self):
        self.make("g", b"base")
        one, two = self.session(), self.session()
        self.run_in(one, "open('g').read()")
        self.run_in(two, "open('g').read()")
        self.run_in(one, "open('g', 'w').write('one'); None")
        first = self.run_in(two, "open('g', 'w').write('two'); None")["files"][0].get("kept_as")
        for i in range(12):  # one run right after the other: what was brought is as new as what is written
            run = self.run_in(two, f"open('g', 'w').write('two {i}'); None")
            self.assertEqual([f["path"] for f in run["files"]], ["g"])
            first = first or run["files"][0].get("kept_as")
            names = [f["path"] for f in self.client.ok("GET", f"/api/v1/workspaces/{self.workspace}/files?prefix=g")["data"]]
            self.assertEqual(sorted(names), sorted(["g"] + ([first] if first else [])))

    def test_what_could_not_be_brought_is_not_said_to_be_there(self):
        one = self.session()
        self.run_in(one, "import os; os.makedirs('way/__pycache__'); open('way/__pycache__/k', 'w').write('1'); None")
        self.make("way", b"a file")
        run = self.run_in(one, "os.path.isdir('way')")
        self.assertEqual(run["result"]["text/plain"], "True")
        self.assertEqual(run.get("updated", []), [])

    def test_hammering_one_path_from_two_sessions_loses_no_content(self):
        def hammer(name):
            client = Client(self.server)
            s = client.session(workspace=self.workspace)
            written = []
            for i in range(15):
                text = f"{name}-{i}"
                run = client.run(s, f"open('f', 'w').write({text!r}); None")
                written.append((text, run["files"][0]))
            client.ok("DELETE", ONE + s, status=204)
            client.close()
            return written
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for written in pool.map(hammer, ["one", "two"]):
                for text, told in written:
                    path, version = told.get("kept_as", "f"), told["version"]
                    self.assertEqual(self.data(path, f"?version={version}"), text.encode())

    def test_files_that_come_with_a_one_shot_are_in_the_workspace(self):
        run = self.client.ok("POST", "/api/v1/runs", {"code": "open('in/a.txt').read()", "workspace": self.workspace,
                                                      "files": [{"path": "in/a.txt", "content": "hello"}]})
        self.assertEqual(run["result"]["text/plain"], "'hello'")
        self.assertEqual(self.data("in/a.txt"), b"hello")


class Quota(WorkingTest):
    def test_over_quota_the_bytes_stay_and_are_saved_when_there_is_room(self):
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 100000}})
        s = self.session()
        run = self.run_in(s, "open('fits', 'w').write('x'); open('large', 'wb').write(bytes(200000)); None")
        self.assertEqual(self.changes(run), {"fits": "created"})
        self.assertEqual([m["path"] for m in run["not_saved"]], ["large"])
        self.assertIn("quota", run["not_saved"][0]["reason"])
        again = self.run_in(s, "len(open('large', 'rb').read())")
        self.assertEqual(again["result"]["text/plain"], "200000")
        self.assertEqual([m["path"] for m in again["not_saved"]], ["large"])
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1000000}})
        self.assertEqual(self.changes(self.run_in(s, "1")), {"large": "created"})
        self.assertEqual(self.data("large"), bytes(200000))

    def test_what_others_change_does_not_go_over_what_is_not_saved(self):
        for name in ("f", "gone"):
            self.make(name, b"base")
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 100000}})
        s = self.session()
        run = self.run_in(s, "for n in ('f', 'gone'): open(n, 'wb').write(bytes(200000))")
        self.assertEqual([m["path"] for m in run["not_saved"]], ["f", "gone"])
        self.make("f", b"theirs")
        self.assertEqual(self.client.request("DELETE", self.at("gone")).status, 204)
        for i in range(2):
            run = self.run_in(s, "[len(open(n, 'rb').read()) for n in ('f', 'gone')]")
            self.assertEqual(run["result"]["text/plain"], "[200000, 200000]")
            self.assertEqual([(m["path"], m["reason"]) for m in run["not_brought"]],
                             [(n, "the session's own change of it is not saved yet") for n in ("f", "gone")])
            self.assertEqual([m["path"] for m in run["not_saved"]], ["f", "gone"])
        self.client.ok("POST", f"{ONE}{s}/refresh")
        self.assertEqual(self.run_in(s, "len(open('f', 'rb').read())")["result"]["text/plain"], "200000")
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1000000}})
        told = {f["path"]: f for f in self.run_in(s, "1")["files"]}
        self.assertEqual(self.data("f"), b"theirs")
        for name in ("f", "gone"):
            self.assertEqual(self.data(told[name].get("kept_as", name)), bytes(200000))

    def test_what_is_kept_beside_and_not_saved_stays_so_when_refreshed(self):
        self.make("f", b"base")
        s = self.session()
        run = start(self.client, s, "open('f', 'w').write('mine')\nprint('x', flush=True)\nimport time; time.sleep(1); None")
        self.make("f", b"theirs")
        beside = self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=30")["files"][0]["kept_as"]
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 100000}})
        run = self.run_in(s, "open('f', 'wb').write(bytes(200000))")
        self.assertEqual([m["path"] for m in run["not_saved"]], ["f"])
        self.client.ok("POST", f"{ONE}{s}/refresh")
        run = self.run_in(s, "len(open('f', 'rb').read())")
        self.assertEqual((run["result"]["text/plain"], [m["path"] for m in run["not_brought"]]), ("200000", ["f"]))
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1000000}})
        self.assertEqual([f["kept_as"] for f in self.run_in(s, "1")["files"]], [beside])
        self.assertEqual((self.data("f"), self.data(beside)), (b"theirs", bytes(200000)))


class Snapshots(WorkingTest):
    def session(self, **wishes):
        """From the image, which a server that has just begun may not have looked at yet."""
        def one():
            session = super(Snapshots, self).session(**wishes)
            return session if self.client.ok("GET", ONE + session)["baked"] else None
        return eventually(one, 120)

    @WARM
    def test_fork_takes_the_files_along_and_they_part(self):
        s = self.session()
        self.run_in(s, "x = 1; open('a', 'w').write('1'); None")
        branch = self.client.ok("POST", f"{ONE}{s}/fork", {}, 201)["id"]
        self.addCleanup(lambda: self.client.request("DELETE", ONE + branch))
        self.assertEqual(self.run_in(branch, "x, open('a').read()")["result"]["text/plain"], "(1, '1')")
        self.assertEqual(self.run_in(branch, "open('b', 'w').write('2'); None")["files"][0]["change"], "created")
        self.assertEqual(self.data("b"), b"2")

    @WARM
    def test_what_is_not_saved_is_saved_by_a_fork_too(self):
        self.make("f", b"base")
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 100000}})
        s = self.session()
        run = self.run_in(s, "open('large', 'wb').write(bytes(200000)); open('f', 'w').write('mine'); None")
        self.assertEqual([m["path"] for m in run["not_saved"]], ["large"])
        two = self.client.ok("POST", f"{ONE}{s}/fork", {}, 201)["id"]
        self.addCleanup(lambda: Client(self.server).request("DELETE", ONE + two))
        self.client.ok("DELETE", ONE + s, status=204)
        self.assertEqual([m["path"] for m in self.run_in(two, "1")["not_saved"]], ["large"])
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1000000}})
        self.run_in(two, "1")
        self.assertEqual((self.data("large"), self.data("f"), len(self.versions("f"))), (bytes(200000), b"mine", 2))

    @WARM
    def test_rollback_takes_the_files_back(self):
        s = self.session(snapshots=3)
        self.run_in(s, "x = 1; open('a', 'w').write('1'); open('keep', 'w').write('k'); None")
        self.run_in(s, "x = 2; open('a', 'w').write('2'); open('new', 'w').write('n'); import os; os.remove('keep')")
        self.client.ok("POST", f"{ONE}{s}/rollback", {"steps": 1})
        self.assertEqual(self.run_in(s, "import os; x, open('a').read(), sorted(os.listdir())")["result"]["text/plain"],
                         "(1, '1', ['a', 'keep'])")
        self.assertEqual((self.data("a"), self.data("keep"), self.get("new").status), (b"1", b"k", 404))
        self.assertEqual(self.data("a", "?version=2"), b"2")


class Layers(WorkingTest):
    """A workspace that is too large to be copied."""

    def setUp(self):
        super().setUp()
        import io, tarfile
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for i in range(400):
                info = tarfile.TarInfo(f"d{i % 7}/f{i}")
                info.size = len(str(i))
                tar.addfile(info, io.BytesIO(str(i).encode()))
        answer = self.client.request("POST", self.ws + "/import?format=tar", raw=out.getvalue(), headers={"Content-Type": "application/x-tar"})
        self.assertEqual(answer.status, 200, answer.body)

    def test_everything_is_there_and_changes_are_found(self):
        s = self.session()
        run = self.run_in(s, "import os; len([f for _, _, fs in os.walk('.') for f in fs]), open('d3/f3').read()")
        self.assertEqual(run["result"]["text/plain"], "(400, '3')")
        self.assertEqual(run["files"], [])
        run = self.run_in(s, "open('d3/f3', 'a').write('x'); os.remove('d4/f4'); open('d5/new', 'w').write('n'); os.rename('d6/f6', 'd6/g6')")
        self.assertEqual(self.changes(run), {"d3/f3": "modified", "d4/f4": "deleted", "d5/new": "created", "d6/f6": "deleted", "d6/g6": "created"})
        self.assertEqual((self.data("d3/f3"), self.data("d5/new"), self.data("d6/g6")), (b"3x", b"n", b"6"))
        run = self.run_in(s, "import shutil; shutil.rmtree('d1'); os.mkdir('d1'); open('d1/f1', 'w').write('again'); None")
        self.assertEqual(self.changes(run)["d1/f1"], "modified")
        self.assertEqual(self.changes(run)["d1/f8"], "deleted")
        self.assertEqual(self.paths(prefix="d1/", recursive="true"), ["d1/f1"])
        # a second session begins with all that
        two = self.session()
        run = self.run_in(two, "import os; sorted(os.listdir('d1')), open('d3/f3').read(), os.path.exists('d4/f4'), open('d6/g6').read()")
        self.assertEqual(run["result"]["text/plain"], "(['f1'], '3x', False, '6')")

    def test_what_others_change_comes_through_the_layers(self):
        s, two = self.session(), self.session()
        self.run_in(s, "open('d0/f0').read()")
        self.run_in(two, "import os; open('d0/f0', 'w').write('two'); os.remove('d0/f7'); open('d0/n', 'w').write('n'); None")
        self.make("d2/f2", b"uploaded")
        run = self.run_in(s, "import os; open('d0/f0').read(), os.path.exists('d0/f7'), open('d0/n').read(), open('d2/f2').read()")
        self.assertEqual(run["result"]["text/plain"], "('two', False, 'n', 'uploaded')")
        self.assertEqual(run["files"], [])
        self.assertEqual({u["path"]: u["change"] for u in run["updated"]},
                         {"d0/f0": "modified", "d0/f7": "deleted", "d0/n": "created", "d2/f2": "modified"})

    def test_conflicts_and_refresh(self):
        s = self.session()
        run = start(self.client, s, "open('d0/f0', 'w').write('mine')\nprint('x', flush=True)\nimport time; time.sleep(2); None")
        self.make("d0/f0", b"theirs")
        told = self.client.ok("GET", f"/api/v1/runs/{run}?wait_s=30")["files"][0]
        self.assertEqual((self.data("d0/f0"), self.data(told["kept_as"])), (b"theirs", b"mine"))
        self.client.ok("POST", f"{ONE}{s}/refresh")
        self.assertEqual(self.run_in(s, f"open('d0/f0').read(), open({told['kept_as']!r}).read()")["result"]["text/plain"], "('theirs', 'mine')")

    @WARM
    def test_it_survives_sleep_and_what_happened_meanwhile_is_there(self):
        s = self.session()
        self.run_in(s, "x = 1; open('d0/f0', 'w').write('mine'); None")
        self.client.ok("POST", f"{ONE}{s}/sleep")
        self.make("d0/f7", b"theirs")
        self.make("d0/f0", b"theirs too")
        run = self.run_in(s, "x, open('d0/f0').read(), open('d0/f7').read()")
        self.assertEqual(run["result"]["text/plain"], "(1, 'theirs too', 'theirs')")

    def test_restart_keeps_the_files(self):
        s = self.session()
        self.run_in(s, "open('d0/f0', 'w').write('mine'); None")
        self.client.ok("POST", f"{ONE}{s}/restart")
        self.assertEqual(self.run_in(s, "open('d0/f0').read()")["result"]["text/plain"], "'mine'")

    def test_a_name_like_those_of_files_that_are_being_brought_is_the_session_s(self):
        s = self.session()
        self.run_in(s, "open('.cicada-' + 24 * 'a', 'w').write('mine'); None")
        self.make("d0/f7", b"theirs")
        self.run_in(s, "open('d0/f7').read()")
        self.client.ok("POST", f"{ONE}{s}/restart")
        self.assertEqual(self.run_in(s, "open('.cicada-' + 24 * 'a').read()")["result"]["text/plain"], "'mine'")

    def test_what_is_not_saved_outlasts_what_others_change_while_nothing_runs(self):
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 100000}})
        s = self.session()
        self.assertEqual([m["path"] for m in self.run_in(s, "open('d0/f0', 'wb').write(bytes(200000))")["not_saved"]], ["d0/f0"])
        self.client.ok("POST", f"{ONE}{s}/restart")
        self.make("d0/f0", b"theirs")
        self.make("d0/f7", b"theirs")
        run = self.run_in(s, "len(open('d0/f0', 'rb').read()), open('d0/f7').read()")
        self.assertEqual(run["result"]["text/plain"], "(200000, 'theirs')")
        self.assertEqual([m["path"] for m in run["not_brought"]], ["d0/f0"])

    @WARM
    def test_rollback(self):
        s = self.session(snapshots=2)
        self.run_in(s, "x = 1")
        self.run_in(s, "import os; open('d0/f0', 'w').write('mine'); os.remove('d0/f7'); open('d0/new', 'w').close()")
        self.client.ok("POST", f"{ONE}{s}/rollback", {"steps": 1})
        run = self.run_in(s, "import os; open('d0/f0').read(), open('d0/f7').read(), os.path.exists('d0/new')")
        self.assertEqual(run["result"]["text/plain"], "('0', '7', False)")
        self.assertEqual((self.data("d0/f0"), self.data("d0/f7")), (b"0", b"7"))

    @WARM
    def test_fork(self):
        s = self.session()
        self.run_in(s, "x = 1; open('d0/f0', 'w').write('mine'); import os; os.remove('d0/f7')")
        branch = self.client.ok("POST", f"{ONE}{s}/fork", {}, 201)["id"]
        self.addCleanup(lambda: self.client.request("DELETE", ONE + branch))
        run = self.run_in(branch, "import os; x, open('d0/f0').read(), os.path.exists('d0/f7'), open('d0/f14').read()")
        self.assertEqual(run["result"]["text/plain"], "(1, 'mine', False, '14')")
        self.assertEqual(run["files"], [])


if __name__ == "__main__":
    unittest.main()
