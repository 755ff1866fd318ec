"""Runs the product and says what happened: exit code, the run objects it printed, time, memory."""

import dataclasses
import json
import os
import select
import signal
import subprocess
import tempfile
import time

GRACE_S = 20.0  # after its own limit a run that still goes on is killed and counted as hung


@dataclasses.dataclass
class Outcome:
    code: int  # exit code; -N: killed by signal N; None: it hung and was killed
    raw: bytes  # what it printed
    notes: bytes  # stderr
    seconds: float
    peak_kib: int  # largest memory of the cicada process itself
    runs: list  # the run objects, one per piece of code; empty when it printed no valid JSON
    problem: str  # why `runs` is empty; ""
    out_dir: str = None  # where -o copied to

    @property
    def run(self):
        return self.runs[0] if self.runs else {}

    @property
    def end(self):
        return self.run.get("end")

    def lines(self):
        """Everything the code printed, line by line, stdout before stderr."""
        text = (self.run.get("stdout") or "") + "\n" + (self.run.get("stderr") or "")
        return [line.strip() for line in text.splitlines()]


def parse(raw):
    """The run objects in what was printed: one object, an array, or one object per line."""
    text = raw.decode("utf-8")  # strict: hostile bytes must have been made harmless
    try:
        found = json.loads(text)
        found = found if isinstance(found, list) else [found]
    except json.JSONDecodeError:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    for run in found:
        json.dumps(run, ensure_ascii=False).encode("utf-8")  # fails on a lone surrogate
    return found


def wait(process, seconds):
    """(exit code or None after `seconds`, resource usage)"""
    descriptor = os.pidfd_open(process.pid)
    try:
        if not select.select([descriptor], [], [], seconds)[0]:
            process.send_signal(signal.SIGKILL)
            os.wait4(process.pid, 0)
            return None, None
        _, status, usage = os.wait4(process.pid, 0)
        return os.waitstatus_to_exitcode(status), usage
    finally:
        os.close(descriptor)
        process.returncode = 0  # it is reaped: subprocess must not try again


class Cicada:
    """The program at `path`. Each call is a fresh session unless several pieces are given."""

    def __init__(self, path, env, memory=512, pids=64):
        self.path, self.env = path, dict(env)
        self.limits = ["--memory", str(memory), "--pids", str(pids)]

    def arguments(self, pieces, timeout, files=(), out_dir=None):
        words = [self.path, "run", "--json", *self.limits, "--timeout", str(timeout)]
        for name in files:
            words += ["-f", name]
        if out_dir:
            words += ["-o", out_dir]
        if len(pieces) == 1 and pieces[0].startswith("/"):
            return words + [pieces[0]]
        for piece in pieces:
            if piece.startswith("/"):
                with open(piece) as f:
                    piece = f.read()
            words += ["-c", piece]
        return words

    def start(self, pieces, timeout, stdout, stderr, files=(), out_dir=None):
        return subprocess.Popen(self.arguments(pieces, timeout, files, out_dir),
                                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                env=self.env, start_new_session=True)

    def run(self, pieces, timeout=10, files=(), out_dir=None):
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            begin = time.monotonic()
            process = self.start(pieces, timeout, stdout, stderr, files, out_dir)
            code, usage = wait(process, timeout * len(pieces) + GRACE_S)
            seconds = time.monotonic() - begin
            stdout.seek(0), stderr.seek(0)
            raw, notes = stdout.read(), stderr.read(1 << 20)
        outcome = Outcome(code, raw, notes, seconds, usage.ru_maxrss if usage else 0, [], "",
                          out_dir)
        return understand(outcome)


def understand(outcome):
    """Fills in the runs, or the problem."""
    try:
        found = parse(outcome.raw)
        outcome.runs = [run for run in found if "end" in run]
        failures = [run for run in found if "end" not in run]
        if failures or not found:
            outcome.problem = "exit %s: %r %r" % (outcome.code, failures, outcome.notes[-300:])
    except (ValueError, RecursionError) as e:
        outcome.problem = "exit %s, no valid JSON: %s; %r" % (outcome.code, e, outcome.notes[-300:])
    return outcome
