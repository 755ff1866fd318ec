"""Many tenants on one host: nobody starves, what is full says so, idle sessions make room."""
import time
import unittest

from base import ApiTest, Client, eventually

ONE = "/api/v1/sessions/"
SLEEP = "import time; time.sleep(60)"


class Tenants(ApiTest):
    settings = {"runs.at_once_max": 4, "runs.waiting_max": 8, "runs.background_max": 30, "sessions.queue_max": 3}

    def tenant(self):
        principal = self.client.ok("POST", "/api/v1/principals", {"name": "tenant"}, 201)["id"]
        key = self.client.ok("POST", "/api/v1/keys", {"principal": principal, "scopes": ["run"]}, 201)
        return Client(self.server, key["secret"])

    def flood(self, client, count):
        sessions = [client.session() for _ in range(count)]
        self.addCleanup(lambda: [client.request("DELETE", ONE + s) for s in sessions])
        return [client.run(s, SLEEP, 202, background=True)["id"] for s in sessions]

    def test_a_tenant_with_many_runs_leaves_a_slot_for_another(self):
        greedy, modest = self.tenant(), self.tenant()
        session = modest.session()
        runs = self.flood(greedy, 6)
        eventually(lambda: sum(greedy.ok("GET", "/api/v1/runs/" + r)["status"] == "running" for r in runs) == 3)
        begun = time.monotonic()
        self.assertEqual(modest.run(session, "6*7")["result"]["text/plain"], "42")
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(sum(greedy.ok("GET", "/api/v1/runs/" + r)["status"] == "queued" for r in runs), 3)
        modest.ok("DELETE", ONE + session, status=204)

    def test_who_waits_too_long_in_a_full_house_is_told_when_to_come_back(self):
        greedy, other = self.tenant(), self.tenant()
        runs = self.flood(greedy, 3) + self.flood(other, 1)
        eventually(lambda: all(self.client.ok("GET", "/api/v1/runs/" + r)["status"] == "running" for r in runs))
        waiting = self.flood(greedy, 8)
        eventually(lambda: "cicada_runs_waiting 8" in self.client.get("/metrics").body.decode())
        session = other.session()
        answer = self.fails(other.post(ONE + session + "/runs", {"code": "1"}), 503, "overloaded")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        other.ok("DELETE", ONE + session, status=204)
        for run in waiting:
            self.assertEqual(greedy.ok("POST", f"/api/v1/runs/{run}/cancel")["end"], "cancelled")

    def test_the_line_of_a_session_is_bounded(self):
        client = self.tenant()
        session = client.session()
        for _ in range(4):
            client.run(session, SLEEP, 202, background=True)
        self.fails(client.post(ONE + session + "/runs", {"code": "1", "background": True}), 409, "busy")
        client.ok("DELETE", ONE + session, status=204)


class Room(ApiTest):
    settings = {"sessions.live_max": 2, "sessions.idle_s": 600}

    def test_idle_sessions_fall_asleep_to_make_room_and_keep_what_can_be_kept(self):
        first, second, third = (self.client.session() for _ in range(3))
        self.client.run(first, "x = [1, 2, 3]")
        states = [self.client.ok("GET", ONE + s)["status"] for s in (first, second, third)]
        self.assertEqual(states.count("asleep"), 1)
        self.client.run(second, "y = 2")
        self.client.run(third, "z = 3")
        self.assertEqual(self.client.ok("GET", ONE + first)["status"], "asleep")
        run = self.client.run(first, "x")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "[1, 2, 3]"))

    def test_when_all_are_busy_there_is_no_room(self):
        for row in self.client.ok("GET", "/api/v1/sessions?limit=100")["data"]:
            self.client.ok("DELETE", ONE + row["id"], status=204)
        busy = [self.client.session() for _ in range(2)]
        runs = [self.client.run(s, SLEEP, 202, background=True)["id"] for s in busy]
        eventually(lambda: all(self.client.ok("GET", "/api/v1/runs/" + r)["status"] == "running" for r in runs))
        answer = self.fails(self.client.post("/api/v1/sessions", {}), 503, "overloaded")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        for session in busy:
            self.client.ok("DELETE", ONE + session, status=204)


if __name__ == "__main__":
    unittest.main()
