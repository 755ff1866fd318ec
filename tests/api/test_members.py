"""Members of workspaces: their roles, what they see of each other's sessions, and keys that may not write, or not read."""
import io
import signal
import time
import unittest
import zipfile

from base import ApiTest, Client, eventually

SCOPES = ["run", "files:read", "files:write", "share"]


class Team(ApiTest):
    """alice owns a workspace; others are made as they are needed."""

    def setUp(self):
        super().setUp()
        self.alice, self.alice_id = self.somebody("alice")
        self.ws = self.alice.ok("POST", "/api/v1/workspaces", {"name": self.id()}, 201)["id"]
        self.path = f"/api/v1/workspaces/{self.ws}"

    def somebody(self, name, scopes=SCOPES):
        principal = self.client.ok("POST", "/api/v1/principals", {"name": name}, 201)["id"]
        return self.key_of(principal, scopes), principal

    def key_of(self, principal, scopes):
        key = self.client.ok("POST", "/api/v1/keys", {"principal": principal, "scopes": scopes}, 201)
        client = Client(self.server, key["secret"])
        self.addCleanup(client.close)
        return client

    def member(self, name, role):
        client, principal = self.somebody(name)
        self.set(principal, role)
        return client, principal

    def set(self, principal, role, by=None):
        return (by or self.alice).ok("PUT", f"{self.path}/members/{principal}", {"role": role})

    def put(self, path, text, by=None):
        return (by or self.alice).request("PUT", f"{self.path}/files/{path}", raw=text)

    def text(self, path):
        return self.alice.get(f"{self.path}/files/{path}").body.decode()

    def paths(self):
        return [f["path"] for f in self.alice.ok("GET", self.path + "/files?recursive=true&limit=1000")["data"] if f["kind"] == "file"]


class Members(Team):
    def test_a_member_has_the_role_that_was_set_last(self):
        bob, bob_id = self.somebody("bob")
        self.assertEqual(bob.get(self.path).status, 404)
        got = self.set(bob_id, "viewer")
        self.assertEqual((got["principal_id"], got["name"], got["role"], got["added_by"]), (bob_id, "bob", "viewer", self.alice_id))
        self.assertEqual(bob.ok("GET", self.path)["role"], "viewer")
        self.fails(self.put("a", "x", bob), 403, "permission_denied")
        self.set(bob_id, "editor")
        self.assertEqual(self.put("a", "x", bob).status, 201)
        self.fails(bob.request("PATCH", self.path, {"name": "b"}), 403, "permission_denied")
        self.set(bob_id, "admin")
        self.assertEqual(bob.request("PATCH", self.path, {"name": "b"}).status, 200)
        self.fails(bob.request("DELETE", self.path), 403, "permission_denied")

    def test_the_list_begins_with_the_owner(self):
        _, bob_id = self.member("bob", "viewer")
        rows = self.alice.ok("GET", self.path + "/members")["data"]
        self.assertEqual([(r["principal_id"], r["role"]) for r in rows], [(self.alice_id, "owner"), (bob_id, "viewer")])

    def test_admins_make_admins_and_cannot_touch_the_owner(self):
        bob, bob_id = self.member("bob", "admin")
        carol, carol_id = self.somebody("carol")
        self.set(carol_id, "admin", by=bob)
        self.fails(bob.request("PUT", f"{self.path}/members/{self.alice_id}", {"role": "viewer"}), 409, "conflict")
        self.fails(bob.request("DELETE", f"{self.path}/members/{self.alice_id}"), 409, "conflict")
        self.fails(bob.request("PUT", f"{self.path}/members/prn_nobody", {"role": "viewer"}), 404, "not_found")
        self.fails(bob.request("PUT", f"{self.path}/members/{carol_id}", {"role": "owner"}), 400, "invalid_request")
        carol.ok("DELETE", f"{self.path}/members/{bob_id}", status=204)
        self.assertEqual(bob.get(self.path).status, 404)

    def test_anybody_may_leave_and_only_admins_remove_others(self):
        bob, bob_id = self.member("bob", "editor")
        _, carol_id = self.member("carol", "viewer")
        self.fails(bob.request("DELETE", f"{self.path}/members/{carol_id}"), 403, "permission_denied")
        bob.ok("DELETE", f"{self.path}/members/{bob_id}", status=204)
        self.assertEqual(bob.get(self.path).status, 404)
        self.fails(self.alice.request("DELETE", f"{self.path}/members/{bob_id}"), 404, "not_found")

    def test_what_one_is_a_member_of_is_in_the_list_page_by_page(self):
        bob, bob_id = self.somebody("bob")
        mine = [bob.ok("POST", "/api/v1/workspaces", {"name": f"w{i}"}, 201)["id"] for i in range(3)]
        self.set(bob_id, "viewer")
        own = bob.ok("GET", "/api/v1/workspaces/default")["id"]
        found, cursor = [], ""
        while cursor is not None:
            page = bob.ok("GET", "/api/v1/workspaces?limit=2" + (f"&cursor={cursor}" if cursor else ""))
            found += [(w["id"], w["role"]) for w in page["data"]]
            cursor = page["next_cursor"]
        self.assertEqual(sorted(found), sorted([(i, "owner") for i in [*mine, own]] + [(self.ws, "viewer")]))

    def test_a_name_is_only_its_owners(self):
        bob, _ = self.member("bob", "editor")
        self.assertEqual(bob.get("/api/v1/workspaces/" + self.id()).status, 404)
        self.assertEqual(bob.get(self.path).status, 200)


    def test_what_a_member_signed_works_while_they_may(self):
        bob, bob_id = self.member("bob", "editor")
        self.put("a.txt", "text")
        nobody = Client(self.server, None)
        self.addCleanup(nobody.close)
        get = bob.ok("POST", self.path + "/sign", {"path": "a.txt"})["url"]
        put = bob.ok("POST", self.path + "/sign", {"path": "b.txt", "method": "PUT"})["url"]
        self.assertEqual(nobody.get(get).body, b"text")
        self.assertEqual(nobody.request("PUT", put, raw="b").status, 201)
        self.assertEqual(self.alice.ok("GET", self.path + "/files/b.txt?versions")["data"][0]["author"]["principal_id"], bob_id)
        self.fails(nobody.get(get.replace(bob_id, self.alice_id)), 403, "permission_denied")
        self.fails(nobody.get(get.replace(f"by={bob_id}&", "")), 403, "permission_denied")
        self.set(bob_id, "viewer")
        self.assertEqual(nobody.get(get).status, 200)
        self.fails(nobody.request("PUT", put, raw="c"), 403, "permission_denied")
        self.alice.ok("DELETE", f"{self.path}/members/{bob_id}", status=204)
        self.fails(nobody.get(get), 403, "permission_denied")


