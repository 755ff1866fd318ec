"""The store as an operator sees it: figures, garbage collection, backups, restoring, checks."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from urllib.parse import quote

from base import CICADA, USER, Client, Server, eventually
from files import WORKSPACES, noise

STORE = "/api/v1/store"


def fsck(data, *words):
    """(exit code, what it says as JSON)."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("CICADA_")}
    ran = subprocess.run([CICADA, "fsck", "--data", data, "--json", *words], env=env, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, timeout=120, check=False)
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else ran.stderr


class Store(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cicada-store-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        os.chmod(self.place, 0o755)
        self.backups = self.place / "backups"
        self.backups.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(self.backups, USER, USER)
        self.server = Server(settings={"store.backup_dir": str(self.backups)})
        self.addCleanup(self.server.close)
        self.client = Client(self.server)

    def put(self, path, data):
        answer = self.client.request("PUT", f"{WORKSPACES}/default/files/{path}", raw=data)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def get(self, path, query="", client=None):
        answer = (client or self.client).get(f"{WORKSPACES}/default/files/{path}{query}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body

    def purge(self, made):
        self.assertEqual(self.client.request("DELETE", f"{WORKSPACES}/default/files/{made['path']}").status, 204)
        self.client.ok("POST", f"{WORKSPACES}/default/purge", {"file_id": made["id"]})

    def look(self):
        return self.client.ok("GET", STORE)

    def test_figures(self):
        self.put("a.bin", noise(100000))
        self.put("a.bin", noise(100000, seed=2))
        seen = self.look()
        self.assertEqual((seen["status"], seen["files"], seen["bytes"], seen["kept_bytes"]), ("ok", 1, 100000, 200000))
        self.assertEqual((seen["vaults"], seen["packs"], seen["gc_at"], seen["backup_at"]), (1, 1, None, None))
        self.assertTrue(200000 < seen["pack_bytes"] < 201000, seen)
        text = self.client.get("/metrics").body.decode()
        for line in (f"cicada_store_pack_bytes {seen['pack_bytes']}", "cicada_store_files 1",
                     "cicada_store_kept_bytes 200000", "cicada_store_damaged_total 0", "cicada_store_swept_total 0"):
            self.assertIn(f"\n{line}\n", text)

    def test_only_admins(self):
        key = self.client.ok("POST", "/api/v1/keys", {"name": "k", "scopes": ["run", "files:read", "files:write"]}, 201)
        other = Client(self.server, key["secret"])
        for method, path in ("GET", STORE), ("POST", STORE + "/gc"), ("POST", STORE + "/backup"):
            self.assertEqual(other.request(method, path).status, 403)
            self.assertEqual(Client(self.server, None).request(method, path).status, 401)

    def test_what_was_purged_is_gone_from_the_disk_at_once_when_asked_for(self):
        stays = noise(400000, seed=5)
        self.put("stays", stays)
        self.purge(self.put("goes", noise(900000, seed=6)))
        before = self.look()["pack_bytes"]
        did = self.client.ok("POST", STORE + "/gc")
        self.assertTrue(did["dead"] > 2 and did["swept"] == 0, did)
        self.assertEqual(self.look()["pack_bytes"], before)
        did = self.client.ok("POST", STORE + "/gc", {"now": True})
        self.assertTrue(did["swept"] > 2 and did["bytes_freed"] > 850000, did)
        seen = self.look()
        self.assertLess(seen["pack_bytes"], 420000)
        self.assertEqual(before - seen["pack_bytes"], did["bytes_freed"])
        self.assertIsNotNone(seen["gc_at"])
        self.assertEqual(self.get("stays"), stays)
        self.server.stop()
        self.assertEqual(fsck(self.server.data + "/data")[0], 0)

    def test_a_backup_is_restored(self):
        for n in range(5):
            self.put("versions.bin", noise(300000 + n, seed=n))
        self.put("dir/other.txt", b"text")
        did = self.client.ok("POST", STORE + "/backup")
        self.assertEqual((did["packs"], did["packs_copied"]), (1, 1))
        self.put("dir/other.txt", b"later")
        self.assertIsNotNone(self.look()["backup_at"])
        data = self.place / "restored"
        shutil.copytree(self.backups, data / "data")
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{USER}:{USER}", str(data / "data")], check=True)
        os.chmod(data / "data", 0o700)
        code, said = fsck(str(data / "data"))
        self.assertEqual((code, said["problems"], said["contents"]), (0, 0, 6))
        again = Server(data=str(data))
        self.addCleanup(again.close)
        client = Client(again)
        for n in range(5):
            self.assertEqual(self.get("versions.bin", f"?version={n + 1}", client), noise(300000 + n, seed=n))
        self.assertEqual(self.get("dir/other.txt", client=client), b"text")
        self.assertEqual(client.request("PUT", f"{WORKSPACES}/default/files/new", raw=b"goes on").status, 201)

    def test_fsck_of_a_backup_does_not_disturb_the_next_one(self):
        self.put("a", noise(50000))
        self.client.ok("POST", STORE + "/backup")
        self.assertEqual(fsck(str(self.backups))[0], 0)
        self.put("b", noise(50000, seed=9))
        self.client.ok("POST", STORE + "/backup")
        code, said = fsck(str(self.backups))
        self.assertEqual((code, said["contents"]), (0, 2))

    def test_a_backup_needs_a_place_of_its_own(self):
        (self.backups / "mine.txt").write_text("mine")
        answer = self.client.post(STORE + "/backup")
        self.assertEqual((answer.status, answer.code), (409, "conflict"))
        self.assertIn(str(self.backups), answer.json["error"]["message"])
        self.assertEqual(sorted(p.name for p in self.backups.iterdir()), ["mine.txt"])

    def again(self, backups):
        self.server.stop()
        self.server.lines.clear()
        Client.schemas.clear()
        self.server.settings["store.backup_dir"] = str(backups)
        self.server.start()
        self.client = Client(self.server)

    def complains(self, backups, why, status=409):
        """At the start, and when a backup is asked for: the directory, and what is wrong with it."""
        self.again(backups)
        (line,) = [line for line in self.server.lines if "backups cannot be made" in line]
        self.assertIn("level=warning", line)
        for text in line, self.fails_with(status):
            self.assertIn(str(backups), text)
            self.assertIn(why, text)

    def fails_with(self, status):
        answer = self.client.post(STORE + "/backup")
        self.assertEqual(answer.status, status, answer.body)
        return answer.json["error"]["message"]

    def test_a_directory_for_backups_that_is_none_is_told_at_start(self):
        (self.place / "file").write_text("a file")
        (self.place / "link").symlink_to(self.backups)
        self.complains(self.place / "none", "does not exist")
        self.complains(self.place / "file", "is not a directory")
        self.complains(self.place / "link", "is a symbolic link")
        data = pathlib.Path(self.server.data, "data")
        self.complains(data, "is the data directory")
        self.complains(data / "live", "lies in the data directory")
        if os.geteuid() == 0:
            os.chown(data.parent, USER, USER)
        self.complains(data.parent, "holds the data directory")
        (self.backups / "mine.txt").write_text("mine")
        self.complains(self.backups, "holds something else")
        (self.backups / "mine.txt").unlink()
        self.client.ok("POST", STORE + "/backup")  # nothing has to be started again
        self.again(self.backups)
        self.assertNotIn("backups cannot be made", self.server.log())

    @unittest.skipIf(os.geteuid() != 0, "needs a directory of somebody else")
    def test_a_directory_for_backups_that_is_not_the_services_is_told_at_start(self):
        os.chown(self.backups, 0, 0)
        self.complains(self.backups, "Permission denied")
        os.chmod(self.backups, 0o755)
        self.complains(self.backups, "Permission denied")
        os.chown(self.backups, USER, USER)
        self.client.ok("POST", STORE + "/backup")

    @unittest.skipIf(os.geteuid() != 0, "mounts a disk")
    def test_a_backup_that_does_not_fit_says_where(self):
        self.again(self.backups)
        self.assertIn("on the disk of the data directory", self.server.log())
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=300k,uid={USER},gid={USER},mode=700", "none", self.backups],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.backups], check=False)
        self.again(self.backups)
        self.assertNotIn("on the disk of the data directory", self.server.log())
        self.put("large", noise(400000))
        message = self.fails_with(507)
        self.assertIn(str(self.backups), message)
        self.assertIn("No space left", message)

    def test_fsck_says_what_is_wrong(self):
        self.put("a", noise(50000))
        self.put("b", b"behind it: what is last in a pack may be what a crash left")
        data = self.server.data + "/data"
        code, said = fsck(data)
        self.assertEqual(code, 125)
        self.assertIn("another server", said)
        self.server.stop()
        self.assertEqual(fsck(data)[0], 0)
        self.assertEqual(fsck(data, "--quick")[0], 0)
        owners = {os.lstat(os.path.join(data, name)).st_uid for name in os.listdir(data)}
        self.assertEqual(len(owners), 1, "fsck leaves nothing that is not the server's")
        (pack,) = pathlib.Path(data, "packs").glob("*/*.pk")
        with open(pack, "r+b") as file:
            file.seek(20000)
            byte = file.read(1)
            file.seek(20000)
            file.write(bytes([byte[0] ^ 1]))
        code, said = fsck(data)
        self.assertEqual((code, said["contents"]), (1, 1))
        self.assertTrue(said["problems"] >= 2 and said["problems"] == len(said["messages"]), said)
        self.assertEqual(fsck(data, "--quick")[0], 0)
        code, said = fsck(data, "--packs")
        self.assertEqual((code, said["problems"]), (1, 1))
        os.unlink(pack)
        code, said = fsck(data, "--quick")
        self.assertEqual(code, 1)
        self.assertIn("pack 1 is missing", " ".join(said["messages"]))

    def test_fsck_names_the_versions_that_are_lost(self):
        kept = self.put("kept.bin", noise(60000, seed=3))
        self.put(quote("dir/läst one.csv"), noise(50000))
        self.put(quote("dir/läst one.csv"), noise(40000, seed=2))
        gone = self.put("gone.bin", noise(50000))  # the same content as the first of the others
        self.assertEqual(self.client.request("DELETE", f"{WORKSPACES}/default/files/gone.bin").status, 204)
        workspace = self.client.ok("GET", f"{WORKSPACES}/default")
        self.server.stop()
        data = self.server.data + "/data"
        self.assertEqual(fsck(data)[1]["lost"], [])
        (pack,) = pathlib.Path(data, "packs").glob("*/*.pk")
        with open(pack, "r+b") as file:
            file.seek(90000)  # the second content
            byte = file.read(1)
            file.seek(90000)
            file.write(bytes([byte[0] ^ 1]))
        code, said = fsck(data)
        self.assertEqual((code, said["contents"]), (1, 2))
        place = {"workspace_id": workspace["id"], "workspace": workspace["name"], "version": 1}
        for lost in said["lost"]:
            self.assertRegex(lost.pop("why"), "damaged|missing|not what")
            self.assertRegex(lost.pop("sha256"), "^[0-9a-f]{64}$")
        self.assertEqual(sorted(said["lost"], key=lambda lost: lost["path"]), [
            {**place, "path": "dir/läst one.csv", "is_newest": False, "in_trash": False},
            {**place, "path": "gone.bin", "is_newest": True, "in_trash": True}])
        env = {k: v for k, v in os.environ.items() if not k.startswith("CICADA_")}
        told = subprocess.run([CICADA, "fsck", "--data", data], env=env, capture_output=True, text=True, timeout=120).stderr
        self.assertIn(f'lost: dir/läst one.csv version 1, not the newest, in workspace {workspace["name"]} ({workspace["id"]})', told)
        self.assertIn("lost: gone.bin version 1, in the trash, in workspace ", told)
        self.assertNotIn("kept.bin", told)
        os.unlink(pack)
        code, said = fsck(data, "--quick")
        self.assertEqual({(lost["path"], lost["version"]) for lost in said["lost"]},
                         {("kept.bin", 1), ("dir/läst one.csv", 1), ("dir/läst one.csv", 2), ("gone.bin", 1)}, said)
        self.assertEqual((kept["version"], gone["version"]), (1, 1))


class Full(unittest.TestCase):
    """A reserve that no disk has: the server finds its disk full from the start. tests/disk fills a real one."""

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="cicada-store-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        server = Server(data=self.data)
        client = Client(server)
        self.files = {path: client.request("PUT", f"{WORKSPACES}/default/files/{path}", raw=noise(900000, seed)).json
                      for seed, path in enumerate(("a.bin", "b.bin", "c.bin"))}
        self.session = client.session()
        client.run(self.session, "open('s.txt', 'w').write('kept'); None")
        ballast = client.ok("GET", STORE)["ballast_bytes"]
        pieces = [os.stat(f"{self.data}/data/ballast/{i}") for i in range(16)]
        self.assertEqual(sum(st.st_size for st in pieces), ballast)
        self.assertGreaterEqual(sum(st.st_blocks * 512 for st in pieces), ballast, "the ballast is sparse")
        server.close()
        for place in ("checkouts/ws_x", "tmp/draft"):
            os.makedirs(f"{self.data}/data/{place}")
        self.server = Server(data=self.data, settings={"store.reserve_mb": 1 << 20})
        self.addCleanup(self.server.close)
        self.client = Client(self.server)

    def test_it_says_so_and_only_what_is_new_is_refused(self):
        self.assertEqual(Client(self.server, None).ok("GET", "/readyz"), {"status": "degraded", "reasons": ["disk"]})
        seen = self.client.ok("GET", STORE)
        self.assertEqual((seen["status"], seen["reasons"]), ("degraded", ["disk"]))
        self.assertGreater(seen["disk_free"], 0)
        self.assertIn("\ncicada_store_disk_full 1\n", self.client.get("/metrics").body.decode())
        put = self.client.request("PUT", f"{WORKSPACES}/default/files/new", raw=b"x")
        self.assertEqual((put.status, put.code), (507, "insufficient_storage"))
        self.assertEqual(self.client.get(f"{WORKSPACES}/default/files/a.bin").body, noise(900000, 0))
        self.assertEqual(self.client.get(f"{WORKSPACES}/default/files/s.txt").body, b"kept")

    def test_what_removes_something_works(self):
        path = f"{WORKSPACES}/default/files/b.bin"
        self.assertEqual(self.client.request("DELETE", path).status, 204)
        self.assertEqual(self.client.get(path).status, 404)
        self.client.ok("POST", f"{WORKSPACES}/default/purge", {"file_id": self.files["b.bin"]["id"]})
        did = self.client.ok("POST", STORE + "/gc", {"now": True})
        self.assertGreaterEqual(did["bytes_freed"], 900000)
        self.assertEqual(did["packs_left"], 0)
        self.assertEqual(self.client.request("DELETE", f"/api/v1/sessions/{self.session}").status, 204)
        self.assertEqual(self.client.ok("GET", "/api/v1/sessions")["data"], [])
        self.assertEqual(self.client.get(f"{WORKSPACES}/default/files/c.bin").body, noise(900000, 2))

    def test_a_start_removes_what_can_be_made_anew_and_says_what_else_may_go(self):
        self.assertFalse(os.path.exists(f"{self.data}/data/checkouts/ws_x"))
        self.assertFalse(os.path.exists(f"{self.data}/data/tmp/draft"))
        told = r'msg="the disk of the data directory is full"(.|\n)*msg="may be removed while no server runs" what=live bytes=[1-9]'
        eventually(lambda: re.search(told, self.server.log()))


class Without(unittest.TestCase):
    def test_without_a_directory_there_are_no_backups(self):
        server = Server()
        self.addCleanup(server.close)
        answer = Client(server).post(STORE + "/backup")
        self.assertEqual((answer.status, answer.code), (409, "conflict"))
        self.assertIn("backup_dir", answer.body.decode())


if __name__ == "__main__":
    unittest.main()
