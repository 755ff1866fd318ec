"""Locks: nobody else changes what is locked, through whichever door; who is late is refused; both sides are told."""
import concurrent.futures
import io
import pathlib
import re
import signal
import sqlite3
import threading
import time
import zipfile

from base import Client, Server, eventually
from files import WORKSPACES, FilesTest
from test_working import ONE, WorkingTest

AGENTS = 16


def await_busy(client, count):
    """Until so many requests are being worked on besides the question."""
    eventually(lambda: int(re.search(r"^cicada_workers_busy (\d+)", client.get("/metrics").body.decode(), re.M)[1]) > count)


class LocksTest(FilesTest):
    def take(self, path="f", status=201, client=None, **wishes):
        return (client or self.client).ok("POST", self.ws + "/locks", {"path": path, **wishes}, status)

    def token(self, path="f", **wishes):
        return self.take(path, **wishes)["token"]

    def release(self, lock, client=None, status=204):
        return (client or self.client).ok("DELETE", f"{self.ws}/locks/{lock['id']}", status=status, headers={"Lock-Token": lock["token"]})

    def locks(self, query=""):
        return self.client.ok("GET", self.ws + "/locks" + query)["data"]

    def principal(self, name, role=None):
        """A client of somebody else's, who has that role here."""
        made = self.client.ok("POST", "/api/v1/principals", {"name": name}, 201)["id"]
        key = self.client.ok("POST", "/api/v1/keys", {"name": name, "principal": made, "scopes": ["run", "files:read", "files:write"]}, 201)
        if role:
            self.client.ok("PUT", f"{self.ws}/members/{made}", {"role": role})
        other = Client(self.server, key["secret"])
        self.addCleanup(other.close)
        return other

    def locked(self, answer, holder="alice", path="f"):
        self.fails(answer, 423, "locked")
        error = answer.json["error"]
        self.assertIn(holder, error["message"])
        self.assertEqual((error["lock"]["holder"], error["lock"]["path"]), (holder, path))
        self.assertTrue(0 < int(answer.headers["Retry-After"]) <= 3600)
        return answer


