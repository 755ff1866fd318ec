"""Who may do what: keys, scopes, limits, origins."""
import os
import time
import unittest

from base import KEY, ApiTest, Client, Server

KEYS = "/api/v1/keys"


class Keys(ApiTest):
    def make(self, **wishes):
        key = self.client.ok("POST", KEYS, wishes, 201)
        return key, Client(self.server, key["secret"])

    def test_without_a_key_or_with_a_wrong_one(self):
        for key in None, "", "cik_" + "x" * 36, "nonsense", KEY + "x", KEY[:-1]:
            answer = Client(self.server, key).get("/api/v1/sessions")
            self.fails(answer, 401, "unauthorized")
            self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
        answer = Client(self.server, None).get("/api/v1/sessions", headers={"X-API-Key": KEY})
        self.assertEqual(answer.status, 200)
        answer = Client(self.server, None).get("/api/v1/sessions", headers={"Authorization": "bearer " + KEY})
        self.assertEqual(answer.status, 200)

    def test_a_key_is_made_shown_once_used_and_revoked(self):
        key, client = self.make(name="bot", scopes=["run", "files:read"])
        self.assertEqual((key["name"], key["scopes"]), ("bot", ["run", "files:read"]))
        self.assertNotIn("secret", self.client.ok("GET", f"{KEYS}/{key['id']}"))
        self.assertIn(key["id"], [k["id"] for k in self.client.ok("GET", KEYS)["data"]])
        self.assertEqual(client.ok("GET", "/api/v1/sessions")["data"], self.client.ok("GET", "/api/v1/sessions")["data"])
        self.client.ok("DELETE", f"{KEYS}/{key['id']}", status=204)
        self.fails(client.get("/api/v1/sessions"), 401, "unauthorized")
        self.assertTrue(self.client.ok("GET", f"{KEYS}/{key['id']}")["revoked_at"])
        self.assertNotIn(key["secret"], self.server.log())

    def test_a_key_gives_no_more_than_its_scopes(self):
        _, client = self.make(scopes=["files:read"])
        for method, path in (("GET", "/api/v1/sessions"), ("POST", "/api/v1/sessions"), ("GET", "/api/v1/runs")):
            answer = self.fails(client.request(method, path), 403, "permission_denied")
            self.assertIn("run", answer.json["error"]["message"])
        self.fails(client.post("/api/v1/runs", {"code": "1"}), 403, "permission_denied")
        _, client = self.make(scopes=["run"])
        self.fails(client.post(KEYS, {}), 403, "permission_denied")
        self.fails(client.post("/api/v1/principals", {"name": "x"}), 403, "permission_denied")
        self.fails(client.get("/metrics"), 403, "permission_denied")

    def test_a_key_expires(self):
        _, client = self.make(expires_in_s=1)
        self.assertEqual(client.get("/api/v1/sessions").status, 200)
        end = time.monotonic() + 10
        while client.get("/api/v1/sessions").status == 200:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.fails(client.get("/api/v1/sessions"), 401, "unauthorized")

    def test_limits_of_a_key(self):
        _, client = self.make(limits={"runs_per_minute": 2, "sessions": 1, "memory_mb": 100})
        session = client.session()
        self.assertEqual(client.run(session, "1")["limits"]["memory_mb"], 100)
        self.fails(client.post("/api/v1/sessions", {}), 429, "limit_exceeded")
        self.assertEqual(client.run(session, "1")["end"], "ok")
        answer = self.fails(client.post(f"/api/v1/sessions/{session}/runs", {"code": "1"}), 429, "limit_exceeded")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        client.ok("DELETE", "/api/v1/sessions/" + session, status=204)
        _, client = self.make(limits={"memory_mb": 100})
        self.fails(client.post("/api/v1/sessions", {"limits": {"memory_mb": 200}}), 400, "invalid_request")

    def test_seconds_of_cpu_per_day(self):
        _, client = self.make(limits={"cpu_s_per_day": 1})
        session = client.session()
        client.run(session, "import time\nend = time.process_time() + 1.3\nwhile time.process_time() < end: pass")
        answer = self.fails(client.post(f"/api/v1/sessions/{session}/runs", {"code": "1"}), 429, "limit_exceeded")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        client.ok("DELETE", "/api/v1/sessions/" + session, status=204)

    def test_what_is_wrong_with_a_wish_is_named(self):
        for body in ({"scopes": ["everything"]}, {"expires_in_s": 0}, {"limits": {"sessions": -1}}, {"name": "x" * 300}, {"nom": "x"}):
            self.fails(self.client.post(KEYS, body), 400, "invalid_request")
        self.fails(self.client.post(KEYS, {"principal": "prn_none"}), 404, "not_found")
        self.fails(self.client.get(KEYS + "/key_none"), 404, "not_found")

    def test_principals(self):
        me = self.client.ok("GET", "/api/v1/principals/me")
        made = self.client.ok("POST", "/api/v1/principals", {"name": "agent 7", "kind": "agent"}, 201)
        self.assertEqual(made["kind"], "agent")
        self.assertEqual(self.client.ok("GET", "/api/v1/principals/" + made["id"]), made)
        self.assertIn(made["id"], [p["id"] for p in self.client.ok("GET", "/api/v1/principals?limit=100")["data"]])
        _, client = self.make(principal=made["id"], scopes=["run"])
        self.assertEqual(client.ok("GET", "/api/v1/principals/me")["id"], made["id"])
        self.fails(client.get("/api/v1/principals/" + me["id"]), 404, "not_found")

    def test_the_unix_socket_needs_no_key_for_who_runs_the_server(self):
        client = Client(self.server, None, unix=self.server.data + "/s/api.sock")
        self.assertEqual(client.ok("GET", "/api/v1/principals/me")["id"], self.client.ok("GET", "/api/v1/principals/me")["id"])
        self.assertEqual(client.ok("POST", "/api/v1/runs", {"code": "6*7"})["result"]["text/plain"], "42")

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_the_unix_socket_is_closed_to_others(self):
        self.assertEqual(os.stat(self.server.data + "/s/api.sock").st_mode & 0o777, 0o600)


