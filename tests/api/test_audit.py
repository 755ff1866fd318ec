"""The audit: every act leaves its entry, nothing can be changed in it unseen."""
import hashlib
import http.client
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import unittest

from base import CICADA, KEY, ApiTest, Client, Server, eventually
from files import WORKSPACES

AUDIT = "/api/v1/audit"
NOBODY = "ses_000000000000000000000000"

# What needs no key and only shows: health, the description of all this, the page that an invitation leads to.
TELL_NOTHING = {"getHealth", "getReadiness", "getOpenApi", "openInvite", "getResourceMetadata", "getMcpResourceMetadata"}


def lines_of(answer):
    return [json.loads(line) for line in answer.body.decode().splitlines()]


def check_chain(body):
    """An export proves itself: what stands after each hash is what was hashed."""
    before, seq = bytes(32), 0
    for line in body.splitlines():
        found = re.fullmatch(rb'\{"seq":(\d+),"hash":"([0-9a-f]{64})",(.*)', line)
        assert found and int(found[1]) == seq + 1, line
        before, seq = hashlib.sha256(before + b"{" + found[3]).digest(), seq + 1
        assert before.hex() == found[2].decode(), line
    return seq


class AuditTest(ApiTest):
    def entries(self, client=None, where=AUDIT, **query):
        text = "&".join(f"{key}={value}" for key, value in query.items())
        return (client or self.client).ok("GET", f"{where}?limit=1000&{text}")["data"]

    def told(self, answer, **more):
        """The entries of one request."""
        return [e for e in self.entries(**more) if e.get("request") == answer.headers["X-Request-Id"]]

    def one(self, answer, **more):
        found = self.told(answer, **more)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def workspace(self, name):
        return self.client.ok("POST", WORKSPACES, {"name": name}, 201)["id"]

    def a_key(self, scopes, name="somebody"):
        """(client, principal) of somebody who is no admin."""
        who = self.client.ok("POST", "/api/v1/principals", {"name": name, "kind": "human"}, 201)["id"]
        made = self.client.ok("POST", "/api/v1/keys", {"name": name, "principal": who, "scopes": scopes}, 201)
        client = Client(self.server, made["secret"])
        self.addCleanup(client.close)
        return client, who


