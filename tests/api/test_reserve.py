"""What sessions write stops at the reserve of the server's disk: on small file systems of our own."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from base import IMAGES, Client, Server, eventually
from oa import OpenAI

MIB = 1 << 20
FILE = "/api/v1/workspaces/default/files/"

# As fast as it goes, into as many files as it takes, and whatever is left in buffers does not count.
FLOOD = """
import os
piece = memoryview(os.urandom(4 << 20))
for i in range({pieces}):
    with open(f'{name}{{i}}', 'wb', buffering=0) as f:
        f.write(piece)
"""
SLOWLY = """
import os, time
for i in range(200):
    with open(f'f{i}', 'wb', buffering=0) as f:
        f.write(os.urandom(4 << 20))
    time.sleep(0.02)
"""
DISOBEYS = """
import itertools, os
piece = os.urandom(1 << 20)
for i in itertools.count():
    try:
        with open(f'f{i}', 'wb', buffering=0) as f:
            f.write(i.to_bytes(4, 'big') + piece[4:])
            f.seek(300000)
            f.write(i.to_bytes(4, 'big'))
    except KeyboardInterrupt: pass
"""
MANY = """
import os
for i in range({files}):
    os.close(os.open(f'{name}{{i}}', os.O_CREAT | os.O_WRONLY))
