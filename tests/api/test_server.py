"""The server as a whole: its description, figures, log, restart, end."""
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import unittest.mock

from base import IMAGES, KEY, ApiTest, Client, Server, eventually
from files import WORKSPACES


class Watchdog(unittest.TestCase):
    """What systemd hears of a server: that it is ready, and that it lives as long as it listens."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.manager = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.manager.bind(folder + "/notify")
        os.chmod(folder, 0o755), os.chmod(folder + "/notify", 0o666)
        self.manager.settimeout(30)
        self.enterContext(unittest.mock.patch.dict(os.environ, NOTIFY_SOCKET=folder + "/notify", WATCHDOG_USEC="200000"))
        self.server = Server()
        self.addCleanup(self.server.close)

    def hear(self, what):
        while what not in (told := self.manager.recv(4096)):
            pass
        return told

    def is_fed(self, seconds):
        """Within that time, but for one that was on its way."""
        self.manager.settimeout(seconds)
        try:
            self.hear(b"WATCHDOG=1"), self.hear(b"WATCHDOG=1")
        except TimeoutError:
            return False
        return True

    def test_a_listener_that_is_stuck_is_told_to_nobody_as_alive(self):
        self.hear(b"READY=1")
        self.assertTrue(self.is_fed(30))
        libc = ctypes.CDLL(None, use_errno=True)
        seize, interrupt, detach, wall = 0x4206, 0x4207, 17, 0x40000000
        pid = self.server.process.pid  # of its first thread, which listens
        if libc.ptrace(seize, pid, None, None):
            self.skipTest("nobody may be traced here: " + os.strerror(ctypes.get_errno()))
        libc.ptrace(interrupt, pid, None, None)
        os.waitpid(pid, wall)
        try:
            self.assertTrue(eventually(lambda: not self.is_fed(1)))
        finally:
            libc.ptrace(detach, pid, None, None)
        self.assertTrue(self.is_fed(30))
        self.assertEqual(Client(self.server, None).ok("GET", "/healthz"), {"status": "ok"})


class Operations(ApiTest):
    def test_what_is_refused_before_it_is_a_request_has_an_id_too(self):
        with socket.create_connection(self.server.address) as conn:
            conn.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
            conn.shutdown(socket.SHUT_WR)
            head, _, body = b"".join(iter(lambda: conn.recv(65536), b"")).partition(b"\r\n\r\n")
        self.assertIn(b" 400 ", head.split(b"\r\n")[0])
        told = json.loads(body)["error"]["request_id"]
        self.assertRegex(told, r"^req_[0-9a-z]{24}$")
        self.assertIn(b"X-Request-Id: " + told.encode(), head)

    def test_health_needs_no_key(self):
        client = Client(self.server, None)
        self.assertEqual(client.ok("GET", "/healthz"), {"status": "ok"})
        self.assertEqual(client.ok("GET", "/readyz"), {"status": "ok"})

    def test_figures_are_what_prometheus_reads(self):
        self.client.ok("POST", "/api/v1/runs", {"code": "1/0"})
        text = self.client.get("/metrics").body.decode()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? -?[0-9.e+]+|\w+_bucket\{.*le="\+Inf"\} \d+)$')
        self.assertGreaterEqual(float(re.search(r'cicada_runs_total\{end="error"\} (\S+)', text)[1]), 1)

    def test_the_description_describes_every_operation(self):
        document = Client(self.server, None).request("GET", "/openapi.json").json
        self.assertEqual(document["openapi"], "3.1.0")
        names = [op["operationId"] for item in document["paths"].values() for op in item.values()]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 25)
        text = json.dumps(document)
        for ref in set(re.findall(r'"#/components/schemas/(\w+)"', text)):
            self.assertIn(ref, document["components"]["schemas"])
        for item in document["paths"].values():
            for op in item.values():
                self.assertIn("responses", op)
                self.assertTrue(op["summary"])

    def test_one_line_for_each_request_and_run(self):
        answer = self.client.post("/api/v1/runs", {"code": "'logged'"})
        request, run = answer.headers["X-Request-Id"], answer.json["id"]
        line = eventually(lambda: [l for l in self.server.lines if f"id={request}" in l and "msg=request" in l])[0]
        for part in "op=runOnce", "method=POST", "path=/api/v1/runs", "status=200":
            self.assertIn(part, line)
        line = [l for l in self.server.lines if f"id={run}" in l and "msg=run" in l][0]
        for part in f"request={request}", "end=ok", "language=python":
            self.assertIn(part, line)
        self.assertNotIn(KEY, self.server.log())


class Restart(unittest.TestCase):
    def setUp(self):
        self.server = Server(settings={"server.drain_s": 1})
        self.addCleanup(self.server.close)
        self.client = Client(self.server)

    def again(self, how):
        self.client.close()
        status = self.server.stop(how)
        Client.schemas.clear()
        self.server.start()
        self.client = Client(self.server)
        return status

    def test_a_stop_is_clean_and_what_ran_says_why_it_ended(self):
        session = self.client.session(name="kept")
        self.client.run(session, "x = 1; open('f.txt', 'w').write('file')")
        run = self.client.run(session, "import time; time.sleep(60)", 202, background=True)
        eventually(lambda: self.client.ok("GET", "/api/v1/runs/" + run["id"])["status"] == "running")
        begun = time.monotonic()
        self.assertEqual(self.again(signal.SIGTERM), 0)
        self.assertLess(time.monotonic() - begun, 40)
        ended = self.client.ok("GET", "/api/v1/runs/" + run["id"])
        self.assertEqual((ended["status"], ended["end"]), ("done", "killed"))
        self.assertIn("server", ended["hint"])
        run = self.client.run("kept", "print(open('f.txt').read())")
        self.assertEqual(run["stdout"], "file\n")

    def test_after_a_kill_nothing_is_left_and_nothing_is_hidden(self):
        session = self.client.session()
        self.client.run(session, "x = 1; open('f.txt', 'w').write('file')")
        run = self.client.run(session, "import time; time.sleep(60)", 202, background=True)
        eventually(lambda: self.client.ok("GET", "/api/v1/runs/" + run["id"])["status"] == "running")
        self.client.ok("GET", "/api/v1/runs")  # waits until what was posted is written
        begun = time.monotonic()
        self.again(signal.SIGKILL)
        self.assertEqual(self.client.ok("GET", "/healthz"), {"status": "ok"})
        self.assertLess(time.monotonic() - begun, 5)
        ended = self.client.ok("GET", "/api/v1/runs/" + run["id"])
        self.assertEqual((ended["status"], ended["end"]), ("done", "killed"))
        self.assertIn("server restarted", ended["hint"])
        run = self.client.run(session, "print('x' in globals(), open('f.txt').read())")
        self.assertEqual((run["state"], run["stdout"]), ("lost", "False file\n"))
        self.assertIn("restarted", run["hint"])

    @unittest.skipIf(IMAGES == "off", "needs an image")
    def test_sleeping_sessions_survive_both_ends(self):
        eventually(lambda: self.client.ok("GET", "/api/v1/sessions/" + self.client.session())["baked"], 120)
        sessions = [self.client.session() for _ in range(3)]
        for i, session in enumerate(sessions):
            self.client.run(session, f"x = {i}")
        self.client.ok("POST", f"/api/v1/sessions/{sessions[0]}/sleep")
        self.again(signal.SIGTERM)
        for i, session in enumerate(sessions):
            run = self.client.run(session, "x")
            self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", str(i)))
        for session in sessions:
            self.client.ok("POST", f"/api/v1/sessions/{session}/sleep")
        self.again(signal.SIGKILL)
        for i, session in enumerate(sessions):
            run = self.client.run(session, "x")
            self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", str(i)))

    def children(self, pid):
        found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        return {int(child): open(f"/proc/{child}/comm").read().strip() for child in found}

    def kill_the_spawner(self):
        """How the server ended, and how many seconds that took."""
        (spawner,) = (pid for pid, name in self.children(self.server.process.pid).items() if name == "cicada-spawn")
        begun = time.monotonic()
        os.kill(spawner, signal.SIGKILL)
        status = self.server.process.wait(60)
        took = time.monotonic() - begun
        self.client.close()
        self.server.stop()
        Client.schemas.clear()
        self.server.start()
        self.client = Client(self.server)
        return status, took

    def stuck_upload(self):
        """A request whose body never comes."""
        conn = socket.create_connection(self.server.address)
        self.addCleanup(conn.close)
        conn.sendall(f"PUT {WORKSPACES}/default/files/late HTTP/1.1\r\nHost: {self.server.address[0]}\r\n"
                     f"Authorization: Bearer {KEY}\r\nContent-Length: 1000\r\n\r\nbeginning".encode())

    def lose_the_spawner(self):
        idle = self.client.session()
        self.client.run(idle, "x = 1; open('idle.txt', 'w').write('idle')")
        code = "open('{}.bin', 'wb').write(b'z' * 300000); print('written', flush=True); import time; time.sleep(60)"
        runs = [self.client.run(self.client.session(), code.format(name), 202, background=True) for name in ("a", "b")]
        waiting = self.client.run(runs[0]["session_id"], "open('never', 'w')", 202, background=True)
        for run in runs:
            follow = Client(self.server).events("GET", f"/api/v1/runs/{run['id']}/events")
            next(data for event, data, _ in follow if event == "stdout")
        status, took = self.kill_the_spawner()
        self.assertNotEqual(status, 0)
        self.assertLess(took, 10)
        self.assertIn("spawner died", self.server.log())
        for run, name in zip(runs, ("a", "b")):
            ended = self.client.ok("GET", "/api/v1/runs/" + run["id"])
            self.assertEqual((ended["status"], ended["end"], ended["state"]), ("done", "killed", "lost"), ended)
            self.assertIn("sandboxes died", ended["hint"])
            self.assertIn("files in /mnt/data are kept", ended["hint"])
            self.assertEqual([(f["path"], f["size"]) for f in ended["files"]], [(name + ".bin", 300000)], ended)
            (version,) = self.client.ok("GET", f"{WORKSPACES}/default/files/{name}.bin?versions")["data"]
            self.assertEqual(version["author"]["run_id"], run["id"])
        ended = self.client.ok("GET", "/api/v1/runs/" + waiting["id"])
        self.assertEqual((ended["status"], ended["end"]), ("done", "killed"))
        self.assertIn("did not run", ended["hint"])
        run = self.client.run(idle, "print('x' in globals(), open('idle.txt').read())")
        self.assertEqual((run["state"], run["stdout"]), ("lost", "False idle\n"))

    def test_when_the_spawner_dies_the_server_ends_and_nothing_is_lost(self):
        self.stuck_upload()
        self.lose_the_spawner()

    def test_when_the_spawner_dies_under_sessions_over_layers_nothing_is_lost_either(self):
        self.client.run(self.client.session(), "for i in range(300): open(f'many-{i}', 'w').write('x')")
        self.lose_the_spawner()

    @unittest.skipIf(IMAGES == "off", "needs an image")
    def test_when_the_spawner_dies_sessions_that_sleep_stay(self):
        eventually(lambda: self.client.ok("GET", "/api/v1/sessions/" + self.client.session())["baked"], 120)
        session = self.client.session()
        self.client.run(session, "x = 7")
        self.client.ok("POST", f"/api/v1/sessions/{session}/sleep")
        self.kill_the_spawner()
        run = self.client.run(session, "x")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "7"))

    def test_a_second_server_on_the_same_data_is_refused(self):
        data = self.server.data
        other = subprocess.run(
            [os.environ.get("CICADA", "build/cicada"), "serve", "--listen", "127.0.0.1:0", "--data", data + "/data"],
            env={**os.environ, "CICADA_SERVER_SOCKET": "off", "CICADA_IMAGE_DIR": "off"},
            capture_output=True, text=True, timeout=60)
        self.assertEqual(other.returncode, 125, other.stderr)
        self.assertEqual(self.client.ok("GET", "/healthz"), {"status": "ok"})


class FirstStart(unittest.TestCase):
    def test_a_key_is_made_shown_once_and_kept(self):
        server = Server(settings={"server.api_key": ""})
        self.addCleanup(server.close)
        with open(server.data + "/data/admin.key") as f:
            secret = f.read().strip()
        self.assertEqual(os.stat(server.data + "/data/admin.key").st_mode & 0o777, 0o600)
        eventually(lambda: secret in server.log())
        self.assertEqual(Client(server, secret).get("/api/v1/sessions").status, 200)
        server.stop()
        server.lines.clear()
        Client.schemas.clear()
        server.start()
        self.assertNotIn(secret, server.log())
        self.assertEqual(Client(server, secret).get("/api/v1/sessions").status, 200)


if __name__ == "__main__":
    unittest.main()