class Taking(LocksTest):
    def test_a_lock_is_what_was_asked_for_and_its_token_is_shown_once(self):
        lock = self.take("data/a.csv", holder="alice", ttl_s=120)
        self.assertEqual((lock["path"], lock["holder"], lock["ttl_s"], lock["tree"], lock["shared"], lock["session_id"], lock["conflicts"]),
                         ("data/a.csv", "alice", 120, False, False, None, 0))
        shown = self.client.ok("GET", f"{self.ws}/locks/{lock['id']}")
        self.assertNotIn("token", shown)
        self.assertEqual(shown, {k: v for k, v in lock.items() if k != "token"})
        self.assertEqual(self.locks(), [shown])
        self.assertEqual(self.locks("?path=data"), [shown])
        self.assertEqual(self.locks("?path=other"), [])
        self.release(lock)
        self.assertEqual(self.locks(), [])
        self.fails(self.client.get(f"{self.ws}/locks/{lock['id']}"), 404, "not_found")
        # Who takes one without a name is called by their own.
        self.assertEqual(self.take()["holder"], "admin")

    def test_numbers_grow_with_every_lock(self):
        fences = []
        for _ in range(3):
            lock = self.take()
            fences.append(lock["fence"])
            self.release(lock)
        self.assertEqual(fences, [1, 2, 3])

    def test_what_is_asked_wrongly_is_refused(self):
        for wish in ({"ttl_s": 59}, {"ttl_s": 3601}, {"holder": "x" * 257}, {"holder": ""}, {"holder": "a\nb"}, {"wait_s": 61},
                     {"path": "../x"}, {"path": ""}, {"path": "x" * 5000}):
            self.fails(self.client.post(self.ws + "/locks", {"path": "f", **wish}), 400, "invalid_request")
        self.fails(self.client.post(self.ws + "/locks", {"path": "f", "session": "ses_none"}), 404, "not_found")
        self.make("file")
        self.fails(self.client.post(self.ws + "/locks", {"path": "file/below"}), 409, "conflict")
        self.fails(self.put("f", Lock_Token=",".join("clk_x" for _ in range(17))), 400, "invalid_request")
        for wish in ({"ttl_s": 60}, {"ttl_s": 3600}, {"holder": "x" * 256}, {"path": "", "tree": True}):
            self.release(self.take(**wish))

    def test_two_do_not_get_the_same(self):
        self.take("d/f", holder="alice")
        self.locked(self.client.post(self.ws + "/locks", {"path": "d/f"}), path="d/f")
        self.locked(self.client.post(self.ws + "/locks", {"path": "d/f", "shared": True}), path="d/f")
        self.locked(self.client.post(self.ws + "/locks", {"path": "d", "tree": True}), path="d/f")
        for _ in range(2):
            self.take("s", shared=True, holder="alice")
        self.locked(self.client.post(self.ws + "/locks", {"path": "s"}), path="s")

    def test_it_is_renewed_and_released_by_its_token_only(self):
        lock = self.take(ttl_s=60)
        at = f"{self.ws}/locks/{lock['id']}"
        self.fails(self.client.post(at + "/renew"), 403, "permission_denied")
        self.fails(self.client.post(at + "/renew", headers={"Lock-Token": "clk_wrong"}), 403, "permission_denied")
        self.fails(self.client.request("DELETE", at), 403, "permission_denied")
        self.fails(self.client.post(at + "/renew", {"ttl_s": 59}, headers={"Lock-Token": lock["token"]}), 400, "invalid_request")
        renewed = self.client.ok("POST", at + "/renew", {"ttl_s": 600}, headers={"Lock-Token": f"<opaquelocktoken:{lock['token']}>"})
        self.assertEqual((renewed["ttl_s"], renewed["fence"]), (600, lock["fence"]))
        self.assertGreater(renewed["expires_at"], lock["expires_at"])
        self.assertNotIn("token", renewed)
        self.release(lock)
        self.fails(self.client.post(at + "/renew", headers={"Lock-Token": lock["token"]}), 404, "not_found")

    def test_who_waits_gets_it_when_it_is_released(self):
        lock = self.take()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            def wait():
                client = Client(self.server)
                try:
                    taken = self.take(client=client, wait_s=60)
                    self.release(taken, client)
                    return taken["fence"]
                finally:
                    client.close()
            waiting = [pool.submit(wait) for _ in range(4)]
            self.assertFalse(any(w.done() for w in waiting))
            begun = time.monotonic()
            self.release(lock)
            self.assertEqual(sorted(w.result() for w in waiting), [2, 3, 4, 5])
        self.assertLess(time.monotonic() - begun, 30)
        self.take(holder="alice")
        begun = time.monotonic()
        self.locked(self.client.post(self.ws + "/locks", {"path": "f", "wait_s": 1}))
        self.assertGreaterEqual(time.monotonic() - begun, 1)

    def test_who_hangs_up_while_waiting_gets_none(self):
        lock = self.take()
        gone = Client(self.server).connect()
        gone.request("POST", self.ws + "/locks", '{"path": "f", "wait_s": 60}',
                     {"Authorization": "Bearer " + self.client.key, "Content-Type": "application/json"})
        waiting = Client(self.server)
        self.addCleanup(waiting.close)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            await_busy(self.client, 1)  # so that the one that hangs up is before it in the line
            got = pool.submit(self.take, client=waiting, wait_s=60)
            gone.close()
            self.release(lock)
            self.assertEqual(got.result()["holder"], "admin")
        self.assertEqual(len(self.locks()), 1)


