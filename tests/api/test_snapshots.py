"""Snapshots: what a session was before its last runs comes back, variables and files, whatever happened since."""
import io
import os
import pathlib
import signal
import tarfile
import unittest

from base import IMAGES, ApiTest, Client, eventually

ONE = "/api/v1/sessions/"
WARM = unittest.skipIf(IMAGES == "off", "a session that started cold has no snapshots")
LOOK = "import os; x, open('a').read(), sorted(f for f in os.listdir() if len(f) < 5)"
HOARD = "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1"  # what nobody can refuse


class SnapshotTest(ApiTest):
    settings = {"sessions.memory_mb": 256}

    def again(self, how):
        self.server.stop(how)
        self.server.start()
        self.client.close()
        self.client = Client(self.server)
        self.addCleanup(self.client.close)

    def session(self, **wishes):
        """In a workspace of its own, from the image, which the server looks at after its start."""
        if "workspace" not in wishes:
            wishes["workspace"] = self.client.ok("POST", "/api/v1/workspaces", {"name": self.workspace_name()}, 201)["id"]

        def made():
            self.session_id = self.client.session(snapshots=3, **wishes)
            return self.look()["baked"] or self.client.ok("DELETE", ONE + self.session_id, status=204)
        eventually(made, 120)

    def workspace_name(self):
        self.count = getattr(self, "count", 0) + 1
        return f"{self.__class__.__name__} {self._testMethodName} {self.count}"

    def run_in(self, code, end="ok"):
        run = self.client.run(self.session_id, code)
        self.assertEqual(run["end"], end, run)
        return run

    def two_runs(self, **wishes):
        """The second changes variables and files; what they were before is seen()."""
        self.session(**wishes)
        self.run_in("x = 1; open('a', 'w').write('1'); open('keep', 'w').write('k'); None")
        self.run_in("x = 2; open('a', 'w').write('2'); open('new', 'w').close(); import os; os.remove('keep'); None")

    def sleep(self):
        self.client.ok("POST", ONE + self.session_id + "/sleep")

    def roll_back(self, steps=1):
        return self.client.ok("POST", ONE + self.session_id + "/rollback", {"steps": steps})

    def refused(self, steps=1):
        answer = self.client.post(ONE + self.session_id + "/rollback", {"steps": steps})
        self.assertEqual((answer.status, answer.code), (404, "not_found"), answer.body)
        self.assertNotIn(self.server.data, answer.body.decode())
        return answer.json["error"]["message"]

    def look(self):
        return self.client.ok("GET", ONE + self.session_id)

    def was_restored(self, seen="(1, '1', ['a', 'keep'])"):
        run = self.run_in(LOOK)
        self.assertEqual(run["result"]["text/plain"], seen)
        workspace = self.look()["workspace_id"]
        versions = f"/api/v1/workspaces/{workspace}/files/"
        self.assertEqual(self.client.get(versions + "a").body, b"1")
        self.assertEqual((self.client.get(versions + "keep").status, self.client.get(versions + "new").status), (200, 404))
        return run

    def files(self):
        return sorted(p.name.partition(".")[2] for p in pathlib.Path(self.server.data, "data/sleepers").glob(self.session_id + ".*"))