class Sessions(Team):
    def test_admins_of_the_workspace_see_and_end_what_members_do(self):
        bob, _ = self.member("bob", "editor")
        carol, _ = self.member("carol", "editor")
        admin, _ = self.member("dave", "admin")
        session = bob.session(workspace=self.ws)
        run = bob.run(session, "21 * 2")
        for who in (self.alice, admin, self.client):
            self.assertEqual(who.ok("GET", "/api/v1/sessions/" + session)["id"], session)
            self.assertEqual(who.ok("GET", "/api/v1/runs/" + run["id"])["result"]["text/plain"], "42")
            self.assertIn(session, [s["id"] for s in who.ok("GET", f"/api/v1/sessions?workspace={self.ws}")["data"]])
            self.assertIn(run["id"], [r["id"] for r in who.ok("GET", f"/api/v1/runs?workspace={self.ws}")["data"]])
            self.assertIn(run["id"], [r["id"] for r in who.ok("GET", f"/api/v1/runs?session={session}")["data"]])
        theirs = admin.run(session, "6 * 7")["id"]  # which is also the business of whose session it is
        self.assertEqual(bob.ok("GET", "/api/v1/runs/" + theirs)["result"]["text/plain"], "42")
        self.assertEqual([r["id"] for r in bob.ok("GET", f"/api/v1/runs?session={session}")["data"]], [theirs, run["id"]])
        self.assertEqual(carol.ok("GET", f"/api/v1/runs?session={session}")["data"], [])
        self.assertNotIn(session, [s["id"] for s in admin.ok("GET", "/api/v1/sessions")["data"]])
        self.assertEqual(carol.get("/api/v1/sessions/" + session).status, 404)
        self.assertEqual(carol.get("/api/v1/runs/" + run["id"]).status, 404)
        self.assertEqual(carol.ok("GET", f"/api/v1/sessions?workspace={self.ws}")["data"], [])
        self.assertEqual(carol.ok("GET", f"/api/v1/runs?workspace={self.ws}")["data"], [])
        self.assertEqual(carol.request("DELETE", "/api/v1/sessions/" + session).status, 404)
        admin.ok("POST", f"/api/v1/sessions/{session}/interrupt")
        admin.ok("DELETE", "/api/v1/sessions/" + session, status=204)

    def test_who_lost_the_right_cannot_go_on_and_nothing_is_kept_for_them(self):
        bob, bob_id = self.member("bob", "editor")
        session = bob.session(workspace=self.ws)
        # A thread writes after the run has ended: its file is found when the session is looked at next.
        bob.run(session, "import threading, time\ndef later():\n    time.sleep(1)\n    open('late.txt', 'w').write('x')\n"
                         "threading.Thread(target=later).start()\nopen('first.txt', 'w').write('x')")
        for role in ("viewer", None):
            if role:
                self.set(bob_id, role)
            else:
                self.alice.ok("DELETE", f"{self.path}/members/{bob_id}", status=204)
            answer = bob.post(f"/api/v1/sessions/{session}/runs", {"code": "open('no.txt', 'w').write('x')"})
            self.fails(answer, 403, "permission_denied")
            self.fails(bob.post(f"/api/v1/sessions/{session}/fork", {}), 403, "permission_denied")
            self.fails(bob.get(f"/api/v1/sessions/{session}/variables"), 403, "permission_denied")
        self.assertEqual(bob.get("/api/v1/sessions/" + session).status, 200)
        time.sleep(1.5)  # nothing tells when the thread has written
        bob.ok("DELETE", "/api/v1/sessions/" + session, status=204)
        self.assertEqual(self.paths(), ["first.txt"])

    def test_a_role_taken_away_during_a_run_ends_what_is_kept(self):
        bob, bob_id = self.member("bob", "editor")
        session = bob.session(workspace=self.ws)
        code = "import time; time.sleep(2); open('no.txt', 'w').write('x')"
        run = bob.ok("POST", f"/api/v1/sessions/{session}/runs", {"code": code, "background": True}, 202)
        eventually(lambda: bob.ok("GET", "/api/v1/runs/" + run["id"])["status"] == "running")
        self.set(bob_id, "viewer")
        done = bob.ok("GET", f"/api/v1/runs/{run['id']}?wait_s=60")
        self.assertEqual((done["end"], done["files"]), ("ok", []))
        self.assertEqual([n["path"] for n in done["not_saved"]], ["no.txt"])
        self.assertIn("may not write to the workspace", done["not_saved"][0]["reason"])
        self.assertEqual(self.paths(), [])