class Entries(AuditTest):
    def test_every_operation_leaves_its_entry(self):
        document = self.client.get("/openapi.json").json
        silent, count = set(), 0
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if method not in ("get", "put", "post", "delete", "patch"):
                    continue
                count += 1
                if not self.drive(method.upper(), path, operation, f"w{count}"):
                    silent.add(operation["operationId"])
        self.assertGreater(count, 60)
        self.assertEqual(silent, TELL_NOTHING)

    def drive(self, method, path, operation, name):
        """Asks for it somehow; whether that is in the audit. What comes of it does not matter here."""
        ws = self.workspace(name)
        self.client.ok("PUT", f"{WORKSPACES}/{ws}/files/a.txt", raw=b"x", status=201)
        at = re.sub(r"\{ws\}", ws, path)
        at = re.sub(r"\{path(\.\.\.)?\}", "a.txt", at)
        at = re.sub(r"\{[^}]+\}", NOBODY, at)
        kinds = operation.get("requestBody", {}).get("content", {})
        sent = {"raw": b"x"} if kinds and "application/json" not in kinds else {"body": {}} if kinds else {}
        answer = self.client.request(method, at, **sent)
        found = self.told(answer)
        found = [e for e in found if e["event"] != "finishRun"]
        for entry in found:
            self.assertEqual(entry["event"], operation["operationId"])
            self.assertEqual(entry["result"] == "ok", answer.status < 400, (entry, answer.body))
        return found

    def test_a_change_says_what_it_changed(self):
        ws = self.workspace("changes")
        put = self.client.request("PUT", f"{WORKSPACES}/{ws}/files/d/a.txt", raw=b"one")
        entry = self.one(put)
        made = put.json
        self.assertEqual((entry["event"], entry["result"], entry["via"]), ("putFile", "ok", "rest"))
        self.assertEqual((entry["workspace"], entry["path"], entry["version"], entry["rev"], entry["object"]),
                         (ws, "d/a.txt", 1, 1, made["id"]))
        self.assertEqual(entry["detail"]["changes"],
                         [{"path": "d/a.txt", "file": made["id"], "version": 1, "change": "created", "size": 3,
                           "sha256": hashlib.sha256(b"one").hexdigest()}])
        self.assertNotIn("is_read", entry)
        self.assertTrue(entry["peer"].startswith("127."))
        again = self.one(self.client.request("PUT", f"{WORKSPACES}/{ws}/files/d/a.txt", raw=b"one"))
        self.assertTrue(again["is_read"])  # it was so already
        self.assertNotIn("rev", again)
        move = self.client.request("POST", f"{WORKSPACES}/{ws}/move", {"from": "d/a.txt", "to": "b.txt"})
        self.assertEqual(move.status, 200, move.body)
        entry = self.one(move)
        self.assertEqual((entry["path"], entry["detail"]["changes"][0]["from"]), ("b.txt", "d/a.txt"))
        for path in ("d", "d/a.txt", "b.txt"):
            self.assertIn(entry["seq"], [e["seq"] for e in self.entries(workspace=ws, path=path)])

    def test_what_the_form_names_is_known(self):
        ws = self.workspace("formed")
        form = (f'--b\r\nContent-Disposition: form-data; name="workspace"\r\n\r\n{ws}\r\n'
                '--b\r\nContent-Disposition: form-data; name="file"; filename="f.txt"\r\n\r\nx\r\n--b--\r\n').encode()
        answer = self.client.request("POST", "/blob", raw=form,
                                     headers={"Content-Type": "multipart/form-data; boundary=b"})
        self.assertEqual(answer.status, 201, answer.body)
        entry = self.one(answer, workspace=ws)
        self.assertEqual((entry["event"], entry["path"], entry["rev"]), ("postBlob", "f.txt", 1))

    def test_a_run_and_what_it_wrote(self):
        session = self.client.post("/api/v1/sessions", {})
        self.assertEqual(session.status, 201)
        entry = self.one(session)
        self.assertEqual((entry["event"], entry["session"]), ("createSession", session.json["id"]))
        run = self.client.post(f"/api/v1/sessions/{session.json['id']}/runs",
                               {"code": "open('/mnt/data/out.txt', 'w').write('x')"})
        begun, ended = sorted(self.told(run), key=lambda e: e["seq"])
        self.assertEqual((begun["event"], begun["run"], begun["workspace"]),
                         ("runInSession", run.json["id"], run.json["workspace_id"]))
        saved = [e for e in self.entries(event="saveFiles") if e.get("run") == run.json["id"]]
        self.assertEqual(len(saved), 1, saved)
        self.assertEqual((saved[0]["via"], saved[0]["session"], saved[0]["path"]),
                         ("sandbox", session.json["id"], "out.txt"))
        self.assertEqual((ended["event"], ended["run"], ended["detail"]),
                         ("finishRun", run.json["id"], {"end": "ok"}))
        shot = self.client.post("/api/v1/runs", {"code": "1"})
        self.assertEqual(shot.status, 200, shot.body)
        entry = min(self.told(shot), key=lambda e: e["seq"])
        self.assertEqual((entry["run"], entry["session"]), (shot.json["id"], shot.json["session_id"]))

    def test_on_behalf_of_somebody(self):
        made = self.client.post("/api/v1/sessions", {"on_behalf_of": "alice"})
        self.assertEqual(made.status, 201, made.body)
        entry = self.one(made)
        self.assertEqual(entry["principal"], made.json["principal_id"])
        self.assertEqual(entry["behalf"], self.entries(event="listAudit")[0]["principal"])
        self.assertTrue([e for e in self.entries(event="createPrincipal") if e.get("object") == entry["principal"]])

    def test_reads_and_refusals(self):
        ws = self.workspace("reads")
        self.client.ok("PUT", f"{WORKSPACES}/{ws}/files/a.txt", raw=b"x", status=201)
        entry = self.one(self.client.get(f"{WORKSPACES}/{ws}/files/a.txt"))
        self.assertEqual((entry["result"], entry["is_read"], entry["path"]), ("ok", True, "a.txt"))
        entry = self.one(self.client.get(f"{WORKSPACES}/{ws}/files/none"))
        self.assertEqual((entry["result"], entry["reason"]), ("error", "not_found"))
        client, who = self.a_key(["files:read"])
        refused = client.request("PUT", f"{WORKSPACES}/{ws}/files/a.txt", raw=b"y")
        self.assertEqual(refused.status, 403)
        entry = self.one(refused)
        self.assertEqual((entry["result"], entry["reason"], entry["principal"]), ("denied", "permission_denied", who))
        hidden = client.get(f"{WORKSPACES}/{ws}/files/a.txt")
        self.assertEqual(hidden.status, 404)
        entry = self.one(hidden, workspace=ws)  # those who look after it see that somebody tried
        self.assertEqual((entry["result"], entry["reason"]), ("denied", "not_found"))

    def test_strangers_are_told_of_without_their_secrets_and_not_for_ever(self):
        secret = "cik_" + "z" * 36
        stranger = Client(self.server, secret)
        first = stranger.get("/api/v1/sessions")
        self.assertEqual(first.status, 401)
        entry = self.one(first)
        self.assertEqual((entry["result"], entry["event"], entry["reason"]), ("denied", "listSessions", "unauthorized"))
        self.assertNotIn("principal", entry)
        for _ in range(100):
            stranger.get("/api/v1/sessions")
        stranger.close()
        found = [e for e in self.entries(event="listSessions", result="denied") if "principal" not in e]
        self.assertLessEqual(len(found), 60)
        self.assertNotIn("zzzzzzzz", json.dumps(self.entries()))

    def test_signatures_are_in_no_entry(self):
        ws = self.workspace("signed")
        self.client.ok("PUT", f"{WORKSPACES}/{ws}/files/a.txt", raw=b"x", status=201)
        url = self.client.ok("POST", f"{WORKSPACES}/{ws}/sign", {"path": "a.txt"})["url"]
        url = url[url.index("/api/"):]
        stranger = Client(self.server, None)
        got = stranger.get(url)
        stranger.close()
        self.assertEqual(got.status, 200)
        entry = self.one(got, workspace=ws)
        self.assertEqual((entry["via"], entry["path"], entry["event"]), ("signature", "a.txt", "getFile"))
        self.assertNotIn(url.partition("signature=")[2], json.dumps(self.entries()))

    def test_a_link_is_known_by_its_id_and_not_by_its_token(self):
        ws = self.workspace("linked")
        self.client.ok("PUT", f"{WORKSPACES}/{ws}/files/a.txt", raw=b"x", status=201)
        made = self.client.ok("POST", f"{WORKSPACES}/{ws}/shares", {"path": "a.txt"}, 201)
        token = made["url"].rpartition("/")[2]
        connection = http.client.HTTPConnection(*self.server.address)
        connection.request("GET", f"/s/{token}")
        got = connection.getresponse()
        got.read()
        connection.close()
        self.assertEqual(got.status, 200)
        entry = self.one(got, workspace=ws)
        self.assertEqual((entry["via"], entry["object"], entry["result"]), ("share", made["id"], "ok"))
        self.assertNotIn("principal", entry)
        self.assertNotIn(token, json.dumps(self.entries()))

    def test_the_command_line_is_known_by_its_name(self):
        answer = self.client.get("/api/v1/sessions", headers={"User-Agent": "cicada/1.0"})
        self.assertEqual(self.one(answer)["via"], "cli")


