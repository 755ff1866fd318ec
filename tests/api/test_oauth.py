"""Tokens of an external issuer instead of keys, and how clients of MCP find out where to get them."""
import http.client
import json
import socket
import unittest

from base import KEY, Answer, ApiTest, Client, Server, eventually
from issuer import Issuer, Key, b64url
from mcp import Modern, RpcError

PUBLIC = "https://cicada.example.org"
FILES = "/api/v1/workspaces/default/files/"
ME = "/api/v1/principals/me"
METADATA = "/.well-known/oauth-protected-resource"
addresses = (f"127.7.{a}.{b}" for a in range(1, 250) for b in range(1, 250))


def knock(server, path="/mcp", token=None, method="POST", headers=None, body=b"{}"):
    """One request from an address of its own: wrong tokens are counted by address."""
    connection = http.client.HTTPConnection(*server.address, timeout=60, source_address=(next(addresses), 0))
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **(headers or {})}
    if token is not None:
        sent["Authorization"] = "Bearer " + token
    connection.request(method, path, body if method == "POST" else None, sent)
    response = connection.getresponse()
    answer = Answer(response.status, response.headers, response.read())
    connection.close()
    return answer


class Base(ApiTest):
    way, path = "openid-configuration", ""

    @classmethod
    def setUpClass(cls):
        cls.issuer = Issuer(cls.way, cls.path)
        cls.server = Server(settings={"oauth.issuer": cls.issuer.url, "server.public_url": PUBLIC, **cls.settings})

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.issuer.stop()

    def come(self, sub, **wishes):
        client = Client(self.server, self.issuer.token(sub, **wishes))
        self.addCleanup(client.close)
        return client

    def refused(self, token, status=401, code="unauthorized", path=ME):
        answer = knock(self.server, path, token, "GET")
        self.assertEqual((answer.status, answer.code), (status, code), answer.body)
        self.assertTrue(answer.json["error"]["hint"])
        return answer