class Doors(ApiTest):
    settings = {"server.hosts": "cicada.example", "server.origins": "https://app.example"}

    def ask(self, **headers):
        return self.client.get("/api/v1/sessions", headers={k.replace("_", "-"): v for k, v in headers.items()})

    def test_hosts_that_are_not_ours_are_refused(self):
        for host in "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80":
            self.fails(self.ask(Host=host), 403, "permission_denied")
        for host in "localhost", "127.0.0.1:1", "[::1]:8700", "cicada.example", "CICADA.example:443":
            self.assertEqual(self.ask(Host=host).status, 200, host)

    def test_origins_that_were_not_allowed_are_refused(self):
        for origin in "https://evil.example", "null", "http://127.0.0.1:1", "https://app.example.evil.example":
            self.fails(self.ask(Origin=origin), 403, "permission_denied")
        self.assertEqual(self.ask(Origin="http://127.0.0.1:9", Host="127.0.0.1:9").status, 200)
        answer = self.ask(Origin="https://app.example")
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "https://app.example")

    def test_preflights(self):
        headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
        answer = Client(self.server, None).request("OPTIONS", "/api/v1/runs", headers=headers)
        self.assertEqual(answer.status, 204)
        self.assertIn("Authorization", answer.headers["Access-Control-Allow-Headers"])
        headers["Origin"] = "https://evil.example"
        answer = Client(self.server, None).request("OPTIONS", "/api/v1/runs", headers=headers)
        self.assertEqual(answer.status, 403)

    def test_addresses_that_are_not_there(self):
        for path in "/", "/api", "/api/v1", "/api/v1/sessions/", "/api/v1//sessions", "/api/v1/sessions/ses_x/nothing", "/API/v1/sessions", "/api/v1/runs/..%2f..", "/%00":
            answer = self.client.get(path)
            self.assertIn(answer.status, (400, 404), path)
        answer = self.client.request("PUT", "/api/v1/sessions")
        self.fails(answer, 405, "method_not_allowed")
        self.assertEqual(answer.headers["Allow"], "POST, GET, HEAD")
        self.assertEqual(self.client.request("HEAD", "/healthz").status, 200)

    def test_guessing_keys_is_slowed_down(self):
        server = Server()
        self.addCleanup(server.close)
        guesser = Client(server, "cik_" + "z" * 36)
        seen = [guesser.get("/api/v1/sessions") for _ in range(30)]
        last = seen[-1]
        self.assertEqual({a.status for a in seen}, {401, 429})
        self.assertGreater(int(last.headers["Retry-After"]), 0)
        self.assertEqual(Client(server).get("/api/v1/sessions").status, 200)  # a right key, from the same address


if __name__ == "__main__":
    unittest.main()