class Doors(LocksTest):
    """Every door, by others, by the holder, and by who is late."""

    def archive(self, path):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            z.writestr(path, b"from an archive")
        return out.getvalue()

    def doors(self):
        """Requests that change d/f, each of which would work: (name, function of headers)."""
        form = b"--b\r\nContent-Disposition: form-data; name=path\r\n\r\nd/f\r\n--b\r\nContent-Disposition: form-data; name=workspace\r\n\r\n" \
            + self.ws.rpartition("/")[2].encode() + b"\r\n--b\r\nContent-Disposition: form-data; name=file; filename=x\r\n\r\nform\r\n--b--\r\n"
        post, request = self.client.post, self.client.request
        signed = self.client.ok("POST", self.ws + "/sign", {"path": "d/f", "method": "PUT"})["url"]

        def complete(headers):
            upload = self.client.ok("POST", self.ws + "/uploads", {"path": "d/f"}, 201)["id"]
            self.client.ok("PUT", f"{self.ws}/uploads/{upload}?offset=0", raw=b"pieces")
            return post(f"{self.ws}/uploads/{upload}/complete", headers=headers)

        def untrash(headers):
            return post(self.ws + "/restore", {"file_id": self.trashed, "path": "d/f"}, headers=headers)

        def edit(what, **body):
            return lambda headers: post(f"{self.ws}/{what}", body, headers=headers)

        return {
            "put": lambda headers: request("PUT", self.at("d/f"), raw=b"put", headers=headers),
            "put the same": lambda headers: request("PUT", self.at("d/f"), raw=b"two", headers=headers),
            "signed put": lambda headers: Client(self.server, None).request("PUT", signed, raw=b"signed", headers=headers),
            "blob": lambda headers: post("/blob", raw=form, headers={"Content-Type": "multipart/form-data; boundary=b", **headers}),
            "upload": complete,
            "import": lambda headers: post(self.ws + "/import", raw=self.archive("d/f"), headers=headers),
            "move away": edit("move", **{"from": "d/f", "to": "g"}),
            "move onto": edit("move", **{"from": "x", "to": "d/f", "overwrite": True}),
            "move the directory": edit("move", **{"from": "d", "to": "e"}),
            "copy onto": edit("copy", **{"from": "x", "to": "d/f", "overwrite": True}),
            "copy a version onto": edit("copy", **{"from": "x", "to": "d/f", "version": 1, "overwrite": True}),
            "restore": edit("restore", path="d/f", version=1),
            "untrash": untrash,
            "delete": lambda headers: request("DELETE", self.at("d/f"), headers=headers),
            "delete the directory": lambda headers: request("DELETE", self.at("d", "?recursive"), headers=headers),
        }

    def fill(self, name):
        for path in self.paths(recursive="true"):
            self.client.request("DELETE", self.at(path))
        self.make("d/f", b"one")
        self.make("d/f", b"two")
        self.make("x", b"x")
        self.make("old " + name, b"old")
        self.trashed = self.stat("old " + name)["id"]
        self.client.ok("DELETE", self.at("old " + name), status=204)
        if name == "untrash":
            self.client.ok("DELETE", self.at("d/f"), status=204)

    def test_others_are_refused_and_who_has_the_token_is_not(self):
        for wish in ({"path": "d/f"}, {"path": "d", "tree": True}, {"path": "", "tree": True}):
            for name in sorted(self.doors()):
                with self.subTest(name, **wish):
                    self.fill(name)
                    before = {p: self.data(p) for p in self.paths(recursive="true")}
                    door = self.doors()[name]
                    lock = self.take(**wish, holder="alice")
                    self.locked(door({}), path=wish["path"])
                    self.fails(door({"Lock-Token": "clk_" + "x" * 40}), 412, "precondition_failed")
                    self.assertEqual({p: self.data(p) for p in self.paths(recursive="true")}, before)
                    answer = door({"Lock-Token": lock["token"]})
                    self.assertIn(answer.status, (200, 201, 204), answer.body)
                    self.release(lock)
                    self.fill(name)
                    self.fails(self.doors()[name]({"Lock-Token": lock["token"]}), 412, "precondition_failed")

    def test_a_token_may_come_in_the_body_of_an_edit(self):
        self.make("a")
        for n, (what, body) in enumerate([("mkdir", {"path": "t/new"}), ("move", {"from": "a", "to": "t/b"}), ("copy", {"from": "t/b", "to": "t/c"}),
                                          ("restore", {"path": "t/b", "version": 1})]):
            lock = self.take("t", tree=True, holder="alice")
            self.locked(self.client.post(f"{self.ws}/{what}", body), path="t")
            self.assertIn(self.client.post(f"{self.ws}/{what}", {**body, "lock_token": lock["token"]}).status, (200, 201), what)
            self.release(lock)

    def test_reading_is_never_refused(self):
        self.make("d/f", b"read me")
        self.take("", tree=True)
        self.assertEqual(self.data("d/f"), b"read me")
        self.assertEqual(self.client.get(self.ws + "/export?format=tar").status, 200)
        self.assertEqual(self.client.ok("POST", self.ws + "/mkdir", {"path": "d"})["path"], "d")  # is there: nothing changes

    def test_a_long_body_is_refused_before_it_is_sent(self):
        self.take(holder="alice")
        connection = self.client.connect()
        self.addCleanup(connection.close)
        connection.putrequest("PUT", self.at("f"))
        for name, value in {"Authorization": "Bearer " + self.client.key, "Content-Length": 1 << 30, "Expect": "100-continue"}.items():
            connection.putheader(name, value)
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 423)

    def test_any_holder_of_shared_locks_may_write(self):
        one, two = (self.take(shared=True, holder="alice") for _ in range(2))
        self.locked(self.put("f"))
        for n, lock in enumerate((one, two)):
            self.make("f", b"%d" % n, Lock_Token=lock["token"])
        self.release(one)
        self.make("f", b"both", Lock_Token=two["token"])
        self.fails(self.put("f", b"late", Lock_Token=one["token"] + "," + two["token"]), 412, "precondition_failed")


