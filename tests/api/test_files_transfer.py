"""Files: large ones, pieces, archives, forms, signed addresses."""
import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import unittest
import tempfile
import uuid
import zipfile

from base import KEY, Client, eventually
from files import WORKSPACES, FilesTest, noise, sha256

MIB = 1 << 20


class Large(FilesTest):
    def memory(self):
        with open(f"/proc/{self.server.process.pid}/status", encoding="ascii") as status:
            lines = dict(line.split(":", 1) for line in status)
        return int(lines["VmHWM"].split()[0]) << 10

    def test_a_large_file_in_little_memory(self):
        block, count = noise(MIB), 200
        expected = hashlib.sha256()

        def pieces():
            for i in range(count):
                piece = i.to_bytes(4, "big") + block[4:]  # so that no two are the same
                expected.update(piece)
                yield piece
        connection = self.client.connect()
        connection.request("PUT", self.at("big.bin"), pieces(), {"Authorization": "Bearer " + KEY, "Content-Length": str(count * MIB)})
        made = json.loads(connection.getresponse().read())
        self.assertEqual((made["size"], made["sha256"]), (count * MIB, expected.hexdigest()))
        connection.request("GET", self.at("big.bin"), headers={"Authorization": "Bearer " + KEY})
        response, got = connection.getresponse(), hashlib.sha256()
        while piece := response.read(MIB):
            got.update(piece)
        self.assertEqual(got.hexdigest(), expected.hexdigest())
        got = self.get("big.bin", Range=f"bytes={150 * MIB}-{150 * MIB + 3}")
        self.assertEqual(got.body, (150).to_bytes(4, "big"))
        connection.close()
        if "san" not in os.environ.get("CICADA", ""):  # sanitizers need much for themselves
            self.assertLess(self.memory(), 64 * MIB)

    def test_a_reader_that_leaves_does_no_harm(self):
        self.make("a.bin", noise(5 * MIB))
        for _ in range(5):
            s = socket.create_connection(self.server.address)
            s.sendall(f"GET {self.at('a.bin')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
            s.recv(1000)
            s.close()
        self.assertEqual(len(self.data("a.bin")), 5 * MIB)


class Uploads(FilesTest):
    def begin(self, path="up.bin", **more):
        return self.client.ok("POST", self.ws + "/uploads", {"path": path, **more}, 201)

    def send(self, upload, offset, data, status=200):
        answer = self.client.request("PUT", f"{upload['url']}?offset={offset}", raw=data)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def complete(self, upload, status=201, **body):
        return self.client.ok("POST", upload["url"] + "/complete", body, status)

    def test_in_pieces(self):
        data = noise(1_000_000)
        upload = self.begin(size=len(data))
        self.assertEqual((upload["received"], upload["size"], upload["path"]), (0, len(data), "up.bin"))
        for at in range(0, len(data), 300_000):
            upload = self.send(upload, at, data[at:at + 300_000])
            self.assertEqual(upload["received"], min(at + 300_000, len(data)))
            self.assertEqual(self.client.ok("GET", upload["url"])["received"], upload["received"])
        self.assertEqual(self.get("up.bin").status, 404)
        made = self.complete(upload, sha256=sha256(data))
        self.assertEqual((made["path"], made["size"], made["sha256"], made["version"]), ("up.bin", len(data), sha256(data), 1))
        self.assertEqual(self.data("up.bin"), data)
        self.fails(self.client.get(upload["url"]), 404, "not_found")

    def test_interrupted_and_resumed(self):
        data = noise(2_000_000)
        upload = self.begin(size=len(data))
        s = socket.create_connection(self.server.address)
        s.sendall(f"PUT {upload['url']}?offset=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
                  f"Content-Length: {len(data)}\r\n\r\n".encode() + data[:700_000])
        s.close()
        received = eventually(lambda: self.client.ok("GET", upload["url"])["received"])
        eventually(lambda: "op=putPiece" in self.server.log())
        received = self.client.ok("GET", upload["url"])["received"]
        self.assertGreater(received, 0)
        self.assertLessEqual(received, 700_000)
        answer = self.client.request("PUT", f"{upload['url']}?offset={received + 1}", raw=b"x")
        self.fails(answer, 409, "conflict")
        self.assertIn(f"offset={received}.", answer.json["error"]["hint"])
        self.assertEqual(answer.headers["Upload-Offset"], str(received))
        self.fails(self.client.post(upload["url"] + "/complete"), 409, "conflict")
        self.send(upload, received, data[received:])
        self.complete(upload)
        self.assertEqual(self.data("up.bin"), data)

    def test_it_survives_a_restart(self):
        upload = self.begin()
        self.send(upload, 0, b"before, ")
        self.client.close()
        self.server.stop()
        self.server.start()
        self.assertEqual(self.client.ok("GET", upload["url"])["received"], 8)
        self.send(upload, 8, b"after")
        self.complete(upload)
        self.assertEqual(self.data("up.bin"), b"before, after")

    def test_what_does_not_fit(self):
        upload = self.begin(size=10)
        self.fails(self.client.request("PUT", upload["url"] + "?offset=0", raw=b"x" * 11), 413, "too_large")
        self.client.ok("DELETE", upload["url"], status=204)
        self.fails(self.client.get(upload["url"]), 404, "not_found")
        upload = self.begin()
        self.send(upload, 0, b"abc")
        self.fails(self.client.post(upload["url"] + "/complete", {"sha256": sha256(b"abd")}), 400, "invalid_request")
        self.fails(self.client.post(upload["url"] + "/complete", {"sha256": "x" * 64}), 400, "invalid_request")
        self.complete(upload, sha256=sha256(b"abc").upper())
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1000}})
        self.fails(self.client.post(self.ws + "/uploads", {"path": "a", "size": 1001}), 507, "quota_exceeded")
        for wrong in {}, {"path": ""}, {"path": "a/../b"}, {"path": "a", "size": -1}, {"path": "a", "if_match": "x", "if_none_match": "*"}:
            self.refused("uploads", 400, "invalid_request", **wrong)
        self.fails(self.client.request("PUT", self.ws + "/uploads/upl_none?offset=0", raw=b"x"), 404, "not_found")
        self.fails(self.client.request("PUT", self.begin("b")["url"], raw=b"x"), 400, "invalid_request")

    def test_conditions_hold_when_it_is_completed(self):
        one = self.make("up.bin", b"one")
        self.refused("uploads", 412, "precondition_failed", path="up.bin", if_none_match="*")
        first, second = self.begin(if_match=one["etag"]), self.begin(if_match=one["etag"].strip('"'))
        self.send(first, 0, b"first")
        self.send(second, 0, b"second")
        self.assertEqual(self.complete(first, 200)["version"], 2)
        self.fails(self.client.post(second["url"] + "/complete"), 412, "precondition_failed")
        self.assertEqual(self.data("up.bin"), b"first")
        new = self.begin("new", if_none_match="*")
        self.send(new, 0, b"")
        self.make("new", b"faster")
        self.fails(self.client.post(new["url"] + "/complete"), 412, "precondition_failed")


