"""Files: history, trash, moving, workspaces, who may, how much."""
import subprocess
import unittest

from base import ApiTest
from files import WORKSPACES, FilesTest, noise


class History(FilesTest):
    def test_versions_say_who_when_and_what(self):
        for text in b"one", b"two", b"three":
            self.make("a.txt", text)
        history = self.versions("a.txt")
        self.assertEqual([(v["version"], v["change"], v["size"]) for v in history], [(3, "modified", 5), (2, "modified", 3), (1, "created", 3)])
        for v in history:
            self.assertEqual(self.client.get(v["url"]).headers["ETag"], v["etag"])
        page = self.get("a.txt", "?versions&limit=2").json
        self.assertEqual(([v["version"] for v in page["data"]], page["has_more"]), ([3, 2], True))
        page = self.get("a.txt", f"?versions&limit=2&cursor={page['next_cursor']}").json
        self.assertEqual(([v["version"] for v in page["data"]], page["has_more"], page["next_cursor"]), ([1], False, None))
        self.fails(self.get("none", "?versions"), 404, "not_found")

    def test_an_earlier_version_is_restored_as_a_new_one(self):
        self.make("a.txt", b"one")
        self.make("a.txt", b"two")
        back = self.do("restore", path="a.txt", version=1)
        self.assertEqual((back["version"], back["change"], self.data("a.txt")), (3, "restored", b"one"))
        self.refused("restore", 404, "not_found", path="a.txt", version=9)
        self.refused("restore", 404, "not_found", path="none", version=1)
        for wrong in {}, {"path": "a.txt"}, {"version": 1}, {"file_id": back["id"], "version": 1}, {"path": "a.txt", "version": 0}:
            self.refused("restore", 400, "invalid_request", **wrong)

    def test_diff(self):
        self.make("a.txt", b"one\ntwo\nthree\n")
        self.make("a.txt", b"one\n2\nthree\n")
        self.make("a.txt", b"one\n2\nthree\nfour\n")
        got = self.get("a.txt", "?diff=1&to=2")
        self.assertEqual(got.headers["Content-Type"], "text/x-diff; charset=utf-8")
        self.assertIn(b"@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", got.body)
        self.assertIn(b"+four\n", self.get("a.txt", "?diff=1").body)
        self.assertEqual(self.get("a.txt", "?diff=3").body, b"")
        self.assertEqual(self.get("a.txt", "?diff=3&to=1").body.count(b"\n-"), 2)
        self.fails(self.get("a.txt", "?diff=7"), 404, "not_found")
        self.fails(self.get("a.txt", "?diff=1&to=7"), 404, "not_found")
        self.make("b.bin", b"\0" + noise(100))
        self.make("b.bin", b"\0" + noise(100, 2))
        self.fails(self.get("b.bin", "?diff=1"), 415, "unsupported_media_type")

    def test_a_diff_is_what_patch_reads(self):
        one = b"".join(b"line %d\n" % i for i in range(300))
        two = one.replace(b"line 7\n", b"").replace(b"line 200\n", b"line two hundred\nand more\n") + b"no newline"
        self.make("a.txt", one)
        self.make("a.txt", two)
        diff = self.get("a.txt", "?diff=1").body
        with open(self.server.data + "/patched", "wb") as out:
            out.write(one)
        done = subprocess.run(["patch", "-s", self.server.data + "/patched"], input=diff, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(self.server.data + "/patched", "rb") as patched:
            self.assertEqual(patched.read(), two)

    def test_pinned_versions_stay(self):
        self.make("a.txt", b"one")
        self.make("a.txt", b"two")
        self.assertTrue(self.do("pin", path="a.txt", version=1)["pinned"])
        self.assertEqual([v["pinned"] for v in self.versions("a.txt")], [False, True])
        self.refused("purge", 409, "conflict", path="a.txt", version=1)
        self.assertFalse(self.do("pin", path="a.txt", version=1, pinned=False)["pinned"])
        self.refused("purge", 409, "conflict", path="a.txt", version=2)
        self.assertEqual(self.do("purge", path="a.txt", version=1), {"purged": 1})
        self.assertEqual([v["version"] for v in self.versions("a.txt")], [2])
        self.fails(self.get("a.txt", "?version=1"), 404, "not_found")
        self.assertEqual(self.data("a.txt"), b"two")
        self.refused("pin", 404, "not_found", path="a.txt", version=1)


class Trash(FilesTest):
    def delete(self, path, query="", status=204):
        return self.client.ok("DELETE", self.at(path, query), status=status)

    def test_what_is_deleted_is_in_the_trash_until_it_is_purged(self):
        made = self.make("a/b.txt", b"one")
        self.make("a/b.txt", b"two")
        self.delete("a/b.txt")
        self.fails(self.get("a/b.txt"), 404, "not_found")
        self.fails(self.client.request("DELETE", self.at("a/b.txt")), 404, "not_found")
        self.assertEqual(self.paths(recursive=1), [])
        trashed = self.trash()
        self.assertEqual([(f["id"], f["path"]) for f in trashed], [(made["id"], "a/b.txt")])
        self.assertTrue(trashed[0]["deleted_at"])
        self.assertEqual(self.data("a/b.txt", "?version=1"), b"one")
        self.assertEqual([v["change"] for v in self.versions("a/b.txt")], ["deleted", "modified", "created"])
        back = self.do("restore", file_id=made["id"])
        self.assertEqual((back["path"], back["change"], self.data("a/b.txt"), self.trash()), ("a/b.txt", "restored", b"two", []))
        self.refused("restore", 404, "not_found", file_id=made["id"])
        self.delete("a/b.txt")
        self.assertEqual(self.do("purge", file_id=made["id"]), {"purged": 1})
        self.assertEqual(self.trash(), [])
        self.refused("restore", 404, "not_found", file_id=made["id"])
        self.fails(self.get("a/b.txt", "?version=1"), 404, "not_found")

    def test_restoring_to_another_place_and_when_the_place_is_taken(self):
        made = self.make("a.txt", b"old")
        self.delete("a.txt")
        self.assertEqual(self.do("restore", file_id=made["id"], path="b/c.txt")["path"], "b/c.txt")
        self.assertEqual(self.data("b/c.txt"), b"old")
        self.delete("b/c.txt")
        self.make("b/c.txt/x", b"in the way")
        self.refused("restore", 409, "conflict", file_id=made["id"])
        self.refused("restore", 404, "not_found", file_id="file_none")

    def test_a_directory_goes_with_everything_in_it(self):
        for path in "d/1", "d/2", "d/e/3", "dd":
            self.make(path)
        answer = self.fails(self.client.request("DELETE", self.at("d")), 409, "conflict")
        self.assertIn("recursive", answer.json["error"]["hint"])
        self.delete("d", "?recursive")
        self.assertEqual(self.paths(recursive=1), ["dd"])
        self.assertEqual(sorted(f["path"] for f in self.trash()), ["d/1", "d/2", "d/e/3"])
        self.do("mkdir", 201, path="empty")
        self.delete("empty")
        self.assertEqual(self.paths(recursive=1), ["dd"])
        self.assertGreaterEqual(self.do("purge", trash=True)["purged"], 3)
        self.assertEqual(self.trash(), [])

    def test_the_trash_has_pages(self):
        for i in range(7):
            self.make(f"f{i}")
            self.delete(f"f{i}")
        seen, query = [], "?limit=3"
        while query:
            page = self.client.ok("GET", self.ws + "/trash" + query)
            seen += [f["path"] for f in page["data"]]
            query = page["next_cursor"] and f"?limit=3&cursor={page['next_cursor']}"
        self.assertEqual(seen, [f"f{i}" for i in reversed(range(7))])

    def test_what_purge_takes(self):
        made = self.make("a.txt")
        self.refused("purge", 409, "conflict", file_id=made["id"])
        self.refused("purge", 404, "not_found", file_id="file_none")
        self.refused("purge", 404, "not_found", path="none", version=1)
        for wrong in {}, {"path": "a.txt"}, {"trash": False}, {"trash": True, "file_id": "x"}, {"version": 1}:
            self.refused("purge", 400, "invalid_request", **wrong)
        other = self.client.ok("POST", WORKSPACES, {"name": "other" + self._testMethodName}, 201)["id"]
        self.delete("a.txt")
        self.fails(self.client.post(f"{WORKSPACES}/{other}/purge", {"file_id": made["id"]}), 404, "not_found")
        self.fails(self.client.post(f"{WORKSPACES}/{other}/restore", {"file_id": made["id"]}), 404, "not_found")
        self.client.ok("DELETE", f"{WORKSPACES}/{other}", status=204)


class Edits(FilesTest):
    def test_moving_keeps_the_history(self):
        made = self.make("a.txt", b"one")
        self.make("a.txt", b"two")
        moved = self.do("move", **{"from": "a.txt", "to": "b/c.txt"})
        self.assertEqual((moved["id"], moved["path"], moved["change"]), (made["id"], "b/c.txt", "moved"))
        self.assertEqual(self.data("b/c.txt"), b"two")
        history = self.versions("b/c.txt")
        self.assertEqual([v["path"] for v in history][-2:], ["a.txt", "a.txt"])
        self.assertEqual([self.client.get(v["url"]).body for v in history][-2:], [b"two", b"one"])
        self.assertEqual(self.client.get(self.stat("b/c.txt", "&version=1")["url"]).body, b"one")
        self.assertEqual(self.get("a.txt").status, 404)
        self.refused("move", 404, "not_found", **{"from": "a.txt", "to": "x"})
        self.refused("move", 412, "precondition_failed", **{"from": "b/c.txt", "to": "x", "if_match": made["etag"]})
        self.refused("move", 412, "precondition_failed", **{"from": "b/c.txt", "to": "x", "if_match": made["etag"].strip('"')})
        self.do("move", **{"from": "b/c.txt", "to": "d.txt", "if_match": moved["etag"].strip('"')})
        self.make("e.txt", b"in the way")
        answer = self.refused("move", 409, "conflict", **{"from": "d.txt", "to": "e.txt"})
        self.assertIn("overwrite", answer.json["error"]["hint"])
        self.do("move", **{"from": "d.txt", "to": "e.txt", "overwrite": True})
        self.assertEqual((self.data("e.txt"), [f["path"] for f in self.trash()]), (b"two", ["e.txt"]))

    def test_moving_directories(self):
        for path in "d/1", "d/e/2":
            self.make(path, path.encode())
        self.assertEqual(self.do("move", **{"from": "d", "to": "x/y"})["kind"], "directory")
        self.assertEqual(self.paths(recursive=1), ["x/y/1", "x/y/e/2"])
        self.assertEqual(self.data("x/y/e/2"), b"d/e/2")
        self.refused("move", 400, "invalid_request", **{"from": "x", "to": "x/z"})

    def test_copies_from_another_workspace(self):
        other = self.client.ok("POST", WORKSPACES, {"name": "source"}, 201)["id"]
        self.addCleanup(lambda: self.client.request("DELETE", f"{WORKSPACES}/{other}"))
        data = noise(700_000)
        self.client.ok("PUT", f"{WORKSPACES}/{other}/files/dir/a.bin", raw=b"old", status=201)
        self.client.ok("PUT", f"{WORKSPACES}/{other}/files/dir/a.bin", raw=data)
        made = self.do("copy", 201, **{"workspace": other, "from": "dir/a.bin", "to": "b.bin"})
        self.assertEqual((made["size"], made["version"], self.data("b.bin")), (len(data), 1, data))
        self.refused("copy", 409, "conflict", **{"workspace": other, "from": "dir/a.bin", "to": "b.bin"})
        self.do("copy", **{"workspace": "source", "from": "dir/a.bin", "to": "b.bin", "version": 1, "overwrite": True})
        self.assertEqual(self.data("b.bin"), b"old")
        self.client.ok("POST", f"{WORKSPACES}/{other}/mkdir", {"path": "made"}, 201)
        for name in "dir", "made":
            self.refused("copy", 404, "not_found", **{"workspace": other, "from": name, "to": "x"})
        self.refused("copy", 404, "not_found", **{"workspace": other, "from": "none", "to": "x"})
        self.refused("copy", 404, "not_found", **{"workspace": "ws_none", "from": "a", "to": "x"})

    def test_copies_from_the_workspace_of_somebody_else(self):
        agent = self.client.ok("POST", "/api/v1/principals", {"name": "owner of the source"}, 201)["id"]
        owner = self.key(principal=agent, scopes=["files:read", "files:write", "share"])
        data = noise(700_000, 2)
        owner.ok("PUT", f"{WORKSPACES}/default/files/theirs.bin", raw=data, status=201)
        theirs = owner.ok("GET", f"{WORKSPACES}/default")["id"]
        made = self.do("copy", 201, **{"workspace": theirs, "from": "theirs.bin", "to": "mine.bin"})
        self.assertEqual((made["size"], self.data("mine.bin")), (len(data), data))
        mine = self.ws.rpartition("/")[2]
        self.fails(owner.post(f"{WORKSPACES}/default/copy", {"workspace": mine, "from": "mine.bin", "to": "x"}), 404, "not_found")
        writer = self.key(principal=agent, scopes=["files:write"])
        self.fails(writer.post(f"{WORKSPACES}/default/copy", {"workspace": theirs, "from": "theirs.bin", "to": "x"}), 403, "permission_denied")

    def test_a_file_by_its_id(self):
        made = self.make("dir/a.txt", b"one")
        self.assertEqual([f["path"] for f in self.client.ok("GET", f"{self.ws}/files?id={made['id']}")["data"]], ["dir/a.txt"])
        self.do("move", **{"from": "dir/a.txt", "to": "b.txt"})
        self.assertEqual([f["path"] for f in self.client.ok("GET", f"{self.ws}/files?id={made['id']}")["data"]], ["b.txt"])
        self.client.ok("DELETE", self.at("b.txt"), status=204)
        found = self.client.ok("GET", f"{self.ws}/files?id={made['id']}")["data"]
        self.assertEqual(len(found), 1)
        self.assertIn("deleted_at", found[0])
        self.assertEqual(self.client.ok("GET", f"{self.ws}/files?id=file_none")["data"], [])
        self.assertEqual(self.client.ok("GET", f"{WORKSPACES}/default/files?id={made['id']}")["data"], [])

    def test_copies(self):
        made = self.make("a.txt", b"one")
        self.make("a.txt", b"two")
        copied = self.do("copy", 201, **{"from": "a.txt", "to": "b.txt"})
        self.assertNotEqual(copied["id"], made["id"])
        self.assertEqual(self.data("b.txt"), b"two")
        self.refused("copy", 409, "conflict", **{"from": "a.txt", "to": "b.txt"})
        self.refused("copy", 409, "conflict", **{"from": "a.txt", "to": "b.txt", "version": 1})
        self.do("copy", **{"from": "a.txt", "to": "b.txt", "version": 1, "overwrite": True})
        self.assertEqual((self.data("b.txt"), self.stat("b.txt")["version"]), (b"one", 2))
        self.do("copy", **{"from": "a.txt", "to": "b.txt", "overwrite": True})
        self.assertEqual(self.data("b.txt"), b"two")
        self.do("copy", 201, **{"from": "a.txt", "to": "c/d.txt", "version": 1})
        self.assertEqual(self.data("c/d.txt"), b"one")
        self.refused("copy", 404, "not_found", **{"from": "none", "to": "x"})
        self.refused("copy", 404, "not_found", **{"from": "a.txt", "to": "x", "version": 9})
        for path in "d/1", "d/e/2":
            self.make(path)
        self.assertEqual(self.do("copy", 201, **{"from": "d", "to": "f"})["kind"], "directory")
        self.assertEqual(self.paths(prefix="f/", recursive=1), ["f/1", "f/e/2"])

    def test_directories(self):
        made = self.do("mkdir", 201, path="a/b")
        self.assertEqual((made["kind"], made["path"], made["mime"]), ("directory", "a/b", "inode/directory"))
        self.assertEqual(self.do("mkdir", path="a/b")["path"], "a/b")
        self.make("file")
        self.refused("mkdir", 409, "conflict", path="file")
        self.refused("mkdir", 409, "conflict", path="file/x")
        self.fails(self.put("file/x"), 409, "conflict")
        self.fails(self.put("a"), 409, "conflict")
        self.fails(self.put("a/b"), 409, "conflict")
        self.assertEqual(self.paths(), ["a", "file"])
        for wrong in {}, {"path": 1}, {"path": "a", "mode": 7}:
            self.refused("mkdir", 400, "invalid_request", **wrong)


class Workspaces(ApiTest):
    def test_the_life_of_a_workspace(self):
        made = self.client.ok("POST", WORKSPACES, {"name": "reports"}, 201)
        self.assertEqual((made["name"], made["is_default"], made["rev"], made["files"], made["bytes"]), ("reports", False, 0, 0, 0))
        self.assertEqual(self.client.ok("GET", WORKSPACES + "/reports"), made)
        self.assertEqual(self.client.ok("GET", f"{WORKSPACES}/{made['id']}"), made)
        self.assertIn(made["id"], [w["id"] for w in self.client.ok("GET", WORKSPACES)["data"]])
        self.fails(self.client.post(WORKSPACES, {"name": "reports"}), 409, "conflict")
        for wrong in {}, {"name": ""}, {"name": "default"}, {"name": "ws_x"}, {"name": "a/b"}, {"name": "x" * 300}, {"nam": "x"}:
            self.fails(self.client.post(WORKSPACES, wrong), 400, "invalid_request")
        self.client.request("PUT", WORKSPACES + "/reports/files/a.txt", raw=b"12345")
        self.client.request("PUT", WORKSPACES + "/reports/files/a.txt", raw=b"123")
        now = self.client.ok("GET", WORKSPACES + "/reports")
        self.assertEqual((now["rev"], now["files"], now["bytes"], now["kept_bytes"]), (2, 1, 3, 8))
        usage = self.client.ok("GET", WORKSPACES + "/reports/usage")
        self.assertEqual(usage, {k: now[k] for k in ("files", "bytes", "kept_bytes", "quota")} | {"workspace_id": made["id"]})
        self.assertEqual(self.client.ok("PATCH", WORKSPACES + "/reports", {"name": "papers"})["name"], "papers")
        self.fails(self.client.get(WORKSPACES + "/reports"), 404, "not_found")
        self.client.ok("DELETE", WORKSPACES + "/papers", status=204)
        for path in "/papers", "/" + made["id"], "/papers/files", f"/{made['id']}/files/a.txt", f"/{made['id']}/trash":
            self.fails(self.client.get(WORKSPACES + path), 404, "not_found")
        self.fails(self.client.request("DELETE", WORKSPACES + "/default"), 409, "conflict")

    def test_once(self):
        key = {"Idempotency-Key": "make-it-once"}
        first = self.client.ok("POST", WORKSPACES, {"name": "once"}, 201, headers=key)
        self.assertEqual(self.client.ok("POST", WORKSPACES, {"name": "once"}, 201, headers=key), first)


class Rights(FilesTest):
    def test_what_belongs_to_others_is_not_there(self):
        made = self.make("a.txt", b"secret")
        other = self.key(scopes=["files:read", "files:write", "run"])
        for method, path, body in (("GET", "", None), ("PATCH", "", {"name": "mine"}), ("DELETE", "", None), ("GET", "/usage", None), ("GET", "/files", None),
                                   ("GET", "/files/a.txt", None), ("GET", "/files/a.txt?stat", None), ("GET", "/files/a.txt?versions", None),
                                   ("GET", "/files/a.txt?diff=1", None), ("DELETE", "/files/a.txt", None), ("GET", "/trash", None), ("GET", "/export", None),
                                   ("POST", "/export", None), ("POST", "/mkdir", {"path": "d"}), ("POST", "/move", {"from": "a.txt", "to": "b"}),
                                   ("POST", "/copy", {"from": "a.txt", "to": "b"}), ("POST", "/restore", {"path": "a.txt", "version": 1}),
                                   ("POST", "/pin", {"path": "a.txt"}), ("POST", "/purge", {"trash": True}), ("POST", "/uploads", {"path": "x"}),
                                   ("POST", "/sign", {"path": "a.txt"})):
            self.fails(other.request(method, self.ws + path, body), 404, "not_found")
        for method, path in ("PUT", "/files/a.txt"), ("POST", "/import"), ("PUT", "/uploads/upl_x?offset=0"):
            self.fails(other.request(method, self.ws + path, raw=b"x"), 404, "not_found")
        self.fails(other.get(made["url"]), 404, "not_found")
        self.assertNotIn(self.ws.rpartition("/")[2], [w["id"] for w in other.ok("GET", WORKSPACES)["data"]])
        self.assertEqual(self.stat("a.txt"), made)
        theirs = other.ok("GET", WORKSPACES + "/default")
        self.assertEqual(self.client.ok("GET", f"{WORKSPACES}/{theirs['id']}")["is_default"], True)  # an admin may

    def test_scopes(self):
        self.make("a.txt", b"x")
        me = self.client.ok("GET", "/api/v1/principals/me")["id"]
        reader = self.key(principal=me, scopes=["files:read"])
        writer = self.key(principal=me, scopes=["files:write"])
        runner = self.key(principal=me, scopes=["run"])
        self.assertEqual(reader.get(self.at("a.txt")).body, b"x")
        self.assertEqual(reader.get(self.ws + "/files").status, 200)
        for client in reader, runner:
            self.fails(client.request("PUT", self.at("a.txt"), raw=b"y"), 403, "permission_denied")
            self.fails(client.request("DELETE", self.at("a.txt")), 403, "permission_denied")
            self.fails(client.post(self.ws + "/mkdir", {"path": "x"}), 403, "permission_denied")
            self.fails(client.request("POST", "/blob", raw=b"x"), 403, "permission_denied")
        self.fails(reader.post(self.ws + "/sign", {"path": "a.txt", "method": "PUT"}), 403, "permission_denied")
        self.assertEqual(reader.post(self.ws + "/sign", {"path": "a.txt"}).status, 200)
        for client in writer, runner:
            self.fails(client.get(self.at("a.txt")), 403, "permission_denied")
            self.fails(client.get(self.ws + "/files"), 403, "permission_denied")
        self.assertEqual(writer.request("PUT", self.at("a.txt"), raw=b"y").status, 200)
        self.fails(writer.request("PATCH", self.ws, {"quota": {"bytes": 5}}), 403, "permission_denied")
        self.assertEqual(writer.request("PATCH", self.ws, {"name": "renamed by a writer"}).status, 200)
        for path in self.at("a.txt"), self.ws, self.ws + "/files":
            self.fails(type(self.client)(self.server, None).get(path), 401, "unauthorized")


class Quota(FilesTest):
    def test_bytes(self):
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1000}})
        self.assertEqual(self.client.ok("GET", self.ws)["quota"]["bytes"], 1000)
        self.make("a", b"a" * 600)
        answer = self.fails(self.put("b", b"b" * 500), 507, "quota_exceeded")
        self.assertIn("1000", answer.json["error"]["message"].replace(",", "").replace("1 000", "1000"))
        self.assertIn("urge", answer.json["error"]["hint"])
        self.fails(self.put("a", b"A" * 500), 507, "quota_exceeded")  # the version before is kept, and counts
        self.assertEqual(self.data("a"), b"a" * 600)
        self.make("b", b"b" * 400)
        self.fails(self.put("c", b"c"), 507, "quota_exceeded")
        self.make("c", b"")
        self.client.ok("DELETE", self.at("a"), status=204)
        self.fails(self.put("c", b"c"), 507, "quota_exceeded")  # so does what is in the trash
        self.do("purge", trash=True)
        self.make("c", b"c" * 600)
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 0}})
        self.make("d", b"d" * 5000)

    def test_a_body_of_unknown_length_is_refused_when_it_is_too_much(self):
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 100_000}})
        self.client.connection = self.client.connect()
        body = (noise(10_000, i) for i in range(12))
        self.client.connection.request("PUT", self.at("a"), body, {"Authorization": "Bearer " + self.client.key}, encode_chunked=True)
        self.assertEqual(self.client.connection.getresponse().status, 507)
        self.client.close()
        self.assertEqual(self.get("a").status, 404)

    def test_files(self):
        self.client.ok("PATCH", self.ws, {"quota": {"files": 2}})
        self.make("a")
        self.make("b")
        self.fails(self.put("c"), 507, "quota_exceeded")
        self.make("b", b"again")
        self.refused("copy", 507, "quota_exceeded", **{"from": "a", "to": "c"})
        self.client.ok("DELETE", self.at("a"), status=204)
        self.make("c")


class Addresses(FilesTest):
    def test_an_address_with_a_version_is_good_for_ever(self):
        made = self.make("a", b"one")
        self.make("a", b"two")
        self.do("move", **{"from": "a", "to": "b"})
        self.assertEqual(self.client.get(made["url"]).body, b"one")
        self.client.ok("DELETE", self.at("b"), status=204)
        self.assertEqual(self.client.get(made["url"]).body, b"one")
        self.make("a", b"another")
        self.assertEqual(self.data("a"), b"another")


if __name__ == "__main__":
    unittest.main()
