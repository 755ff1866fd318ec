"""A working copy costs what its session changed; what others brought is on the disk once."""
import unittest

from copies import MIB, CopiesTest, big

SIZE = 48 * MIB
OWN = 64 << 10
SLACK = MIB // 2  # of each session: directories, overlayfs's own, what its own file takes in blocks


class Twenty(CopiesTest):
    def make(self, count, first):
        made = []
        for i in range(first, first + count):
            s = self.session()
            self.run_in(s, f"x = {i}; import os; open('own-{i}', 'wb').write(os.urandom({OWN})); None")
            made.append(s)
        return made

    def bound(self, sessions, awake=0):
        """The files once, in layers; of each session what it has made; small files of others, of which one that is awake
        gets copies."""
        files = SIZE + len(sessions) * OWN
        return files + len(sessions) * (OWN + SLACK) + awake * len(sessions) * OWN

    def check(self, sessions):
        for i, s in enumerate(sessions):
            found = self.value(s, f"(x, os.path.getsize('own-{i}'), os.path.getsize('others'), open('others', 'rb').read(8), "
                                  f"len(os.listdir()))")
            self.assertEqual(found, (i, OWN, SIZE, bytes(8), len(sessions) + 1))

    def test_sessions_of_before_and_after_asleep_and_awake(self):
        sessions = self.make(10, 0)
        for s in sessions[:5]:
            self.sleep(s)
        CopiesTest.make(self, "others", big(SIZE))
        sessions += self.make(10, 10)
        self.check(sessions)
        self.assertLess(self.all_cost(sessions), self.bound(sessions, awake=20), "all awake")
        for s in sessions[::2]:
            self.sleep(s)
        self.assertLess(self.all_cost(sessions), self.bound(sessions, awake=10), "half of them asleep")
        self.check(sessions)
        for s in sessions:
            self.sleep(s)
        self.assertLess(self.all_cost(sessions), self.bound(sessions), "all asleep")
        self.assertTrue(all(self.layers(s) for s in sessions[:10]))
        self.check(sessions)
        run = self.run_in(sessions[3], "f = open('others', 'r+b'); f.seek(8); f.write(b'mine'); f.close()")
        self.assertEqual([f["path"] for f in run["files"]], ["others"])
        self.assertLess(self.cost(sessions[3]), SIZE + 2 * OWN + SLACK)
        self.assertEqual(self.value(sessions[4], "open('others', 'rb').read(12)[8:]"), b"mine")
        self.assertLess(self.cost(*sessions[:3], *sessions[4:]), 20 * (2 * OWN + SLACK))


class WhatCannotSleep(CopiesTest):
    def test_has_a_copy_until_it_sleeps(self):
        s = self.session()
        self.run_in(s, "import threading; go = threading.Event(); t = threading.Thread(target=go.wait); t.start(); x = 5")
        self.make("others", big(SIZE))
        self.assertEqual(self.value(s, "import os; (x, os.path.getsize('others'))"), (5, SIZE))
        self.assertGreater(self.cost(s), SIZE)
        self.run_in(s, "go.set(); t.join()")
        self.sleep(s)
        self.assertLess(self.cost(s), SLACK)
        self.assertEqual(self.value(s, "(x, os.path.getsize('others'), open('others', 'rb').read(8))"), (5, SIZE, bytes(8)))


class LargerThanItsLimit(CopiesTest):
    """A file of others that is larger than disk_mb, or than one file of a session may be."""

    def test_comes_to_sessions_that_are_awake(self):
        plain = self.session(limits={"disk_mb": 32})
        self.run_in(plain, "x = 1; import threading, os; go = threading.Event(); t = threading.Thread(target=go.wait); t.start()")
        self.make("first", big(40 * MIB))
        self.assertEqual(self.value(plain, "(x, os.path.getsize('first'))"), (1, 40 * MIB))
        layered = self.session(limits={"disk_mb": 32})
        self.run_in(layered, "x = 2; import threading, os; go = threading.Event(); t = threading.Thread(target=go.wait); t.start()")
        self.make("second", big(64 * MIB))
        for s, x in (plain, 1), (layered, 2):
            run = self.run_in(s, "(x, os.path.getsize('second'))")
            self.assertEqual((run["result"]["text/plain"], run["state"]), (f"({x}, {64 * MIB})", "kept"))
            self.assertEqual([f["path"] for f in run["updated"]], ["second"])
            self.assertEqual(run["not_brought"], [])
            self.run_in(s, "open('mine', 'wb').write(bytes(20 << 20)); os.remove('mine')")  # what came does not count
            self.run_in(s, "go.set(); t.join()")
            self.sleep(s)
            self.assertEqual(self.value(s, "(x, os.path.getsize('second'))"), (x, 64 * MIB))

    def test_changing_it_says_which_limit_is_in_the_way(self):
        self.make("big", big(64 * MIB))
        s = self.session(limits={"disk_mb": 32})
        run = self.run_in(s, "x = 3; f = open('big', 'r+b')", "error")
        self.assertEqual(run["error"]["name"], "OSError")
        self.assertIn("disk_mb", run["hint"])
        self.assertIn("32", run["hint"])
        self.assertEqual(self.value(s, "(x, len(open('big', 'rb').read()))"), (3, 64 * MIB))
        self.run_in(s, "import os; os.remove('big')")
        self.assertEqual(self.get("big").status, 404)


if __name__ == "__main__":
    unittest.main()
