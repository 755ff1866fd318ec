"""Who may do what: every operation of /openapi.json, asked by everybody there is.

What is expected follows from what the operation says of itself (x-cicada-scope, x-cicada-needs) and nothing else. permissions.json has
a request for each, which succeeds for whoever may; its fields are

    at       parameters of the address that are not the workspace      body, raw, headers, query   as they are sent
    ok       what else may come of it for whoever may, besides success
    whose    of what needs its owner: "session", the editor's, which the workspace's admins share; "self", the editor's alone
    scope, needs   when this very request needs more than the operation says
    signed   can be asked for by a signed address

"$word" stands for something that is made for it (make_word below), "$word.field" for a field of that. A name with a '#' is another request
of the same operation.
"""
import http.client
import io
import itertools
import json
import pathlib
import re
import unittest
import zipfile

from base import KEY, Answer, ApiTest, Client, eventually
from upstream import Upstream

ROWS = json.loads((pathlib.Path(__file__).parent / "permissions.json").read_text())
ROWS.pop("")
SCOPES = ["run", "files:read", "files:write", "share", "audit"]
RANK = {"": 0, "viewer": 1, "editor": 2, "admin": 3, "owner": 4}
LEAST = {"read": 1, "write": 2, "admin": 3, "own": 4, "named": 2}
UNTOLD = {"listEvents", "listWorkspaceAudit", "getIndex", "searchWorkspace"}  # what changes by itself, or by being refused
FLEETING = {"last_used_at", "used_at", "memory_bytes", "sleep_bytes", "snapshot_bytes", "status", "expires_at", "runs", "baked", "state", "views",
            "failures", "failing_since", "last_attempt_at", "last_status", "last_error", "next_attempt_at", "delivered_seq"}
names = (f"name{n}" for n in itertools.count())
addresses = (f"127.{a}.{b}.{c}" for a in range(1, 250) for b in range(250) for c in range(1, 250))


class Somebody:
    """Who asks: with which key, and what they are in the workspace."""

    def __init__(self, name, role="", key=None, scopes=(), principal=None, known=True, admin=False):
        self.name, self.role, self.key, self.scopes, self.principal = name, role, key, set(scopes), principal
        self.known, self.admin = known, admin

    def __repr__(self):
        return self.name


def stable(value):
    if isinstance(value, dict):
        return {k: stable(v) for k, v in value.items() if k not in FLEETING}
    return [stable(v) for v in value] if isinstance(value, list) else value


