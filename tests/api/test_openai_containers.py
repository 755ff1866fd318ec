"""Containers and their files at /v1: shapes, paging, bytes, what is whose, errors."""
import hashlib
import json
import os
import sqlite3
import time
import unittest

from base import ApiTest
from oa import OpenAI
from upstream import KEY as UPSTREAM_KEY
from upstream import Upstream

DATABASE = "meta.db"


class OpenAITest(ApiTest):
    def setUp(self):
        super().setUp()
        self.oa = OpenAI(self.server)
        self.addCleanup(self.oa.close)

    def refuses(self, answer, status, param=None, code=None, text=""):
        error = answer.json["error"]
        self.assertEqual((answer.status, error["param"], error["code"]), (status, param, code), answer.body)
        self.assertIn(text, error["message"])
        self.assertNotIn(self.server.data, answer.body.decode())
        return error

    def other(self):
        """The key of somebody who is nobody special."""
        person = self.client.ok("POST", "/api/v1/principals", {"name": "other"}, 201)
        key = self.client.ok("POST", "/api/v1/keys", {"principal": person["id"], "name": "k", "scopes": ["run", "files:read", "files:write"]}, 201)
        return OpenAI(self.server, key["secret"])


class Transport(OpenAITest):
    def test_without_a_key_nobody_comes_in(self):
        error = self.refuses(OpenAI(self.server, None).request("GET", "/containers"), 401, None, "invalid_api_key")
        self.assertEqual(error["type"], "invalid_request_error")

    def test_a_wrong_key_is_told_so(self):
        error = self.refuses(OpenAI(self.server, "sk-nothing").request("GET", "/containers"), 401, None, "invalid_api_key")
        self.assertTrue(error["message"].startswith("Incorrect API key provided"))

    def test_every_answer_has_the_id_of_its_request(self):
        good, bad = self.oa.request("GET", "/containers"), self.oa.request("GET", "/containers/cntr_x")
        self.assertEqual((good.status, bad.status), (200, 404))
        self.assertNotEqual(good.headers["x-request-id"], bad.headers["x-request-id"])
        self.assertTrue(good.headers["openai-processing-ms"].isdigit())
        self.assertTrue(bad.headers["openai-processing-ms"].isdigit())

    def test_an_unknown_address(self):
        error = self.refuses(self.oa.request("GET", "/x"), 404, None, "unknown_url")
        self.assertEqual(error["message"], "Invalid URL (GET /v1/x)")

    def test_a_method_that_an_address_does_not_take(self):
        answer = self.oa.request("DELETE", "/containers")
        self.refuses(answer, 405, None, "method_not_supported")
        self.assertEqual(answer.headers["Allow"], "POST, GET")

    def test_a_body_that_is_no_json(self):
        answer = self.oa.request("POST", "/containers", raw=b"{not json", headers={"Content-Type": "application/json"})
        self.refuses(answer, 400, None, None, "JSON")
        answer = self.oa.request("POST", "/containers", raw=b"[1]", headers={"Content-Type": "application/json"})
        self.refuses(answer, 400, None, None, "object")

    def test_a_body_of_another_type(self):
        answer = self.oa.request("POST", "/containers", raw=b"name=a", headers={"Content-Type": "application/x-www-form-urlencoded"})
        self.refuses(answer, 415, None, None, "application/json")

    def test_an_unknown_parameter_is_named(self):
        answer = self.oa.request("POST", "/containers", {"name": "a", "files": []})
        error = self.refuses(answer, 400, "files", "unknown_parameter")
        self.assertEqual(error["message"], "Unknown parameter: 'files'.")
        answer = self.oa.request("POST", "/containers", {"name": "a", "expires_after": {"anchor": "last_active_at", "minutes": 1, "x": 1}})
        self.refuses(answer, 400, "expires_after.x", "unknown_parameter")

    def test_one_connection_is_enough_for_500_requests(self):
        for _ in range(500):
            self.assertEqual(self.oa.request("GET", "/containers?limit=1").status, 200)
        self.assertEqual(self.oa.connections, 1)

    def test_heads_are_like_gets(self):
        made = self.oa.container()
        answer = self.oa.request("HEAD", "/containers/" + made["id"])
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertGreater(int(answer.headers["Content-Length"]), 100)

    def test_a_browser_of_this_server_is_answered(self):
        host = "http://%s:%d" % self.server.address
        answer = self.oa.request("GET", "/containers", headers={"Origin": host})
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.oa.request("GET", "/containers", headers={"Origin": "https://evil.example"}).status, 403)

    def test_the_other_address_and_the_other_header(self):
        azure = OpenAI(self.server, None, "/openai/v1", {"api-key": self.oa.key})
        made = azure.container("elsewhere")
        self.assertEqual(self.oa.ok("GET", "/containers/" + made["id"])["name"], "elsewhere")
        error = self.refuses(azure.request("GET", "/x"), 404, None, "unknown_url")
        self.assertEqual(error["message"], "Invalid URL (GET /openai/v1/x)")

    def test_a_conflict_is_not_to_be_repeated(self):
        container = self.oa.container()
        self.oa.put(container["id"], b"1", "locked.txt")
        ws = container["workspace_id"]
        self.client.ok("POST", f"/api/v1/workspaces/{ws}/locks", {"path": "locked.txt"}, 201)
        answer = self.oa.upload(f"/containers/{container['id']}/files", [("file", "locked.txt", b"2")])
        self.assertEqual(answer.status, 423, answer.body)