class People(Base):
    settings = {"oauth.admin_subjects": "root|1 other"}

    def test_two_subjects_have_two_workspaces_each_time_the_same(self):
        alice, bob = self.come("alice", preferred_username="Alice A."), self.come("bob")
        first, second = alice.ok("GET", ME), bob.ok("GET", ME)
        self.assertEqual((first["name"], first["kind"], first["on_behalf_of"]), ("Alice A.", "human", "alice"))
        self.assertEqual(second["name"], "bob")
        self.assertNotEqual(first["workspace_id"], second["workspace_id"])
        self.assertEqual(first["parent_id"], second["parent_id"])
        self.assertEqual(alice.request("PUT", FILES + "a.txt", raw=b"mine").status, 201)
        self.fails(bob.get(FILES + "a.txt"), 404, "not_found")
        self.fails(bob.get(f"/api/v1/workspaces/{first['workspace_id']}/files/a.txt"), 404, "not_found")
        again = self.come("alice", preferred_username="Somebody else")
        self.assertEqual(again.ok("GET", ME), first)
        self.assertEqual(again.get(FILES + "a.txt").body, b"mine")

    def test_code_runs_for_them(self):
        session = self.come("runner").session()
        self.assertEqual(self.come("runner").run(session, "print(6*7)")["stdout"], "42\n")
        self.fails(self.come("not the runner").get("/api/v1/sessions/" + session), 404, "not_found")

    def test_the_issuer_is_a_principal_and_in_the_audit(self):
        carol = self.come("carol", email="carol@example.org")
        me = carol.ok("GET", ME)
        self.assertEqual(me["name"], "carol@example.org")
        parent = self.client.ok("GET", "/api/v1/principals/" + me["parent_id"])
        self.assertEqual((parent["name"], parent["kind"]), (self.issuer.url, "agent"))
        self.assertEqual(carol.request("PUT", FILES + "c.txt", raw=b"c").status, 201)
        entries = eventually(lambda: self.client.ok("GET", "/api/v1/audit?event=putFile&principal=" + me["id"])["data"])
        self.assertIn(me["parent_id"], json.dumps(entries[0]))
        made = self.client.ok("GET", "/api/v1/audit?event=createPrincipal&principal=" + me["parent_id"])["data"]
        self.assertIn(me["id"], json.dumps(made))

    def test_scopes_are_those_of_the_token(self):
        reader = self.come("reader", scope="openid profile files:read everything")
        self.assertEqual(reader.get("/api/v1/workspaces/default/files").status, 200)
        self.fails(reader.request("PUT", FILES + "x", raw=b"x"), 403, "permission_denied")
        self.fails(reader.post("/api/v1/sessions", {}), 403, "permission_denied")
        listed = self.come("lister", scope=None, scp=["files:read", "files:write"])
        self.assertEqual(listed.request("PUT", FILES + "x", raw=b"x").status, 201)
        for nothing in ("", "Files:Read", "files:read,files:write", None):
            self.fails(self.come("nobody", scope=nothing).get("/api/v1/workspaces/default/files"), 403, "permission_denied")

    def test_admin_is_who_the_operator_names(self):
        self.fails(self.come("mallory", scope="admin run").post("/api/v1/keys", {}), 403, "permission_denied")
        self.fails(self.come("root", scope="admin").get("/api/v1/audit"), 403, "permission_denied")
        admin = self.come("root|1", scope="")
        made = admin.ok("POST", "/api/v1/keys", {"name": "from a token"}, 201)
        self.assertIsNotNone(made["expires_at"])  # not longer than the token
        self.assertGreater(len(admin.ok("GET", "/api/v1/principals")["data"]), 1)

    def test_wrong_tokens_say_what_is_wrong(self):
        token, stranger = self.issuer.token, Key("first")
        now = 1_800_000_000
        good = token("w")
        head, claims, signature = good.split(".")
        for wrong, why in ((token("w", exp=now - 400_000_000), "expired"),
                           (token("w", exp=None), "expires"),
                           (token("w", nbf=4_000_000_000), "future"),
                           (token("w", aud="https://elsewhere.example.org"), "audience"),
                           (token("w", aud=PUBLIC + "/"), "audience"),
                           (token("w", iss="https://evil.example.org"), "issuer"),
                           (token("w", iss=self.issuer.url + "/"), "issuer"),
                           (token(None), "whose"), (token("s" * 257), "whose"), (token("a\nb"), "whose"),
                           (token("w", key=stranger), "not signed by"),
                           (token("w", header={"alg": "none"}), "way that is accepted"),
                           (token("w", header={"alg": "HS256"}), "way that is accepted"),
                           (token("w", header={"typ": "logout+jwt"}), "typ"),
                           (token("w", header={"crit": ["exp"]}), "understood"),
                           (token("w", header={"alg": "RS256"}), "does not publish"),
                           (f"{head}.{claims}.", "signature"),
                           (f"{head}.{b64url(b'{}')}.{signature}", "issuer"),
                           (f"{head}.{claims}.{signature[:-4]}AAAA", "not signed by"),
                           ("..", "known"), ("a.b.c", "broken"), ("x" * 5000 + ".x.x", "broken")):
            self.assertIn(why, self.refused(wrong).json["error"]["message"], wrong[:80])
        self.assertEqual(knock(self.server, ME, good, "GET").status, 200)

    def test_wrong_tokens_are_counted_like_wrong_keys(self):
        connection = http.client.HTTPConnection(*self.server.address, timeout=60, source_address=(next(addresses), 0))
        statuses = []
        for _ in range(20):
            connection.request("GET", ME, headers={"Authorization": "Bearer " + self.issuer.token("w", aud="x")})
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
        connection.request("GET", ME, headers={"Authorization": "Bearer " + self.issuer.token("w")})
        good = connection.getresponse().status
        connection.close()
        self.assertEqual((statuses[0], statuses[-1], good), (401, 429, 200))

    def test_who_is_disabled_is_refused_at_once_and_until_that_ends(self):
        token = self.issuer.token("dave")
        dave = Client(self.server, token)
        self.addCleanup(dave.close)
        me = dave.ok("GET", ME)
        key = self.client.ok("POST", "/api/v1/keys", {"principal": me["id"]}, 201)["secret"]
        changed = self.client.ok("PATCH", "/api/v1/principals/" + me["id"], {"disabled": True})
        self.assertIsNotNone(changed["disabled_at"])
        self.refused(token, 403, "permission_denied")
        self.refused(self.issuer.token("dave", scope="run"), 403, "permission_denied")
        self.refused(key)
        self.assertEqual(self.come("erin").get(ME).status, 200)
        self.fails(self.come("erin").request("PATCH", "/api/v1/principals/" + me["id"], {"disabled": False}), 403, "permission_denied")
        self.client.ok("PATCH", "/api/v1/principals/" + me["id"], {"disabled": False})
        self.assertEqual(dave.ok("GET", ME), {**changed, "disabled_at": None})
        self.assertEqual(knock(self.server, ME, key, "GET").status, 200)
        own = self.client.ok("GET", ME)["id"]
        self.fails(self.client.request("PATCH", "/api/v1/principals/" + own, {"disabled": True}), 409, "conflict")

    def test_keys_go_on_to_work_and_tokens_are_in_no_log(self):
        token = self.issuer.token("quiet")
        self.assertEqual(knock(self.server, ME, KEY, "GET").status, 200)
        self.assertEqual(knock(self.server, ME, token, "GET").status, 200)
        self.refused(token[:-5] + "AAAAA")
        self.assertNotIn(token.split(".")[1], self.server.log())