"""


@contextlib.contextmanager
def small_disk(mib, inodes=None):
    """A directory on an ext4 of that size."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="cicada-reserve-", dir="/dev/shm"))
    image, directory = place / "image", place / "disk"
    directory.mkdir()
    place.chmod(0o755)
    with open(image, "wb") as f:
        f.truncate(mib * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", *(["-N", str(inodes)] if inodes else []), image], check=True)
    subprocess.run(["mount", "-o", "loop", image, directory], check=True)
    try:
        directory.chmod(0o755)
        yield directory
    finally:
        for _ in range(100):
            if subprocess.run(["umount", directory], stderr=subprocess.DEVNULL).returncode == 0:
                break
            time.sleep(0.1)
        shutil.rmtree(place)


class Lowest(threading.Thread):
    """The least that was free while it was looked at."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory, self.is_over = directory, threading.Event()
        self.bytes = self.inodes = 1 << 62

    def run(self):
        while not self.is_over.wait(0.002):
            s = os.statvfs(self.directory)
            self.bytes = min(self.bytes, s.f_bavail * s.f_frsize)
            self.inodes = min(self.inodes, s.f_favail)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.join()


def can_mount():
    return os.geteuid() == 0 and shutil.which("mkfs.ext4") and os.path.exists("/dev/loop-control")


class OnASmallDisk(unittest.TestCase):
    MIB, INODES, RESERVE_MB = 300, None, 100
    SETTINGS = {}

    def setUp(self):
        if not can_mount():
            self.skipTest("no file system can be mounted here")
        self.disk = self.enterContext(small_disk(self.MIB, self.INODES))
        settings = {"store.reserve_mb": self.RESERVE_MB, "sessions.disk_mb": 2048, "workspaces.trash_days": 1, **self.SETTINGS}
        self.server = Server(data=str(self.disk), settings=settings)
        self.addCleanup(self.server.close)
        self.client = Client(self.server)
        self.addCleanup(self.client.close)

    def free(self):
        s = os.statvfs(self.disk)
        return s.f_bavail * s.f_frsize

    def fill_down_to(self, room):
        """Another program does, to `room` bytes above the reserve."""
        size = self.free() - self.RESERVE_MB * MIB - room
        with open(self.disk / "other", "ab", buffering=0) as f:
            os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size, size)

    def is_the_servers(self, run, *states):
        self.assertEqual(run["end"], "disk", run)
        self.assertIn(run["state"], states or ("kept",))
        self.assertIn("server's disk", run["hint"])
        self.assertNotIn(str(self.disk), run["hint"])


class Bytes(OnASmallDisk):
    def test_a_run_that_fills_the_disk_ends_and_its_session_lives_on(self):
        s, other = self.client.session(), self.client.session()
        self.client.run(s, "x = 42; open('early', 'w').write('early')")
        going = self.client.run(other, "import time; time.sleep(60)", 202, background=True)["id"]
        with Lowest(self.disk) as lowest:
            run = self.client.run(s, SLOWLY, timeout_s=60)
        self.is_the_servers(run)
        run_after = self.client.run(s, "x")
        self.assertEqual((run_after["end"], run_after["state"], run_after["result"]["text/plain"]), ("ok", "kept", "42"))
        # Files that were whole are versions, as far as the reserve goes; the others are named.
        kept, missed = {f["path"] for f in run["files"]}, {f["path"]: f["reason"] for f in run["not_saved"]}
        self.assertTrue(kept and missed, (kept, missed))
        self.assertLess(self.free(), self.RESERVE_MB * MIB // 3)
        for path in kept:
            self.assertEqual(self.client.get(FILE + path).status, 200, path)
        for path, reason in missed.items():
            self.assertIn("disk", reason, path)
        self.assertGreater(lowest.bytes, self.RESERVE_MB * MIB // 4 - 4 * MIB)
        # Deleting what is not needed makes room, and then it goes on, with what was not saved before.
        self.client.run(s, "import os\nfor i in range(10, 200):\n    if os.path.exists(f'f{i}'): os.unlink(f'f{i}')")
        self.assertEqual(self.client.run(s, "open('late', 'w').write('late')")["end"], "ok")
        self.assertEqual(self.client.get(FILE + "late").body, b"late")
        self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{going}")["status"], "running")
        self.client.ok("POST", f"/api/v1/runs/{going}/cancel")
        self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{going}?wait_s=20")["end"], "cancelled")

    def test_below_the_reserve_code_runs_that_writes_little(self):
        s = self.client.session()
        self.client.run(s, "x = 42; open('early', 'w').write('early')")
        self.fill_down_to(-10 * MIB)
        for code, result in (("x", "42"), ("open('early').read()", "'early'")):
            run = self.client.run(s, code)
            self.assertEqual((run["end"], run.get("hint"), run["result"]["text/plain"]), ("ok", None, result), run)
        run = self.client.run(s, "open('little', 'w').write('little')")
        self.assertEqual((run["end"], [f["path"] for f in run["files"]]), ("ok", ["little"]), run)
        self.assertEqual(self.client.get(FILE + "little").body, b"little")
        # What comes from outside is refused, and says so.
        answer = self.client.request("PUT", FILE + "more", raw=b"more")
        self.assertEqual((answer.status, answer.code), (507, "insufficient_storage"))
        # A new session can be had, to look and to delete.
        self.assertEqual(self.client.run(self.client.session(), "open('early').read()")["end"], "ok")
        self.is_the_servers(self.client.run(s, "open('much', 'wb').write(b'x' * (4 << 20))"))
        for _ in range(3):
            run = self.client.run(s, "x")
            self.assertEqual((run["end"], run["state"]), ("ok", "kept"), run)

    def test_below_the_middle_code_runs_that_writes_nothing(self):
        s = self.client.session()
        self.client.run(s, "x = 42; open('early', 'w').write('early')")
        self.fill_down_to(-80 * MIB)
        for _ in range(3):
            run = self.client.run(s, "open('early').read()")
            self.assertEqual((run["end"], run["state"], run["result"]["text/plain"]), ("ok", "kept", "'early'"), run)
        run = self.client.run(s, "open('little', 'w').write('little')")
        self.is_the_servers(run)
        run = self.client.run(s, "import os; os.unlink('little'); x")
        self.assertEqual((run["end"], run["state"]), ("ok", "kept"), run)

    def test_who_does_not_obey_is_ended(self):
        s = self.client.session()
        self.client.run(s, "x = 42; open('early', 'w').write('early')")
        run = self.client.run(s, DISOBEYS, timeout_s=60)
        self.is_the_servers(run, "lost")
        run = self.client.run(s, "open('early').read()")
        self.assertEqual((run["end"], run["result"]["text/plain"]), ("ok", "'early'"))

    def test_over_layers_deleting_through_the_api_lets_it_go_on(self):
        self.client.ok("PUT", FILE + "wide", status=201, raw=bytes(20 * MIB))  # too large to be copied for each session
        s = self.client.session()
        run = self.client.run(s, DISOBEYS, timeout_s=60)
        self.is_the_servers(run, "lost")
        answer = self.client.post(f"/api/v1/sessions/{s}/runs", {"code": "1"})
        self.assertIn(answer.status, (200, 507), answer.body)
        for f in run["files"]:
            self.client.ok("DELETE", FILE + f["path"], status=204)
        run = self.client.run(s, "import os\nfor f in os.listdir(): f == 'wide' or os.unlink(f)\nos.path.getsize('wide')")
        self.assertEqual((run["end"], run["result"]["text/plain"]), ("ok", str(20 * MIB)))
        self.assertGreater(self.free(), self.RESERVE_MB * MIB)

    def test_many_who_write_at_the_same_time_leave_half_of_it(self):
        sessions = [self.client.session() for _ in range(4)]
        runs, threads = [], []
        for at, s in enumerate(sessions):
            code = FLOOD.format(pieces=200, name=f"{at}-")
            threads.append(threading.Thread(target=lambda s=s, code=code: runs.append(Client(self.server).run(s, code, timeout_s=60))))
        with Lowest(self.disk / "data") as lowest:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual([run["end"] for run in runs], ["disk"] * 4, runs)
        self.assertGreater(lowest.bytes, self.RESERVE_MB * MIB // 4 - 4 * MIB)
        print(f"lowest: {lowest.bytes / MIB:.0f} MiB of a reserve of {self.RESERVE_MB}")


class Inodes(OnASmallDisk):
    MIB, INODES, RESERVE_MB = 300, 40000, 32

    def test_a_run_that_uses_up_the_inodes_ends(self):
        others = self.disk / "others"
        others.mkdir()
        for i in range(35000):
            os.close(os.open(others / str(i), os.O_CREAT | os.O_WRONLY))
        s = self.client.session()
        self.client.run(s, "x = 42; open('early', 'w').write('early')")
        with Lowest(self.disk) as lowest:
            run = self.client.run(s, MANY.format(files=30000, name="f"), timeout_s=60)
        self.is_the_servers(run, "kept", "lost")  # it depends on who is faster
        self.assertGreater(lowest.inodes, 0)
        self.assertEqual(self.client.run(s, "1")["end"], "ok")
        answer = self.client.request("PUT", FILE + "more", raw=b"more")
        self.assertEqual((answer.status, answer.code), (507, "insufficient_storage"))
        # Writing without new files is no matter of inodes.
        self.assertEqual(self.client.run(s, "open('early', 'wb').write(b'x' * (16 << 20))")["end"], "ok")
        print(f"lowest: {lowest.inodes} inodes")


class Room(OnASmallDisk):
    """Sessions of containers give way to each other."""

    SETTINGS = {"sessions.per_principal_max": 1}

    def test_none_gives_way_with_files_that_are_nowhere_else(self):
        ids = [OpenAI(self.server).ok("POST", "/containers", {"name": n})["workspace_id"] for n in ("one", "two")]
        s = self.client.session(workspace=ids[0])
        self.fill_down_to(-10 * MIB)
        self.is_the_servers(self.client.run(s, "open('much', 'wb').write(b'x' * (4 << 20))"), "fresh")
        answer = self.client.request("POST", "/api/v1/sessions", {"workspace": ids[1]})
        self.assertEqual((answer.status, answer.code), (429, "limit_exceeded"), answer.body)
        self.assertEqual(self.client.run(s, "import os; os.path.exists('much')")["result"]["text/plain"], "True")
        (self.disk / "other").unlink()
        self.client.session(workspace=ids[1])
        self.assertIn(b"made room", self.client.get("/api/v1/sessions/" + s).body)


class Copies(OnASmallDisk):
    """What the server itself copies for sessions to work on stops in the middle of the reserve."""

    def test_files_of_a_workspace(self):
        ws = self.client.ok("POST", "/api/v1/workspaces", {"name": "wide"}, 201)["id"]
        self.client.ok("PUT", f"/api/v1/workspaces/{ws}/files/zeros", status=201, raw=bytes(80 * MIB))
        self.fill_down_to(10 * MIB)
        answer = self.client.request("POST", "/api/v1/sessions", {"workspace": ws})
        self.assertEqual((answer.status, answer.code), (507, "insufficient_storage"))
        self.assertGreater(self.free(), self.RESERVE_MB * MIB // 2)
        self.assertEqual(self.client.run(self.client.session(), "1")["end"], "ok")
        (self.disk / "other").unlink()
        s = self.client.session(workspace=ws)
        self.assertEqual(self.client.run(s, "import os; os.path.getsize('zeros')")["result"]["text/plain"], str(80 * MIB))

    def test_a_fork(self):
        s = self.client.session()
        self.assertEqual(self.client.run(s, "import os\nopen('f', 'wb').write(os.urandom(40 << 20)); None")["end"], "ok")
        self.fill_down_to(-20 * MIB)
        answer = self.client.request("POST", f"/api/v1/sessions/{s}/fork", {})
        self.assertEqual((answer.status, answer.code), (507, "insufficient_storage"))
        self.assertGreater(self.free(), self.RESERVE_MB * MIB // 2)
        (self.disk / "other").unlink()
        self.assertEqual(self.client.run(s, "os.path.getsize('f')")["result"]["text/plain"], str(40 * MIB))

    @unittest.skipIf(IMAGES == "off", "a session that started cold has no snapshots")
    def test_a_rollback(self):
        def made():
            self.session_id = self.client.session(snapshots=3)
            one = "/api/v1/sessions/" + self.session_id
            return self.client.ok("GET", one)["baked"] or self.client.ok("DELETE", one, status=204)
        eventually(made, 120)  # the server looks at the image after its start
        s = self.session_id
        self.client.run(s, "x = 1; import os\nopen('f', 'wb').write(os.urandom(40 << 20)); open('g', 'w').write('1'); None")
        self.client.run(s, "x = 2; open('f', 'wb').write(b'2'); open('g', 'w').write('2'); None")
        self.fill_down_to(-20 * MIB)
        answer = self.client.post(f"/api/v1/sessions/{s}/rollback", {"steps": 1})
        self.assertEqual((answer.status, answer.code), (507, "insufficient_storage"), answer.body)
        self.assertEqual(self.client.ok("GET", f"/api/v1/sessions/{s}")["runs"], 2)
        look = "x, os.path.getsize('f'), open('g').read()"
        self.assertEqual(self.client.run(s, look)["result"]["text/plain"], "(2, 1, '2')")
        (self.disk / "other").unlink()
        self.client.ok("POST", f"/api/v1/sessions/{s}/rollback", {"steps": 2})
        self.assertEqual(self.client.run(s, look)["result"]["text/plain"], f"(1, {40 * MIB}, '1')")