@WARM
class Survive(SnapshotTest):
    def test_a_sleep(self):
        self.two_runs()
        self.sleep()
        self.assertEqual(self.look()["rollback_steps"], 2)
        self.assertEqual(self.roll_back()["runs"], 1)
        self.was_restored()

    def test_a_sleep_from_which_it_has_woken(self):
        self.two_runs()
        self.sleep()
        self.run_in("y = 3")
        self.roll_back(2)
        self.was_restored()

    def test_a_sleep_of_a_session_over_layers(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for i in range(300):
                tar.addfile(tarfile.TarInfo(f"file{i}"), io.BytesIO())
        workspace = self.client.ok("POST", "/api/v1/workspaces", {"name": "layers"}, 201)["id"]
        imported = self.client.request("POST", f"/api/v1/workspaces/{workspace}/import?format=tar", raw=out.getvalue(),
                                       headers={"Content-Type": "application/x-tar"})
        self.assertEqual(imported.status, 200, imported.body)
        self.two_runs(workspace=workspace)
        self.sleep()
        self.roll_back()
        self.was_restored()

    def test_the_end_of_the_server_asleep(self):
        for how in signal.SIGTERM, signal.SIGKILL:
            with self.subTest(how):
                self.two_runs()
                self.sleep()
                self.again(how)
                self.assertEqual(self.look()["rollback_steps"], 2)
                self.roll_back()
                self.was_restored()

    def test_the_end_of_the_server_awake(self):
        self.two_runs()
        self.again(signal.SIGTERM)
        self.roll_back()
        self.was_restored()

    def test_a_kill_of_the_server_awake_and_nothing_is_lost(self):
        self.two_runs()
        eventually(lambda: "3.snap" in self.files())
        self.again(signal.SIGKILL)
        run = self.run_in("x")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "2"))
        self.roll_back(2)
        self.was_restored()

    def test_a_kill_of_the_server_in_a_run(self):
        self.two_runs()
        run = self.client.run(self.session_id, "open('a', 'w').write('3'); print('on', flush=True); import time; time.sleep(99)", 202, background=True)["id"]
        for name, _, _ in self.client.events("GET", f"/api/v1/runs/{run}/events"):
            if name == "stdout":
                break
        self.again(signal.SIGKILL)
        self.assertEqual(self.look()["status"], "idle")
        run = self.run_in("'x' in globals()")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("lost", "False"))
        self.assertNotIn("when the run was over", run["hint"])
        self.assertIn("back by 2 runs ", run["hint"])  # this one, and the one the kill ended
        self.roll_back(3)
        self.was_restored()

    def test_a_power_cut_that_took_the_last_snapshot_and_that_is_told(self):
        self.two_runs()
        eventually(lambda: "3.snap" in self.files())
        # Durable, and with it what was handed to the store before: that the second run is over.
        self.client.ok("PATCH", ONE + self.session_id, {"name": "cut"})
        self.server.stop(signal.SIGKILL)
        sleepers = pathlib.Path(self.server.data, "data/sleepers")
        (sleepers / f"{self.session_id}.3.snap").unlink()
        (sleepers / f"{self.session_id}.2.snap").chmod(0o600)  # as before its run began
        self.again(signal.SIGKILL)
        run = self.run_in("x, open('a').read()")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "(1, '2')"))
        self.assertIn("what they were before run 2;", run["hint"])
        self.assertIsNone(self.run_in("x").get("hint"))

    def test_an_end_by_memory(self):
        self.session()
        self.run_in("x = 1; open('a', 'w').write('1'); open('keep', 'w').write('k'); None")
        run = self.run_in("import os; x = 2; open('a', 'w').write('2'); open('new', 'w').close(); os.remove('keep'); os._exit(3)", "crashed")
        self.assertIn("back by 1 run ", run["hint"])
        self.roll_back()
        self.run_in("import os")
        self.run_in("open('a', 'w').write('2'); open('new', 'w').close(); os.remove('keep')\n" + HOARD, "memory")
        self.assertEqual(self.look()["rollback_steps"], 3)
        self.roll_back()
        self.was_restored()

    def test_an_end_by_memory_and_what_came_after_it(self):
        self.session()
        self.run_in("import os; x = 1; open('a', 'w').write('1'); open('keep', 'w').write('k'); None")
        self.run_in("open('a', 'w').write('2'); open('new', 'w').close(); os.remove('keep')\n" + HOARD, "memory")
        self.run_in("x = 5")
        self.sleep()
        self.roll_back(2)
        self.was_restored()

    def test_a_purge_and_what_was_purged_stays_gone(self):
        self.two_runs()
        self.sleep()
        workspace = f"/api/v1/workspaces/{self.look()['workspace_id']}"
        self.client.ok("POST", workspace + "/purge", {"trash": True})
        self.roll_back()
        run = self.run_in("import os; x, open('a').read(), os.path.exists('new')")
        self.assertEqual(run["result"]["text/plain"], "(1, '1', False)")
        self.assertIn("a file is not rolled back", self.server.log())
        self.assertEqual([f["path"] for f in run["not_brought"]], ["keep"], run)
        self.assertIn("purged", run["not_brought"][0]["reason"])

    def test_the_loss_of_a_content_and_the_other_files_come_back(self):
        self.session()
        self.run_in("import os; x = 1; [open(n, 'wb').write(os.urandom(1 << 16)) for n in 'abc']; sizes = lambda: [os.path.getsize(n) for n in 'abc']; None")
        self.run_in("x = 2; [open(n, 'w').write('2') for n in 'abc']; None")
        lost = self.client.get(f"/api/v1/workspaces/{self.look()['workspace_id']}/files/b?version=1").body[1000:1100]
        found = [(pack, at) for pack in pathlib.Path(self.server.data, "data/packs").glob("*/*")
                 if pack.is_file() and (at := pack.read_bytes().find(lost)) >= 0]
        (pack, at), = found
        with open(pack, "r+b") as f:
            f.seek(at)
            f.write(bytes(len(lost)))
        self.roll_back()
        run = self.run_in("x, sizes()")
        self.assertEqual(run["result"]["text/plain"], "(1, [65536, 1, 65536])")
        self.assertEqual([f["path"] for f in run["not_brought"]], ["b"], run)
        self.assertIn("cannot be read", run["not_brought"][0]["reason"])

    def test_a_rollback_twice(self):
        self.two_runs()
        self.sleep()
        self.roll_back()
        self.sleep()
        self.roll_back()
        self.assertEqual(self.run_in("'x' in globals()")["result"]["text/plain"], "False")
        self.assertEqual(self.run_in("import os; os.listdir()")["result"]["text/plain"], "[]")