class People(LocksTest):
    def test_an_admin_breaks_a_lock_and_an_editor_does_not(self):
        editor, admin, viewer = self.principal("ed", "editor"), self.principal("ad", "admin"), self.principal("vi", "viewer")
        lock = self.take(client=editor)
        self.assertEqual(lock["holder"], "ed")
        at = f"{self.ws}/locks/{lock['id']}"
        for other in (editor, viewer):
            self.fails(other.post(at + "/break"), 403, "permission_denied")
        self.fails(viewer.post(self.ws + "/locks", {"path": "g"}), 403, "permission_denied")
        self.assertEqual(len(viewer.ok("GET", self.ws + "/locks")["data"]), 1)
        self.fails(self.principal("stranger").get(self.ws + "/locks"), 404, "not_found")
        self.locked(admin.request("PUT", self.at("f"), raw=b"x"), "ed")
        admin.ok("POST", at + "/break", status=204)
        self.fails(self.put("f", b"late", client=editor, Lock_Token=lock["token"]), 412, "precondition_failed")
        self.assertEqual(admin.request("PUT", self.at("f"), raw=b"x").status, 201)
        told = {(row["event"], row["result"]): row for row in self.client.ok("GET", self.ws + "/audit?limit=1000")["data"]}
        self.assertEqual(told["breakLock", "ok"]["object"], lock["id"])
        self.assertIn(("takeLock", "ok"), told)
        self.assertIn(("breakLock", "denied"), told)

    def test_only_so_many_are_held(self):
        other = self.principal("many", "editor")
        for n in range(100):
            self.take(f"f{n}", client=other)
        self.fails(other.post(self.ws + "/locks", {"path": "one more"}), 429, "limit_exceeded")
        self.take("one more")


class Appending(LocksTest):
    """What locks are for."""

    def append_all(self, append):
        self.make("log", b"")
        begin = threading.Barrier(AGENTS)

        def agent(number):
            client = Client(self.server)
            try:
                begin.wait()
                for turn in range(4):
                    append(client, b"agent %d turn %d\n" % (number, turn))
            finally:
                client.close()
        with concurrent.futures.ThreadPoolExecutor(AGENTS) as pool:
            for done in [pool.submit(agent, n) for n in range(AGENTS)]:
                done.result()
        self.assertEqual(sorted(self.data("log").splitlines()), sorted(b"agent %d turn %d" % (n, t) for n in range(AGENTS) for t in range(4)))

    def test_agents_that_lock_read_write_and_unlock_lose_no_line(self):
        fences = []

        def append(client, line):
            lock = self.take("log", client=client, wait_s=60)
            fences.append(lock["fence"])
            data = client.get(self.at("log")).body
            client.ok("PUT", self.at("log"), raw=data + line, headers={"Lock-Token": lock["token"]})
            self.release(lock, client)
        self.append_all(append)
        self.assertEqual(fences, sorted(fences))  # in the order in which they had it
        self.assertEqual(len(set(fences)), 4 * AGENTS)

    def test_agents_without_locks_lose_none_by_if_match(self):
        def append(client, line):
            while True:
                now = client.get(self.at("log"))
                answer = client.request("PUT", self.at("log"), raw=now.body + line, headers={"If-Match": now.headers["ETag"]})
                if answer.status == 200:
                    return
                self.assertEqual(answer.status, 412, answer.body)
        self.append_all(append)

    def test_agents_that_forget_the_lock_change_nothing(self):
        """The other half: without it lines would be lost, were they not refused."""
        lock = self.take("log")
        self.make("log", b"kept", Lock_Token=lock["token"])
        with concurrent.futures.ThreadPoolExecutor(AGENTS) as pool:
            tried = [pool.submit(lambda: self.put("log", b"lost", Client(self.server)).status) for _ in range(AGENTS)]
            self.assertEqual({t.result() for t in tried}, {423})
        self.assertEqual(self.data("log"), b"kept")


