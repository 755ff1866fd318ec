"""One probe, run and judged."""

import dataclasses
import os
import re
import tempfile
import threading
import time

from . import host
from .table import DISK, ENDED, HELD, INFO, LIMITED, PAIR, READY, TWINS

DISK_LIMIT_MIB, OVERSHOOT_MIB, OVERSHOOT_S = 256, 256, 0.1
SLACK_S = 12.0  # start, interrupt, kill, capture and a busy machine, on top of a run's own limit

VERDICT = re.compile(r"(HELD|ESCAPED|INFO|READY|PAIR)\b")


def verdict_of(outcome):
    """(kind, line) of the last verdict printed; an escape anywhere outweighs whatever follows."""
    last = (None, "")
    for line in outcome.lines():
        match = VERDICT.match(line)
        if match and match.group(1) == "ESCAPED":
            return "ESCAPED", line
        if match:
            last = match.group(1), line
    return last


def overshoot_mib(path):
    """What a limit that is looked at may be exceeded by: OVERSHOOT_MIB, or on a machine that writes faster what it
    writes in OVERSHOOT_S: two looks at the longest pause."""
    piece, count = bytes(1 << 20), 256
    with tempfile.TemporaryFile(dir=path, buffering=0) as file:
        begun = time.monotonic()
        for _ in range(count):
            file.write(piece)
        rate = count / (time.monotonic() - begun)
    return max(OVERSHOOT_MIB, int(rate * OVERSHOOT_S))


class FreeSpace:
    """The most that was taken from a file system while something ran, in MiB."""

    def __init__(self, path):
        self.path, self.over = path, threading.Event()
        self.before = self.least = self.free()

    def free(self):
        s = os.statvfs(self.path)
        return s.f_bfree * s.f_frsize >> 20

    def watch(self):
        while not self.over.wait(0.005):
            self.least = min(self.least, self.free())

    def __enter__(self):
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        self.thread.join()

    @property
    def taken(self):
        return self.before - self.least


@dataclasses.dataclass
class Result:
    number: str
    name: str
    complaints: list
    verdict: str
    end: str
    seconds: float
    second: float  # how long another session took afterwards