class Lists(AuditTest):
    def test_filters_and_pages(self):
        ws = self.workspace("lists")
        for i in range(5):
            self.client.ok("PUT", f"{WORKSPACES}/{ws}/files/{i}", raw=b"x", status=201)
        self.client.get(f"{WORKSPACES}/{ws}/files/0")
        self.assertEqual(len(self.entries(workspace=ws, event="putFile")), 5)
        self.assertEqual(len(self.entries(workspace=ws, path="3")), 1)
        self.assertEqual(len(self.entries(workspace=ws, changes="true", event="getFile")), 0)
        self.assertEqual(self.entries(workspace=ws, **{"from": "2999-01-01"}), [])
        self.assertEqual(self.entries(workspace=ws, until="2001-01-01T00:00:00Z"), [])
        seen, cursor = [], ""
        while cursor is not None:
            page = self.client.ok("GET", f"{AUDIT}?workspace={ws}&event=putFile&limit=2{cursor and '&cursor=' + cursor}")
            seen += page["data"]
            cursor = page["next_cursor"]
        self.assertEqual([e["path"] for e in seen], ["4", "3", "2", "1", "0"])
        for bad in ("from=yesterday", "result=fine", "limit=0", "limit=1001", "cursor=x", "path=/../.."):
            self.fails(self.client.get(f"{AUDIT}?{bad}"), 400, "invalid_request")

    def test_an_export_proves_itself(self):
        for name in "abc":
            self.workspace(name)
        export = self.client.get(AUDIT + "?format=jsonl")
        self.assertEqual(export.headers["Content-Type"], "application/jsonl")
        count = check_chain(export.body)
        self.assertGreaterEqual(count, 3)
        again = self.client.get(AUDIT, headers={"Accept": "application/jsonl"})
        self.assertTrue(again.body.startswith(export.body))
        self.assertEqual(self.one(again)["event"], "listAudit")  # and is in the audit itself

    def test_who_may_look(self):
        ws = self.workspace("looking")
        self.client.ok("PUT", f"{WORKSPACES}/{ws}/files/a", raw=b"x", status=201)
        both, _ = self.a_key(["audit", "files:read", "files:write"], "both")
        plain, _ = self.a_key(["files:read", "files:write"], "plain")
        for path in (AUDIT, AUDIT + "/head", AUDIT + "/verify"):
            self.fails(both.get(path), 403, "permission_denied")
            self.fails(plain.get(path), 403, "permission_denied")
        self.fails(both.get(f"{WORKSPACES}/{ws}/audit"), 404, "not_found")
        own = both.ok("POST", WORKSPACES, {"name": "mine"}, 201)["id"]
        self.assertEqual(plain.get(f"{WORKSPACES}/default/audit").status, 403)
        found = self.entries(both, f"{WORKSPACES}/{own}/audit")
        self.assertEqual({e["workspace"] for e in found}, {own})
        self.assertIn("createWorkspace", [e["event"] for e in found])
        lines = lines_of(both.get(f"{WORKSPACES}/{own}/audit?format=jsonl"))
        self.assertEqual({e["workspace"] for e in lines}, {own})

    def test_many_at_once_make_one_chain(self):
        ws = self.workspace("many")

        def work(number):
            client = Client(self.server)
            for i in range(25):
                client.ok("PUT", f"{WORKSPACES}/{ws}/files/{number}/{i}", raw=b"x", status=201)
                client.get(f"{WORKSPACES}/{ws}/files/{number}/{i}")
            client.close()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(e["rev"] for e in self.entries(workspace=ws, event="putFile")), list(range(1, 151)))
        self.assertEqual(len(self.entries(workspace=ws, event="getFile")), 150)
        check_chain(self.client.get(AUDIT + "?format=jsonl").body)
        self.assertTrue(self.client.ok("GET", AUDIT + "/verify")["is_intact"])