class Sessions(WorkingTest, LocksTest):
    def test_what_a_run_writes_to_a_locked_file_is_kept_beside_and_both_are_told(self):
        self.make("f.csv", b"theirs")
        self.make("other", b"x")
        self.make("doomed", b"x")
        s = self.session()
        lock = self.take("f.csv", holder="alice")
        doomed = self.take("doomed", holder="bob")
        run = self.run_in(s, "import os; open('f.csv', 'w').write('mine'); open('other', 'w').write('mine'); os.remove('doomed')")
        told = {f["path"]: f for f in run["files"]}
        self.assertEqual(sorted(told), ["f.csv", "other"])
        self.assertNotIn("kept_as", told["other"])
        self.assertRegex(told["f.csv"]["reason"], r"^locked by alice until \d{4}-")
        self.assertEqual((self.data("f.csv"), self.data(told["f.csv"]["kept_as"]), self.data("doomed")), (b"theirs", b"mine", b"x"))
        self.assertEqual([m["path"] for m in run["not_saved"]], ["doomed"])
        self.assertRegex(run["not_saved"][0]["reason"], r"^not deleted: locked by bob until \d{4}-")
        # The holder sees it at the lock, and everybody in what happened.
        self.assertEqual({k["holder"]: k["conflicts"] for k in self.locks()}, {"alice": 1, "bob": 1})
        events = [e for e in self.client.ok("GET", self.ws + "/events?since=0&limit=1000")["data"] if e["type"] == "lockConflict"]
        self.assertEqual({(e["object_id"], e["path"], e["run_id"], e["detail"]["holder"], e["detail"]["kept_as"]) for e in events},
                         {(lock["id"], "f.csv", run["id"], "alice", told["f.csv"]["kept_as"]), (doomed["id"], "doomed", run["id"], "bob", None)})
        self.assertEqual(self.data("f.csv"), b"theirs")
        self.make("f.csv", b"still theirs", Lock_Token=lock["token"])
        # It is in the record of the run, too.
        again = self.client.ok("GET", "/api/v1/runs/" + run["id"])
        self.assertEqual([f.get("reason") for f in again["files"]], [f.get("reason") for f in run["files"]])
        self.release(doomed)

    def test_a_session_gets_past_its_own_lock_and_others_do_not(self):
        self.make("f", b"before")
        s, other = self.session(), self.session()
        lock = self.take("f", session=s, holder="alice")
        self.assertEqual(lock["session_id"], s)
        run = self.run_in(s, "open('f', 'w').write('own'); None")
        self.assertNotIn("kept_as", run["files"][0])
        self.assertEqual(self.data("f"), b"own")
        self.assertIn("kept_as", self.run_in(other, "open('f', 'w').write('other'); None")["files"][0])
        self.locked(self.put("f"))
        self.make("f", b"by token", Lock_Token=lock["token"])

    def test_locks_end_with_their_session(self):
        s = self.session()
        lock = self.take("f", session=s)
        other = self.take("g")
        waiting = Client(self.server)
        self.addCleanup(waiting.close)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            got = pool.submit(self.take, client=waiting, wait_s=60)
            self.client.ok("DELETE", ONE + s, status=204)
            self.release(got.result())
        self.fails(self.put("f", Lock_Token=lock["token"]), 412, "precondition_failed")
        self.assertEqual([k["id"] for k in self.locks()], [other["id"]])
        self.fails(self.client.post(self.ws + "/locks", {"path": "f", "session": s}), 404, "not_found")

    def test_a_session_of_somebody_else_is_none(self):
        s = self.session()
        editor = self.principal("ed", "editor")
        self.fails(editor.post(self.ws + "/locks", {"path": "f", "session": s}), 404, "not_found")
        elsewhere = self.client.session()
        self.addCleanup(lambda: Client(self.server).request("DELETE", ONE + elsewhere))
        self.fails(self.client.post(self.ws + "/locks", {"path": "f", "session": elsewhere}), 404, "not_found")

    def test_everything_is_locked_and_a_run_keeps_what_it_wrote_until_later(self):
        s = self.session()
        lock = self.take("", tree=True, holder="alice")
        run = self.run_in(s, "open('new', 'w').write('mine'); None")
        self.assertEqual(run["files"], [])
        self.assertRegex(run["not_saved"][0]["reason"], "^the workspace is locked by alice until ")
        self.release(lock)
        self.run_in(s, "1")
        self.assertEqual(self.data("new"), b"mine")

    def test_files_that_come_with_a_run_are_refused(self):
        self.take("f", holder="alice")
        answer = self.client.post("/api/v1/runs", {"code": "1", "workspace": self.workspace, "files": [{"path": "f", "content": "x"}]})
        self.assertEqual((answer.status, answer.code), (423, "locked"), answer.body)


