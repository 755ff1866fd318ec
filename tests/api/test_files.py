"""Files: put, get, list, delete, and what a path may be."""
import concurrent.futures
import email.utils
import re
import socket
import unittest

from base import KEY, Client, eventually
from files import WORKSPACES, FilesTest, noise, quoted, sha256


class Files(FilesTest):
    def test_a_file_is_put_shown_and_got(self):
        answer = self.put("data/a.csv", b"x,y\n1,2\n")
        self.assertEqual(answer.status, 201)
        made = self.valid("File", answer.json)
        me = self.client.ok("GET", "/api/v1/principals/me")
        self.assertEqual((made["path"], made["kind"], made["version"], made["size"]), ("data/a.csv", "file", 1, 8))
        self.assertEqual((made["mime"], made["change"], made["sha256"]), ("text/csv", "created", sha256(b"x,y\n1,2\n")))
        self.assertEqual(made["author"]["principal_id"], me["id"])
        self.assertEqual(answer.headers["ETag"], made["etag"])
        self.assertEqual(made["etag"], f'"{made["id"]}:1"')
        self.assertEqual(self.stat("data/a.csv"), made)
        got = self.client.get(made["url"])
        self.assertEqual((got.status, got.body), (200, b"x,y\n1,2\n"))
        self.assertEqual(self.data("data/a.csv"), b"x,y\n1,2\n")

    def test_putting_again_makes_a_version_unless_it_is_the_same(self):
        first = self.make("a.txt", b"one")
        answer = self.put("a.txt", b"two")
        self.assertEqual((answer.status, answer.json["version"], answer.json["change"]), (200, 2, "modified"))
        self.assertEqual(answer.json["id"], first["id"])
        self.assertEqual(answer.json["created_at"], first["created_at"])
        answer = self.put("a.txt", b"two")
        self.assertEqual((answer.status, answer.json["version"]), (200, 2))
        self.assertEqual([v["version"] for v in self.versions("a.txt")], [2, 1])
        self.assertEqual(self.data("a.txt", "?version=1"), b"one")
        self.assertEqual(self.stat("a.txt", "&version=1")["size"], 3)
        self.assertEqual(self.stat("a.txt", "&version=1")["etag"], first["etag"])
        self.fails(self.get("a.txt", "?version=3"), 404, "not_found")
        for wrong in "0", "-1", "x", "99999999999999999999", "1.5", "":
            self.fails(self.get("a.txt", "?version=" + wrong), 400, "invalid_request")

    def test_headers_of_a_download(self):
        made = self.make("plots/a b.png", b"\x89PNG")
        got = self.get("plots/a b.png")
        self.assertEqual(got.headers["Content-Type"], "image/png")
        self.assertEqual(got.headers["Content-Disposition"], 'attachment; filename="a b.png"')
        self.assertEqual(got.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(got.headers["Cache-Control"], "private, no-cache")
        self.assertEqual((got.headers["ETag"], got.headers["X-File-Version"]), (made["etag"], "1"))
        self.assertEqual(got.headers["Accept-Ranges"], "bytes")
        self.assertIsNotNone(email.utils.parsedate_to_datetime(got.headers["Last-Modified"]))
        self.assertNotIn("Content-Security-Policy", got.headers)
        got = self.get("plots/a b.png", "?version=1")
        self.assertEqual(got.headers["Cache-Control"], "private, max-age=31536000, immutable")
        self.assertEqual(self.get("plots/a b.png", "?inline").headers["Content-Disposition"], 'inline; filename="a b.png"')
        self.make("Größe.txt")
        got = self.get("Größe.txt")
        self.assertEqual(got.headers["Content-Disposition"], "attachment; filename=\"Gr__e.txt\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.txt")
        self.assertEqual(got.headers["Content-Type"], "text/plain; charset=utf-8")

    def test_what_could_run_code_cannot(self):
        policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
        for path in "a.html", "b.HTM", "c.svg", "d.xml":
            self.make(path, b"<svg onload='alert(1)'/>")
            got = self.get(path, "?inline")
            self.assertEqual(got.headers["Content-Security-Policy"], policy, path)
            self.assertTrue(got.headers["Content-Disposition"].startswith("inline"))
            self.assertTrue(self.get(path).headers["Content-Disposition"].startswith("attachment"))
        self.make("e.txt", b"<html>")
        self.assertNotIn("Content-Security-Policy", self.get("e.txt", "?inline").headers)

    def test_head_is_get_without_the_bytes(self):
        self.make("a.bin", noise(5000))
        got = self.get("a.bin")
        head = self.client.request("HEAD", self.at("a.bin"))
        self.assertEqual((head.status, head.body), (200, b""))
        for name in "Content-Length", "ETag", "Content-Type", "Content-Disposition", "Last-Modified":
            self.assertEqual(head.headers[name], got.headers[name])
        self.assertEqual(self.client.request("HEAD", self.at("b.bin")).status, 404)
        head = self.client.request("HEAD", self.at("a.bin"), headers={"Range": "bytes=0-9"})
        self.assertEqual((head.status, head.headers["Content-Length"]), (206, "10"))

    def test_an_empty_file(self):
        made = self.make("empty", b"")
        self.assertEqual((made["size"], made["sha256"]), (0, sha256(b"")))
        self.assertEqual(self.data("empty"), b"")
        self.assertEqual(self.get("empty", Range="bytes=0-").status, 416)
        self.assertEqual(self.put("empty", b"now it is not").json["version"], 2)

    def test_ranges(self):
        data = noise(700_000)
        self.make("a.bin", data)
        for wanted, first, last in (("0-0", 0, 0), ("0-699999", 0, 699_999), ("262143-262145", 262_143, 262_145), ("699999-", 699_999, 699_999),
                                    ("-5", 699_995, 699_999), ("100-9999999999", 100, 699_999), ("-9999999", 0, 699_999)):
            got = self.get("a.bin", Range="bytes=" + wanted)
            self.assertEqual(got.status, 206, wanted)
            self.assertEqual(got.headers["Content-Range"], f"bytes {first}-{last}/700000")
            self.assertEqual(got.body, data[first:last + 1])
        got = self.fails(self.get("a.bin", Range="bytes=700000-"), 416, "range_not_satisfiable")
        self.assertEqual(got.headers["Content-Range"], "bytes */700000")
        for whole in "bytes=1-2,5-6", "bytes=5-2", "bytes=a-b", "lines=1-2", "bytes":
            self.assertEqual(len(self.get("a.bin", Range=whole).body), 700_000, whole)

    def test_a_range_of_another_version_is_the_whole(self):
        one = self.make("a.txt", b"0123456789")
        got = self.get("a.txt", Range="bytes=2-3", If_Range=one["etag"])
        self.assertEqual((got.status, got.body), (206, b"23"))
        self.make("a.txt", b"abcdefghij")
        for other in one["etag"], 'W/"x"', "*", "Sat, 29 Oct 1994 19:43:31 GMT":
            got = self.get("a.txt", Range="bytes=2-3", If_Range=other)
            self.assertEqual((got.status, got.body), (200, b"abcdefghij"), other)

    def test_what_somebody_has_is_not_sent_again(self):
        one = self.make("a.txt", b"one")
        for have in one["etag"], "W/" + one["etag"], '"x", ' + one["etag"], "*":
            got = self.get("a.txt", If_None_Match=have)
            self.assertEqual((got.status, got.body), (304, b""), have)
            self.assertEqual(got.headers["ETag"], one["etag"])
        self.make("a.txt", b"two")
        self.assertEqual(self.get("a.txt", If_None_Match=one["etag"]).body, b"two")
        self.assertEqual(self.get("a.txt", "?version=1", If_None_Match=one["etag"]).status, 304)
        self.fails(self.get("a.txt", If_Match=one["etag"]), 412, "precondition_failed")

    def test_if_match(self):
        self.fails(self.put("a.txt", b"x", If_Match='"file_x:1"'), 412, "precondition_failed")
        self.fails(self.put("a.txt", b"x", If_Match="*"), 412, "precondition_failed")
        one = self.make("a.txt", b"one", If_None_Match="*")
        self.fails(self.put("a.txt", b"x", If_None_Match="*"), 412, "precondition_failed")
        self.fails(self.put("a.txt", b"x", If_None_Match=one["etag"]), 412, "precondition_failed")
        two = self.make("a.txt", b"two", If_Match=one["etag"])
        answer = self.fails(self.put("a.txt", b"x", If_Match=one["etag"]), 412, "precondition_failed")
        self.assertIn("version 2", answer.json["error"]["message"])
        self.fails(self.put("a.txt", b"x", If_Match="W/" + two["etag"]), 412, "precondition_failed")
        self.make("a.txt", b"three", If_Match=f'"x", {two["etag"]}')
        self.make("a.txt", b"four", If_Match="*")
        self.fails(self.client.request("DELETE", self.at("a.txt"), headers={"If-Match": two["etag"]}), 412, "precondition_failed")
        self.assertEqual(self.data("a.txt"), b"four")
        now = self.stat("a.txt")["etag"]
        self.assertEqual(self.client.request("DELETE", self.at("a.txt"), headers={"If-Match": now}).status, 204)
        self.make("a.txt", b"five", If_None_Match="*")

    def test_of_many_with_the_same_etag_one_wins(self):
        etag = self.make("a.txt", b"0")["etag"]
        clients = [Client(self.server) for _ in range(8)]
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            for turn in range(25):
                answers = list(pool.map(lambda i: self.put("a.txt", f"{turn} {i}".encode(), clients[i], If_Match=etag), range(len(clients))))
                winners = [a for a in answers if a.status == 200]
                self.assertEqual(sorted(a.status for a in answers), [200] + [412] * (len(clients) - 1))
                etag = winners[0].json["etag"]
        self.assertEqual(self.stat("a.txt")["version"], 26)
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            answers = list(pool.map(lambda i: self.put("new.txt", b"%d" % i, clients[i], If_None_Match="*").status, range(len(clients))))
        self.assertEqual(sorted(answers), [201] + [412] * (len(clients) - 1))
        for client in clients:
            client.close()

    def test_the_announced_hash_is_checked(self):
        self.make("a", b"abc", X_Content_SHA256=sha256(b"abc"))
        self.make("b", b"abc", X_Content_SHA256=sha256(b"abc").upper())
        for wrong in sha256(b"abd"), "", "abc", sha256(b"abc") + "0":
            answer = self.fails(self.put("c", b"abc", X_Content_SHA256=wrong), 400, "invalid_request")
            self.assertIn("SHA-256", answer.json["error"]["message"])
        self.assertEqual(self.get("c").status, 404)

    def test_bytes_come_back_as_they_went(self):
        for size in 1, 4095, 65536, 262143, 262144, 262145, 1_500_000:
            data = noise(size, size)
            self.assertEqual(self.make("n.bin", data)["sha256"], sha256(data))
            self.assertEqual(self.data("n.bin"), data)
        every = bytes(range(256)) * 50
        self.make("every", every)
        self.assertEqual(self.data("every"), every)

    def test_chunked_bodies(self):
        def pieces():
            for i in range(50):
                yield b"%d," % i * 1000
        whole = b"".join(pieces())
        self.client.connection = self.client.connect()
        self.client.connection.request("PUT", self.at("chunked"), pieces(), {"Authorization": "Bearer " + KEY}, encode_chunked=True)
        response = self.client.connection.getresponse()
        self.assertEqual((response.status, b'"size":%d' % len(whole) in response.read()), (201, True))
        self.assertEqual(self.data("chunked"), whole)

    def test_any_content_type_is_taken(self):
        for kind in "application/json", "text/html", "application/x-www-form-urlencoded", "nonsense":
            self.assertEqual(self.put("a", kind.encode(), Content_Type=kind).status // 100, 2)
        self.fails(self.put("a", b"x", Content_Range="bytes 0-0/5"), 400, "invalid_request")
        self.make("b.json", b'{"a": 1}')
        self.assertEqual(self.get("b.json").headers["Content-Type"], "application/json")


class Raw(FilesTest):
    """What http.client is too polite for."""

    def send(self, head, body=b""):
        s = socket.create_connection(self.server.address, timeout=30)
        self.addCleanup(s.close)
        s.sendall(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
        return s

    def head(self, path, *lines):
        return "\n".join([f"PUT {self.at(path)} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {KEY}", *lines]) + "\n"

    def answer(self, s):
        got = b""
        while b"\r\n\r\n" not in got:
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
        return got

    def test_a_client_that_leaves_leaves_nothing(self):
        size = 3_000_000
        s = self.send(self.head("gone.bin", f"Content-Length: {size}"), noise(size // 2))
        s.close()
        s = self.send(self.head("gone2.bin", "Transfer-Encoding: chunked"), b"5\r\nhello\r\n")
        s.close()
        eventually(lambda: len(re.findall("op=putFile.*client_gone", self.server.log())) >= 2)
        self.assertEqual(self.paths(recursive=1), [])
        self.assertEqual(self.client.ok("GET", self.ws)["rev"], 0)

    def test_a_body_that_is_not_wanted_is_not_asked_for(self):
        made = self.make("a.txt", b"one")
        for lines, status in ((['If-None-Match: *'], b"412"), (['If-Match: "x:9"'], b"412"), (["Authorization: Bearer x" + KEY[1:]], None)):
            if status is None:
                continue
            s = self.send(self.head("a.txt", "Content-Length: 1000000000", "Expect: 100-continue", *lines))
            got = self.answer(s)
            self.assertTrue(got.startswith(b"HTTP/1.1 " + status), got)
        s = self.send(self.head("b/../c", "Content-Length: 1000000000", "Expect: 100-continue"))
        self.assertTrue(self.answer(s).startswith(b"HTTP/1.1 400"))
        s = self.send(self.head("huge", f"Content-Length: {1 << 50}", "Expect: 100-continue"))
        self.assertTrue(self.answer(s).startswith(b"HTTP/1.1 413"))
        self.client.ok("PATCH", self.ws, {"quota": {"bytes": 1_000_000}})
        s = self.send(self.head("big", "Content-Length: 1000001", "Expect: 100-continue"))
        self.assertTrue(self.answer(s).startswith(b"HTTP/1.1 507"))
        s = self.send(self.head("small", "Content-Length: 5", "Expect: 100-continue"))
        self.assertTrue(self.answer(s).startswith(b"HTTP/1.1 100 "))
        s.sendall(b"hello")
        self.assertTrue(self.answer(s).startswith(b"HTTP/1.1 201"))
        self.assertEqual(self.stat("a.txt"), made)

    def test_hostile_paths(self):
        self.make("a/b.txt")
        for path in ("..", ".", "a/../b", "%2e%2e/x", "%2E%2E%2fx", "a/%2e%2e/%2e%2e/etc/passwd", "a//b", "./a", "a/./b", "a/..", "%ff", "a%c3", "%c0%af",
                     "%ed%a0%80", "a%0ab", "a%01", "a%7f", "%c2%85", "x" * 256, "x/" * 33 + "y", "/".join(["y" * 200] * 6), "z" * 2000):
            for method in "GET", "PUT", "DELETE", "HEAD":
                answer = self.client.request(method, f"{self.ws}/files/{path}", raw=b"x" if method == "PUT" else None)
                self.assertEqual(answer.status, 400, (method, path, answer.body))
        for path in "%00", "a%00b", "a%", "a%2", "a%zz":
            self.assertIn(self.client.request("PUT", f"{self.ws}/files/{path}", raw=b"x").status, (400, 404), path)
        self.assertEqual(self.client.request("PUT", f"{self.ws}/files/{'z' * 7000}", raw=b"x").status, 404)
        self.assertEqual(self.client.request("PUT", f"{self.ws}/files/", raw=b"x").status, 404)
        for path in "..", "a/../b", "a\0b", "", "/", "x" * 256, "a\nb", "\ud800", "x" * 2000, "x" * 100_000:
            for what in ({"path": path}, ), ({"from": "a/b.txt", "to": path}, ), ({"from": path, "to": "q"}, ):
                name = "mkdir" if "path" in what[0] else "move"
                answer = self.client.post(f"{self.ws}/{name}", what[0])
                self.assertEqual(answer.status, 400, (what, answer.body))
        self.assertEqual(self.paths(recursive=1), ["a/b.txt"])

    def test_paths_that_are_only_odd(self):
        odd = ["a b", "ü/é.txt", "c\\d", "..a", "a..", "...", "-rf", "100%", "a+b&c=d", "#x?y", "日本/語.csv", "'\";<>|*", "%2e", "~", "x" * 255,
               "/".join(["d"] * 32), ".hidden", "e\u0301", " lead", "trail "]
        for path in odd:
            self.make(path, path.encode())
        for path in odd:
            self.assertEqual(self.data(path), path.encode(), path)
            shown = self.stat(path)
            self.assertEqual(shown["path"], path)
            self.assertEqual(self.client.get(shown["url"]).body, path.encode())
        self.assertEqual(sorted(self.paths(recursive=1)), sorted(odd))
        self.make("/mnt/data/lead.txt")
        self.assertEqual(self.client.get(f"{self.ws}/files/%2Fmnt%2Fdata%2Flead.txt").status, 200)
        self.assertEqual(self.stat("lead.txt")["path"], "lead.txt")


class Lists(FilesTest):
    def test_a_list_is_flat_or_not(self):
        for path in "b.txt", "a/1.txt", "a/2.txt", "a/deep/3.txt", "c/d/e.csv", "ab.txt":
            self.make(path)
        self.do("mkdir", 201, path="empty")
        self.assertEqual(self.paths(), ["a", "ab.txt", "b.txt", "c", "empty"])
        kinds = {f["path"]: f["kind"] for f in self.list()["data"]}
        self.assertEqual(kinds, {"a": "directory", "ab.txt": "file", "b.txt": "file", "c": "directory", "empty": "directory"})
        self.assertEqual(self.paths(prefix="a/"), ["a/1.txt", "a/2.txt", "a/deep"])
        self.assertEqual(self.paths(prefix="/a/"), ["a/1.txt", "a/2.txt", "a/deep"])
        self.assertEqual(self.paths(prefix="a/", recursive="true"), ["a/1.txt", "a/2.txt", "a/deep/3.txt"])
        self.assertEqual(self.paths(recursive=1), ["a/1.txt", "a/2.txt", "a/deep/3.txt", "ab.txt", "b.txt", "c/d/e.csv", "empty"])
        self.assertEqual(self.paths(prefix="nothing/"), [])
        self.assertEqual(self.paths(glob="**.csv"), ["c/d/e.csv"])
        self.assertEqual(self.paths(glob="a/*.txt"), ["a/1.txt", "a/2.txt"])
        self.assertEqual(self.paths(glob="?.txt"), ["b.txt"])
        self.assertEqual(self.paths(glob="**/*.txt", prefix="a/"), ["a/1.txt", "a/2.txt", "a/deep/3.txt"])
        directory = self.stat("a")
        self.assertEqual((directory["kind"], directory["id"], directory["etag"]), ("directory", None, None))
        self.assertEqual(self.stat("empty")["kind"], "directory")
        self.fails(self.get("a"), 409, "conflict")
        self.fails(self.get("a", "?stat&version=1"), 404, "not_found")

    def test_pages(self):
        made = sorted(f"d{i % 3}/f{i:02}.txt" for i in range(25))
        for path in made:
            self.make(path)
        for limit in 1, 7, 24, 25, 26, 1000:
            seen, cursor = [], None
            while True:
                page = self.list(recursive=1, limit=limit, **({"cursor": cursor} if cursor else {}))
                self.assertLessEqual(len(page["data"]), limit)
                seen += [f["path"] for f in page["data"]]
                cursor = page["next_cursor"]
                self.assertEqual(page["has_more"], cursor is not None)
                if not cursor:
                    break
            self.assertEqual(seen, made, limit)
        page = self.list(limit=2)
        self.assertEqual(([f["path"] for f in page["data"]], page["has_more"]), (["d0", "d1"], True))
        self.assertEqual(self.paths(limit=2, cursor=page["next_cursor"]), ["d2"])
        for wrong in "limit=0", "limit=1001", "limit=x", "recursive=maybe", "what=1", "limit=1&limit=2":
            self.fails(self.client.get(f"{self.ws}/files?{wrong}"), 400, "invalid_request")

    def test_default_is_everybodys_own(self):
        mine = self.client.ok("GET", WORKSPACES + "/default")
        self.assertTrue(mine["is_default"])
        self.assertEqual(self.client.ok("GET", "/api/v1/principals/me")["workspace_id"], mine["id"])
        self.client.request("PUT", WORKSPACES + "/default/files/" + quoted("own file"), raw=b"x")
        listed = self.client.ok("GET", f"{WORKSPACES}/{mine['id']}/files")["data"]
        self.assertIn("own file", [f["path"] for f in listed])
        self.assertEqual(self.client.request("DELETE", WORKSPACES + "/default/files/own%20file").status, 204)


if __name__ == "__main__":
    unittest.main()
