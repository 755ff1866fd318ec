"""What others changed and cannot be brought is named, the session goes on, and it comes when it can."""
import os
import shutil
import subprocess
import tempfile

from base import Client, Server, eventually
from copies import MIB, CopiesTest, big, can_sleep

BUSY = "import os, threading; go = threading.Event(); t = threading.Thread(target=go.wait); t.start(); x = 1"
FULL = "the disk of the server is full"


class FullDisk(CopiesTest):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="cicada-working-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m,mode=755", "working", cls.place], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "-l", cls.place])
        cls.server = Server(data=cls.place, settings={"store.reserve_mb": 0})
        eventually(lambda: can_sleep(Client(cls.server)))

    def fill(self, leave, name="filler"):
        free = os.statvfs(self.place)
        room = free.f_bavail * free.f_frsize - leave
        path = os.path.join(self.place, name)
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, room)
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))
        return path

    def test_what_does_not_fit_is_named_and_comes_when_there_is_room(self):
        s = self.session()
        self.run_in(s, BUSY)  # it cannot sleep, so files have to be copied to it
        self.make("old", b"one")
        self.assertEqual(self.value(s, "open('old').read()"), "one")
        self.make("big", big(40 * MIB))
        self.make("old", big(40 * MIB))
        self.make("small", b"small")
        filler = self.fill(20 * MIB)
        for _ in range(2):
            run = self.run_in(s, "(x, os.path.exists('big'), open('old').read(), open('small').read())")
            self.assertEqual(eval(run["result"]["text/plain"]), (1, False, "one", "small"))
            self.assertEqual(run["state"], "kept")
            self.assertEqual({f["path"]: f["reason"] for f in run["not_brought"]}, {"big": FULL, "old": FULL})
        self.assertEqual(run["updated"], [])
        self.assertEqual(run["files"], [])
        self.assertEqual(self.stat("old")["size"], 40 * MIB)  # what it has of that is no change of its own
        os.remove(filler)
        run = self.run_in(s, "(os.path.getsize('big'), os.path.getsize('old'))")
        self.assertEqual(eval(run["result"]["text/plain"]), (40 * MIB, 40 * MIB))
        self.assertEqual((sorted(f["path"] for f in run["updated"]), run["not_brought"]), (["big", "old"], []))
        self.run_in(s, "go.set(); t.join()")

    def test_changing_what_is_old_does_not_replace_what_is_new(self):
        s = self.session()
        self.run_in(s, BUSY)
        self.make("f", b"one")
        self.assertEqual(self.value(s, "open('f').read()"), "one")
        self.make("f", big(40 * MIB))
        filler = self.fill(20 * MIB)
        run = self.run_in(s, "open('f', 'w').write('mine'); None")
        self.assertEqual([f["path"] for f in run["not_brought"]], ["f"])
        self.assertTrue(run["files"][0]["kept_as"])
        self.assertEqual(self.stat("f")["size"], 40 * MIB)
        os.remove(filler)
        self.run_in(s, "go.set(); t.join()")


class InTheWay(CopiesTest):
    def test_a_directory_of_the_session_stays_and_the_file_is_named(self):
        for name, begin in ("plain", b"x"), ("layers", big(17 * MIB)):
            with self.subTest(name):
                named = False
                self.make("begin", begin)
                s = self.session()
                self.run_in(s, "import os; os.makedirs('there/.cache'); open('there/.cache/own', 'w').write('1')")
                self.make("there", b"a file")
                for act in self.run_in, self.run_in, self.sleep, self.run_in:
                    run = act(s, "print(os.listdir('there'))") if act == self.run_in else act(s)
                    if run:
                        self.assertIn(".cache", run["stdout"])
                    if run and run["updated"] + run["not_brought"]:
                        self.assertEqual([f["path"] for f in run["not_brought"]], ["there"])
                        self.assertIn("has that path", run["not_brought"][0]["reason"])
                        named = True
                self.assertTrue(named)
                self.client.ok("DELETE", self.at("there"), status=204)


class FullDiskAtRest(FullDisk):
    def test_what_does_not_fit_is_named_and_comes_when_there_is_room(self):
        """To one that sleeps, over layers that cannot get a new one."""
        self.make("begin", big(20 * MIB))
        self.make("old", b"one")
        s = self.session()
        self.assertEqual(self.value(s, "x = 1; import os; (os.path.getsize('begin'), open('old').read())"), (20 * MIB, "one"))
        self.make("big", big(40 * MIB))
        self.make("old", big(40 * MIB))
        filler = self.fill(20 * MIB)
        self.sleep(s)
        for _ in range(2):
            run = self.run_in(s, "(x, os.path.exists('big'), open('old').read(), os.path.getsize('begin'))")
            self.assertEqual(eval(run["result"]["text/plain"]), (1, False, "one", 20 * MIB))
            self.assertEqual({f["path"]: f["reason"] for f in run["not_brought"]}, {"big": FULL, "old": FULL})
        new = self.session()
        run = self.run_in(new, "import os; (os.path.exists('big'), open('old').read())")
        self.assertEqual(eval(run["result"]["text/plain"]), (False, "one"))
        self.assertEqual(sorted(f["path"] for f in run["not_brought"]), ["big", "old"])
        self.run_in(new, "open('old', 'w').write('mine'); None")
        self.assertEqual(self.stat("old")["size"], 40 * MIB)
        os.remove(filler)
        run = self.run_in(s, "(x, os.path.getsize('big'), os.path.getsize('old'))")
        self.assertEqual(eval(run["result"]["text/plain"]), (1, 40 * MIB, 40 * MIB))
        self.assertEqual(run["not_brought"], [])
        self.assertEqual(run["state"], "woken")  # it moved to layers that have them
        self.assertLess(self.cost(s), MIB)

    def test_changing_what_is_old_does_not_replace_what_is_new(self):
        """What it let go of when it fell asleep is there when it wakes, or named."""
        self.make("begin", big(20 * MIB))
        s = self.session()
        self.run_in(s, "import os; x = 1")
        self.make("f", b"f" * MIB)
        self.assertEqual(self.value(s, "os.path.getsize('f')"), MIB)
        filler = self.fill(2 * MIB)
        self.make("g", b"g" * (64 << 10))
        self.sleep(s)
        second = self.fill(256 << 10, "second")
        run = self.run_in(s, "(x, sorted(os.listdir()))")
        x, names = eval(run["result"]["text/plain"])
        self.assertEqual((x, sorted(names + [f["path"] for f in run["not_brought"]])), (1, ["begin", "f", "g"]))
        os.remove(filler)
        os.remove(second)
        run = self.run_in(s, "(sorted(os.listdir()), open('f').read(1))")
        self.assertEqual(eval(run["result"]["text/plain"]), (["begin", "f", "g"], "f"))
        self.assertEqual(self.trash(), [])
