"""The life of a session as session.h promises it. What survives in detail is another file's business."""
import os
import pathlib
import shutil
import tempfile
import unittest

from driver import WORK, Driver, Failed, until


class Sessions(unittest.TestCase):
    def setUp(self):
        self.d = Driver()
        self.addCleanup(self.d.close)
        if not self.d.hello["images"]:
            self.skipTest("this host cannot use images")

    def states(self, session, *codes):
        return [self.d.run(session, code)["state"] for code in codes]

    def test_a_session_from_the_image_has_everything_imported(self):
        session = self.d.start()
        self.assertTrue(self.d("look", id=session)["baked"])
        run = self.d.run(session, "import sys; 'pandas' in sys.modules")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("fresh", "True"))

    def test_a_cold_session_works_the_same(self):
        session = self.d.start(cold=True)
        self.assertFalse(self.d("look", id=session)["baked"])
        self.assertEqual(self.states(session, "x = 1", "x"), ["fresh", "kept"])

    def test_thread_counts_follow_the_limit_of_the_session(self):
        session = self.d.start(limits={"cpu_milli": 1500})
        self.assertEqual(self.d.value(session, "import os; os.environ['OMP_NUM_THREADS']"), "'2'")

    def test_it_sleeps_and_wakes_under_its_id(self):
        session = self.d.start()
        self.d.value(session, "import pandas as pd; df = pd.DataFrame({'a': range(5)}); g = iter(df.a); next(g)")
        answer = self.d("sleep", id=session)
        self.assertFalse(answer["refused"])
        self.assertLess(answer["size"], 1 << 20)
        self.assertEqual(self.d.life(session), "asleep")
        run = self.d.run(session, "next(g), df.a.sum()")
        self.assertEqual((run["state"], run["lost"]), ("woken", []))
        self.assertEqual(run["result"]["text/plain"], "(1, 10)")
        self.assertFalse(self.d.file(session).exists())

    def test_the_file_is_private(self):
        session = self.d.start()
        self.d("sleep", id=session)
        self.assertEqual(self.d.file(session).stat().st_mode & 0o7777, 0o600)

    def test_a_plain_wake_keeps_random_numbers(self):
        session, seeded = self.d.start(), "import random, numpy as np; random.seed(1); np.random.seed(1)"
        draw = "(random.random(), np.random.random())"
        self.d.value(session, seeded)
        expected = self.d.value(session, draw)
        self.d.value(session, seeded)
        self.d("sleep", id=session)
        self.assertEqual(self.d.value(session, draw), expected)

    def test_it_survives_a_kill_of_the_engine_while_asleep(self):
        base = tempfile.mkdtemp(prefix="cicada-rest-", dir=WORK)
        self.addCleanup(shutil.rmtree, base)
        first = Driver(base)
        asleep, awake = first.start(), first.start()
        first.value(asleep, "x = 'kept'; open('note.txt', 'w').write('file')")
        first.value(awake, "x = 1")
        first("sleep", id=asleep)
        first.kill()
        with Driver(base) as second:
            self.assertEqual(second("list")["ids"], [asleep])
            run = second.run(asleep, "x, open('note.txt').read()")
            self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "('kept', 'file')"))
            with self.assertRaises(Failed) as caught:
                second.run(awake, "x")
            self.assertEqual(caught.exception.code, "not_found")

    def test_what_cannot_sleep_says_why_and_stays(self):
        session = self.d.start()
        self.d.value(session, "import threading; e = threading.Event(); t = threading.Thread(target=e.wait); t.start()")
        answer = self.d("sleep", id=session)
        self.assertTrue(answer["refused"])
        self.assertIn("thread", " ".join(answer["reasons"]).lower())
        self.assertEqual(self.states(session, "e.set(); t.join()"), ["kept"])
        self.assertFalse(self.d("sleep", id=session)["refused"])

    def test_what_must_sleep_saves_what_it_can_and_names_the_rest(self):
        session = self.d.start()
        self.d.value(session, "import threading; x = [1, 2]; e = threading.Event(); "
                              "t = threading.Thread(target=e.wait, daemon=True); t.start()")
        answer = self.d("sleep", id=session, must=True)
        self.assertFalse(answer["refused"])
        self.assertTrue(answer["lost"])
        run = self.d.run(session, "x")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "[1, 2]"))
        self.assertIn("t", run["lost"])
        self.assertIn("t", run["hint"])
        self.assertEqual(self.d.run(session, "x")["lost"], [])

    def test_a_branch_has_its_own_life_and_random_numbers(self):
        session = self.d.start()
        self.d.value(session, "import random; random.seed(5); x = [1]")
        branch = self.d("fork", id=session)["id"]
        self.assertEqual(self.states(branch, "x.append(2)"), ["woken"])
        self.assertEqual(self.d.value(session, "x"), "[1]")
        self.assertEqual(self.d.value(branch, "x"), "[1, 2]")
        draw = "random.random()"
        self.assertNotEqual(self.d.value(session, draw), self.d.value(branch, draw))

    def test_a_branch_that_is_larger_than_its_disk_limit_lives(self):
        """The file it wakes from is not its own: deleted while it is mapped or open, it takes no room of its."""
        session = self.d.start(limits={"disk_mb": 1})
        self.d.value(session, "import os, time; x = os.urandom(24 << 20)")
        branch = self.d("fork", id=session)["id"]
        for each in branch, session:
            run = self.d.run(each, "time.sleep(0.5); len(x)")  # some looks at what it uses
            self.assertEqual((run["end"], run["result"]["text/plain"]), ("ok", str(24 << 20)))
            self.d("sleep", id=each)
            self.assertEqual(self.states(each, "time.sleep(0.5)"), ["woken"])

    def test_a_branch_of_a_sleeper_sleeps_until_it_is_used(self):
        session = self.d.start()
        self.d.value(session, "import random; random.seed(5); x = 1")
        self.d("sleep", id=session)
        branch = self.d("fork", id=session)["id"]
        self.assertEqual(self.d.life(branch), "asleep")
        draw = "random.random(), x"
        self.assertNotEqual(self.d.value(session, draw), self.d.value(branch, draw))

    def test_runs_can_be_undone(self):
        session = self.d.start(snapshots=3)
        for i in range(1, 6):
            self.d.value(session, f"x = {i}")
            self.d("settle", id=session)
        self.assertEqual(self.d("look", id=session)["oldest"], 3)
        self.d("rollback", id=session, run=4)
        self.assertEqual(self.d.value(session, "x"), "3")
        with self.assertRaises(Failed) as caught:
            self.d("rollback", id=session, run=1)
        self.assertEqual(caught.exception.code, "not_found")
        self.assertEqual(self.d.value(session, "x"), "3")

    def test_a_rolled_back_session_can_sleep(self):
        session = self.d.start(snapshots=1)
        self.d.value(session, "x = 1")
        self.d("settle", id=session)
        self.d.value(session, "x = 2")
        self.d("rollback", id=session, run=2)
        self.assertFalse(self.d("sleep", id=session)["refused"])
        self.assertEqual(self.d.value(session, "x"), "1")

    RICH = "import pandas as pd; df = pd.DataFrame({'a': range(5)}); g = iter(df.a); next(g); f = open('out', 'w'); f.write('one')"

    def test_a_snapshot_survives_sleep_with_all_there_was(self):
        session = self.d.start(snapshots=3)
        self.d.run(session, self.RICH)
        self.d("settle", id=session)
        self.d.run(session, "df = None; next(g); f.close()")
        self.d("settle", id=session)
        self.d("sleep", id=session)
        self.d.value(session, "x = 3")
        self.d("rollback", id=session, run=2)
        run = self.d.run(session, "f.write('two'); f.close(); next(g), df.a.sum(), open('out').read()")
        self.assertEqual((run["state"], run["lost"]), ("woken", []))
        self.assertEqual(run["result"]["text/plain"], "(1, 10, 'onetwo')")

    def test_a_snapshot_survives_the_end_of_the_kernel(self):
        for code, end in ("import os; os._exit(3)", "crashed"), ("import mmap; m = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1", "memory"):
            with self.subTest(end):
                session = self.d.start(snapshots=2, limits={"memory_mb": 256})
                self.d.value(session, "x = 1")
                self.d("settle", id=session)
                run = self.d.run(session, code)
                self.assertEqual((run["end"], run["state"]), (end, "lost"))
                self.assertIn("back by 1 run ", run["hint"])
                self.d("rollback", id=session, run=2)
                run = self.d.run(session, "x")
                self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "1"))

    def test_rolled_back_to_the_same_snapshot_it_is_the_same_again(self):
        session = self.d.start(snapshots=3)
        self.d.value(session, "import random; random.seed(1); x = 0")
        self.d("settle", id=session)
        self.d("sleep", id=session)
        seen = []
        for _ in range(3):
            seen.append(self.d.value(session, "x += 1; (x, random.random())"))
            self.d("sleep", id=session)
            self.d("rollback", id=session, run=2)
        self.assertEqual(len(set(seen)), 1)

    def spoil(self, session, how):
        self.d.value(session, "x = 1")
        self.d("sleep", id=session)
        how(self.d.file(session))
        run = self.d.run(session, "'x' in globals()")
        self.assertEqual((run["end"], run["state"]), ("ok", "lost"))
        self.assertEqual(run["result"]["text/plain"], "False")
        self.assertIn("lost", run["hint"])
        self.assertTrue(self.d.file(session).with_suffix(".bad").exists())
        self.d.value(session, "x = 2")
        self.d("sleep", id=session)
        self.assertEqual(self.d.value(session, "x"), "2")

    def test_a_changed_byte_costs_the_variables_and_nothing_else(self):
        def change(path):
            with path.open("r+b") as file:
                file.seek(path.stat().st_size // 2)
                byte = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte[0] ^ 1]))
        self.spoil(self.d.start(), change)

    def test_a_file_cut_off_costs_the_variables_and_nothing_else(self):
        self.spoil(self.d.start(), lambda path: os.truncate(path, path.stat().st_size - 1))

    def test_rubbish_costs_the_variables_and_nothing_else(self):
        self.spoil(self.d.start(), lambda path: path.write_bytes(b"\0" * 5000))

    def test_deleting_removes_the_file(self):
        session = self.d.start()
        self.d("sleep", id=session)
        self.d("delete", id=session)
        self.assertEqual(list((self.d.base / "sleepers").iterdir()), [])

    def test_the_pool_gives_sessions_that_are_like_others(self):
        self.d("pool", min=2, max=2)
        until(lambda: self.d("pool_look")["ready"] == 2)
        first, second = self.d.start(), self.d.start()
        self.assertEqual(self.d("pool_look")["taken"], 2)
        for session in first, second:
            self.assertEqual(self.states(session, "import os; assert os.getcwd() == '/mnt/data'", "x = 1"),
                             ["fresh", "kept"])
        draw = "import random, numpy as np; (random.random(), np.random.random())"
        self.assertNotEqual(self.d.value(first, draw), self.d.value(second, draw))
        self.d("sleep", id=first)
        self.assertEqual(self.states(first, "x"), ["woken"])

    def test_a_run_can_be_cancelled_while_it_runs(self):
        session = self.d.start()
        tag = self.d.begin("run", id=session, code="import time; open('up', 'w').close(); time.sleep(60)")
        mark = self.d.base / "data" / session / "up"
        until(mark.exists)
        self.d("cancel", id=session)
        self.assertEqual(self.d.end(tag)["run"]["end"], "cancelled")
        self.assertEqual(self.states(session, "1"), ["kept"])


