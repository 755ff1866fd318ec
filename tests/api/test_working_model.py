"""Working copies against a model: after every run a session has just the files that its workspace has."""
import ast
import io
import os
import random
import tarfile
import unittest
from urllib.parse import quote

from base import Client, Server, eventually

WS = "/api/v1/workspaces/"
NAMES = ["a", "b", "c", "a/a", "a/b", "a/b/c", "b/a", "b/b/b", "c/d", "c/d/e", "a/b/c/d"]
LIST = "import os\nprint({os.path.join(d, f)[2:]: open(os.path.join(d, f)).read() for d, _, fs in os.walk('.') for f in fs if not d.startswith('./base')})"
TOOLS = """
import os, shutil
def way(p):
    parts = p.split('/')[:-1]
    for i in range(len(parts)):
        q = '/'.join(parts[:i + 1])
        if os.path.lexists(q) and not os.path.isdir(q): os.remove(q)
    if parts: os.makedirs('/'.join(parts), exist_ok=True)
def rm(p):
    if os.path.isdir(p): shutil.rmtree(p)
    elif os.path.lexists(p): os.remove(p)
def w(p, t):
    way(p)
    if os.path.isdir(p): shutil.rmtree(p)
    open(p, 'w').write(t)
def mv(p, q):
    if os.path.lexists(p) and not (q + '/').startswith(p + '/') and not (p + '/').startswith(q + '/'):
        way(q); rm(q)
        if os.path.lexists(p): shutil.move(p, q)
"""