class Containers(OpenAITest):
    def test_the_least_that_is_needed(self):
        made = self.oa.container("My Container")
        self.assertRegex(made["id"], r"^cntr_[A-Za-z0-9]{40}$")
        self.assertEqual((made["object"], made["name"], made["status"]), ("container", "My Container", "running"))
        self.assertEqual(made["expires_after"], {"anchor": "last_active_at", "minutes": 20})
        self.assertEqual((made["memory_limit"], made["network_policy"]), ("1g", {"type": "disabled"}))
        self.assertLess(abs(made["created_at"] - time.time()), 60)
        self.assertIsNone(made["session_id"])
        self.assertEqual(self.oa.ok("GET", "/containers/" + made["id"])["id"], made["id"])

    def test_everything_is_echoed(self):
        made = self.oa.container("full", expires_after={"anchor": "last_active_at", "minutes": 7}, memory_limit="4g",
                                 network_policy={"type": "disabled"}, file_ids=[], skills=[])
        self.assertEqual(made["expires_after"], {"anchor": "last_active_at", "minutes": 7})
        self.assertEqual(made["memory_limit"], "4g")
        self.assertGreater(made["memory_mb"], 0)
        self.assertLessEqual(made["memory_mb"], 4096)

    def test_memory_beyond_what_the_server_has_is_cut_and_said(self):
        made = self.oa.container("large", memory_limit="64g")
        self.assertEqual(made["memory_limit"], "64g")
        self.assertLess(made["memory_mb"], 65536)
        session = self.client.ok("POST", "/api/v1/sessions", {"workspace": made["workspace_id"], "limits": {"memory_mb": made["memory_mb"]}}, 201)
        self.client.ok("DELETE", "/api/v1/sessions/" + session["id"], status=204)

    def test_there_is_no_network_to_allow(self):
        policy = {"type": "allowlist", "allowed_domains": ["pypi.org"], "domain_secrets": [{"domain": "pypi.org", "name": "K", "value": "s3cr3t"}]}
        answer = self.oa.request("POST", "/containers", {"name": "a", "network_policy": policy})
        self.refuses(answer, 400, "network_policy.type", "invalid_value", "no network")
        self.assertNotIn(b"s3cr3t", answer.body)

    def test_what_is_wrong_is_named(self):
        for body, param, code in (
            ({"name": "a", "memory_limit": "2g"}, "memory_limit", "invalid_value"),
            ({"name": "a", "memory_limit": 4}, "memory_limit", "invalid_value"),
            ({"name": "a", "expires_after": {"anchor": "created_at", "minutes": 5}}, "expires_after.anchor", "invalid_value"),
            ({"name": "a", "expires_after": {"anchor": "last_active_at"}}, "expires_after.minutes", "invalid_value"),
            ({"name": "a", "expires_after": {"anchor": "last_active_at", "minutes": 0}}, "expires_after.minutes", "invalid_value"),
            ({"name": "a", "network_policy": {"type": "open"}}, "network_policy.type", "invalid_value"),
            ({"name": "a", "skills": [{"type": "inline"}]}, "skills", "unsupported_parameter"),
            ({}, "name", "missing_required_parameter"),
            ({"name": 7}, "name", "invalid_type"),
            ({"name": "n" * 257}, "name", "string_above_max_length"),
            ({"name": "a", "file_ids": "file-x"}, "file_ids", None),
            ({"name": "a", "file_ids": [1]}, "file_ids", None),
        ):
            with self.subTest(body=body):
                self.refuses(self.oa.request("POST", "/containers", body), 400, param, code)

    def test_a_list_is_newest_first_and_has_20(self):
        person = self.other()
        ids = [person.container(f"c{n}")["id"] for n in range(22)]
        page = person.ok("GET", "/containers")
        self.assertEqual([c["id"] for c in page["data"]], ids[:1:-1])
        self.assertTrue(page["has_more"])

    def test_pages_have_everything_once_while_more_is_made(self):
        person = self.other()
        ids = [person.container(f"c{n}")["id"] for n in range(45)]
        self.assertEqual([c["id"] for c in person.pages("/containers?limit=20&order=asc")], ids)
        first = person.ok("GET", "/containers?limit=20&order=desc")
        person.container("in between")
        gone = first["data"][-1]["id"]
        person.ok("DELETE", "/containers/" + gone)
        rest = person.pages("/containers?limit=20&order=desc&after=" + gone)
        self.assertEqual([c["id"] for c in first["data"]] + [c["id"] for c in rest], ids[::-1])

    def test_a_list_by_name(self):
        made = self.oa.container("only this one")
        self.assertEqual([c["id"] for c in self.oa.pages("/containers?name=only%20this%20one")], [made["id"]])
        self.assertEqual(self.oa.ok("GET", "/containers?name=nobody")["data"], [])

    def test_bad_pages(self):
        for query, param in (("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("order=up", "order"), ("after=" + "a" * 65, "after")):
            with self.subTest(query=query):
                self.refuses(self.oa.request("GET", "/containers?" + query), 400, param, "invalid_value")

    def test_looking_at_it_is_using_it(self):
        made = self.oa.container()
        time.sleep(1.1)  # the figure is in whole seconds
        after = self.oa.ok("GET", "/containers/" + made["id"])
        self.assertGreater(after["last_active_at"], made["last_active_at"])
        self.assertEqual(after["created_at"], made["created_at"])

    def test_deleted_is_gone_with_all_that_was_in_it(self):
        made = self.oa.container()
        self.oa.put(made["id"], b"x")
        session = self.client.session(workspace=made["workspace_id"])
        self.assertEqual(self.oa.ok("DELETE", "/containers/" + made["id"]),
                         {"id": made["id"], "object": "container.deleted", "deleted": True})
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/files")):
            self.refuses(self.oa.request(method, f"/containers/{made['id']}{path}"), 404, None, None, f"Container with id '{made['id']}' not found.")
        self.assertEqual(self.client.get("/api/v1/workspaces/" + made["workspace_id"]).status, 404)
        self.assertEqual(self.client.ok("GET", "/api/v1/sessions/" + session)["status"], "closed")

    def test_it_is_nobody_elses(self):
        made = self.oa.container()
        file = self.oa.put(made["id"], b"x")
        person = self.other()
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/files"), ("GET", "/files/" + file["id"]), ("GET", f"/files/{file['id']}/content")):
            with self.subTest(path=path, method=method):
                self.refuses(person.request(method, f"/containers/{made['id']}{path}"), 404, None, None, "Container with id")
        self.assertEqual(person.ok("GET", "/containers")["data"], [])

    def test_files_come_along(self):
        file = self.oa.file(b"a,b\n1,2\n", "data.csv")
        made = self.oa.container(file_ids=[file["id"]])
        listed = self.oa.ok("GET", f"/containers/{made['id']}/files")["data"]
        self.assertEqual([(f["path"], f["bytes"], f["source"]) for f in listed], [("/mnt/data/data.csv", 8, "user")])

    def test_a_file_that_is_none_makes_no_container(self):
        before = len(self.oa.pages("/containers?limit=100"))
        answer = self.oa.request("POST", "/containers", {"name": "a", "file_ids": ["file-none"]})
        self.refuses(answer, 404, "file_ids", None, "No such File object: file-none")
        self.assertEqual(len(self.oa.pages("/containers?limit=100")), before)

    def test_so_many_files_come_along_and_not_one_more(self):
        file = self.oa.file(b"1", "data.csv")["id"]
        self.oa.container(file_ids=[file] * 500)
        answer = self.oa.request("POST", "/containers", {"name": "a", "file_ids": [file] * 501})
        self.refuses(answer, 400, "file_ids", "array_above_max_length", "500")

    def test_what_was_done_is_in_the_audit(self):
        made = self.oa.container()
        self.oa.put(made["id"], b"x", "noted.txt")
        entries = self.client.ok("GET", f"/api/v1/audit?workspace={made['workspace_id']}&limit=100")["data"]
        self.assertIn(("putFile", "openai"), [(entry["event"], entry["via"]) for entry in entries])

    def test_containers_are_not_among_the_workspaces(self):
        made = self.oa.container()
        listed = [w["id"] for w in self.client.ok("GET", "/api/v1/workspaces?limit=1000")["data"]]
        self.assertNotIn(made["workspace_id"], listed)
        self.assertEqual(self.client.get("/api/v1/workspaces/" + made["workspace_id"]).status, 200)


class ContainerFiles(OpenAITest):
    def setUp(self):
        super().setUp()
        self.container = self.oa.container()
        self.cid = self.container["id"]
        self.files = f"/containers/{self.cid}/files"

    def run_code(self, code):
        if not hasattr(self, "session"):
            self.session = self.client.session(workspace=self.container["workspace_id"])
        done = self.client.run(self.session, code)
        self.assertEqual(done["end"], "ok", done)
        return done

    def test_a_stream_without_a_length(self):
        data = os.urandom(200_001)
        made = self.oa.put(self.cid, data, "stream.bin", chunked=True)
        self.assertRegex(made["id"], r"^cfile_[a-z0-9]{24,32}$")
        self.assertEqual((made["bytes"], made["path"], made["source"], made["container_id"]),
                         (len(data), "/mnt/data/stream.bin", "user", self.cid))
        self.assertEqual(self.oa.content(f"{self.files}/{made['id']}/content"), data)

    def test_a_file_with_a_length(self):
        made = self.oa.put(self.cid, b"hello", "a.txt")
        self.assertEqual(self.oa.ok("GET", f"{self.files}/{made['id']}"), made)

    def test_by_the_id_of_a_file(self):
        file = self.oa.file(b"1,2", "x.csv")
        made = self.oa.ok("POST", self.files, {"file_id": file["id"]})
        self.assertEqual((made["bytes"], made["path"]), (3, "/mnt/data/x.csv"))
        self.assertEqual(self.oa.content(f"{self.files}/{made['id']}/content"), b"1,2")
        again = self.oa.ok("POST", self.files, {"file_id": file["id"]})
        self.assertEqual(again["id"], made["id"])

    def test_by_the_id_of_a_file_in_a_form(self):
        file = self.oa.file(b"1,2", "x.csv")
        answer = self.oa.upload(self.files, [("file_id", None, file["id"])])
        self.assertEqual((answer.status, answer.json.get("path")), (200, "/mnt/data/x.csv"), answer.body)
        self.refuses(self.oa.upload(self.files, [("file_id", None, "file-none")]), 404, "file_id", None, "No such File object")

    def test_neither(self):
        self.refuses(self.oa.upload(self.files, []), 400, "file", "missing_required_parameter")
        self.refuses(self.oa.request("POST", self.files, {}), 400, "file_id", "missing_required_parameter")
        self.refuses(self.oa.request("POST", self.files), 400, "file_id", "missing_required_parameter")
        self.refuses(self.oa.request("POST", self.files, {"file_id": "file-none"}), 404, "file_id", None, "No such File object")
        self.refuses(self.oa.upload(self.files, [("file", "a", b"1"), ("file", "b", b"2")]), 400, "file", "invalid_value")
        self.refuses(self.oa.upload(self.files, [("other", "a", b"1")]), 400, "other", "unknown_parameter")

    def test_names(self):
        for sent, path in (("Ünï – 数据 😀.csv", "Ünï – 数据 😀.csv"), ("say %22hi%22.txt", 'say "hi".txt'), ("../../etc/passwd", "passwd"),
                           ("C:\\\\dir\\\\b.txt", "b.txt"), ("..", "unknown_file"), ("100%25.csv", "100%25.csv"), ("a%0D%0Ab.txt", "a  b.txt"),
                           ("x" * 300 + ".csv", "x" * 251 + ".csv")):
            with self.subTest(sent=sent):
                made = self.oa.put(self.cid, sent.encode(), sent)
                self.assertEqual(made["path"], "/mnt/data/" + path)
                self.assertEqual(self.oa.content(f"{self.files}/{made['id']}/content"), sent.encode())

    def test_directories_are_kept(self):
        self.run_code("import os; os.makedirs('/mnt/data/sub/deep'); open('/mnt/data/sub/deep/x.csv','w').write('1'); os.mkdir('/mnt/data/empty')")
        listed = self.oa.ok("GET", self.files)["data"]
        self.assertEqual([f["path"] for f in listed], ["/mnt/data/sub/deep/x.csv"])
        self.assertEqual(self.oa.content(f"{self.files}/{listed[0]['id']}/content"), b"1")

    def test_bytes_are_the_same(self):
        for size in (0, 1, 64 << 20):
            with self.subTest(size=size):
                data = os.urandom(size)
                made = self.oa.put(self.cid, data, f"{size}.bin", chunked=size > 1)
                self.assertEqual(made["bytes"], size)
                got = self.oa.content(f"{self.files}/{made['id']}/content")
                self.assertEqual(hashlib.sha256(got).digest(), hashlib.sha256(data).digest())

    def test_ranges_and_etags(self):
        made = self.oa.put(self.cid, b"0123456789", "ten.txt")
        path = f"{self.files}/{made['id']}/content"
        whole = self.oa.request("GET", path)
        self.assertEqual(whole.headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertIn('filename="ten.txt"', whole.headers["Content-Disposition"])
        part = self.oa.request("GET", path, headers={"Range": "bytes=2-4"})
        self.assertEqual((part.status, part.body, part.headers["Content-Range"]), (206, b"234", "bytes 2-4/10"))
        same = self.oa.request("GET", path, headers={"If-None-Match": whole.headers["ETag"]})
        self.assertEqual((same.status, same.body), (304, b""))
        head = self.oa.request("HEAD", path)
        self.assertEqual((head.status, head.headers["Content-Length"], head.body), (200, "10", b""))
        self.refuses(self.oa.request("GET", path, headers={"Range": "bytes=99-"}), 416, None, None, "10 bytes")

    def test_who_made_it(self):
        self.oa.put(self.cid, b"mine", "mine.txt")
        self.oa.put(self.cid, b"was mine", "both.txt")
        self.run_code("open('/mnt/data/its.txt','w').write('x'); open('/mnt/data/both.txt','w').write('changed')")
        listed = {f["path"]: f["source"] for f in self.oa.ok("GET", self.files)["data"]}
        self.assertEqual(listed, {"/mnt/data/mine.txt": "user", "/mnt/data/its.txt": "assistant", "/mnt/data/both.txt": "assistant"})

    def test_code_sees_what_was_uploaded_and_not_what_was_deleted(self):
        made = self.oa.put(self.cid, b"41", "n.txt")
        self.run_code("assert open('/mnt/data/n.txt').read() == '41'")
        self.assertEqual(self.oa.ok("DELETE", f"{self.files}/{made['id']}"),
                         {"id": made["id"], "object": "container.file.deleted", "deleted": True})
        self.run_code("import os; assert not os.path.exists('/mnt/data/n.txt')")
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/content")):
            self.refuses(self.oa.request(method, f"{self.files}/{made['id']}{path}"), 404, None, None,
                         f"File {made['id']} not found on container {self.cid}")

    def test_the_same_name_is_a_new_version(self):
        made = self.oa.put(self.cid, b"one", "v.txt")
        self.run_code("open('/mnt/data/v.txt','w').write('two!')")
        after = self.oa.ok("GET", f"{self.files}/{made['id']}")
        self.assertEqual((after["id"], after["path"], after["bytes"], after["created_at"]), (made["id"], made["path"], 4, made["created_at"]))
        self.assertEqual(self.oa.put(self.cid, b"three", "v.txt")["id"], made["id"])
        ws = self.container["workspace_id"]
        self.assertEqual(self.client.get(f"/api/v1/workspaces/{ws}/files/v.txt?version=1").body, b"one")

    def test_a_file_of_another_container(self):
        other = self.oa.container("other")
        made = self.oa.put(other["id"], b"x")
        for path in ("", "/content"):
            self.refuses(self.oa.request("GET", f"{self.files}/{made['id']}{path}"), 404, None, None, f"not found on container {self.cid}")
        self.refuses(self.oa.request("DELETE", f"{self.files}/{made['id']}"), 404, None, None, "not found")
        self.assertEqual(self.oa.content(f"/containers/{other['id']}/files/{made['id']}/content"), b"x")

    def test_only_files_are_shown(self):
        self.run_code("import os; os.symlink('/etc/passwd','/mnt/data/link'); open('/mnt/data/real','w').write('1')\n"
                      "try: os.mkfifo('/mnt/data/pipe')\nexcept OSError: pass")
        self.assertEqual([f["path"] for f in self.oa.ok("GET", self.files)["data"]], ["/mnt/data/real"])

    def test_pages(self):
        made = [self.oa.put(self.cid, str(n).encode(), f"{n:02}.txt")["id"] for n in range(25)]
        listed = self.oa.ok("GET", self.files + "?order=asc&limit=100")["data"]
        ids, times = [f["id"] for f in listed], [f["created_at"] for f in listed]
        self.assertEqual((sorted(ids), times), (sorted(made), sorted(times)))
        self.assertLess(ids.index(made[0]), ids.index(made[-1]))  # those of one millisecond are in any order
        self.assertEqual([f["id"] for f in self.oa.pages(self.files + "?order=asc&limit=10")], ids)
        first = self.oa.ok("GET", self.files)
        self.assertEqual(([f["id"] for f in first["data"]], first["has_more"]), (ids[:4:-1], True))
        gone = first["data"][-1]["id"]
        self.oa.ok("DELETE", f"{self.files}/{gone}")
        rest = self.oa.ok("GET", f"{self.files}?after={gone}")
        self.assertEqual([f["id"] for f in rest["data"]], ids[4::-1])
        self.refuses(self.oa.request("GET", self.files + "?after=cfile_none"), 400, "after", "invalid_value")

    def test_a_container_without_files(self):
        self.assertEqual(self.oa.ok("GET", self.files), {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False})


class Strict(OpenAITest):
    """That a container expires is decided by a function of its own (src/openai/container_life_test.c); here, what follows from it."""

    settings = {"openai.strict_expiry": "on"}

    def test_what_has_not_expired_is_running(self):
        made = self.oa.container(expires_after={"anchor": "last_active_at", "minutes": 1})
        self.assertEqual(self.oa.ok("GET", "/containers/" + made["id"])["status"], "running")
        self.oa.put(made["id"], b"x")

    def test_an_expired_one_is_remembered_and_cannot_be_used(self):
        made = self.oa.container(expires_after={"anchor": "last_active_at", "minutes": 1})
        file = self.oa.put(made["id"], b"x")
        self.age(made["id"], 61)
        shown = self.oa.ok("GET", "/containers/" + made["id"])
        self.assertEqual((shown["status"], shown["name"]), ("expired", "test"))
        self.assertEqual(self.oa.ok("GET", "/containers/" + made["id"])["last_active_at"], shown["last_active_at"])
        for method, path in (("GET", "/files"), ("GET", "/files/" + file["id"]), ("DELETE", "/files/" + file["id"])):
            self.refuses(self.oa.request(method, f"/containers/{made['id']}{path}"), 400, None, None, "Container is expired.")
        self.refuses(self.oa.upload(f"/containers/{made['id']}/files", [("file", "a", b"1")]), 400, None, None, "Container is expired.")
        self.oa.ok("DELETE", "/containers/" + made["id"])

    def age(self, container, seconds):
        """As if it had been used last so many seconds before: the server is stopped, its database told so, and started again."""
        self.oa.close()
        self.client.close()
        self.server.stop()
        with sqlite3.connect(self.server.data + "/data/" + DATABASE) as db:
            changed = db.execute("UPDATE cards SET used = used - ? WHERE id = ?", (seconds * 1_000_000, container)).rowcount
        db.close()
        self.assertEqual(changed, 1)
        self.server.start()


class Lenient(Strict):
    settings = {}

    def test_an_expired_one_is_remembered_and_cannot_be_used(self):
        """Not here: it is as it was."""
        made = self.oa.container(expires_after={"anchor": "last_active_at", "minutes": 1})
        file = self.oa.put(made["id"], b"x")
        self.age(made["id"], 86400)
        self.assertEqual(self.oa.content(f"/containers/{made['id']}/files/{file['id']}/content"), b"x")
        shown = self.oa.ok("GET", "/containers/" + made["id"])
        self.assertEqual(shown["status"], "running")
        self.assertLess(time.time() - shown["last_active_at"], 60)


class Room(OpenAITest):
    """Somebody with a container for every question, and fewer sessions than that."""

    @classmethod
    def setUpClass(cls):
        cls.upstream = Upstream(key=UPSTREAM_KEY)
        cls.settings = {"sessions.per_principal_max": 2, "model.url": cls.upstream.url, "model.key": UPSTREAM_KEY, "model.name": "scripted-1"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.upstream.close()

    def run_code(self, code, container=None):
        tool = {"type": "code_interpreter", "container": container or {"type": "auto"}}
        made = self.oa.ok("POST", "/responses", {"model": "scripted-1", "tools": [tool], "input": "Do it.\n#script\n" + json.dumps([{"code": code}, {"say": "Done."}])})
        call = next(item for item in made["output"] if item["type"] == "code_interpreter_call")
        return call["container_id"], "".join(o["logs"] for o in call["outputs"]), call["x_exec"]

    def test_the_session_that_was_used_least_recently_makes_room(self):
        plain = self.client.session()  # this one is not a container's, and stays
        ids = [self.run_code(f"x = {n}; open('/mnt/data/n.txt', 'w').write('{n}')")[0] for n in range(4)]
        self.assertEqual(len(set(ids)), 4)
        self.assertEqual(self.client.ok("GET", "/api/v1/sessions/" + plain)["status"], "idle")
        _, logs, run = self.run_code("print(x)", ids[3])
        self.assertEqual((logs.strip(), run["end"]), ("3", "ok"))
        _, logs, run = self.run_code("print(open('/mnt/data/n.txt').read(), 'x' in globals())", ids[0])
        self.assertTrue(logs.strip().endswith("\n0 False"), logs)
        self.assertIn("variables", logs)
        self.assertEqual(run["state"], "lost")


if __name__ == "__main__":
    unittest.main()