class Doors(Base):
    """How clients of MCP find the issuer."""

    def test_metadata(self):
        for path in (METADATA, METADATA + "/mcp"):
            told = Client(self.server, None).ok("GET", path)
            self.assertEqual(told, {"resource": PUBLIC + "/mcp", "resource_name": "cicada", "authorization_servers": [self.issuer.url],
                                    "scopes_supported": ["run", "files:read", "files:write", "share", "audit"],
                                    "bearer_methods_supported": ["header"]})

    def test_who_has_no_token_is_told_where_to_look(self):
        where = f'resource_metadata="{PUBLIC}{METADATA}/mcp"'
        for method in ("POST", "GET", "DELETE"):
            answer = knock(self.server, method=method)
            self.assertEqual((answer.status, answer.headers["WWW-Authenticate"]), (401, f'Bearer realm="cicada", {where}'))
        for wrong in (self.issuer.token("w", aud="x"), "cik_nobody"):
            answer = knock(self.server, token=wrong)
            self.assertEqual((answer.status, answer.headers["WWW-Authenticate"]),
                             (401, f'Bearer realm="cicada", error="invalid_token", {where}'))
        self.assertEqual(knock(self.server, ME, method="GET").headers["WWW-Authenticate"], 'Bearer realm="cicada"')

    def test_a_token_is_good_at_the_door_and_only_for_its_scopes(self):
        tools = {t["name"] for t in Modern(self.server, self.issuer.token("m")).rpc("tools/list")["tools"]}
        self.assertIn("run_code", tools)
        reader = Modern(self.server, self.issuer.token("m", scope="files:read"))
        self.assertNotIn("run_code", {t["name"] for t in reader.rpc("tools/list")["tools"]})
        with self.assertRaises(RpcError) as caught:
            reader.call("run_code", code="1")
        self.assertEqual(caught.exception.status, 403)
        self.assertEqual(caught.exception.headers["WWW-Authenticate"],
                         f'Bearer error="insufficient_scope", scope="run", resource_metadata="{PUBLIC}{METADATA}/mcp"')

    def test_host_and_origin_are_checked_first(self):
        port = self.server.address[1]
        token = self.issuer.token("h")
        evil = {"Host": "evil.example.com", "Origin": "http://evil.example.com"}
        self.assertEqual(knock(self.server, token=token, headers=evil).status, 403)
        self.assertEqual(knock(self.server, headers={"Host": "evil.example.com"}).status, 403)
        for origin in ("http://evil.example.com", "null", "http://localhost.evil.example.com", f"http://localhost:{port + 1}"):
            headers = {"Host": f"localhost:{port}", "Origin": origin}
            for method in ("POST", "GET", "DELETE"):
                self.assertEqual(knock(self.server, token=token, headers=headers, method=method).status, 403, origin)
        own = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
        self.assertEqual(knock(self.server, headers=own).status, 401)
        self.assertNotEqual(knock(self.server, token=token, headers=own).status, 403)