class ReadOnlyKeys(Team):
    def setUp(self):
        super().setUp()
        self.reader = self.key_of(self.alice_id, ["run", "files:read"])
        self.put("old.txt", "old")
        self.put("gone.txt", "gone")

    CHANGES = ("open('new.txt', 'w').write('new')\nopen('old.txt', 'w').write('changed')\nimport os\nos.remove('gone.txt')\n"
               "os.makedirs('d', exist_ok=True)\nopen('d/deep.txt', 'w').write('x')")

    def unchanged(self):
        self.assertEqual(self.paths(), ["gone.txt", "old.txt"])
        self.assertEqual(self.text("old.txt"), "old")

    def not_saved(self, run):
        self.assertEqual(run["end"], "ok", run)
        self.assertEqual(run["files"], [])
        for missed in run["not_saved"]:
            self.assertEqual(missed["reason"], "this key may not write files (scope files:write)")
        return sorted(missed["path"] for missed in run["not_saved"])

    def test_a_run_changes_its_copy_and_nothing_else(self):
        session = self.reader.session(workspace=self.ws)
        changed = ["d/deep.txt", "gone.txt", "new.txt", "old.txt"]
        self.assertEqual(self.not_saved(self.reader.run(session, self.CHANGES)), changed)
        again = self.reader.run(session, "print(open('old.txt').read(), os.path.exists('gone.txt'))")
        self.assertEqual(again["stdout"], "changed False\n")
        self.assertEqual(self.not_saved(again), changed)  # it is still so
        self.unchanged()
        self.reader.post(f"/api/v1/sessions/{session}/sleep")
        self.unchanged()
        self.reader.ok("POST", f"/api/v1/sessions/{session}/restart")
        self.unchanged()
        self.reader.ok("POST", f"/api/v1/sessions/{session}/refresh")
        self.unchanged()
        self.reader.ok("DELETE", "/api/v1/sessions/" + session, status=204)
        self.unchanged()

    def test_a_one_shot_too_and_it_brings_no_files(self):
        run = self.reader.ok("POST", "/api/v1/runs", {"workspace": self.ws, "code": self.CHANGES})
        self.assertEqual(self.not_saved(run), ["d/deep.txt", "gone.txt", "new.txt", "old.txt"])
        answer = self.reader.post("/api/v1/runs", {"workspace": self.ws, "code": "1", "files": [{"path": "a", "content": "x"}]})
        self.fails(answer, 403, "permission_denied")
        self.assertIn("files:write", answer.json["error"]["message"])
        self.unchanged()

    def test_a_later_run_that_may_keeps_it_under_its_own_name(self):
        session = self.reader.session(workspace=self.ws)
        self.not_saved(self.reader.run(session, self.CHANGES))
        self.put("other.txt", "of somebody else")  # so that the copy is brought up to date first
        run = self.alice.run(session, "open('mine.txt', 'w').write('x')")
        self.assertEqual(run["not_saved"], [])
        self.assertEqual(self.paths(), ["d/deep.txt", "mine.txt", "new.txt", "old.txt", "other.txt"])
        self.assertEqual(self.text("old.txt"), "changed")
        for path in ("new.txt", "old.txt", "d/deep.txt", "mine.txt"):
            newest = self.alice.ok("GET", f"{self.path}/files/{path}?versions")["data"][0]
            self.assertEqual(newest["author"]["run_id"], run["id"], (path, newest))

    def test_a_workspace_so_large_that_it_is_not_copied(self):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for n in range(300):
                archive.writestr(f"many/{n % 10}/{n}.txt", "text")
        self.alice.ok("POST", self.path + "/import", raw=file.getvalue())
        before = self.paths()
        session = self.reader.session(workspace=self.ws)
        code = "import os, shutil\nshutil.rmtree('many/3')\nos.remove('gone.txt')\nopen('many/4/4.txt', 'w').write('changed')\nopen('new.txt', 'w').write('x')"
        gone = [f"many/3/{n}.txt" for n in range(3, 300, 10)]
        changed = sorted([*gone, "gone.txt", "many/4/4.txt", "new.txt"])
        self.assertEqual(self.not_saved(self.reader.run(session, code)), changed)
        self.assertEqual(self.not_saved(self.reader.run(session, "1")), changed)
        self.reader.ok("POST", f"/api/v1/sessions/{session}/restart")  # as when it sleeps: the layers are let go
        run = self.reader.run(session, "import os; print(os.path.exists('many/3'))")
        self.assertEqual((run["stdout"], self.not_saved(run)), ("False\n", changed))
        self.assertEqual(self.paths(), before)
        run = self.alice.run(session, "1")
        self.assertEqual(run["not_saved"], [])
        self.assertEqual(self.paths(), sorted(set(before) - set(gone) - {"gone.txt"} | {"new.txt"}))
        self.assertEqual(self.text("many/4/4.txt"), "changed")

    def test_what_a_key_saved_before_is_not_undone_by_one_that_may_not(self):
        session = self.alice.session(workspace=self.ws, snapshots=3)
        self.alice.run(session, "open('old.txt', 'w').write('second')")
        self.assertEqual(self.text("old.txt"), "second")
        self.reader.post(f"/api/v1/sessions/{session}/rollback", {"steps": 1})
        self.assertEqual(self.text("old.txt"), "second")
        self.reader.ok("DELETE", "/api/v1/sessions/" + session, status=204)
        self.assertEqual(self.text("old.txt"), "second")

    def test_a_branch_keeps_nothing_either(self):
        session = self.reader.session(workspace=self.ws)
        self.not_saved(self.reader.run(session, self.CHANGES))
        answer = self.reader.post(f"/api/v1/sessions/{session}/fork", {})
        if answer.status == 201:
            branch = answer.json["id"]
            self.assertIn("more.txt", self.not_saved(self.reader.run(branch, "open('more.txt', 'w').write('x')")))
            self.reader.ok("DELETE", "/api/v1/sessions/" + branch, status=204)
        self.unchanged()

    def test_no_other_door_is_open(self):
        everything = [("PUT", "files/x", None), ("DELETE", "files/old.txt", None), ("POST", "mkdir", {"path": "m"}),
                      ("POST", "move", {"from": "old.txt", "to": "n"}), ("POST", "copy", {"from": "old.txt", "to": "n"}),
                      ("POST", "restore", {"path": "old.txt", "version": 1}), ("POST", "pin", {"path": "old.txt"}), ("POST", "import", None),
                      ("POST", "uploads", {"path": "u"}), ("POST", "sign", {"path": "s", "method": "PUT"}), ("POST", "purge", {"trash": True}),
                      ("PATCH", "", {"name": "other"}), ("DELETE", "", None), ("PUT", "members/" + self.alice_id, {"role": "viewer"})]
        for method, door, body in everything:
            with self.subTest(door=door):
                self.fails(self.reader.request(method, f"{self.path}/{door}".rstrip("/"), body), 403, "permission_denied")
        form = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n'
        answer = self.reader.request("POST", "/blob", raw=form, headers={"Content-Type": "multipart/form-data; boundary=b"})
        self.fails(answer, 403, "permission_denied")
        self.unchanged()


