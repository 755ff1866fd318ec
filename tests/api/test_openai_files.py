"""Files and uploads at /v1: shapes, fields in any order, expiry, parts, what is forgotten."""
import concurrent.futures
import hashlib
import os
import sqlite3
import time
import unittest

from oa import OpenAI
from test_openai_containers import DATABASE, OpenAITest

HOUR, MONTH = 3600, 30 * 86400


class Files(OpenAITest):
    def test_the_file_before_its_purpose_and_after(self):
        for parts in ([("file", "a.csv", b"1,2"), ("purpose", None, "user_data")], [("purpose", None, "user_data"), ("file", "a.csv", b"1,2")]):
            for chunked in (False, True):
                answer = self.oa.upload("/files", parts, chunked=chunked)
                self.assertEqual(answer.status, 200, answer.body)
                made = answer.json
                self.assertRegex(made["id"], r"^file-[A-Za-z0-9]{40}$")
                self.assertEqual((made["object"], made["bytes"], made["filename"], made["purpose"], made["status"], made["expires_at"]),
                                 ("file", 3, "a.csv", "user_data", "processed", None))
                self.assertLess(abs(made["created_at"] - time.time()), 60)
                self.assertEqual(self.oa.ok("GET", "/files/" + made["id"]), made)

    def test_when_it_expires(self):
        def send(seconds, anchor="created_at"):
            return self.oa.upload("/files", [("file", "a", b"1"), ("expires_after[anchor]", None, anchor),
                                             ("expires_after[seconds]", None, str(seconds)), ("purpose", None, "user_data")])
        for seconds in (HOUR, MONTH):
            made = send(seconds).json
            self.assertEqual(made["expires_at"], made["created_at"] + seconds)
        for seconds in (HOUR - 1, MONTH + 1, -5, "x", ""):
            self.refuses(send(seconds), 400, "expires_after.seconds")
        self.refuses(send(HOUR, "last_active_at"), 400, "expires_after.anchor")
        batch = self.oa.file(b"{}", "b.jsonl", "batch")
        self.assertEqual(batch["expires_at"], batch["created_at"] + MONTH)

    def test_what_is_wrong_is_named_and_nothing_stays(self):
        for parts, param, code in (
            ([("file", "a", b"1")], "purpose", None),
            ([("file", "a", b"1"), ("purpose", None, "fun")], "purpose", None),
            ([("purpose", None, "user_data")], "file", "missing_required_parameter"),
            ([("file", "a", b"1"), ("purpose", None, "user_data"), ("x", None, "1")], "x", "unknown_parameter"),
            ([("file", "a", b"1"), ("file", "b", b"1"), ("purpose", None, "user_data")], "file", "invalid_value"),
            ([("file", "a", b"1"), ("purpose", None, "user_data"), ("purpose", None, "user_data")], None, "invalid_value"),
        ):
            with self.subTest(parts=parts):
                self.refuses(self.oa.upload("/files", parts), 400, param, code)
        self.refuses(self.oa.request("POST", "/files", {"purpose": "user_data"}), 415, None, None, "multipart/form-data")
        kept = {f["id"] for f in self.oa.pages("/files")}
        stored = self.client.ok("GET", "/api/v1/workspaces/.openai-files/files?recursive=true&limit=1000")["data"]
        self.assertEqual({f["path"].split("/")[0] for f in stored if f["kind"] == "file"}, kept)

    def test_a_body_that_ends_early_leaves_nothing(self):
        self.oa.file(b"1")
        data = b'--b\r\nContent-Disposition: form-data; name="file"; filename="cut.bin"\r\n\r\nhalf of it'
        answer = self.oa.request("POST", "/files", raw=data, headers={"Content-Type": "multipart/form-data; boundary=b"})
        self.refuses(answer, 400, None, None, "ends early")
        stored = self.client.ok("GET", "/api/v1/workspaces/.openai-files/files?recursive=true&limit=1000")["data"]
        self.assertEqual([f for f in stored if "cut.bin" in f["path"]], [])

    def test_lists(self):
        person = self.other()
        ids = [person.file(b"1", f"{n}.txt", "vision" if n % 2 else "user_data")["id"] for n in range(11)]
        self.assertEqual([f["id"] for f in person.ok("GET", "/files")["data"]], ids[::-1])
        self.assertEqual([f["id"] for f in person.pages("/files?limit=4&order=asc")], ids)
        self.assertEqual([f["id"] for f in person.pages("/files?limit=2&purpose=vision")], ids[1::2][::-1])
        self.assertEqual([f["id"] for f in person.ok("GET", "/files?purpose=evals")["data"]], [])
        person.ok("DELETE", "/files/" + ids[5])
        self.assertEqual([f["id"] for f in person.pages("/files?limit=3&order=asc&after=" + ids[5])], ids[6:])

    def test_bytes_are_the_same(self):
        for size in (0, 1, 3_000_017):
            data = os.urandom(size)
            made = self.oa.file(data, "r.bin", chunked=True)
            self.assertEqual(made["bytes"], size)
            got = self.oa.content(f"/files/{made['id']}/content")
            self.assertEqual(hashlib.sha256(got).hexdigest(), hashlib.sha256(data).hexdigest())

    def test_names_and_types(self):
        made = self.oa.file(b"{}", "Ünï 数据.json")
        self.assertEqual(made["filename"], "Ünï 数据.json")
        answer = self.oa.request("GET", f"/files/{made['id']}/content")
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertIn("filename*=UTF-8''%C3%9Cn%C3%AF%20%E6%95%B0%E6%8D%AE.json", answer.headers["Content-Disposition"])
        part = self.oa.request("GET", f"/files/{made['id']}/content", headers={"Range": "bytes=1-"})
        self.assertEqual((part.status, part.body), (206, b"}"))

    def test_deleted_is_gone_and_copies_stay(self):
        made = self.oa.file(b"kept", "kept.txt")
        container = self.oa.container(file_ids=[made["id"]])
        copy = self.oa.ok("GET", f"/containers/{container['id']}/files")["data"][0]
        self.assertEqual(self.oa.ok("DELETE", "/files/" + made["id"]), {"id": made["id"], "object": "file", "deleted": True})
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/content")):
            self.refuses(self.oa.request(method, f"/files/{made['id']}{path}"), 404, "id", None, "No such File object: " + made["id"])
        self.assertEqual(self.oa.content(f"/containers/{container['id']}/files/{copy['id']}/content"), b"kept")
        trash = self.client.ok("GET", "/api/v1/workspaces/.openai-files/trash")["data"]
        self.assertEqual([f for f in trash if made["id"] in f["path"]], [])

    def test_they_are_nobody_elses(self):
        made = self.oa.file(b"secret")
        person = self.other()
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/content")):
            self.refuses(person.request(method, f"/files/{made['id']}{path}"), 404, "id", None, "No such File object")
        self.refuses(person.request("POST", "/containers", {"name": "x", "file_ids": [made["id"]]}), 404, "file_ids", None)
        self.assertEqual(person.ok("GET", "/files")["data"], [])

    def test_a_key_that_may_only_read(self):
        made = self.oa.file(b"1")
        key = self.client.ok("POST", "/api/v1/keys", {"name": "reader", "scopes": ["files:read"]}, 201)["secret"]
        reader = OpenAI(self.server, key)
        self.assertEqual(reader.content(f"/files/{made['id']}/content"), b"1")
        self.refuses(reader.request("DELETE", "/files/" + made["id"]), 403, None, "insufficient_permissions")
        self.refuses(reader.upload("/files", [("file", "a", b"1"), ("purpose", None, "user_data")]), 403, None, "insufficient_permissions")
        self.refuses(reader.request("POST", "/containers", {"name": "a"}), 403, None, "insufficient_permissions")

    def test_a_key_that_may_only_write(self):
        person = self.client.ok("POST", "/api/v1/principals", {"name": "brings"}, 201)["id"]
        writer = OpenAI(self.server, self.client.ok("POST", "/api/v1/keys", {"principal": person, "scopes": ["files:write"]}, 201)["secret"])
        made = writer.file(b"brought", "a.txt")
        upload = writer.ok("POST", "/uploads", {"filename": "b.txt", "bytes": 3, "mime_type": "text/plain", "purpose": "user_data"})
        part = writer.upload(f"/uploads/{upload['id']}/parts", [("data", "x", b"abc")])
        self.assertEqual(part.status, 200, part.body)
        self.refuses(writer.request("GET", "/files/" + made["id"]), 403, None, "insufficient_permissions")
        reader = OpenAI(self.server, self.client.ok("POST", "/api/v1/keys", {"principal": person, "scopes": ["files:read"]}, 201)["secret"])
        self.assertEqual(reader.content(f"/files/{made['id']}/content"), b"brought")

    def test_many_at_once_by_somebody_who_has_none_yet(self):
        key = self.other().key

        def one(n):
            client = OpenAI(self.server, key)
            made = client.file(str(n).encode() * 1000, f"{n}.txt")
            got = client.content(f"/files/{made['id']}/content")
            client.close()
            return got == str(n).encode() * 1000
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(one, range(40))))


