"""Many tenants on one host: nobody starves, what is full says so, idle sessions make room."""
import concurrent.futures
import threading
import time
import unittest

from base import IMAGES, ApiTest, Client, Server, eventually

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
        for session in (first, second, third):
            self.client.ok("DELETE", ONE + session, status=204)

    def busy(self):
        """Sessions that are at work and take all the room."""
        sessions = [self.client.session() for _ in range(2)]
        runs = [self.client.run(s, SLEEP, 202, background=True)["id"] for s in sessions]
        eventually(lambda: all(self.client.ok("GET", "/api/v1/runs/" + r)["status"] == "running" for r in runs))
        return sessions

    def waits(self, count):
        eventually(lambda: f"cicada_runs_waiting {count}\n" in self.client.get("/metrics").body.decode())

    def test_when_all_are_busy_a_new_session_waits_and_begins_when_one_has_ended(self):
        sessions = self.busy()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            made = pool.submit(Client(self.server).session)
            self.waits(1)
            self.assertFalse(made.done())
            begun = time.monotonic()
            self.client.ok("DELETE", ONE + sessions[0], status=204)
            sessions.append(made.result(20))
            self.assertLess(time.monotonic() - begun, 8)
        for session in sessions[1:]:
            self.client.ok("DELETE", ONE + session, status=204)

    def test_a_session_that_became_idle_makes_room_for_one_that_waits(self):
        first, second = self.busy()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            ran = pool.submit(Client(self.server).ok, "POST", "/api/v1/runs", {"code": "6*7"})
            self.waits(1)
            self.client.ok("POST", f"{ONE}{first}/interrupt")
            self.assertEqual(ran.result(20)["result"]["text/plain"], "42")
        eventually(lambda: self.client.ok("GET", ONE + first)["status"] == "asleep")
        for session in (first, second):
            self.client.ok("DELETE", ONE + session, status=204)

    def test_a_session_that_was_restarted_makes_room_for_one_that_waits(self):
        first, second = self.busy()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            ran = pool.submit(Client(self.server).ok, "POST", "/api/v1/runs", {"code": "6*7"})
            self.waits(1)
            self.client.ok("POST", f"{ONE}{first}/restart")
            self.assertEqual(ran.result(15)["result"]["text/plain"], "42")
        for session in (first, second):
            self.client.ok("DELETE", ONE + session, status=204)

    def test_a_run_that_waits_for_room_can_be_cancelled(self):
        sleeper = self.client.session()
        sessions = self.busy()
        self.assertEqual(self.client.ok("GET", ONE + sleeper)["status"], "asleep")
        run = self.client.run(sleeper, "1", 202, background=True)["id"]
        self.waits(1)
        self.assertEqual(self.client.ok("POST", f"/api/v1/runs/{run}/cancel")["end"], "cancelled")
        self.waits(0)
        for session in [sleeper, *sessions]:
            self.client.ok("DELETE", ONE + session, status=204)

    def test_thirty_at_once_find_room_for_six_one_after_the_other(self):
        server = Server(settings={"sessions.live_max": 6})
        self.addCleanup(server.close)
        gate = threading.Barrier(30)

        def one(n):
            client = Client(server)
            gate.wait()
            return client.post("/api/v1/runs", {"code": f"import time; time.sleep(0.2); {n}"})

        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(one, range(30)))
        self.assertEqual([a.status for a in answers], [200] * 30)
        self.assertEqual([a.json["result"]["text/plain"] for a in answers], [str(n) for n in range(30)])


    def test_a_server_that_stops_does_not_wait_for_room(self):
        server = Server(settings={"sessions.live_max": 1, "server.drain_s": 1})
        self.addCleanup(server.close)
        client = Client(server)
        session = client.session()
        run = client.run(session, SLEEP, 202, background=True)["id"]
        eventually(lambda: client.ok("GET", "/api/v1/runs/" + run)["status"] == "running")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            refused = pool.submit(Client(server).post, "/api/v1/sessions", {})
            eventually(lambda: "cicada_runs_waiting 1\n" in client.get("/metrics").body.decode())
            begun = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - begun, 20)
            self.fails(refused.result(5), 503, "overloaded")


@unittest.skipIf(IMAGES == "off", "needs an image")
class OneAtATime(ApiTest):
    settings = {"runs.at_once_max": 1}

    def test_a_session_whose_time_came_while_its_run_waited_in_vain_falls_asleep(self):
        eventually(lambda: self.client.ok("GET", ONE + self.client.session())["baked"], 120)
        busy, idle = self.client.session(), self.client.session(idle_s=2)
        self.client.run(idle, "x = 7")
        run = self.client.run(busy, SLEEP, 202, background=True)["id"]
        eventually(lambda: self.client.ok("GET", "/api/v1/runs/" + run)["status"] == "running")
        waiting = self.client.run(idle, "1", 202, background=True)["id"]
        time.sleep(3)  # its time comes meanwhile
        self.assertEqual(self.client.ok("GET", "/api/v1/runs/" + waiting)["status"], "queued")
        self.assertEqual(self.client.ok("POST", f"/api/v1/runs/{waiting}/cancel")["end"], "cancelled")
        eventually(lambda: self.client.ok("GET", ONE + idle)["status"] == "asleep", 12)
        self.client.ok("DELETE", ONE + busy, status=204)


class NoLine(ApiTest):
    settings = {"sessions.live_max": 1, "runs.waiting_max": 0}

    def test_where_nobody_may_wait_a_full_house_says_so_at_once(self):
        session = self.client.session()
        self.assertEqual(self.client.run(session, "6*7")["result"]["text/plain"], "42")
        run = self.client.run(session, SLEEP, 202, background=True)["id"]
        eventually(lambda: self.client.ok("GET", "/api/v1/runs/" + run)["status"] == "running")
        begun = time.monotonic()
        answer = self.fails(self.client.post("/api/v1/sessions", {}), 503, "overloaded")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertLess(time.monotonic() - begun, 5)
        self.client.ok("DELETE", ONE + session, status=204)


class NoMemory(ApiTest):
    """A budget that leaves the host more than it has: nothing is ever free."""

    settings = {"sessions.memory_budget_mb": 1}

    def test_a_full_budget_is_waited_for_before_it_is_said(self):
        begun = time.monotonic()
        answer = self.fails(self.client.post("/api/v1/sessions", {}), 503, "overloaded")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertGreater(time.monotonic() - begun, 9)
        self.assertLess(time.monotonic() - begun, 20)


if __name__ == "__main__":
    unittest.main()