class Images(unittest.TestCase):
    """Each with a store of its own: it is spoiled."""

    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="cicada-rest-", dir=WORK))
        self.addCleanup(shutil.rmtree, self.base)
        self.d = Driver(self.base, images=str(self.base / "images"))
        self.addCleanup(self.d.close)
        if not self.d.hello["images"]:
            self.skipTest("this host cannot use images")
        self.image = self.d("bake")

    def path(self):
        return self.base / "images" / f"{self.image['id']}.img"

    def test_a_damaged_image_is_noticed_and_made_again(self):
        session = self.d.start()
        self.d.value(session, "x = 1")
        self.d("sleep", id=session)
        os.chmod(self.path(), 0o600)
        with self.path().open("r+b") as file:
            file.seek(self.image["size"] // 2)
            file.write(b"spoiled")
        os.chmod(self.path(), 0o400)
        with self.assertRaises(Failed) as caught:
            self.d("refresh")
        self.assertIn("damaged", str(caught.exception))
        cold = self.d.start()
        self.assertFalse(self.d("look", id=cold)["baked"])
        run = self.d.run(session, "'x' in globals()")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("lost", "False"))
        self.assertNotEqual(self.d("bake")["id"], self.image["id"])
        self.assertTrue(self.d("look", id=self.d.start())["baked"])

    def test_sleepers_wake_under_the_image_they_slept_under(self):
        session = self.d.start()
        self.d.value(session, "x = 1")
        self.d("sleep", id=session)
        newer = self.d("bake", force=True)
        self.assertNotEqual(newer["id"], self.image["id"])
        self.d("gc")
        self.assertTrue(self.path().exists())
        self.assertEqual(self.d.value(session, "x"), "1")
        self.d("delete", id=session)
        self.assertGreater(self.d("gc")["freed"], 0)
        self.assertFalse(self.path().exists())