class Quota(OpenAITest):
    def test_too_much_is_told_as_such_and_not_to_be_repeated(self):
        container = self.oa.container()
        ws = container["workspace_id"]
        self.client.ok("PATCH", f"/api/v1/workspaces/{ws}", {"quota": {"bytes": 1000}})
        answer = self.oa.upload(f"/containers/{container['id']}/files", [("file", "big", b"x" * 5000)])
        error = self.refuses(answer, 429, None, "insufficient_quota")
        self.assertEqual(error["type"], "insufficient_quota")
        self.assertEqual(answer.headers["x-should-retry"], "false")


class Uploads(OpenAITest):
    def begin(self, size, name="big.csv", **more):
        return self.oa.ok("POST", "/uploads", {"filename": name, "purpose": "user_data", "bytes": size, "mime_type": "text/csv", **more})

    def part(self, upload, data, client=None):
        answer = (client or self.oa).upload(f"/uploads/{upload}/parts", [("data", "blob", data)], chunked=True)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual((answer.json["object"], answer.json["upload_id"]), ("upload.part", upload))
        return answer.json["id"]

    def stored(self):
        rows = self.client.ok("GET", "/api/v1/workspaces/.openai-files/files?recursive=true&limit=1000")["data"]
        return [f["path"] for f in rows if f["kind"] == "file" and f["path"].startswith(".uploads/")]

    def test_parts_out_of_order_and_at_once(self):
        pieces = [os.urandom(n) for n in (5 << 20, 1, 700_001)]
        whole = b"".join(pieces)
        upload = self.begin(len(whole), "dir/big.csv", expires_after={"anchor": "created_at", "seconds": HOUR})
        self.assertEqual((upload["status"], upload["bytes"], upload["filename"], upload["file"]), ("pending", len(whole), "big.csv", None))
        self.assertEqual(upload["expires_at"], upload["created_at"] + HOUR)

        def send(n):
            client = OpenAI(self.server)
            made = self.part(upload["id"], pieces[n], client)
            client.close()
            return made
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            ids = dict(zip((2, 0, 1), pool.map(send, (2, 0, 1))))
        body = {"part_ids": [ids[0], ids[1], ids[2]], "md5": hashlib.md5(whole).hexdigest().upper()}
        done = self.oa.ok("POST", f"/uploads/{upload['id']}/complete", body)
        self.assertEqual(done["status"], "completed")
        file = done["file"]
        self.assertEqual((file["bytes"], file["filename"], file["purpose"]), (len(whole), "big.csv", "user_data"))
        self.assertEqual(file["expires_at"], file["created_at"] + HOUR)
        self.assertEqual(self.oa.content(f"/files/{file['id']}/content"), whole)
        self.assertEqual([p for p in self.stored() if upload["id"] in p], [])
        again = self.oa.ok("POST", f"/uploads/{upload['id']}/complete", body)
        self.assertEqual(again["file"]["id"], file["id"])
        self.refuses(self.oa.upload(f"/uploads/{upload['id']}/parts", [("data", "blob", b"1")]), 400, None, None, "completed")
        self.refuses(self.oa.request("POST", f"/uploads/{upload['id']}/cancel"), 400, None, None, "completed")

    def test_the_order_that_is_said_counts(self):
        upload = self.begin(4)
        a, b = self.part(upload["id"], b"AA"), self.part(upload["id"], b"bb")
        done = self.oa.ok("POST", f"/uploads/{upload['id']}/complete", {"part_ids": [b, a]})
        self.assertEqual(self.oa.content(f"/files/{done['file']['id']}/content"), b"bbAA")

    def test_another_size_than_announced(self):
        upload = self.begin(5)
        part = self.part(upload["id"], b"1234")
        answer = self.oa.request("POST", f"/uploads/{upload['id']}/complete", {"part_ids": [part]})
        self.refuses(answer, 400, "part_ids", "invalid_value", "4 bytes together")
        more = self.part(upload["id"], b"5")
        self.assertEqual(self.oa.ok("POST", f"/uploads/{upload['id']}/complete", {"part_ids": [part, more]})["status"], "completed")

    def test_another_md5_than_announced(self):
        before = len(self.oa.pages("/files"))
        upload = self.begin(4)
        part = self.part(upload["id"], b"1234")
        answer = self.oa.request("POST", f"/uploads/{upload['id']}/complete", {"part_ids": [part], "md5": "0" * 32})
        self.refuses(answer, 400, "md5", "invalid_value", hashlib.md5(b"1234").hexdigest())
        self.assertEqual(len(self.oa.pages("/files")), before)
        good = {"part_ids": [part], "md5": hashlib.md5(b"1234").hexdigest()}
        self.assertEqual(self.oa.ok("POST", f"/uploads/{upload['id']}/complete", good)["status"], "completed")

    def test_cancelled_takes_no_more(self):
        upload = self.begin(4)
        self.part(upload["id"], b"12")
        done = self.oa.ok("POST", f"/uploads/{upload['id']}/cancel")
        self.assertEqual(done["status"], "cancelled")
        self.assertEqual([p for p in self.stored() if upload["id"] in p], [])
        self.refuses(self.oa.upload(f"/uploads/{upload['id']}/parts", [("data", "blob", b"1")]), 400, None, None, "cancelled")
        self.refuses(self.oa.request("POST", f"/uploads/{upload['id']}/complete", {"part_ids": []}), 400, None, None, "cancelled")

    def test_what_is_wrong_is_named(self):
        good = {"filename": "a", "purpose": "user_data", "bytes": 1, "mime_type": "text/csv"}
        for change, param in (({"filename": None}, "filename"), ({"purpose": "fun"}, "purpose"), ({"bytes": -1}, "bytes"), ({"bytes": "1"}, "bytes"),
                              ({"bytes": (8 << 30) + 1}, "bytes"), ({"expires_after": {"anchor": "created_at", "seconds": 1}}, "expires_after.seconds"),
                              ({"extra": 1}, "extra")):
            with self.subTest(change=change):
                answer = self.oa.request("POST", "/uploads", {**good, **change})
                self.assertEqual((answer.status, answer.json["error"]["param"]), (400, param), answer.body)
        for name in good:
            answer = self.oa.request("POST", "/uploads", {k: v for k, v in good.items() if k != name})
            self.refuses(answer, 400, name, "missing_required_parameter")
        upload = self.begin(1)["id"]
        self.refuses(self.oa.request("POST", f"/uploads/{upload}/complete", {}), 400, "part_ids", "missing_required_parameter")
        self.refuses(self.oa.request("POST", f"/uploads/{upload}/complete", {"part_ids": ["part_x"]}), 400, "part_ids", "invalid_value")
        self.refuses(self.oa.upload(f"/uploads/{upload}/parts", [("file", "x", b"1")]), 400, "file", "unknown_parameter")
        self.refuses(self.oa.upload(f"/uploads/{upload}/parts", []), 400, "data", "missing_required_parameter")
        self.refuses(self.oa.request("POST", "/uploads/upload_none/cancel"), 404, None, None, "Upload not found")
        self.refuses(self.oa.request("GET", f"/uploads/{upload}/parts"), 405, None, "method_not_supported")

    def test_a_part_of_another_upload(self):
        one, two = self.begin(1), self.begin(1)
        part = self.part(one["id"], b"1")
        self.refuses(self.oa.request("POST", f"/uploads/{two['id']}/complete", {"part_ids": [part]}), 400, "part_ids", "invalid_value")

    def test_a_part_of_64_mb_and_one_more_byte(self):
        upload = self.begin(64 << 20)
        self.part(upload["id"], bytes(64 << 20))
        answer = self.oa.upload(f"/uploads/{upload['id']}/parts", [("data", "blob", bytes((64 << 20) + 1))])
        self.refuses(answer, 413, "data", None, "64 MB")

    def test_those_that_have_ended_make_room(self):
        wish = {"filename": "a", "purpose": "user_data", "bytes": 0, "mime_type": "text/plain"}
        person = self.other()
        made = [person.ok("POST", "/uploads", wish)["id"] for _ in range(1000)]
        self.refuses(person.request("POST", "/uploads", wish), 429, None, "insufficient_quota")
        for upload in made[1:51]:
            person.ok("POST", f"/uploads/{upload}/cancel")
        more = [person.ok("POST", "/uploads", wish)["id"] for _ in range(50)]
        self.refuses(person.request("POST", "/uploads", wish), 429, None, "insufficient_quota")
        for upload in (made[0], made[51], made[999], more[0]):
            self.assertEqual(person.ok("POST", f"/uploads/{upload}/complete", {"part_ids": []})["status"], "completed")

    def test_two_who_complete_it_make_one_file(self):
        data = os.urandom(8 << 20)
        upload = self.begin(len(data))
        part = self.part(upload["id"], data)
        before = len(self.oa.pages("/files"))

        def complete(_):
            client = OpenAI(self.server)
            answer = client.request("POST", f"/uploads/{upload['id']}/complete", {"part_ids": [part]})
            client.close()
            self.assertIn(answer.status, (200, 409))
            if answer.status == 409:
                self.assertEqual(answer.headers["x-should-retry"], "false")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(complete, range(4)))
        self.assertEqual(len(self.oa.pages("/files")), before + 1)

    def test_survives_the_server(self):
        upload = self.begin(6)
        one = self.part(upload["id"], b"abc")
        self.oa.close()
        self.client.close()
        self.server.stop()
        self.server.start()
        two = self.part(upload["id"], b"def")
        done = self.oa.ok("POST", f"/uploads/{upload['id']}/complete", {"part_ids": [one, two]})
        self.assertEqual(self.oa.content(f"/files/{done['file']['id']}/content"), b"abcdef")


