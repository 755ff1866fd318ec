"""Other languages, the time zone and a restart in sessions that sleep, wake and branch."""
import shutil
import tempfile
import unittest

from driver import WORK, Driver, Failed, until

ZONE = "import time; time.strftime('%H:%M', time.localtime(0))"
KOLKATA = "'05:30'"


class Sessions(unittest.TestCase):
    def setUp(self):
        self.d = Driver()
        self.addCleanup(self.d.close)
        if not self.d.hello["images"]:
            self.skipTest("this host cannot use images")

    def bash(self, session, code, **more):
        return self.d.run(session, code, language="bash", **more)

    def test_bash_beside_python_from_an_image(self):
        session = self.d.start()
        run = self.bash(session, "pwd; echo 5 > n; echo $OMP_NUM_THREADS")
        self.assertEqual((run["end"], run["state"], run["stdout"], run["language"]),
                         ("ok", "fresh", "/mnt/data\n1\n", "bash"))
        self.assertEqual([f["path"] for f in run["files"]], ["n"])
        self.assertEqual(self.d.value(session, "x = int(open('n').read()); x"), "5")
        self.assertEqual(self.bash(session, "exit 3")["error"]["message"], "bash ended with status 3")
        self.assertEqual(self.d.value(session, "x"), "5")

    def test_it_sleeps_after_bash_and_wakes_for_it(self):
        session = self.d.start()
        self.d.value(session, "x = 1")
        self.bash(session, "sleep 1000 & echo kept > file")
        self.assertFalse(self.d("sleep", id=session)["refused"])
        run = self.bash(session, "cat file")
        self.assertEqual((run["state"], run["stdout"]), ("woken", "kept\n"))
        self.assertEqual(self.d.value(session, "x"), "1")

    def test_a_run_in_bash_counts_and_can_be_undone(self):
        session = self.d.start(snapshots=3)
        self.d.value(session, "x = 1")
        self.d("settle", id=session)
        self.bash(session, "true")
        self.d("settle", id=session)
        self.d.value(session, "x = 3")
        self.assertEqual(self.d("look", id=session)["runs"], 3)
        self.d("rollback", id=session, run=2)
        self.assertEqual(self.d("look", id=session)["runs"], 1)
        self.assertEqual(self.d.value(session, "x"), "1")
        self.assertEqual(self.bash(session, "echo 1")["stdout"], "1\n")

    def test_a_timeout_and_a_cancel_cost_no_variables(self):
        session = self.d.start()
        self.d.value(session, "x = 7")
        run = self.bash(session, "trap '' INT; sleep 100 & wait; sleep 100", wall_ms=300)
        self.assertEqual((run["end"], run["state"]), ("timeout", "kept"))
        tag = self.d.begin("run", id=session, code="touch there; sleep 100", language="bash")
        there = self.d.base / "data" / session / "there"
        until(there.exists)
        self.d("cancel", id=session)
        run = self.d.end(tag)["run"]
        self.assertEqual((run["end"], run["state"], run["error"]["message"]),
                         ("cancelled", "kept", "bash was killed by SIGINT"))
        self.assertEqual(self.d.value(session, "x"), "7")

    def test_a_pool_has_them_too(self):
        self.d("pool", min=1, max=1)
        session = self.d.start(tz="Asia/Kolkata")
        self.assertEqual(self.bash(session, "pwd; date -d @0 +%H:%M")["stdout"], "/mnt/data\n05:30\n")
        self.assertEqual(self.d.value(session, ZONE), KOLKATA)

    def test_the_zone_of_a_session_is_that_of_all_its_kernels(self):
        session = self.d.start(tz="Asia/Kolkata")
        self.assertEqual(self.d("look", id=session)["tz"], "Asia/Kolkata")
        self.assertEqual(self.d.value(session, ZONE), KOLKATA)
        self.assertEqual(self.d.value(session, "import pandas as pd; str(pd.Timestamp(0, unit='s', tz='UTC')"
                                               ".to_pydatetime().astimezone().utcoffset())"), "'5:30:00'")
        self.d("sleep", id=session)
        self.assertEqual(self.d.value(session, "time.strftime('%H:%M', time.localtime(0))"), KOLKATA)
        branch = self.d("fork", id=session)["id"]
        self.assertEqual(self.d.value(branch, "time.strftime('%H:%M', time.localtime(0))"), KOLKATA)
        self.d.run(session, "import os; os._exit(1)")
        self.assertEqual(self.d.value(session, ZONE), KOLKATA)
        self.assertEqual(self.d.value(self.d.start(cold=True, tz="Asia/Kolkata"), ZONE), KOLKATA)
        self.assertEqual(self.d.value(self.d.start(), ZONE), "'00:00'")

    def test_it_is_known_after_the_engine_was_killed(self):
        base = tempfile.mkdtemp(prefix="cicada-rest-", dir=WORK)
        self.addCleanup(shutil.rmtree, base)
        first = Driver(base)
        session = first.start(tz="Asia/Kolkata")
        first.value(session, "import threading; t = threading.Thread(target=threading.Event().wait, args=(99,)); "
                             "t.daemon = True; t.start(); x = 1")
        first("sleep", id=session, must=True)  # as its variables
        first.kill()
        with Driver(base) as second:
            self.assertEqual(second("look", id=session)["tz"], "Asia/Kolkata")
            self.assertEqual(second.value(session, f"{ZONE}, x"), f"({KOLKATA}, 1)")
            second("renew", id=session)
            self.assertEqual(second.value(session, ZONE), KOLKATA)

    def test_an_unknown_zone_is_refused(self):
        with self.assertRaises(Failed) as caught:
            self.d.start(tz="Mars/Base")
        self.assertIn("Europe/Berlin", str(caught.exception))

    def test_a_restart_forgets_and_keeps_the_id_and_the_files(self):
        session = self.d.start(snapshots=2)
        self.d.value(session, "x = 1; open('f', 'w').write('kept');")
        self.d("settle", id=session)
        self.d("renew", id=session)
        look = self.d("look", id=session)
        self.assertEqual((look["life"], look["runs"], look["oldest"], look["memory_bytes"]), ("empty", 1, 0, 0))
        run = self.d.run(session, "'x' in globals(), open('f').read()")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("fresh", "(False, 'kept')"))
        self.assertNotIn("hint", run)

    def test_a_restart_of_one_asleep_removes_its_file(self):
        session = self.d.start()
        self.d.value(session, "x = 1")
        self.d("sleep", id=session)
        self.assertTrue(self.d.file(session).exists())
        self.d("renew", id=session)
        self.assertFalse(self.d.file(session).exists())
        self.assertEqual(self.d.run(session, "x")["error"]["name"], "NameError")

    def test_a_restart_waits_for_the_run_before_it(self):
        session = self.d.start()
        tag = self.d.begin("run", id=session, code="open('go', 'w')\nimport time; time.sleep(0.3); 'done'")
        go = self.d.base / "data" / session / "go"
        until(go.exists)
        self.d("renew", id=session)
        self.assertEqual(self.d.end(tag)["run"]["result"]["text/plain"], "'done'")
        self.assertEqual(self.d.life(session), "empty")

    def test_how_much_memory_it_uses_is_known_without_asking_it(self):
        session = self.d.start()
        self.assertEqual(self.d("look", id=session)["memory_bytes"], 0)
        self.d.value(session, "x = 1")
        small = self.d("look", id=session)["memory_bytes"]
        self.d.value(session, "b = bytearray(100 << 20);")
        large = self.d("look", id=session)["memory_bytes"]
        self.assertGreater(small, 1 << 20)
        self.assertGreater(large, small + (90 << 20))
        self.d.value(session, "del b")
        self.d("sleep", id=session)
        self.assertEqual(self.d("look", id=session)["memory_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
