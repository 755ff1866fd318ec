"""Every look at every object: 0 kernels ended."""
import concurrent.futures
import time

from base import Client
from mcp import Modern
from objects import ACTS, CODE, SLOW, Looking

ONE = "/api/v1/sessions/"
ALIVE = ("print(born == os.getpid(), len(kept), os.path.exists('written'), open('there').read(), threading.active_count(), "
         "len([p for p in os.listdir('/proc') if p.isdigit()]))")
AT_ONCE = 6


class Hostile(Looking):
    settings = {"limits.live_max": 64}

    def looks(self, client):
        """Every operation on a session that reads, from the server's own list of them."""
        for path, item in client.ok("GET", "/openapi.json")["paths"].items():
            if path.startswith("/api/v1/sessions/{id}") and "get" in item:
                yield "GET", path, None
        for code in "h.", "h['", "h.shape.", "x = h.some.", "from h import a", "h":
            yield "POST", ONE + "{id}/complete", {"code": code}
        for code in "h", "h.shape", "h.a.b(":
            yield "POST", ONE + "{id}/inspect", {"code": code}

    def look(self, act):
        client = Client(self.server)
        session = client.session(limits={"memory_mb": 400})
        client.run(session, CODE + f"\nfirst = Nice()\nh = hostile({act})\nlast = Nice()")
        before = client.run(session, ALIVE)
        problems = []
        for method, path, body in self.looks(client):
            began = time.monotonic()
            answer = client.request(method, path.replace("{id}", session), body)
            took = time.monotonic() - began
            if answer.status != 200 or took > 8:
                problems.append(f"{act}: {method} {path} {body}: {answer.status} {answer.body} after {took:.1f} s")
        listed = {v["name"]: v for v in client.ok("GET", ONE + session + "/variables")["variables"]}
        told = Modern(self.server).call("manage_session", action="variables", session_id=session)
        if told.get("isError"):
            problems.append(f"{act}: {told}")
        after = client.run(session, ALIVE)
        for name in "first", "last":
            if listed[name]["repr"] != "nice":
                problems.append(f"{act}: {listed[name]}")
        if "gave_up" not in listed["h"] or listed["h"]["type"] != "hostile.<locals>.H":
            problems.append(f"{act}: {listed['h']}")
        if after["state"] != "kept" or after["stdout"] != before["stdout"] or after["displays"] or after["stderr"]:
            problems.append(f"{act}: the session is not what it was: {after}")
        client.ok("DELETE", ONE + session, status=204)
        client.close()
        return problems

    def test_every_look_at_every_object(self):
        acts = sorted(ACTS, key=lambda act: act not in SLOW)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            problems = [problem for found in pool.map(self.look, acts) for problem in found]
        self.assertEqual(problems, [])