class Permissions(ApiTest):
    settings = {"search.index": "on"}

    @classmethod
    def setUpClass(cls):
        cls.up = Upstream()
        cls.settings = {**cls.settings, "model.url": cls.up.url, "model.name": "scripted-1"}
        super().setUpClass()
        cls.admin = Client(cls.server)
        document = cls.admin.ok("GET", "/openapi.json")
        cls.ops = {op["operationId"]: (method.upper(), path, op)
                   for path, item in document["paths"].items() for method, op in item.items()}
        cls.people = {}
        for name in ("owner", "admin", "editor", "other editor", "viewer", "stranger"):
            principal = cls.admin.ok("POST", "/api/v1/principals", {"name": name}, 201)
            key = cls.new_key(principal["id"], SCOPES)
            cls.people[name] = Somebody(name, name.split()[-1].replace("stranger", ""), key["secret"], SCOPES, principal["id"])
        owner = cls.people["owner"]
        cls.owner = Client(cls.server, owner.key)
        cls.ws = cls.owner.ok("POST", "/api/v1/workspaces", {"name": "common"}, 201)["id"]
        cls.join(cls.ws)
        cls.editor = Client(cls.server, cls.people["editor"].key)
        cls.session = cls.editor.session(workspace=cls.ws, snapshots=2)
        cls.past_run = cls.editor.run(cls.session, "open('made.txt', 'w').write('x')")["id"]
        cls.others = cls.make_others(owner)
        cls.lacking = {}

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.up.close()

    @classmethod
    def new_key(cls, principal, scopes, **more):
        return cls.admin.ok("POST", "/api/v1/keys", {"principal": principal, "scopes": sorted(scopes), **more}, 201)

    @classmethod
    def join(cls, ws):
        for name in ("admin", "editor", "other editor", "viewer"):
            cls.admin.ok("PUT", f"/api/v1/workspaces/{ws}/members/{cls.people[name].principal}", {"role": name.split()[-1]})

    @classmethod
    def make_others(cls, owner):
        revoked = cls.new_key(owner.principal, SCOPES)
        cls.admin.ok("DELETE", "/api/v1/keys/" + revoked["id"], status=204)
        expired = cls.new_key(owner.principal, SCOPES, expires_in_s=1)
        gone = Client(cls.server, expired["secret"])
        eventually(lambda: gone.get("/api/v1/keys").status == 401)
        token = "shr_" + "x" * 32
        if "createShare" in cls.ops:
            cls.owner.ok("PUT", f"/api/v1/workspaces/{cls.ws}/files/shared.txt", status=201, raw="shared")
            token = cls.owner.ok("POST", f"/api/v1/workspaces/{cls.ws}/shares", {"path": "shared.txt"}, 201)["url"].rpartition("/")[2]
        return [
            Somebody("the server's admin", "owner", KEY, SCOPES + ["admin"], admin=True),
            Somebody("a revoked key", key=revoked["secret"], known=False),
            Somebody("an expired key", key=expired["secret"], known=False),
            Somebody("a share's token as a key", key=token, known=False),
            Somebody("no key", known=False),
            Somebody("a read-only key", "owner", cls.new_key(owner.principal, ["files:read"])["secret"], ["files:read"], owner.principal),
        ]

    # ---- what requests need ----

    def make_ws(self, who):
        return self.ws

    def make_name(self, who):
        return next(names)

    def make_self(self, who):
        return who.principal or "prn_nobody"

    def make_file(self, who):
        path = next(names) + ".txt"
        self.admin.ok("PUT", f"/api/v1/workspaces/{self.ws}/files/{path}", status=201, raw="text")
        return path

    def make_trashed(self, who):
        path = self.make_file(who)
        file = self.admin.ok("GET", f"/api/v1/workspaces/{self.ws}/files/{path}?stat=true")["id"]
        self.admin.ok("DELETE", f"/api/v1/workspaces/{self.ws}/files/{path}", status=204)
        return file

    def make_upload(self, who):
        return self.admin.ok("POST", f"/api/v1/workspaces/{self.ws}/uploads", {"path": next(names)}, 201)["id"]

    def make_session(self, who):
        return self.session

    def make_run(self, who):
        return self.past_run

    def make_doomed_session(self, who):
        return self.editor.session(workspace=self.ws)

    def make_answer(self, who):
        if not hasattr(type(self), "answer"):
            type(self).answer = self.make_doomed_answer(who)
        return self.answer

    def make_doomed_answer(self, who):
        return self.editor.ok("POST", "/api/v1/ask", {"workspace": self.ws, "question": "hello"})["id"]

    def make_doomed_workspace(self, who):
        ws = self.owner.ok("POST", "/api/v1/workspaces", {"name": next(names)}, 201)["id"]
        self.join(ws)
        return ws

    def make_key(self, who):
        return self.new_key(self.people["editor"].principal, ["audit"])["id"]

    def make_principal(self, who):
        return self.people["editor"].principal

    def make_member(self, who):
        principal = self.admin.ok("POST", "/api/v1/principals", {"name": next(names)}, 201)["id"]
        self.admin.ok("PUT", f"/api/v1/workspaces/{self.ws}/members/{principal}", {"role": "viewer"})
        return principal

    def made(self, door, body, ws=None):
        return self.admin.ok("POST", f"/api/v1/workspaces/{ws or self.ws}/{door}", body, 201)

    def make_lock(self, who):
        return self.made("locks", {"path": next(names)})

    def make_share(self, who):
        return self.share_by(Client(self.server, who.key) if "share" in who.scopes and RANK[who.role] >= RANK["editor"] else self.admin)

    def make_share_of_others(self, who):
        return self.share_by(self.admin)

    def share_by(self, maker):
        folder = next(names)
        self.admin.ok("PUT", f"/api/v1/workspaces/{self.ws}/files/{folder}/a.txt", status=201, raw="text")
        share = maker.ok("POST", f"/api/v1/workspaces/{self.ws}/shares", {"path": folder, "rights": ["view", "download", "upload"]}, 201)
        return {**share, "token": share["url"].rpartition("/")[2]}

    def make_invite(self, who):
        return self.made("invites", {"role": "viewer"})

    def make_invite_elsewhere(self, who):
        return self.made("invites", {"role": "viewer"}, self.make_doomed_workspace(who))

    def make_claim(self, who):
        claim = self.made("claims", None)
        self.addCleanup(self.admin.request, "DELETE", f"/api/v1/workspaces/{self.ws}/claims/{claim['id']}")
        return claim

    def make_claim_elsewhere(self, who):
        return self.made("claims", None, self.make_doomed_workspace(who))

    def make_login(self, who):
        if not hasattr(type(self), "login"):
            type(self).login = next(names)
            body = {"token": self.make_invite(who)["token"], "login": self.login, "password": "correct horse"}
            self.admin.ok("POST", "/api/v1/invites/accept", body, 201)
        return self.login

    def make_webhook(self, who):
        return self.made("webhooks", {"url": "https://example.com/hook"})

    def make_zip(self, who):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(next(names), "text")
        return file.getvalue()

    def make_form(self, who):
        parts = (("workspace", "", self.ws), ("file", f'; filename="{next(names)}"', "text"))
        return "".join(f'--bnd\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{text}\r\n' for name, more, text in parts) + "--bnd--\r\n"

    # ---- asking ----

    def fill(self, value, who, made):
        if isinstance(value, dict):
            return {k: self.fill(v, who, made) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v, who, made) for v in value]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        word, _, field = value[1:].partition(".")
        if word not in made:
            made[word] = getattr(self, "make_" + word)(who)
        return made[word][field] if field else made[word]

    def request(self, name, who, made):
        """(method, path, body, headers) of the sample."""
        row = ROWS[name]
        method, path, _ = self.ops[name.partition("#")[0]]
        at = {"ws": "$ws", **row.get("at", {})}
        for key in re.findall(r"\{(\w+)\}", path):
            self.assertIn(key, at, f"{name}: the row does not say what {{{key}}} is")
            path = path.replace("{" + key + "}", str(self.fill(at[key], who, made)))
        if "query" in row:
            path += "?" + row["query"]
        headers = self.fill(row.get("headers", {}), who, made)
        body = self.fill(row.get("raw"), who, made)
        if "body" in row:
            body = json.dumps(self.fill(row["body"], who, made))
            headers["Content-Type"] = "application/json"
        return method, path, body, headers

    def ask(self, who, method, path, body, headers):
        """On a connection from an address of its own: wrong keys make an address wait."""
        connection = http.client.HTTPConnection(*self.server.address, timeout=120, source_address=(next(addresses), 0))
        if who.key:
            headers = {**headers, "Authorization": "Bearer " + who.key}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        Client(self.server).check(method, path.partition("?")[0], answer)
        return answer

    # ---- what must come of it ----

    def scope_of(self, name):
        return {s for s in ROWS[name].get("scope", self.ops[name.partition("#")[0]][2]["x-cicada-scope"]).split(",") if s}

    def expected(self, name, who):
        """0: they may; otherwise the status they are refused with."""
        row, op = ROWS[name], self.ops[name.partition("#")[0]][2]
        needs = row.get("needs", op["x-cicada-needs"])
        if op.get("security") == []:
            return 0
        if not who.known:
            return 401
        if self.scope_of(name) - who.scopes:
            return 403
        if needs in ("nothing", "server") or who.admin:
            return 0
        if needs == "owner":
            theirs = who.principal == self.people["editor"].principal or (row["whose"] == "session" and RANK[who.role] >= RANK["admin"])
            return 0 if theirs else 404
        if not who.role:
            return 404
        return 0 if RANK[who.role] >= LEAST[needs] else 403

    def everybody(self, name):
        """And somebody who has everything but one scope that is needed."""
        owner = self.people["owner"]
        yield from self.people.values()
        yield from self.others
        for missing in sorted(self.scope_of(name) & set(SCOPES)):
            if missing not in self.lacking:
                rest = set(SCOPES) - {missing}
                key = self.new_key(owner.principal, rest)["secret"]
                self.lacking[missing] = Somebody("a key without " + missing, "owner", key, rest, owner.principal)
            yield self.lacking[missing]

    def fingerprint(self):
        """Everything that a request could have changed."""
        seen = {}
        for name, (method, path, op) in self.ops.items():
            of_workspace = re.fullmatch(r"/api/v1/workspaces/\{ws\}(/\w+)?", path)
            if method != "GET" or name in UNTOLD or not (of_workspace or name in ("listKeys", "listPrincipals", "listSessions", "listRuns", "listWorkspaces")):
                continue
            query = "?limit=100" if any(p["name"] == "limit" for p in op.get("parameters", [])) else ""
            answer = self.admin.get(path.replace("{ws}", self.ws) + query)
            if answer.status == 200 and answer.headers["Content-Type"] == "application/json":
                seen[name] = stable(answer.json)
        return seen

    def settled(self):
        """When nothing goes on any more: a one-shot is closed after its answer."""
        seen = [None]

        def is_same():
            seen.append(self.fingerprint())
            return seen[-1] == seen[-2]
        eventually(is_same)
        return seen[-1]

    def test_every_operation_has_a_row_and_every_row_an_operation(self):
        self.assertEqual(sorted(self.ops), sorted({name.partition("#")[0] for name in ROWS}))

    def check_operation(self, name):
        made = {}  # for those who may not: one of each is enough
        refused = [(who, self.expected(name, who)) for who in self.everybody(name) if self.expected(name, who)]
        request = self.request(name, self.people["owner"], made) if refused else None
        before = self.settled()
        for who, status in refused:
            with self.subTest(operation=name, who=who, may=False):
                answer = self.ask(who, *request)
                self.assertEqual(answer.status, status, answer.body)
                self.assertEqual(answer.code, {401: "unauthorized", 403: "permission_denied", 404: "not_found"}[status])
        if ROWS[name].get("signed"):
            self.check_signed(name, request)
        with self.subTest(operation=name, changed=False):
            self.assertEqual(self.fingerprint(), before)
        for who in self.everybody(name):
            if self.expected(name, who):
                continue
            with self.subTest(operation=name, who=who, may=True):
                answer = self.ask(who, *self.request(name, who, {}))
                if answer.status not in ROWS[name].get("ok", []):
                    self.assertIn(answer.status // 100, (2, 3), answer.body)
            if "principal" in ROWS[name].get("at", {}):
                self.join(self.ws)

    def check_signed(self, name, request):
        """An address that was signed for another path, or another method, is good for nothing here."""
        method, path, body, headers = request
        other = "GET" if method == "PUT" else "PUT"
        for wish in ({"path": "elsewhere.txt", "method": method}, {"path": path.rpartition("/")[2], "method": other}):
            signed = self.owner.ok("POST", f"/api/v1/workspaces/{self.ws}/sign", wish)["url"]
            with self.subTest(operation=name, signed=wish):
                answer = self.ask(self.others[4], method, path + "?" + signed.partition("?")[2], body, headers)
                self.assertEqual((answer.status, answer.code), (403, "permission_denied"), answer.body)

    def test_a_signed_address_opens_no_other_door(self):
        path = self.make_file(None)
        query = self.owner.ok("POST", f"/api/v1/workspaces/{self.ws}/sign", {"path": path})["url"].partition("?")[2]
        nobody = Somebody("a signed address", known=False)
        for name, (method, _, op) in self.ops.items():
            if op.get("security") == [] or ROWS[name].get("signed"):
                continue
            with self.subTest(operation=name):
                method, at, body, headers = self.request(name, self.people["owner"], {})
                answer = self.ask(nobody, method, at.partition("?")[0] + "?" + query, body, headers)
                self.assertEqual(answer.status, 401, answer.body)


def one_of(name):
    def test(self):
        self.check_operation(name)
    return test


for each in ROWS:
    setattr(Permissions, "test_" + each.replace("#", "_with_"), one_of(each))


if __name__ == "__main__":
    unittest.main()