class Archives(FilesTest):
    FILES = {"a.txt": b"one", "d/b.bin": noise(300_000), "d/ü/日本.txt": "größe".encode(), "d/empty": b""}

    def fill(self):
        for path, data in self.FILES.items():
            self.make(path, data)

    def export(self, query=""):
        answer = self.client.get(self.ws + "/export" + query)
        self.assertEqual(answer.status, 200, answer.body[:300])
        return answer

    def bring(self, archive, query="", status=200):
        answer = self.client.request("POST", self.ws + "/import" + query, raw=archive)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def test_zip(self):
        self.fill()
        answer = self.export()
        self.assertEqual(answer.headers["Content-Type"], "application/zip")
        self.assertIn("attachment", answer.headers["Content-Disposition"])
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            self.assertIsNone(z.testzip())
            self.assertEqual({n: z.read(n) for n in z.namelist()}, self.FILES)
        with zipfile.ZipFile(io.BytesIO(self.export("?prefix=d/&format=zip").body)) as z:
            self.assertEqual(sorted(z.namelist()), sorted(p for p in self.FILES if p.startswith("d/")))
        self.assertEqual(self.client.post(self.ws + "/export").status, 200)
        self.assertEqual(self.client.request("HEAD", self.ws + "/export").status, 200)

    def test_tar(self):
        self.fill()
        for kind, mode, mime in ("tar", "r:", "application/x-tar"), ("tar.gz", "r:gz", "application/gzip"):
            answer = self.export("?format=" + kind)
            self.assertEqual(answer.headers["Content-Type"], mime)
            with tarfile.open(fileobj=io.BytesIO(answer.body), mode=mode) as t:
                self.assertEqual({m.name: t.extractfile(m).read() for m in t if m.isfile()}, self.FILES)
        self.fails(self.client.get(self.ws + "/export?format=rar"), 400, "invalid_request")

    def test_nothing_is_an_archive_too(self):
        with zipfile.ZipFile(io.BytesIO(self.export().body)) as z:
            self.assertEqual(z.namelist(), [])

    def test_what_was_exported_can_be_imported(self):
        self.fill()
        for kind in "zip", "tar", "tar.gz":
            archive = self.export(f"?format={kind}&prefix=").body
            report = self.bring(archive, f"?path=from/{kind}")
            self.assertEqual((report["files"], report["skipped"]), (len(self.FILES), []), kind)
            for path, data in self.FILES.items():
                self.assertEqual(self.data(f"from/{kind}/{path}"), data)
            for path in self.FILES:
                self.make(path, self.FILES[path])
            self.client.ok("DELETE", self.at("from", "?recursive"), status=204)

    def test_an_import_is_one_change(self):
        self.make("a.txt", b"before")
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as z:
            for i in range(100):
                z.writestr(f"many/{i}.txt", str(i))
            z.writestr("a.txt", "after")
        report = self.bring(archive.getvalue())
        self.assertEqual(report["files"], 101)
        self.assertEqual((self.client.ok("GET", self.ws)["rev"], report["rev"]), (2, 2))
        self.assertEqual((self.data("a.txt"), self.data("a.txt", "?version=1")), (b"after", b"before"))

    def test_what_is_hostile_is_left_out(self):
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as t:
            def add(name, kind=tarfile.REGTYPE, data=b"x", link=""):
                info = tarfile.TarInfo(name)
                info.type, info.linkname, info.size = kind, link, len(data) if kind == tarfile.REGTYPE else 0
                t.addfile(info, io.BytesIO(data))
            add("good.txt", data=b"good")
            add("../up.txt")
            add("a/../../up.txt")
            add("/etc/passwd")
            add("link", tarfile.SYMTYPE, link="/etc/passwd")
            add("hard", tarfile.LNKTYPE, link="good.txt")
            add("fifo", tarfile.FIFOTYPE)
            add("dev", tarfile.CHRTYPE)
            add("x" * 300)
            add("ctl\x01")
        report = self.bring(archive.getvalue())
        self.assertEqual(report["files"], len(self.paths(recursive=1)))
        self.assertIn("good.txt", self.paths(recursive=1))
        for path in self.paths(recursive=1):
            self.assertNotIn("..", path)
            self.assertNotIn(path, ("link", "hard", "fifo", "dev"))
        self.assertGreaterEqual(len(report["skipped"]), 7)
        for skipped in report["skipped"]:
            self.assertTrue(skipped["reason"])

    def test_bombs(self):
        bomb = io.BytesIO()
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("zeros", b"\0" * (300 * MIB))
        self.assertLess(len(bomb.getvalue()), MIB)
        answer = self.client.request("POST", self.ws + "/import", raw=bomb.getvalue())
        self.fails(answer, 413, "too_large")
        bomb = io.BytesIO()
        with tarfile.open(fileobj=bomb, mode="w:gz") as t:
            info = tarfile.TarInfo("zeros")
            info.size = 300 * MIB
            t.addfile(info, open("/dev/zero", "rb"))  # pylint: disable=consider-using-with
        self.fails(self.client.request("POST", self.ws + "/import", raw=bomb.getvalue()), 413, "too_large")
        many = io.BytesIO()
        with zipfile.ZipFile(many, "w") as z:
            for i in range(10_050):
                z.writestr(f"{i}", b"")
        self.fails(self.client.request("POST", self.ws + "/import", raw=many.getvalue()), 413, "too_large")
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1000}})
        much = io.BytesIO()
        with zipfile.ZipFile(much, "w") as z:
            z.writestr("much", noise(2000))
        self.fails(self.client.request("POST", self.ws + "/import", raw=much.getvalue()), 507, "quota_exceeded")
        self.assertEqual((self.paths(recursive=1), self.client.ok("GET", self.ws)["rev"]), ([], 0))

    def test_what_is_no_archive(self):
        self.fill()
        archive = self.export("?format=tar.gz").body
        for wrong in b"", b"hello", noise(5000), archive[:len(archive) // 2]:
            answer = self.client.request("POST", self.ws + "/import?path=no", raw=wrong)
            if wrong != b"":
                self.fails(answer, 400, "invalid_request")
        self.assertEqual(self.paths(prefix="no/"), [])
        self.fails(self.client.request("POST", self.ws + "/import?path=../x", raw=archive), 400, "invalid_request")


class Blob(FilesTest):
    def form(self, fields):
        """Like requests: (name, filename or None, data)."""
        boundary = uuid.uuid4().hex
        body = b""
        for name, filename, data in fields:
            disposition = f'form-data; name="{name}"' + (f'; filename="{filename}"' if filename is not None else "")
            body += f"--{boundary}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + data + b"\r\n"
        return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}

    def post(self, *fields, client=None):
        body, headers = self.form(fields)
        return (client or self.client).request("POST", "/blob", raw=body, headers=headers)

    @property
    def name(self):
        return self.ws.rpartition("/")[2].encode()

    def test_only_a_file(self):
        client = self.key(scopes=["files:read", "files:write"])
        answer = self.post(("file", "analysis_results.csv", b"x,y\n"), client=client)
        self.assertEqual(answer.status, 201, answer.body)
        made = answer.json
        self.assertEqual((made["path"], made["size"], made["mime"]), ("analysis_results.csv", 4, "text/csv"))
        self.assertEqual(made["workspace_id"], client.ok("GET", WORKSPACES + "/default")["id"])
        self.assertEqual(client.get(made["url"]).body, b"x,y\n")
        self.assertEqual(self.post(("file", "analysis_results.csv", b"new"), client=client).json["version"], 2)

    def test_the_snippet_that_people_know(self):
        """With Python's requests, and what was sent is there in a new session."""
        import requests
        client = self.key(scopes=["files:read", "files:write", "run"])
        with tempfile.NamedTemporaryFile(suffix=".csv") as f:
            f.write(b"region,amount\nnorth,1275\n")
            f.seek(0)
            response = requests.post("http://%s:%d/blob" % self.server.address,
                                     headers={"Authorization": f"Bearer {client.key}"}, files={"file": f}, timeout=30)
        self.assertEqual(response.status_code, 201, response.text)
        run = client.ok("POST", "/api/v1/runs", {"code": f"open('/mnt/data/{response.json()['path']}').read()"})
        self.assertEqual(run["result"]["text/plain"], repr("region,amount\nnorth,1275\n"))

    def test_fields_before_and_after_the_file(self):
        data = noise(3 * MIB)
        path, workspace = ("path", None, b"in/there.bin"), ("workspace", None, self.name)
        for fields in ([path, workspace, ("file", "x", data)], [("file", "x", data), path, workspace]):
            answer = self.post(*fields)
            self.assertEqual((answer.status, answer.json["path"], answer.json["version"]), (201, "in/there.bin", 1), answer.body)
            self.assertEqual(self.data("in/there.bin"), data)
        self.assertEqual(self.post(workspace, ("other", None, b"ignored"), ("file", "C:\\dir\\w.txt", b"w")).json["path"], "w.txt")
        self.assertEqual(self.post(workspace, ("file", "a/b/u.txt", b"u")).json["path"], "u.txt")
        self.fails(self.post(path, ("file", "x", b"x"), workspace), 400, "invalid_request")

    def test_what_is_wrong_with_a_form(self):
        workspace = ("workspace", None, self.name)
        for fields in ([workspace], [workspace, ("file", None, b"x")], [workspace, ("file", "", b"x")], [workspace, ("file", "..", b"x")],
                       [workspace, ("path", None, b"../x"), ("file", "a", b"x")], [workspace, ("path", None, b"a\0b"), ("file", "a", b"x")],
                       [workspace, ("path", None, b"x" * 5000), ("file", "a", b"x")], [("file", "a", b"x"), ("file", "b", b"y"), workspace]):
            answer = self.fails(self.post(*fields), 400, "invalid_request")
            self.assertIn("-F file=", answer.json["error"]["hint"])
        self.fails(self.post(("workspace", None, b"none"), ("file", "a", b"x")), 404, "not_found")
        self.fails(self.client.request("POST", "/blob", raw=b"x"), 415, "unsupported_media_type")
        self.fails(self.client.request("POST", "/blob", {"file": "x"}), 415, "unsupported_media_type")
        body, headers = self.form([workspace, ("file", "cut.bin", noise(1000))])
        self.fails(self.client.request("POST", "/blob", raw=body[:-300], headers=headers), 400, "invalid_request")
        self.fails(Client(self.server, None).request("POST", "/blob", raw=body, headers=headers), 401, "unauthorized")
        self.assertEqual(self.paths(recursive=1), [])

    def test_curl(self):
        path = self.server.data + "/sales.csv"
        with open(path, "wb") as out:
            out.write(b"a,b\n1,2\n")
        url = "http://%s:%d/blob" % self.server.address
        done = subprocess.run(["curl", "-sS", "-H", "Authorization: Bearer " + KEY, "-F", "file=@" + path, "-F", "path=c/url.csv", "-F",
                               "workspace=" + self.name.decode(), url], capture_output=True, check=True)
        self.assertEqual(json.loads(done.stdout)["path"], "c/url.csv")
        self.assertEqual(self.data("c/url.csv"), b"a,b\n1,2\n")
        done = subprocess.run(["curl", "-sS", "-T", path, "-H", "Authorization: Bearer " + KEY,
                               "http://%s:%d" % self.server.address + self.at("put.csv")], capture_output=True, check=True)
        self.assertEqual(json.loads(done.stdout)["version"], 1)