class Proof(AuditTest):
    """Everything that somebody with the server's disk in their hands may do to it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        client = Client(cls.server)
        ws = client.ok("POST", WORKSPACES, {"name": "proof"}, 201)["id"]
        for i in range(20):
            client.ok("PUT", f"{WORKSPACES}/{ws}/files/{i}", raw=b"x", status=201)
            if i == 10:
                client.ok("GET", AUDIT + "/head")
        cls.head = client.ok("GET", AUDIT + "/head")
        client.close()
        cls.server.stop()
        cls.whole = tempfile.mkdtemp(prefix="cicada-audit-", dir="/var/tmp")
        shutil.rmtree(cls.whole)
        shutil.copytree(cls.server.data + "/data", cls.whole, ignore=shutil.ignore_patterns("images", "*.sock"))
        for top, _, files in os.walk(cls.server.data + "/data"):
            for name in ["", *files]:
                there = os.path.join(top, name)
                here = there.replace(cls.server.data + "/data", cls.whole, 1)
                if os.path.lexists(here):
                    st = os.lstat(there)
                    os.chown(here, st.st_uid, st.st_gid, follow_symlinks=False)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.whole, ignore_errors=True)
        cls.server.close()

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="cicada-harm-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        os.chmod(self.place, 0o755)
        self.data = self.place + "/data"
        subprocess.run(["cp", "-a", self.whole, self.data], check=True)

    def harm(self, *statements):
        owner = os.stat(self.data + "/meta.db")
        db = sqlite3.connect(self.data + "/meta.db")
        for statement in statements:
            if callable(statement):
                statement(db)
            else:
                db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
        db.commit()
        db.close()
        for name in ("meta.db", "meta.db-wal", "meta.db-shm"):
            if os.path.exists(f"{self.data}/{name}"):
                os.chown(f"{self.data}/{name}", owner.st_uid, owner.st_gid)

    def fsck(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CICADA_")}
        ran = subprocess.run([CICADA, "fsck", "--data", self.data, "--json"], env=env, capture_output=True, text=True,
                             stdin=subprocess.DEVNULL, timeout=120, check=False)
        return ran.returncode, [m for m in json.loads(ran.stdout)["messages"] if m.startswith("audit:")]

    def found(self, seq, word=""):
        """fsck finds it, and names the entry."""
        code, messages = self.fsck()
        self.assertEqual((code, len(messages)), (1, 1), messages)
        self.assertRegex(messages[0], rf"\b{seq}\b.*{word}|{word}.*\b{seq}\b")

    def last(self):
        db = sqlite3.connect(f"file:{self.data}/meta.db?mode=ro", uri=True)
        found = db.execute("SELECT max(seq) FROM audit").fetchone()[0]
        db.close()
        return found

    def test_what_is_whole_is_intact(self):
        self.assertEqual(self.fsck(), (0, []))

    def test_an_edited_record(self):
        self.harm("UPDATE audit SET record = replace(record, 'putFile', 'getFile') WHERE seq = 7")
        self.found(7, "changed")

    def test_an_edited_record_with_its_own_hash(self):
        def mend(db):
            before = db.execute("SELECT hash FROM audit WHERE seq = 6").fetchone()[0]
            record = db.execute("SELECT record FROM audit WHERE seq = 7").fetchone()[0].replace("putFile", "getFile")
            db.execute("UPDATE audit SET record = ?, event = 'getFile', hash = ? WHERE seq = 7",
                       (record, hashlib.sha256(before + record.encode()).digest()))

        self.harm(mend)
        self.found(8, "changed")  # what follows does not fit any more

    def test_an_edited_column(self):
        self.harm("UPDATE audit SET principal = 'prn_innocent' WHERE seq = 7")
        self.found(7, "columns")

    def test_a_row_that_was_deleted(self):
        self.harm("DELETE FROM audit WHERE seq = 7")
        self.found(7, "missing")

    def test_two_that_were_exchanged(self):
        self.harm("UPDATE audit SET seq = -1 WHERE seq = 7", "UPDATE audit SET seq = 7 WHERE seq = 8",
                  "UPDATE audit SET seq = 8 WHERE seq = -1")
        self.found(7, "changed")

    def test_an_end_that_was_cut_off(self):
        last = self.last()
        self.harm(("DELETE FROM audit WHERE seq > ?", (last - 3,)))
        self.found(last - 3, "missing")

    def test_an_end_that_was_cut_off_with_its_checkpoints(self):
        last = self.last()
        self.harm(("DELETE FROM audit WHERE seq > ?", (last - 3,)),
                  ("DELETE FROM checkpoints WHERE seq > ?", (last - 3,)))
        self.found(last - 3, "audit.checkpoints")

    def rewrite(self, db):
        before = bytes(32)
        for seq, record in db.execute("SELECT seq, record FROM audit ORDER BY seq").fetchall():
            if seq == 3:
                record = record.replace('"via":"rest"', '"via":"mine"')
            before = hashlib.sha256(before + record.encode()).digest()
            db.execute("UPDATE audit SET record = ?, hash = ? WHERE seq = ?", (record, before, seq))

    def test_a_whole_chain_that_was_written_anew(self):
        self.harm(self.rewrite)
        code, messages = self.fsck()
        self.assertEqual(code, 1)
        self.assertIn("checkpoint", messages[0])

    def test_one_with_checkpoints_of_its_own(self):
        def forge(db):
            self.rewrite(db)
            for (seq,) in db.execute("SELECT seq FROM checkpoints").fetchall():
                db.execute("UPDATE checkpoints SET hash = (SELECT hash FROM audit WHERE seq = ?1) WHERE seq = ?1", (seq,))

        self.harm(forge)
        os.unlink(self.data + "/audit.checkpoints")
        code, messages = self.fsck()
        self.assertEqual(code, 1)
        self.assertIn("signature", messages[0])

    def test_what_was_taken_elsewhere_shows_what_nothing_here_does(self):
        self.harm(self.rewrite, "DELETE FROM checkpoints")
        os.unlink(self.data + "/audit.checkpoints")
        self.assertEqual(self.fsck(), (0, []))
        server = Server(data=self.place)
        try:
            client = Client(server)
            self.assertTrue(client.ok("GET", AUDIT + "/verify")["is_intact"])
            verdict = client.ok("GET", f"{AUDIT}/verify?seq={self.head['seq']}&hash={self.head['hash']}")
            self.assertEqual((verdict["is_intact"], verdict["problem"]["seq"]), (False, self.head["seq"]))
            client.close()
            kept = self.place + "/kept"
            with open(kept, "w", encoding="utf-8") as file:
                file.write(json.dumps(self.head) + "\n")
            ran = self.cicada(server, "audit", "verify", "--checkpoint", kept)
            self.assertEqual((ran.returncode, ran.stdout), (1, ""), ran.stderr)
            self.assertIn(str(self.head["seq"]), ran.stderr)
        finally:
            server.close()

    def cicada(self, server, *words):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CICADA_")}
        env.update(CICADA_URL="http://%s:%d" % server.address, CICADA_API_KEY=KEY)
        return subprocess.run([CICADA, *words], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=120, check=False)

    def test_the_command_line(self):
        server = Server(data=self.place)
        try:
            head = self.cicada(server, "audit", "head")
            self.assertEqual(head.returncode, 0, head.stderr)
            with open(self.place + "/kept", "a", encoding="utf-8") as file:
                file.write(json.dumps(self.head) + "\n" + head.stdout)
            ran = self.cicada(server, "audit", "verify", "--checkpoint", self.place + "/kept")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertTrue(ran.stdout.startswith("intact: "), ran.stdout)
            listed = self.cicada(server, "audit", "list", "--event", "putFile", "-n", "3", "--json")
            self.assertEqual([json.loads(line)["path"] for line in listed.stdout.splitlines()], ["19", "18", "17"])
            plain = self.cicada(server, "audit")
            self.assertEqual(plain.returncode, 0, plain.stderr)
            self.assertTrue(20 < len(plain.stdout.splitlines()) <= 50, plain.stdout)
            export = self.cicada(server, "audit", "export")
            self.assertGreater(check_chain(export.stdout.encode()), 20)
        finally:
            server.close()

    def test_a_server_goes_on_where_it_ended_and_after_a_kill(self):
        import signal

        server = Server(data=self.place)
        client = Client(server)
        made = client.ok("POST", WORKSPACES, {"name": "killed"}, 201)["id"]
        client.close()
        server.stop(signal.SIGKILL)
        server.start()
        try:
            client = Client(server)
            found = client.ok("GET", f"{AUDIT}?event=createWorkspace&limit=1")["data"][0]
            self.assertEqual(found["workspace"], made)
            self.assertTrue(client.ok("GET", AUDIT + "/verify")["is_intact"])
            with open(self.data + "/audit.checkpoints", encoding="utf-8") as file:
                kept = [json.loads(line) for line in file]
            self.assertEqual(kept[-1]["key"], self.head["key"])
            self.assertTrue(eventually(lambda: client.ok("GET", AUDIT + "/head")["seq"] > kept[-1]["seq"]))
            client.close()
        finally:
            server.close()


if __name__ == "__main__":
    unittest.main()