class Trial:
    def __init__(self, row, path, stage):
        self.row, self.path, self.stage = row, path, stage
        self.name = os.path.basename(path)[:-3].partition("_")[2]
        self.outcomes, self.meanwhile, self.bound = [], [], stage.bound
        self.taken = 0

    @property
    def outcome(self):
        return self.outcomes[0]

    # -- running

    def session(self, top):
        pieces = [self.path] + ([self.row.then] if self.row.then else [])
        files = []
        for name in self.row.files:
            files.append(os.path.join(top, name))
            with open(files[-1], "w") as f:
                f.write("brought")
        out_dir = None
        if self.row.want != DISK:  # copying what filled the disk would only take time
            out_dir = tempfile.mkdtemp(prefix="out-", dir=top)
        self.outcomes.append(
            self.stage.cicada.run(pieces, self.row.seconds, files=files, out_dir=out_dir))

    def twins(self, top):
        both = [threading.Thread(target=self.session, args=(top,)) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()

    def with_neighbours(self, top):
        """Other sessions come and go while the probe runs."""
        thread = threading.Thread(target=self.session, args=(top,))
        thread.start()
        time.sleep(0.7)  # the probe's own start is not what is measured
        while thread.is_alive():
            seconds = self.stage.second()
            if thread.is_alive():
                self.meanwhile.append(seconds)
        thread.join()

    def run(self):
        result = self.run_once()
        if self.row.want == DISK and self.took_too_much():
            # the free space is the whole machine's, and others may have written meanwhile: what
            # the session itself takes, it takes every time
            result = Trial(self.row, self.path, self.stage).run_once()
        return result

    def run_once(self):
        with host.scratch_dir("probe-", self.stage.scratch) as top:
            with FreeSpace(self.stage.scratch) as space:
                if self.row.want == TWINS:
                    self.twins(top)
                elif any(check.__name__ == "others_answered" for check in self.row.check):
                    self.with_neighbours(top)
                else:
                    self.session(top)
                    if self.row.want == PAIR:
                        self.session(top)
            self.taken = space.taken
            complaints = self.judge()
        complaints += self.aftermath()
        _kind, line = verdict_of(self.outcome)
        if self.outcome.notes.startswith(b"lost"):  # a session that slept, see live.c
            line += " (%s)" % self.outcome.notes.decode(errors="replace")
        return Result(self.row.number, self.name, complaints, line or "-", self.outcome.end,
                      self.outcome.seconds, self.after)

    # -- judging

    def took_too_much(self):
        over = self.taken - DISK_LIMIT_MIB
        return over > OVERSHOOT_MIB and over > overshoot_mib(self.stage.scratch)

    def judge(self):
        complaints = []
        for outcome in self.outcomes:
            complaints += self.judge_one(outcome)
        if self.row.want == DISK and self.took_too_much():
            complaints.append("took %d MiB of the host's disk" % self.taken)
        if not complaints:
            complaints = [found for found in (check(self) for check in self.row.check) if found]
        return complaints

    def judge_one(self, outcome):
        if outcome.code is None:
            return ["hung: killed after %.0f s" % outcome.seconds]
        if not outcome.runs:
            return [outcome.problem or "no run object"]
        complaints = self.judge_verdict(outcome)
        most = self.row.seconds + SLACK_S
        if self.row.then:
            most += self.row.seconds + self.stage.nap_s
        if outcome.seconds > most:
            complaints.append("took %.1f s, more than %.0f" % (outcome.seconds, most))
        leaked = self.leaked(outcome)
        if leaked:
            complaints.append("host content came back: " + leaked)
        return complaints

    def judge_verdict(self, outcome):
        want, ends = self.row.want, self.row.ends
        kind, line = verdict_of(outcome)
        if kind == "ESCAPED":
            return [line]
        allowed = {HELD: ("HELD",), INFO: ("HELD", "INFO"), READY: ("READY", "HELD"),
                   LIMITED: ("HELD",), DISK: ("HELD",), PAIR: ("HELD", "PAIR"),
                   TWINS: ("HELD", "INFO"), ENDED: ()}[want]
        if want == DISK and outcome.end == "disk":
            return []
        if want == LIMITED and (outcome.end in ends or kind in ("HELD", "INFO")):
            return []
        if want == READY and outcome.end in ends and outcome.end not in ("ok", "error"):
            return []
        if want == ENDED:
            return [] if outcome.end in ends else [
                "ended %r: %s" % (outcome.end, self.said(outcome))]
        if kind not in allowed:
            return ["no verdict (end %r): %s" % (outcome.end, self.said(outcome))]
        if outcome.end not in ends and not (want in (LIMITED, DISK) and outcome.end == "ok"):
            return ["ended %r after %r" % (outcome.end, line)]
        return []

    @staticmethod
    def said(outcome):
        error = outcome.run.get("error") or {}
        text = " | ".join(line for line in outcome.lines() if line)[-160:]
        return "%r %s %s" % (text, error.get("name", ""), str(error.get("message", ""))[:120])

    def leaked(self, outcome):
        """Where a secret of the host can be found in what came back; '' if nowhere."""
        secrets = host.host_secrets()
        if any(s in outcome.raw or s in outcome.notes for s in secrets):
            return "in the answer"
        if not outcome.out_dir:
            return ""
        for base, _dirs, files in os.walk(outcome.out_dir):
            for name in files:
                path = os.path.join(base, name)
                if os.path.islink(path) or not os.path.isfile(path):
                    continue
                with open(path, "rb") as f:
                    text = f.read(16 << 20)
                if any(s in text for s in secrets):
                    return "in %r" % name
        return ""

    # -- afterwards

    def aftermath(self):
        """Nothing is left, and another session answers in time."""
        complaints = ["left behind: " + found for found in self.stage.leftovers.settle(2.0)]
        if complaints:
            host.kill_children(self.stage.leftovers.known)
            self.stage.leftovers.forgive()
        # The machine may be busy with somebody else's work: the best of three counts.
        self.after = self.stage.second()
        for _ in range(2):
            if self.after > self.stage.bound:
                self.after = min(self.after, self.stage.second())
        if self.after > self.stage.bound:
            complaints.append("another session took %.2f s afterwards" % self.after)
        return complaints
