"""Many sessions and a few clients that do everything one can do with them, and know what must come."""
import collections
import queue
import random
import threading
import time

from served import Wrong

PLOT = "import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 1)); plt.plot([1, {n}, 2]);"
FRAME = "import pandas as pd\nint(pd.DataFrame({{'a': range({n})}}).a.sum())"


class Session:
    """A session and what its variable x is."""

    def __init__(self, client):
        self.id, self.x, self.may_be = client.session(), 0, {"fresh"}
        self.value(client, "x = 0; x")

    def value(self, client, code, **more):
        run = client.run(self.id, code, **more)
        if not run["result"] or run["result"]["text/plain"] != str(self.x):
            raise Wrong(f"{code!r} gave {run['result']} instead of {self.x} in {self.id}, "
                        f"which was {run['state']}")
        if run["state"] not in self.may_be:
            raise Wrong(f"{self.id} was {run['state']}, not one of {self.may_be}")
        self.may_be = {"kept", "woken"}  # it may fall asleep at any time
        return run

    @property
    def path(self):
        return f"/api/v1/sessions/{self.id}"


# ---- what a client does with a session it has for itself ----


def add(client, s, _n):
    client.run(s.id, "1+1")


def count(client, s, _n):
    s.x += 1
    s.value(client, "x += 1; x")


def frame(client, s, n):
    run = client.run(s.id, FRAME.format(n=n))
    if run["result"]["text/plain"] != str(n * (n - 1) // 2):
        raise Wrong(f"a wrong sum: {run['result']}")


def prints(client, s, n):
    run = client.run(s.id, f"for i in range({n}): print(i)")
    if run["stdout"] != "".join(f"{i}\n" for i in range(n)):
        raise Wrong(f"other output: {run['stdout'][:200]!r}")


def fails(client, s, _n):
    run = client.run(s.id, "1/0", end="error")
    if run["error"]["name"] != "ZeroDivisionError":
        raise Wrong(f"another error: {run['error']}")


def plot(client, s, n):
    run = client.run(s.id, PLOT.format(n=n))
    if "image/png" not in run["displays"][0]:
        raise Wrong(f"no figure: {run}")


def files(client, s, n):
    run = client.run(s.id, f"open('f{n % 7}.txt', 'w').write('{n}'); open('f{n % 7}.txt').read()")
    if run["result"]["text/plain"] != f"'{n}'":
        raise Wrong(f"another file: {run['result']}")


def times_out(client, s, _n):
    client.run(s.id, "while True: pass", end="timeout", timeout_s=0.2)
    s.value(client, "x")


def background(client, s, n):
    run = client.run(s.id, f"import time; time.sleep(0.05); {n}", status=202, background=True)
    run = client.must("GET", f"/api/v1/runs/{run['id']}?wait_s=60")
    if (run["status"], run["end"]) != ("done", "ok") or run["result"]["text/plain"] != str(n):
        raise Wrong(f"in the background: {run}")


def sleep_and_wake(client, s, _n):
    client.must("POST", s.path + "/sleep")
    s.may_be = {"woken"}
    s.value(client, "x")


def fork(client, s, _n):
    child = client.must("POST", s.path + "/fork", {}, 201)["id"]
    run = client.run(child, "x += 100; x")
    if run["result"]["text/plain"] != str(s.x + 100):
        raise Wrong(f"a branch had another x: {run['result']}, not {s.x + 100}")
    client.must("DELETE", f"/api/v1/sessions/{child}", status=204)
    s.value(client, "x")


def replace(client, s, _n):
    client.must("DELETE", s.path, status=204)
    client.must("GET", s.path)  # its record stays
    s.__init__(client)


def one_shot(client, _s, n):
    run = client.must("POST", "/api/v1/runs", {"code": f"{n} * 2"})
    if run["result"]["text/plain"] != str(n * 2):
        raise Wrong(f"a one-shot: {run}")


def looks(client, s, _n):
    client.must("GET", "/api/v1/sessions?limit=100")
    client.must("GET", "/api/v1/runs?limit=20&session=" + s.id)
    client.must("GET", s.path + "/variables")


WEIGHTS = {add: 20, count: 20, frame: 8, prints: 8, fails: 5, plot: 2, files: 8, times_out: 1,
           background: 4, sleep_and_wake: 3, fork: 2, replace: 3, one_shot: 4, looks: 3}


class Load:
    """`clients` threads over `count` sessions; stop() waits for them."""

    def __init__(self, server, count, clients):
        self.server, self.over = server, threading.Event()
        self.sessions, self.done, self.wrong = queue.Queue(), collections.Counter(), []
        self.times = collections.defaultdict(list)
        client = server.client()
        for _ in range(count):
            self.sessions.put(Session(client))
        client.close()
        self.threads = [threading.Thread(target=self.work, args=(i,), daemon=True)
                        for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def work(self, seed):
        chance, client = random.Random(seed), self.server.client()
        while not self.over.is_set():
            session = self.sessions.get()
            what, = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
            begun = time.monotonic()
            try:
                what(client, session, chance.randrange(1, 200))
                self.times[what.__name__].append(time.monotonic() - begun)
                self.done[what.__name__] += 1
            except Exception as e:  # whatever it is, it belongs into the report
                self.wrong.append(f"{what.__name__}: {type(e).__name__}: {e}")
                if len(self.wrong) > 20:
                    break
            self.sessions.put(session)
        client.close()

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(120)
        if any(thread.is_alive() for thread in self.threads):
            self.wrong.append("a client is still waiting for its answer")

    def summary(self):
        """Lines of name, how often, median and worst in milliseconds."""
        return [f"{name:<16}{len(t):>6}{sorted(t)[len(t) // 2] * 1e3:>9.1f}{max(t) * 1e3:>9.1f} ms"
                for name, t in sorted(self.times.items())]
