"""Where trials happen: the product under test, a place to write, a second session, leftovers."""

import os
import queue
import subprocess
import tempfile
import threading
import time

from . import host
from .origin import Origin
from .product import GRACE_S, Cicada, Outcome, understand

COLD_BOUND_S, LIVE_BOUND_S = 2.0, 0.5


class Live:
    """A spawner that stays up, driven by the test program live.c: sessions without its start."""

    def __init__(self, program, cicada, base, env, origin):
        directory = os.path.dirname(cicada)
        self.process = subprocess.Popen(
            [program, os.path.join(directory, "cicada-spawn"),
             os.path.join(directory, "cicada-kernel"), base, *origin.live_words(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
        greeting = self.process.stdout.readline().split()
        if len(greeting) != 2 or greeting[0] != "spawner":
            raise RuntimeError("live did not start: %r" % greeting)
        self.spawner = int(greeting[1])
        self.lock, self.tag, self.waiting = threading.Lock(), 0, {}
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            tag, _, answer = line.strip().partition(" ")
            with self.lock:
                waiting = self.waiting.pop(int(tag))
            waiting.put(answer)
        with self.lock:
            for waiting in self.waiting.values():
                waiting.put("live ended")

    def ask(self, words, seconds):
        """The answer to one command; others may be asked meanwhile."""
        answer = queue.Queue()
        with self.lock:
            self.tag += 1
            self.waiting[self.tag] = answer
            self.process.stdin.write("%d %s\n" % (self.tag, words))
            self.process.stdin.flush()
        try:
            return answer.get(timeout=seconds)
        except queue.Empty:
            return "no answer in %g s" % seconds

    def second(self):
        """Seconds from asking for a session to its answer to 1+1; a wrong answer is endless."""
        begin = time.monotonic()
        answer = self.ask("second", 30)
        return time.monotonic() - begin if answer == "2" else float("inf")

    def footprint(self):
        """(descriptors, private KiB) of the spawner"""
        return host.descriptor_count(self.spawner), host.private_kib(self.spawner)

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


class LiveCicada:
    """As Cicada, but in sessions of a spawner that stays up. Nothing is copied out."""

    def __init__(self, live, scratch, memory=512, pids=64, nap_s=0):
        self.live, self.scratch, self.limits = live, scratch, (memory, pids)
        self.nap_s = nap_s

    def run(self, pieces, timeout=10, files=(), out_dir=None):
        with host.scratch_dir("live-", self.scratch) as top:
            names = [self.as_file(top, piece) for piece in pieces]
            report = os.path.join(top, "report")
            begin = time.monotonic()
            answer = self.live.ask("run %d %d %d %s %s" % (
                *self.limits, int(timeout * 1000), report, " ".join(names)),
                timeout * len(pieces) + self.nap_s * (len(pieces) - 1) + GRACE_S)
            seconds = time.monotonic() - begin
            raw = b""
            if answer == "done" or answer.startswith("lost"):
                with open(report, "rb") as f:
                    raw = f.read()
        code = None if answer.startswith("no answer") else 0 if answer == "done" else 125
        outcome = understand(Outcome(code, raw, answer.encode(), seconds, 0, [], ""))
        if outcome.runs and outcome.runs[-1]["end"] != "ok":
            outcome.code = 1
        return outcome

    @staticmethod
    def as_file(top, piece):
        if piece.startswith("/"):
            return piece
        path = os.path.join(top, "piece.py")
        with open(path, "w") as f:
            f.write(piece)
        return path


def environment(home):
    """Of the product. It has a secret, and a path of the host that probe 167 looks for."""
    return {"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8",
            "TMPDIR": os.path.join(home, "ci_host_path_7f3a"), host.SECRET_NAME: host.SECRET_TEXT}


class Stage:
    """`live`: the program live.c, for second sessions; `resident`: for the probes too."""

    def __init__(self, cicada, scratch, deployment, live=None, resident=False, origin=Origin()):
        self.deployment, self.nap_s = deployment, origin.nap_s
        self.scratch = tempfile.mkdtemp(prefix="stage-", dir=scratch)
        env = environment(self.scratch) | origin.environment()
        os.mkdir(env["TMPDIR"])
        for path in (scratch, self.scratch, env["TMPDIR"]):
            os.chmod(path, 0o711)  # a session of its own uid comes by on its way to its files
        self.env = env
        self.cicada = Cicada(cicada, env)
        self.live = Live(live, cicada, env["TMPDIR"], env, origin) if live else None
        if resident:
            self.cicada = LiveCicada(self.live, self.scratch, nap_s=origin.nap_s)
        self.bound = LIVE_BOUND_S if live else COLD_BOUND_S
        self.leftovers = host.Leftovers(
            [env["TMPDIR"]],
            known=[self.live.process.pid] if self.live else [])

    def second(self):
        if self.live:
            return self.live.second()
        outcome = self.cicada.run(["print(1+1)"], 10)
        right = (outcome.run.get("stdout") or "").strip() == "2"
        return outcome.seconds if right else float("inf")

    def close(self):
        if self.live:
            self.live.close()