class Late(FilesTest):
    """Who oversleeps the end of a lock, also across a restart. The clock is the row in a stopped server's database."""

    def test_an_expired_holder_is_refused_before_and_after_a_restart(self):
        server = Server()
        try:
            client = Client(server)
            ws = WORKSPACES + "/default"
            at = ws + "/files/f"
            client.ok("PUT", at, raw=b"before", status=201)
            locks = {path: client.ok("POST", ws + "/locks", {"path": path, "ttl_s": 60}, 201) for path in ("f", "kept")}
            client.close()
            server.stop(signal.SIGKILL)
            self.expire(server, locks["f"]["id"])
            server.start()
            client = Client(server)
            late = {"Lock-Token": locks["f"]["token"]}
            # Nobody has the path now, and others may write: the one who is late may not.
            self.assertEqual(client.request("PUT", at, raw=b"late", headers=late).status, 412)
            self.assertEqual(client.request("DELETE", f"{ws}/locks/{locks['f']['id']}", headers=late).status, 404)
            client.ok("PUT", at, raw=b"somebody")
            newer = client.ok("POST", ws + "/locks", {"path": "f"}, 201)
            self.assertGreater(newer["fence"], max(k["fence"] for k in locks.values()))
            self.assertEqual(client.request("PUT", at, raw=b"late", headers=late).status, 412)
            # One that has time left holds across the restart.
            self.assertEqual(client.request("PUT", ws + "/files/kept", raw=b"x").status, 423)
            client.ok("PUT", ws + "/files/kept", raw=b"x", status=201, headers={"Lock-Token": locks["kept"]["token"]})
            client.close()
            server.stop(signal.SIGTERM)
            server.start()
            client = Client(server)
            self.assertEqual(client.request("PUT", at, raw=b"late", headers=late).status, 412)
            client.ok("PUT", at, raw=b"newer", headers={"Lock-Token": newer["token"]})
            self.assertEqual(client.get(at).body, b"newer")
            client.close()
        finally:
            server.close()

    def expire(self, server, lock):
        with sqlite3.connect(self.database(server)) as db:
            changed = db.execute("UPDATE locks SET expires = ? WHERE id = ?", (int(time.time() * 1e6) - 1, lock)).rowcount
            self.assertEqual(changed, 1)
        db.close()

    @staticmethod
    def database(server):
        return next(pathlib.Path(server.data, "data").rglob("*.db"))

    def test_a_server_that_stops_keeps_nobody_waiting(self):
        server = Server()
        try:
            client = Client(server)
            client.ok("POST", WORKSPACES + "/default/locks", {"path": "f"}, 201)
            waiting = Client(server)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                refused = pool.submit(waiting.post, WORKSPACES + "/default/locks", {"path": "f", "wait_s": 60})
                await_busy(client, 1)
                begun = time.monotonic()
                server.stop()
                self.assertLess(time.monotonic() - begun, 30)
                self.assertEqual(refused.result().status, 503)
            client.close()
            waiting.close()
        finally:
            server.close()