class Model(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.client = Client(self.server)
        self.addCleanup(lambda: self.client.close())

    def kill(self):
        self.server.stop(9)
        self.server.start()
        self.client.close()
        self.client = Client(self.server)

    def workspace(self, name, is_large):
        self.ws = self.client.ok("POST", WS.rstrip("/"), {"name": name}, 201)["id"]
        if is_large:
            self.unpack(f"base/{i}" for i in range(300))
        return self.client.session(workspace=self.ws)

    def unpack(self, names):
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            for name in names:
                info = tarfile.TarInfo(name)
                info.size = 1
                archive.addfile(info, io.BytesIO(b"x"))
        answer = self.client.request("POST", f"{WS}{self.ws}/import?format=tar", raw=data.getvalue(),
                                     headers={"Content-Type": "application/octet-stream"})
        self.assertIn(answer.status, (200, 201), answer.body)

    def put(self, path, data):
        return self.client.request("PUT", f"{WS}{self.ws}/files/{quote(path)}", raw=data).status

    def edit(self, verb, **body):
        return self.client.post(f"{WS}{self.ws}/{verb}", body).status

    def delete(self, path):
        return self.client.request("DELETE", f"{WS}{self.ws}/files/{quote(path)}?recursive").status

    def files(self):
        rows = self.client.ok("GET", f"{WS}{self.ws}/files?recursive=true&limit=1000")["data"]
        paths = [f["path"] for f in rows if f["kind"] == "file" and not f["path"].startswith("base/")]
        return {path: self.client.get(f"{WS}{self.ws}/files/{quote(path)}").body.decode() for path in paths}

    def seen(self, session, code=""):
        run = self.client.run(session, code + "\n" + LIST)
        self.assertEqual(run["end"], "ok", run)
        return ast.literal_eval(run["stdout"])

    def change_outside(self, r, mark):
        path, to = r.choice(NAMES), r.choice(NAMES)
        kind = r.choice(["put", "put", "delete", "move", "copy"])
        if kind == "put":
            status = self.put(path, b"api%d" % mark)
        elif kind == "delete":
            status = self.delete(path)
        else:
            status = self.edit(kind, **{"from": path, "to": to, "overwrite": True})
        self.assertLess(status, 500)
        return kind, path, to

    def change_inside(self, r, mark):
        path, to = r.choice(NAMES), r.choice(NAMES)
        return r.choice([f"w({path!r}, 'ses{mark}')"] * 2 + [f"rm({path!r})", f"mv({path!r}, {to!r})"])

    def walk(self, seed, grows_at=None):
        """`grows_at`: the workspace is small until that round; then a plain copy becomes a layer when its session rests."""
        r = random.Random(seed)
        is_large = r.choice([True, False]) and grows_at is None
        session, log, mark = self.workspace(f"seed {seed}", is_large), [is_large], 0
        for at in range(12):
            if at == grows_at:
                self.unpack(f"base/{i}" for i in range(300))
                log.append("grows")
                if r.random() < 0.5:
                    self.seen(session)
            if grows_at is not None and r.random() < 0.4:
                log.append(self.client.request("POST", f"/api/v1/sessions/{session}/sleep", {}).status)
            for _ in range(r.randrange(4)):
                mark += 1
                log.append(self.change_outside(r, mark))
            happens = r.random()
            if happens < 0.25:
                self.client.ok("POST", f"/api/v1/sessions/{session}/restart")
                log.append("restart")
            elif happens < 0.35:
                self.kill()
                log.append("kill")
            inside = [self.change_inside(r, mark + i) for i in range(r.randrange(4))]
            mark += len(inside)
            log.append(inside)
            self.assertEqual(self.seen(session, TOOLS + "\n".join(inside)), self.files(), log)
        self.client.request("DELETE", "/api/v1/sessions/" + session)

    def test_walks(self):
        for seed in (2, 5, 11, 13, 23, 25, 30, 105, 115, 126, 129, 144, 151):
            with self.subTest(seed):
                self.walk(seed)

    def test_walks_that_move_to_layers(self):
        for seed in range(6):
            with self.subTest(seed):
                self.walk(1000 + seed, grows_at=2 + seed)

    def test_what_is_in_the_way_deletes_nothing_of_others(self):
        for is_large in (False, True):
            with self.subTest(is_large):
                session = self.workspace(f"way {is_large}", is_large)
                self.client.run(session, """
import os
os.symlink('/etc', 'x'); os.makedirs('y/__pycache__'); open('y/__pycache__/m', 'w').write('1')
os.makedirs('z'); open(b'z/bad-\\xff', 'w').write('1'); os.mkdir('ro'); os.chmod('ro', 0o500)""")
                for path in ("x/f", "y", "z", "ro/f"):
                    self.assertEqual(self.put(path, b"1"), 201)
                for _ in range(2):
                    self.client.run(session, "1")
                    self.assertEqual(sorted(self.files()), ["ro/f", "x/f", "y", "z"])
                    self.kill()
                self.client.run(session, "1")
                self.assertEqual(sorted(self.files()), ["ro/f", "x/f", "y", "z"])

    def test_a_directory_that_was_closed_before_the_kill_keeps_its_files(self):
        session = self.workspace("closed", False)
        for path in ("closed/in", "file"):
            self.assertEqual(self.put(path, b"1"), 201)
        self.client.run(session, "1")
        self.client.run(session, """
import os, time
os.chmod('closed', 0); os.remove('file'); os.mkdir('file'); open('file/in', 'w').write('1'); open('ready', 'w').close()
time.sleep(60)""", 202, background=True)
        eventually(lambda: os.path.exists(f"{self.server.data}/data/live/{session}/data/ready"))
        self.kill()
        self.client.run(session, "1")
        self.assertEqual(sorted(self.files()), ["closed/in", "file/in", "ready"])

    def test_a_file_that_was_moved_twice_among_thousands_of_changes(self):
        session = self.workspace("moved", False)
        self.put("a", b"1")
        self.client.run(session, "1")
        self.assertEqual(self.edit("move", **{"from": "a", "to": "b"}), 200)
        self.unpack(f"base/p{i}" for i in range(700))
        self.unpack(f"base/q{i}" for i in range(700))
        self.assertEqual(self.edit("move", **{"from": "b", "to": "c"}), 200)
        self.assertEqual(self.seen(session), {"c": "1"})


if __name__ == "__main__":
    unittest.main()