class BlindKeys(Team):
    def test_nothing_is_brought_to_who_may_not_read_and_what_they_write_replaces_nothing(self):
        blind = self.key_of(self.alice_id, ["run", "files:write"])
        self.put("secret.txt", "secret")
        session = blind.session(workspace=self.ws)
        run = blind.run(session, "import os\nprint(sorted(os.listdir('.')))\nopen('mine.txt', 'w').write('x')\nopen('secret.txt', 'w').write('no')")
        self.assertEqual(run["stdout"], "[]\n")
        self.assertIn("may not read files", run["hint"])
        self.assertEqual(self.text("secret.txt"), "secret")
        self.assertEqual(self.text("mine.txt"), "x")
        self.put("later.txt", "later")
        run = blind.run(session, "print(sorted(os.listdir('.')))")
        self.assertEqual(run["stdout"], "['mine.txt', 'secret.txt']\n")
        self.fails(blind.post(f"/api/v1/sessions/{session}/refresh"), 403, "permission_denied")
        seeing = self.alice.session(workspace=self.ws)
        answer = blind.post(f"/api/v1/sessions/{seeing}/runs", {"code": "1"})
        self.fails(answer, 403, "permission_denied")
        self.assertIn("files:read", answer.json["error"]["message"])


class Crash(Team):
    def test_what_a_key_could_not_keep_is_not_kept_by_the_next_server_either(self):
        reader = self.key_of(self.alice_id, ["run", "files:read"])
        self.put("old.txt", "old")
        session, allowed = reader.session(workspace=self.ws), self.alice.session(workspace=self.ws)
        code = "open({0!r}, 'w').write('x'); open('old.txt', 'w').write('changed') if {0!r} == 'bad.txt' else None; import time; time.sleep(60)"
        for who, where, path in ((reader, session, "bad.txt"), (self.alice, allowed, "good.txt")):
            run = who.ok("POST", f"/api/v1/sessions/{where}/runs", {"code": "print('go', flush=True)\n" + code.format(path), "background": True}, 202)
            eventually(lambda: "go" in "".join(d.get("text", "") for n, d, _ in self.first_events(who, run["id"])))
        time.sleep(1)  # nothing tells when the code has written
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.alice.close(), self.client.close(), reader.close()
        eventually(lambda: "good.txt" in self.paths())
        self.assertEqual(self.paths(), ["good.txt", "old.txt"])
        self.assertEqual(self.text("old.txt"), "old")
        run = reader.run(session, "print(open('old.txt').read())")
        self.assertEqual(run["stdout"], "changed\n")
        self.assertEqual(sorted(n["path"] for n in run["not_saved"]), ["bad.txt", "old.txt"])
        self.assertEqual(self.text("old.txt"), "old")

    def first_events(self, who, run):
        for event in who.events("GET", f"/api/v1/runs/{run}/events"):
            yield event
            if event[0] == "stdout":
                return


if __name__ == "__main__":
    unittest.main()
