"""What a session has stays when its plain copy becomes a layer: saved or not, ignored, odd, mapped, open."""
import signal

from base import Client, Server, eventually
from copies import MIB, ONE, CopiesTest, big, can_sleep


class Moved(CopiesTest):
    def grow(self, path="others"):
        """From here on new copies are layers."""
        self.make(path, big(20 * MIB))

    def moved(self, session):
        self.sleep(session)
        self.assertTrue(self.layers(session), "it is a layer by now")

    def test_odd_and_ignored_things_stay_as_they_are(self):
        for name in "a", "b", "c", "gone", "dir/x", "dir/y", ".cache/theirs":
            self.make(name, name.encode())
        s = self.session()
        self.run_in(s, """
import os, socket, stat
os.makedirs('__pycache__'); open('__pycache__/m.pyc', 'w').write('cache')
open('.cache/mine', 'w').write('mine'); os.remove('.cache/theirs')
os.symlink('a', 'link'); door = socket.socket(socket.AF_UNIX); door.bind('pipe'); door.close(); os.makedirs('empty/deep')
os.chmod('b', 0o755); os.utime('c', (1, 1)); os.setxattr('dir/x', 'user.note', b'n'); os.link('dir/y', 'second')
open('mine', 'w').write('mine'); os.chmod('mine', 0o600); os.remove('gone')
open(b'bad-\\xff', 'w').write('odd')
x = [1, 2]""")
        seen = """
def tell(path):
    st = os.lstat(path)
    return (path, stat.filemode(st.st_mode), 0 if stat.S_ISDIR(st.st_mode) else st.st_mtime, st.st_nlink if not stat.S_ISDIR(st.st_mode) else 0,
            open(path, 'rb').read() if stat.S_ISREG(st.st_mode) else os.readlink(path) if stat.S_ISLNK(st.st_mode) else None)
found = sorted(tell(os.path.join(top, name)) for top, names, files in os.walk('.') for name in names + files if name != 'others')
(x, found, os.getxattr('dir/x', 'user.note'))"""
        before = self.run_in(s, seen)["result"]["text/plain"]
        self.grow()
        self.moved(s)
        kept = {p.name for p in (self.live / s / "data").iterdir()}
        self.assertNotIn("a", kept)
        self.assertGreater(kept, {"b", "c", "second", "mine", "link", "pipe", "empty", "dir", "__pycache__", ".cache"})
        run = self.run_in(s, seen)
        after = run["result"]["text/plain"]
        self.assertEqual(after, before)
        self.assertEqual((run["state"], run["files"], [f["path"] for f in run["updated"]]), ("woken", [], ["others"]))
        self.assertEqual(sorted(self.paths(recursive="true")), sorted([".cache/theirs", "a", "b", "c", "dir/x", "dir/y", "mine", "others", "second"]))

    def test_marks_that_a_session_forged_hide_nothing(self):
        self.make("d/seen", b"1")
        s = self.session()
        self.run_in(s, """
import os
os.setxattr('d', 'user.overlay.opaque', b'y'); os.setxattr('.', 'user.overlay.opaque', b'x')
open('w', 'w').close(); os.setxattr('w', 'user.overlay.whiteout', b'y'); open('w2', 'w').write('2')""")
        self.grow("d/others")
        self.moved(s)
        self.assertEqual(self.value(s, "(sorted(os.listdir('d')), sorted(os.listdir()))"), (["others", "seen"], ["d", "w", "w2"]))
        self.assertEqual(self.trash(), [])

    def test_what_is_open_or_mapped_goes_on(self):
        self.make("text", b"line one\nline two\n")
        self.make("data", bytes(range(256)) * 64)
        self.make("sub/there", b"1")
        s = self.session()
        self.run_in(s, "import os, mmap, numpy; os.chdir('sub'); f = open('../text'); f.readline(); m = numpy.memmap('../data', mode='r', dtype='u1'); m[5]")
        self.grow()
        self.moved(s)
        run = self.run_in(s, "(f.readline(), int(m[255]), int(m.sum()), os.getcwd(), os.listdir('.'))")
        self.assertEqual(eval(run["result"]["text/plain"]), ("line two\n", 255, 64 * sum(range(256)), "/mnt/data/sub", ["there"]))
        self.assertEqual((run["lost"], run["state"]), ([], "woken"))

    def test_a_mapped_file_that_was_brought_to_a_session_awake(self):
        s = self.session()
        self.run_in(s, "import numpy; x = 1")
        self.make("data", bytes(range(256)) * 64)
        self.run_in(s, "m = numpy.memmap('data', mode='r', dtype='u1')")
        self.grow()
        self.moved(s)
        self.assertEqual(self.cost(s) < MIB // 4, True)
        run = self.run_in(s, "int(m.sum())")
        self.assertEqual((run["result"]["text/plain"], run["lost"]), (str(64 * sum(range(256))), []))

    def test_what_could_not_be_saved_is_saved_later(self):
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 25 * MIB}})
        s = self.session()
        run = self.run_in(s, "open('mine', 'wb').write(b'm' * (30 << 20)); x = 1")
        self.assertEqual([m["path"] for m in run["not_saved"]], ["mine"], run)
        self.grow()
        self.moved(s)
        run = self.run_in(s, "(x, open('mine', 'rb').read() == b'm' * (30 << 20))")
        self.assertEqual((run["result"]["text/plain"], [m["path"] for m in run["not_saved"]]), ("(1, True)", ["mine"]))
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 100 * MIB}})
        self.assertEqual([f["path"] for f in self.run_in(s, "1")["files"]], ["mine"])

    def test_what_may_not_be_deleted_does_not_come_back(self):
        self.make("theirs", b"1")
        self.client.ok("POST", self.ws + "/locks", {"path": "theirs", "ttl_s": 600}, 201)
        s = self.session()
        run = self.run_in(s, "import os; os.remove('theirs')")
        self.assertEqual([m["path"] for m in run["not_saved"]], ["theirs"], run)
        self.grow()
        self.moved(s)
        self.assertEqual(self.value(s, "sorted(os.listdir())"), ["others"])
        self.assertEqual(self.data("theirs"), b"1")

    def test_a_branch_and_a_second_life(self):
        self.make("a", b"1")
        s = self.session()
        self.run_in(s, "x = 7; open('mine', 'w').write('m'); None")
        self.grow()
        self.moved(s)
        b = self.client.ok("POST", f"{ONE}{s}/fork", {}, 201)["id"]
        self.addCleanup(lambda: Client(self.server).request("DELETE", ONE + b))
        for one in s, b:
            self.assertEqual(self.value(one, "import os; (x, sorted(os.listdir()), os.path.getsize('others'))"), (7, ["a", "mine", "others"], 20 * MIB))
        self.run_in(b, "open('a', 'w').write('branch'); None")
        self.assertEqual(self.value(s, "open('a').read()"), "branch")
        self.client.ok("POST", f"{ONE}{s}/restart", {})
        self.assertEqual(self.value(s, "import os; sorted(os.listdir())"), ["a", "mine", "others"])


class Killed(CopiesTest):
    """The server is killed at some moment; what sleeps, wakes with the next one."""

    def test_nothing_counts_as_deleted(self):
        sessions = []
        for i in range(4):
            self.make(f"before-{i}", b"x" * 1000)
            s = self.session()
            self.run_in(s, f"x = {i}; open('own-{i}', 'w').write('own'); None")
            sessions.append(s)
        self.sleep(sessions[0])
        self.make("others", big(20 * MIB))
        self.sleep(sessions[1])
        self.run_in(sessions[2], "open('more', 'w').write('m'); None")
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.client = Client(self.server)
        for i in 0, 1:
            self.assertEqual(self.value(sessions[i], "import os; (x, os.path.getsize('others'))"), (i, 20 * MIB))
        for i in range(4):
            names = self.value(sessions[i], "import os; sorted(os.listdir())")
            self.assertEqual(names, sorted([f"before-{n}" for n in range(4)] + [f"own-{n}" for n in range(4)] + ["more", "others"]))
        self.assertEqual(self.trash(), [])
        self.assertEqual({f["version"] for f in self.list(recursive="true")["data"]}, {1})