@WARM
class Bounded(SnapshotTest):
    def test_as_many_as_asked_for_the_oldest_go_first(self):
        self.session()
        for i in range(6):
            self.run_in(f"x = {i}")
        self.sleep()
        self.assertEqual(self.files(), ["4.snap", "5.snap", "6.snap", "sleep"])
        look = self.look()
        self.assertEqual(look["rollback_steps"], 3)
        self.assertGreater(look["snapshot_bytes"], look["sleep_bytes"])
        self.assertIn("at most 3", self.refused(4))
        self.roll_back(3)
        self.assertEqual(self.run_in("x")["result"]["text/plain"], "2")

    def test_large_ones_give_way(self):
        self.session(limits={"memory_mb": 1024})
        for i in range(3):
            self.run_in(f"import os; x = None; x = os.urandom(90 << 20), {i}")
        self.sleep()
        self.assertEqual(self.files(), ["3.snap", "sleep"])  # when it was awake, that one, this and one more: over 256 MiB
        self.roll_back()
        self.assertEqual(self.run_in("x[1]")["result"]["text/plain"], "1")

    def test_nothing_of_one_that_was_closed_or_restarted_is_left(self):
        self.two_runs()
        self.sleep()
        self.client.ok("POST", ONE + self.session_id + "/restart")
        self.assertEqual(self.files(), [])
        self.assertIn("no snapshots", self.refused())
        self.run_in("x = 3")
        self.sleep()
        self.client.ok("DELETE", ONE + self.session_id, status=204)
        self.assertEqual(self.files(), [])

    def test_a_branch_begins_without_any(self):
        self.two_runs()
        self.sleep()
        before = self.files()
        self.session_id, first = self.client.ok("POST", ONE + self.session_id + "/fork", {}, 201)["id"], self.session_id
        self.assertEqual(self.look()["rollback_steps"], 0)
        self.assertIn("no snapshots", self.refused())
        self.client.ok("DELETE", ONE + self.session_id, status=204)
        self.session_id = first
        self.assertEqual(self.files(), before)
        self.roll_back()
        self.was_restored()

    def test_a_damaged_one_is_set_aside_and_the_others_are_there(self):
        self.two_runs()
        self.run_in("x = 3")
        self.sleep()
        path = pathlib.Path(self.server.data, "data/sleepers", self.session_id + ".3.snap")
        os.truncate(path, path.stat().st_size - 1)
        message = self.refused()
        self.assertIn("damaged", message)
        self.assertIn("another number of runs", message)
        self.assertEqual(self.run_in("x")["result"]["text/plain"], "3")
        self.roll_back(3)
        self.was_restored()


@WARM
class Refused(SnapshotTest):
    def test_what_cannot_be_written_down_is_said(self):
        self.session()
        self.run_in("import threading; e = threading.Event(); t = threading.Thread(target=e.wait, name='worker'); t.start()")
        self.run_in("x = 1")
        self.assertIn("worker", self.refused())
        self.run_in("e.set(); t.join()")


class Cold(ApiTest):
    @unittest.skipIf(IMAGES != "off", "sessions start from an image")
    def test_a_session_that_started_cold_says_that_it_has_none(self):
        session = self.client.session(snapshots=2)
        self.client.run(session, "x = 1")
        message = self.fails(self.client.post(ONE + session + "/rollback", {}), 404, "not_found").json["error"]["message"]
        self.assertIn("image", message)


if __name__ == "__main__":
    unittest.main()
