"""Who comes, and who owns: invitations, signing in, claims, budgets, what was used."""
import re
import threading
import urllib.parse

from base import Client
from files import WORKSPACES, FilesTest

ACCEPT, JOIN, CLAIMS, SIGN_IN = "/api/v1/invites/accept", "/api/v1/invites/join", "/api/v1/claims", "/api/v1/signin"
PASSWORD = "correct horse battery"


class PeopleTest(FilesTest):
    def agent(self, name="agent", **wishes):
        """A principal of their own, and a client of theirs."""
        principal = self.client.ok("POST", "/api/v1/principals", {"name": name}, 201)
        key = self.client.ok("POST", "/api/v1/keys", {"principal": principal["id"], **wishes}, 201)
        return principal["id"], Client(self.server, key["secret"])

    def invite(self, **wishes):
        return self.client.ok("POST", f"{self.ws}/invites", wishes, 201)

    def accept(self, token, login, status=201, **more):
        body = {"token": token, "login": login, "password": PASSWORD, **more}
        answer = Client(self.server, None).post(ACCEPT, body)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json


class Invitations(PeopleTest):
    def test_somebody_new_comes_and_comes_back(self):
        self.make("a.txt", b"hello")
        invite = self.invite(role="editor", name="Ada")
        self.assertEqual((invite["role"], invite["name"], invite["used_at"]), ("editor", "Ada", None))
        came = self.accept(invite["token"], "Ada@Example.org", name="Ada L.")
        ada = Client(self.server, came["key"]["secret"])
        self.assertEqual(came["workspace_id"], self.ws.rpartition("/")[2])
        self.assertEqual(ada.get(self.at("a.txt")).body, b"hello")
        self.assertEqual(self.put("b.txt", b"hers", client=ada).status, 201)
        self.assertEqual(self.stat("b.txt")["author"]["principal_id"], came["principal_id"])
        self.assertNotIn("admin", came["key"]["scopes"])
        self.assertTrue(came["key"]["expires_at"])
        person = ada.ok("GET", "/api/v1/principals/me")
        self.assertEqual((person["kind"], person["name"]), ("human", "Ada L."))
        again = Client(self.server, None).ok(
            "POST", SIGN_IN, {"login": "ada@example.org", "password": PASSWORD}, 201)
        self.assertEqual(again["principal_id"], came["principal_id"])
        self.assertEqual(Client(self.server, again["key"]["secret"]).get(self.at("b.txt")).body, b"hers")
        listed = self.client.ok("GET", f"{self.ws}/invites")["data"]
        self.assertEqual([(i["id"], i["used_by"]) for i in listed], [(invite["id"], came["principal_id"])])
        self.assertNotIn("token", listed[0])
        self.assertNotIn(invite["token"], self.server.log())
        self.assertNotIn(PASSWORD, self.server.log())

    def test_it_works_once(self):
        invite, outcomes = self.invite(), []

        def come(number):
            answer = Client(self.server, None).post(ACCEPT, {
                "token": invite["token"], "login": f"once{number}", "password": PASSWORD})
            outcomes.append(answer.status)

        threads = [threading.Thread(target=come, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(outcomes), [201, 404, 404, 404])

    def test_one_that_is_over_is_like_one_that_never_was(self):
        revoked = self.invite()
        self.client.ok("DELETE", f"{self.ws}/invites/{revoked['id']}", status=204)
        used = self.invite()
        self.accept(used["token"], "over1")
        told = {self.accept(token, "over2", 404)["error"]["message"]
                for token in (revoked["token"], used["token"], "civ_" + "x" * 36)}
        self.assertEqual(len(told), 1)
        self.fails(self.client.request("DELETE", f"{self.ws}/invites/{used['id']}"), 404, "not_found")

    def test_what_is_wrong_leaves_it_open(self):
        invite = self.invite()
        for login, password in (("", PASSWORD), ("a b", PASSWORD), ("x" * 65, PASSWORD), ("short", "123456789")):
            answer = Client(self.server, None).post(
                ACCEPT, {"token": invite["token"], "login": login, "password": password})
            self.fails(answer, 400, "invalid_request")
        self.accept(invite["token"], "taken")
        other = self.invite()
        self.fails(Client(self.server, None).post(
            ACCEPT, {"token": other["token"], "login": "TAKEN", "password": PASSWORD}), 409, "conflict")
        self.accept(other["token"], "x" * 64)

    def test_somebody_who_is_here_joins(self):
        principal, client = self.agent()
        self.fails(client.get(self.ws), 404, "not_found")
        self.assertEqual(client.ok("POST", JOIN, {"token": self.invite(role="viewer")["token"]})["workspace_id"],
                         self.ws.rpartition("/")[2])
        self.assertEqual(client.get(self.ws).status, 200)
        self.fails(self.put("x", client=client), 403, "permission_denied")
        client.ok("POST", JOIN, {"token": self.invite(role="editor")["token"]})
        self.assertEqual(self.put("x", client=client).status, 201)
        client.ok("POST", JOIN, {"token": self.invite(role="viewer")["token"]})  # takes nothing away
        self.assertEqual(self.put("x", client=client).status, 200)

    def test_only_admins_invite(self):
        _, client = self.agent()
        client.ok("POST", JOIN, {"token": self.invite(role="editor")["token"]})
        self.fails(client.post(f"{self.ws}/invites", {}), 403, "permission_denied")
        client.ok("POST", JOIN, {"token": self.invite(role="admin")["token"]})
        self.assertEqual(client.post(f"{self.ws}/invites", {"role": "admin"}).status, 201)
        self.fails(client.post(f"{self.ws}/invites", {"role": "owner"}), 400, "invalid_request")

    def test_who_lost_their_role_does_not_invite_themselves_back(self):
        principal, client = self.agent()
        members = f"{self.ws}/members/{principal}"
        for end in ("PUT", members, {"role": "editor"}), ("DELETE", members, None):
            self.client.ok("PUT", members, {"role": "admin"})
            token = client.ok("POST", f"{self.ws}/invites", {"role": "admin"}, 201)["token"]
            self.assertIn(self.client.request(*end).status, (200, 204))
            self.fails(client.post(JOIN, {"token": token}), 404, "not_found")

    def test_an_invitation_gives_no_more_than_the_key_has(self):
        me = self.client.ok("GET", "/api/v1/principals/me")["id"]
        for wishes in ({"scopes": ["share"]}, {"limits": {"runs_per_minute": 5}}):
            key = self.client.ok("POST", "/api/v1/keys", {"principal": me, **wishes}, 201)
            self.fails(Client(self.server, key["secret"]).post(f"{self.ws}/invites", {}), 403, "permission_denied")

    def test_as_many_as_there_may_be(self):
        for _ in range(100):
            last = self.invite()
        self.fails(self.client.post(f"{self.ws}/invites", {}), 429, "limit_exceeded")
        self.client.ok("DELETE", f"{self.ws}/invites/{last['id']}", status=204)
        self.invite()


class SigningIn(PeopleTest):
    def test_wrong_names_and_passwords_are_told_alike_and_slowed(self):
        self.accept(self.invite()["token"], "grace")
        client, told, last = Client(self.server, None), set(), None
        for login, password in (("grace", "wrong password"), ("nobody", PASSWORD), ("Not A Name", PASSWORD)):
            answer = client.post(SIGN_IN, {"login": login, "password": password})
            told.add(self.fails(answer, 401, "unauthorized").json["error"]["message"])
        self.assertEqual(len(told), 1)
        for _ in range(30):
            last = client.post(SIGN_IN, {"login": "grace", "password": "wrong password"})
            if last.status == 429:
                break
        self.assertEqual(last.status, 429)
        self.assertGreater(int(last.headers["Retry-After"]), 0)

    def test_one_key_too_many_ends_the_oldest(self):
        came = self.accept(self.invite()["token"], "barbara")
        keys = [Client(self.server, None).ok("POST", SIGN_IN, {"login": "barbara", "password": PASSWORD}, 201)["key"]
                for _ in range(20)]
        self.fails(Client(self.server, came["key"]["secret"]).get(WORKSPACES), 401, "unauthorized")
        for key in keys:
            self.assertEqual(Client(self.server, key["secret"]).get(WORKSPACES).status, 200)

    def test_another_password(self):
        came = self.accept(self.invite()["token"], "edsger")
        client = Client(self.server, came["key"]["secret"])
        self.fails(client.post("/api/v1/password", {"old": "not it at all", "new": "another long one"}),
                   403, "permission_denied")
        client.ok("POST", "/api/v1/password", {"old": PASSWORD, "new": "another long one"}, 204)
        self.fails(Client(self.server, None).post(SIGN_IN, {"login": "edsger", "password": PASSWORD}),
                   401, "unauthorized")
        Client(self.server, None).ok("POST", SIGN_IN, {"login": "edsger", "password": "another long one"}, 201)
        self.fails(self.client.post("/api/v1/password", {"old": "x", "new": "another long one"}), 404, "not_found")


class Claims(PeopleTest):
    def test_the_workspace_gets_another_owner(self):
        self.make("a.txt", b"kept")
        principal, client = self.agent("new owner")
        claim = self.client.ok("POST", f"{self.ws}/claims", None, 201)
        taken = client.ok("POST", CLAIMS, {"token": claim["token"]})
        self.assertEqual(taken["owner"], principal)
        self.assertEqual(client.get(self.at("a.txt")).body, b"kept")
        self.assertEqual(self.put("b.txt", b"on", client=client).status, 201)
        self.assertIn(taken["workspace_id"], [w["id"] for w in client.ok("GET", WORKSPACES)["data"]])
        self.fails(client.post(CLAIMS, {"token": claim["token"]}), 404, "not_found")

    def test_who_gave_it_stays_an_admin(self):
        _, giver = self.agent("giver")
        _, taker = self.agent("taker")
        ws = giver.ok("POST", WORKSPACES, {"name": "given"}, 201)["id"]
        taker.ok("POST", WORKSPACES, {"name": "given"}, 201)
        claim = giver.ok("POST", f"{WORKSPACES}/{ws}/claims", None, 201)
        self.assertEqual(taker.ok("POST", CLAIMS, {"token": claim["token"]})["name"], "given 2")
        self.assertEqual(giver.request("PUT", f"{WORKSPACES}/{ws}/files/x", raw=b"1").status, 201)
        self.assertEqual(giver.post(f"{WORKSPACES}/{ws}/invites", {}).status, 201)
        self.fails(giver.request("DELETE", f"{WORKSPACES}/{ws}"), 403, "permission_denied")
        self.fails(giver.post(f"{WORKSPACES}/{ws}/claims"), 403, "permission_denied")
        self.assertEqual(taker.request("DELETE", f"{WORKSPACES}/{ws}").status, 204)

    def test_nobody_takes_it_back_by_an_older_claim(self):
        _, giver = self.agent("giver")
        _, taker = self.agent("taker")
        ws = giver.ok("POST", WORKSPACES, {"name": "for good"}, 201)["id"]
        first, second = (giver.ok("POST", f"{WORKSPACES}/{ws}/claims", None, 201) for _ in range(2))
        taker.ok("POST", CLAIMS, {"token": first["token"]})
        self.fails(giver.post(CLAIMS, {"token": second["token"]}), 404, "not_found")

    def test_five_are_open_at_most_and_one_can_be_revoked(self):
        claims = [self.client.ok("POST", f"{self.ws}/claims", None, 201) for _ in range(5)]
        self.fails(self.client.post(f"{self.ws}/claims"), 429, "limit_exceeded")
        self.client.ok("DELETE", f"{self.ws}/claims/{claims[0]['id']}", status=204)
        _, client = self.agent()
        self.fails(client.post(CLAIMS, {"token": claims[0]["token"]}), 404, "not_found")
        self.client.ok("POST", f"{self.ws}/claims", None, 201)
        self.assertEqual(len(self.client.ok("GET", f"{self.ws}/claims")["data"]), 6)

    def test_what_cannot_be_given(self):
        answer = self.client.post(f"{WORKSPACES}/default/claims")
        self.fails(answer, 409, "conflict")
        claim = self.client.ok("POST", f"{self.ws}/claims", None, 201)
        self.fails(self.client.post(CLAIMS, {"token": claim["token"]}), 409, "conflict")
        _, client = self.agent()  # and it was not used up by that
        client.ok("POST", CLAIMS, {"token": claim["token"]})


class Budgets(PeopleTest):
    def test_a_key_has_its_month(self):
        _, client = self.agent(limits={"runs_per_month": 2})
        session = client.session()
        client.run(session, "1")
        client.run(session, "2")
        answer = self.fails(client.post(f"/api/v1/sessions/{session}/runs", {"code": "3"}), 429, "limit_exceeded")
        self.assertIn("this month", answer.json["error"]["message"])
        self.assertGreater(int(answer.headers["Retry-After"]), 0)

    def test_what_was_used_by_key_and_by_workspace(self):
        principal, client = self.agent("spender")
        workspace = client.ok("POST", WORKSPACES, {"name": "spent"}, 201)["id"]
        session = client.session(workspace=workspace)
        client.run(session, "x = sum(range(10**6)); open('a.txt', 'w').write('12345')")
        client.run(session, "2")
        report = client.ok("GET", "/api/v1/usage")
        self.assertEqual([k["runs"] for k in report["keys"]], [2])
        used = {w["workspace_id"]: w for w in report["workspaces"]}
        self.assertEqual((used[workspace]["runs"], used[workspace]["files"], used[workspace]["bytes"]), (2, 1, 5))
        self.assertGreater(used[workspace]["cpu_ms"], 0)
        self.assertEqual(sum(k["runs"] for k in client.ok("GET", "/api/v1/usage?month=2020-02")["keys"]), 0)
        self.assertIn(workspace, [w["workspace_id"] for w in self.client.ok(
            "GET", f"/api/v1/usage?principal={principal}")["workspaces"]])
        self.fails(client.get("/api/v1/usage?month=2020-13"), 400, "invalid_request")
        other, _ = self.agent("other")
        self.fails(client.get(f"/api/v1/usage?principal={other}"), 404, "not_found")

    def test_a_quota_for_all_that_somebody_owns(self):
        principal, client = self.agent("owner")
        self.client.ok("PUT", f"/api/v1/principals/{principal}/quota", {"bytes": 1000}, 204)
        one, two = (client.ok("POST", WORKSPACES, {"name": name}, 201)["id"] for name in ("one", "two"))
        self.assertEqual(client.request("PUT", f"{WORKSPACES}/{one}/files/a", raw=b"x" * 600).status, 201)
        self.fails(client.request("PUT", f"{WORKSPACES}/{two}/files/a", raw=b"y" * 401), 507, "quota_exceeded")
        self.assertEqual(client.request("PUT", f"{WORKSPACES}/{two}/files/a", raw=b"y" * 400).status, 201)
        self.fails(client.request("PUT", f"{WORKSPACES}/{one}/files/b", raw=b"z"), 507, "quota_exceeded")
        self.fails(client.request("PUT", f"/api/v1/principals/{principal}/quota", {"bytes": 0}), 403,
                   "permission_denied")
        self.client.ok("PUT", f"/api/v1/principals/{principal}/quota", {"bytes": 0}, 204)
        self.assertEqual(client.request("PUT", f"{WORKSPACES}/{one}/files/b", raw=b"z").status, 201)


class ThePageOfAnInvitation(PeopleTest):
    def send(self, url, **fields):
        return Client(self.server, None).request(
            "POST", url, raw=urllib.parse.urlencode(fields).encode(),
            headers={"Content-Type": "application/x-www-form-urlencoded"})

    def test_a_person_comes_by_it(self):
        invite = self.invite(role="editor")
        page = Client(self.server, None).get(invite["url"])
        self.assertEqual((page.status, page.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", page.headers["Content-Security-Policy"])
        self.assertNotIn("<script", page.body.decode())
        for wrong, status in ((("b ad", PASSWORD), 400), (("good", "short"), 400)):
            again = self.send(invite["url"], login=wrong[0], password=wrong[1])
            self.assertEqual(again.status, status)
            self.assertIn(f'value="{wrong[0]}"', again.body.decode())
        done = self.send(invite["url"], login="form.user", password=PASSWORD)
        self.assertEqual(done.status, 200)
        secret = re.search(r"cik_\w+", done.body.decode())[0]
        self.assertEqual(self.put("mine.txt", b"1", client=Client(self.server, secret)).status, 201)
        gone = self.send(invite["url"], login="late", password=PASSWORD)
        self.assertEqual(gone.status, 404)
        self.assertIn("does not work", gone.body.decode())
        self.assertNotIn(invite["token"], self.server.log())

    def test_names_are_shown_as_text(self):
        name = "<script>alert(1)</script> \"quoted\" & more"
        self.client.ok("PATCH", self.ws, {"name": name.replace("/", "|")})
        page = Client(self.server, None).get(self.invite()["url"]).body.decode()
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;", page)