class Signed(FilesTest):
    def sign(self, **wishes):
        return self.client.ok("POST", self.ws + "/sign", wishes)["url"]

    def setUp(self):
        super().setUp()
        self.anybody = Client(self.server, None)
        self.addCleanup(self.anybody.close)

    def test_a_signed_address_gets_a_file(self):
        self.make("a b/ü.html", b"one")
        url = self.sign(path="a b/ü.html", expires_s=60)
        got = self.anybody.get(url)
        self.assertEqual((got.status, got.body), (200, b"one"))
        self.assertTrue(got.headers["Content-Disposition"].startswith("attachment"))
        self.assertEqual(self.anybody.request("HEAD", url).status, 200)
        got = self.anybody.get(url, headers={"Range": "bytes=1-1"})
        self.assertEqual((got.status, got.body), (206, b"n"))
        self.make("a b/ü.html", b"two")
        self.assertEqual(self.anybody.get(url).body, b"two")
        url = self.sign(path="a b/ü.html", version=1, inline=True)
        got = self.anybody.get(url)
        self.assertEqual(got.body, b"one")
        self.assertIn("sandbox", got.headers["Content-Security-Policy"])
        self.assertTrue(got.headers["Content-Disposition"].startswith("inline"))
        self.assertEqual(self.anybody.get(self.sign(path="none")).status, 404)

    def test_a_signed_address_puts_a_file(self):
        url = self.sign(path="in.txt", method="PUT")
        self.assertEqual(self.anybody.request("PUT", url, raw=b"hello").status, 201)
        self.assertEqual(self.data("in.txt"), b"hello")
        self.assertEqual(self.anybody.request("PUT", url, raw=b"again").json["version"], 2)
        self.assertEqual(self.anybody.request("PUT", url, raw=b"x", headers={"If-None-Match": "*"}).status, 412)
        for method in "GET", "DELETE":
            self.assertIn(self.anybody.request(method, url).status, (401, 403), method)

    def test_what_was_changed_is_worth_nothing(self):
        self.make("a.txt", b"one")
        self.make("b.txt", b"other")
        url = self.sign(path="a.txt", expires_s=60)
        base, _, query = url.partition("?")
        given = dict(pair.split("=") for pair in query.split("&"))
        later = query.replace(given["expires"], str(int(given["expires"]) + 1))
        flipped = query[:-1] + ("0" if query[-1] != "0" else "1")
        other = self.client.ok("POST", WORKSPACES, {"name": "another " + self._testMethodName}, 201)["id"]
        for wrong in (base.replace("a.txt", "b.txt") + "?" + query, f"{base}?{later}", f"{base}?{flipped}", f"{base}?{query}&version=1", f"{base}?{query}&inline",
                      f"{base}?{query[:-2]}", f"{base}?signature={given['signature']}", f"{base}?expires={given['expires']}&signature=",
                      f"{base}?{query}&stat", f"{base}?{query}&versions", f"{base}?{query}&diff=1", base.replace(self.ws.rpartition("/")[2], other) + "?" + query,
                      base.replace(self.ws.rpartition("/")[2], "default") + "?" + query):
            self.fails(self.anybody.get(wrong), 403, "permission_denied")
        self.fails(self.anybody.get(base + "?expires=1"), 401, "unauthorized")
        self.fails(self.anybody.request("PUT", url, raw=b"x"), 403, "permission_denied")
        self.fails(self.anybody.get(f"{base}?{query}&{query}"), 400, "invalid_request")
        self.assertEqual(self.anybody.get(url).status, 200)
        self.client.ok("DELETE", f"{WORKSPACES}/{other}", status=204)
        self.assertNotIn(given["signature"], self.server.log())

    def test_it_expires(self):
        self.make("a.txt", b"one")
        url = self.sign(path="a.txt", expires_s=1)
        eventually(lambda: self.anybody.get(url).status == 403)
        self.fails(self.anybody.get(url), 403, "permission_denied")
        for wrong in {"expires_s": 0}, {"expires_s": 604801}, {"method": "DELETE"}, {"method": "PUT", "version": 1}, {"path": "../x"}:
            self.refused("sign", 400, "invalid_request", **{"path": "a.txt", **wrong})

    def test_it_survives_a_restart_but_not_its_workspace(self):
        self.make("a.txt", b"one")
        url = self.sign(path="a.txt")
        self.client.close()
        self.anybody.close()
        self.server.stop()
        self.server.start()
        self.assertEqual(self.anybody.get(url).body, b"one")
        self.client.ok("DELETE", self.ws, status=204)
        self.fails(self.anybody.get(url), 403, "permission_denied")


if __name__ == "__main__":
    unittest.main()