class Expiry(OpenAITest):
    """The clock cannot be moved, so the database is: what is to happen in an hour happened an hour ago."""

    def age(self, card, seconds):
        self.oa.close()
        self.client.close()
        self.server.stop()
        db = sqlite3.connect(self.server.data + "/data/" + DATABASE)
        with db:
            changed = db.execute("UPDATE cards SET expires = expires - ? WHERE id = ? AND expires > 0", (seconds * 1_000_000, card)).rowcount
        db.close()
        self.assertEqual(changed, 1)
        self.server.start()

    def test_a_file_whose_time_is_over_is_gone_and_forgotten(self):
        made = self.oa.upload("/files", [("file", "old.txt", b"old"), ("purpose", None, "user_data"), ("expires_after[anchor]", None, "created_at"),
                                         ("expires_after[seconds]", None, "3600")]).json
        self.age(made["id"], HOUR + 1)
        self.refuses(self.oa.request("GET", "/files/" + made["id"]), 404, "id", None, "No such File object")
        self.refuses(self.oa.request("GET", f"/files/{made['id']}/content"), 404, "id")
        self.assertNotIn(made["id"], [f["id"] for f in self.oa.pages("/files")])

    def test_an_upload_that_nobody_completed(self):
        upload = self.oa.ok("POST", "/uploads", {"filename": "a", "purpose": "user_data", "bytes": 1, "mime_type": "text/plain"})
        part = self.oa.upload(f"/uploads/{upload['id']}/parts", [("data", "blob", b"1")]).json["id"]
        self.age(upload["id"], HOUR - 60)
        self.assertEqual(self.oa.upload(f"/uploads/{upload['id']}/parts", [("data", "blob", b"1")]).status, 200)
        self.age(upload["id"], 61)
        for path, body in (("complete", {"part_ids": [part]}), ("cancel", None)):
            self.refuses(self.oa.request("POST", f"/uploads/{upload['id']}/{path}", body), 400, None, None, "is expired")
        self.refuses(self.oa.upload(f"/uploads/{upload['id']}/parts", [("data", "blob", b"1")]), 400, None, None, "is expired")


if __name__ == "__main__":
    unittest.main()