class Pages(Base):
    """Clients of MCP in a browser."""
    settings = {"server.origins": "https://app.example.org"}

    def preflight(self, asked, origin="https://app.example.org"):
        return knock(self.server, method="OPTIONS", headers={"Origin": origin, "Access-Control-Request-Method": "POST",
                                                             "Access-Control-Request-Headers": asked})

    def test_headers_of_mcp_are_allowed(self):
        answer = self.preflight("authorization,mcp-protocol-version")
        allowed = {name.strip().lower() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
        self.assertEqual(answer.status, 204)
        self.assertLessEqual({"content-type", "accept", "authorization", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id",
                              "last-event-id"}, allowed)
        self.assertFalse(any(name.startswith("mcp-param-") for name in allowed))
        self.assertEqual(self.preflight("authorization", "https://evil.example.org").status, 403)

    def test_those_of_arguments_as_far_as_they_are_asked_for(self):
        allowed = self.preflight("x-evil, Mcp-Param-Region ,mcp-param-tenant-id,mcp-param-,mcp-param-a b,cookie").headers["Access-Control-Allow-Headers"]
        self.assertTrue(allowed.endswith(", Mcp-Param-Region, mcp-param-tenant-id"), allowed)
        many = ",".join(f"mcp-param-{n}" for n in range(200))
        self.assertEqual(self.preflight(many).headers["Access-Control-Allow-Headers"].count("mcp-param-"), 32)

    def test_what_a_page_may_see(self):
        answer = knock(self.server, headers={"Origin": "https://app.example.org"})
        exposed = {name.strip() for name in answer.headers["Access-Control-Expose-Headers"].split(",")}
        self.assertEqual(answer.status, 401)
        self.assertLessEqual({"Mcp-Session-Id", "WWW-Authenticate"}, exposed)


class Keys(Base):
    """Each test has a server and an issuer of its own: they are broken on the way."""
    way, path = "oauth-authorization-server", "/realms/work"

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def setUp(self):
        self.issuer = Issuer(self.way, self.path)
        self.addCleanup(lambda: self.issuer.stop())

    def serve(self, **more):
        settings = {"oauth.issuer": self.issuer.url, "oauth.audience": "us, " + PUBLIC + "/mcp", **more}
        self.server = Server(settings={k.replace("__", "."): v for k, v in settings.items()})
        self.addCleanup(self.server.close)

    def status(self, token):
        return knock(self.server, ME, token, "GET").status

    def test_a_new_key_is_found_and_the_old_one_forgotten(self):
        self.serve()
        old = self.issuer.token("a", aud="us")
        self.assertEqual(self.status(old), 200)
        before = self.issuer.rotate("second", "RS256")
        self.assertEqual(self.status(self.issuer.token("a")), 200)
        self.assertEqual(self.status(self.issuer.token("a", key=before)), 401)
        self.assertEqual(self.status(old), 401)  # although it was good before

    def test_keys_that_nobody_has_make_few_questions(self):
        self.serve()
        self.assertEqual(self.status(self.issuer.token("a")), 200)
        stranger = Key("unknown")
        for n in range(30):
            stranger.kid = f"unknown-{n}"
            self.assertEqual(self.status(self.issuer.token("a", key=stranger)), 401)
        self.assertLessEqual(self.issuer.fetches(), 10)  # one, five, and one in ten seconds
        self.assertEqual(self.status(self.issuer.token("a")), 200)

    def test_tokens_for_others_make_no_questions(self):
        self.serve()
        self.assertEqual(self.status(self.issuer.token("a")), 200)
        before = self.issuer.fetches()  # one at the start, and one more if the first token came before its answer
        stranger = Key("unknown")
        for wrong in ({"aud": "x"}, {"iss": "https://x.example.org"}, {"exp": 1}):
            self.assertEqual(self.status(self.issuer.token("a", key=stranger, **wrong)), 401)
        self.assertEqual(self.issuer.fetches(), before)

    def test_an_issuer_that_went_away_is_still_believed(self):
        self.serve()
        self.assertEqual(self.status(self.issuer.token("a")), 200)
        self.issuer.stop()
        self.assertEqual(self.status(self.issuer.token("a", scope="run")), 200)
        self.assertEqual(self.status(self.issuer.token("new")), 200)
        self.assertEqual(self.status(self.issuer.token("a", key=Key("unknown"))), 401)
        self.issuer.start(self.issuer.port)

    def test_an_issuer_that_is_not_there_yet(self):
        self.issuer.stop()
        self.serve()
        answer = knock(self.server, ME, self.issuer.token("a"), "GET")
        self.assertEqual((answer.status, answer.code), (503, "unavailable"))
        self.assertTrue(answer.headers["Retry-After"])
        self.assertEqual(self.status(KEY), 200)
        self.issuer.start(self.issuer.port)
        eventually(lambda: self.status(self.issuer.token("a")) == 200)

    def test_a_description_of_another_issuer_is_not_believed(self):
        self.issuer.lies = {"issuer": "https://evil.example.org"}
        self.serve()
        self.assertEqual(self.status(self.issuer.token("a")), 503)
        self.assertEqual(self.issuer.fetches(), 0)
        self.assertIn("another issuer", self.server.log())

    def test_an_issuer_that_does_not_answer_does_not_hold_the_server_up(self):
        self.issuer.stop()
        with socket.create_server(("127.0.0.1", self.issuer.port)):  # connects, and then nothing
            self.serve()
            self.assertEqual(self.status(KEY), 200)
            self.assertEqual(self.status(self.issuer.token("a")), 503)
            self.server.stop()
        self.issuer.start(self.issuer.port)

    def test_the_address_of_the_keys_can_be_said(self):
        self.issuer.way = "openid-configuration"
        self.issuer.lies = {"jwks_uri": None}
        self.serve(oauth__jwks_url=f"http://127.0.0.1:{self.issuer.port}/keys")
        self.assertEqual(self.status(self.issuer.token("a")), 200)
        self.assertEqual(set(self.issuer.asked), {"/keys"})

    def test_scopes_for_everybody(self):
        self.serve(oauth__default_scopes="run files:read files:write share audit")
        self.assertEqual(knock(self.server, "/api/v1/workspaces/default/files", self.issuer.token("a", scope=None), "GET").status, 200)
        told = Client(self.server, None).ok("GET", METADATA)
        self.assertEqual((told["resource"], "scopes_supported" in told), ("http://%s:%d/mcp" % self.server.address, False))


class Without(ApiTest):
    """A server that knows keys only."""

    def test_metadata_names_nobody(self):
        told = Client(self.server, None).ok("GET", METADATA + "/mcp")
        self.assertEqual(told["resource"], "http://%s:%d/mcp" % self.server.address)
        self.assertNotIn("authorization_servers", told)

    def test_a_token_is_a_wrong_key(self):
        issuer = Issuer()
        self.addCleanup(issuer.stop)
        answer = knock(self.server, token=issuer.token("a"))
        self.assertEqual(answer.status, 401)
        self.assertIn(f'resource_metadata="http://{self.server.address[0]}:{self.server.address[1]}{METADATA}/mcp"',
                      answer.headers["WWW-Authenticate"])


if __name__ == "__main__":
    unittest.main()
