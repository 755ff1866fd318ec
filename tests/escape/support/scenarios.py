"""What a probe cannot do by itself: the libraries' ordinary uses still work; a cicada or a spawner
killed in the middle of a hostile session leaves nothing; an image can be removed under a session;
and what a session does to its own copies hurts nobody else."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from . import host
from .origin import Origin
from .stage import Stage

# Children of init without a death signal, in sessions of their own, that ignore what can be
# ignored.
STUBBORN = """
import ctypes, os, signal, time
L = ctypes.CDLL(None)
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
for flags in (17, 0x8000 | 17):
    for i in range(3):
        if L.syscall(56, flags, 0, 0, 0, 0) == 0:
            L.prctl(1, 0)
            try: os.setsid()
            except OSError: pass
            os.closerange(0, 8192)
            while True: time.sleep(1)
open('up', 'w').close()
while True: time.sleep(1)
"""

# Not available where the session has no namespaces: documented in docs/tiers.md.
MISSING_IN_CONTAINERS = {"mp", "mpspawn", "shm", "sem", "sub", "ids"}


def ordinary_use(stage, probes):
    with open(os.path.join(probes, "probes_ok.py")) as f:
        code = f.read()
    if stage.deployment.startswith("container"):
        code = code.replace("'/mnt/data'", "'.'").replace("/mnt/data/", "")  # it has no such path
    with host.scratch_dir("ok-", stage.scratch) as out:
        outcome = stage.cicada.run([code], 60, out_dir=out)
    lines = outcome.lines()
    good = {line.split()[1] for line in lines if line.startswith("ok ")}
    bad = [line for line in lines if line.startswith("FAIL")]
    if stage.deployment.startswith("container"):
        bad = [line for line in bad if line.split()[1] not in MISSING_IN_CONTAINERS]
        if not bad and len(good | MISSING_IN_CONTAINERS) == 18:
            return None
    elif len(good) == 18 and not bad:
        return None
    return "%d of 18: %s %s" % (len(good), bad, outcome.problem or outcome.end)


def descendants(pid):
    """(pid, name) of all processes below `pid`."""
    below, found = {pid}, []
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            fields = host.stat_fields(int(entry))
            if fields:
                parents[int(entry)] = (fields[2], fields[0])
    grown = True
    while grown:
        grown = False
        for child, (parent, name) in parents.items():
            if parent in below and child not in below:
                below.add(child)
                found.append((child, name))
                grown = True
    return found


def begin_stubborn(stage, sink):
    """A session with six processes that will not go by themselves; (process, its descendants)."""
    process = stage.cicada.start([STUBBORN], 30, sink, subprocess.DEVNULL)
    wanted = 8 if stage.deployment.startswith("container") else 9  # spawner, [init,] kernel and six
    deadline = time.monotonic() + 15
    while len(descendants(process.pid)) < wanted:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            sink.seek(0)
            raise RuntimeError("the stubborn session did not come up: %r %r" % (
                descendants(process.pid), sink.read(300)))
        time.sleep(0.02)
    return process, descendants(process.pid)


def alive(pids):
    return [pid for pid in pids if (host.stat_fields(pid) or "-Z")[1] != "Z"]


def gone(stage, process, pids, seconds):
    """Waits until all of them have ended, at most so long."""
    deadline = time.monotonic() + seconds
    while alive(pids):
        host.children({process.pid} | stage.leftovers.known)  # reaps orphans
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def end_of(process):
    """Complaint about how cicada took the death of its spawner."""
    try:
        code = process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        return "cicada hangs without its spawner"
    return "cicada reports success without its spawner" if code == 0 else None


def murder(stage, who):
    """SIGKILL to cicada or to its spawner while stubborn processes live: all of them end at once,
    and the next start removes what a dead process could not. In a container without namespaces
    nobody is left to end them when the spawner is gone: there the next start does that too."""
    with tempfile.TemporaryFile() as sink:
        process, below = begin_stubborn(stage, sink)
        pids = [pid for pid, _name in below]
        spawner = next(pid for pid, name in below if name.startswith("cicada-spawn"))
        os.kill(process.pid if who == "cicada" else spawner, signal.SIGKILL)
        all_gone = gone(stage, process, pids, 3)
        complaint = end_of(process) if who == "spawner" else None
        if who == "cicada":
            process.wait()
    answers = stage.second() != float("inf")
    if not all_gone and stage.deployment.startswith("container") and who == "spawner":
        all_gone = gone(stage, process, pids, 2)
    if not all_gone:
        complaint = "still alive: %r" % [b for b in below if b[0] in alive(pids)]
        host.kill_children(stage.leftovers.known)
    if not answers:
        return "the next session does not answer"
    left = stage.leftovers.settle(2)
    return complaint or ("left after the next start: %r" % left if left else None)


# Says so when the image is gone, and then lives on for many rounds of whoever watches the disk.
SURVIVOR = """
import time
while not any('.img (deleted)' in line for line in open('/proc/self/maps')): time.sleep(0.01)
print('gone', flush=True); time.sleep(2); import numpy, wave; print(numpy.arange(4).sum())
"""


def removed_image(stage, cicada, scratch, origin):
    """An image may be replaced at any time: sessions that live on it notice nothing."""
    store = os.path.join(scratch, "removed")
    shutil.copytree(origin.store, store)
    name = next(n for n in os.listdir(store) if n.endswith(".img"))
    place = Stage(cicada, scratch, stage.deployment, origin=Origin("image", store))
    with tempfile.TemporaryFile() as sink:
        process = place.cicada.start([SURVIVOR], 20, sink, subprocess.DEVNULL)
        below, deadline = [], time.monotonic() + 10
        while not any(name == "python3" for _pid, name in below) and time.monotonic() < deadline:
            time.sleep(0.02)
            below = descendants(process.pid)
        os.unlink(os.path.join(store, name))
        process.wait(40)
        sink.seek(0)
        said = json.loads(sink.read() or b"{}")
    if (said.get("end"), said.get("stdout")) != ("ok", "gone\n6\n"):
        return "ended %r, said %r" % (said.get("end"), said.get("stdout"))


# What a session can do to copies of itself, which are processes beside it.
EVERYBODY = """
import os, signal
for pid in [int(name) for name in os.listdir('/proc') if name.isdecimal()]:
    if pid in (1, os.getpid()): continue
    os.kill(pid, signal.SIGNAL)
    while signal.SIGNAL == signal.SIGKILL and os.path.exists('/proc/%d' % pid): pass
"""
OVERWRITE = """
import os
for pid in [int(name) for name in os.listdir('/proc') if name.isdecimal()]:
    for at in (0x400000, 0x20000000) if pid not in (1, os.getpid()) else ():
        try:
            with open('/proc/%d/mem' % pid, 'r+b', 0) as f: f.seek(at); f.write(bytes(1 << 20))
        except OSError: pass
"""
COPIES = {
    "left alone": ("pass", ("back",)),
    "killed": (EVERYBODY.replace("signal.SIGNAL", "signal.SIGKILL"), ("stayed",)),
    "stopped": (EVERYBODY.replace("signal.SIGNAL", "signal.SIGSTOP"), ("back", "stayed", "dead")),
    "overwritten": (OVERWRITE, ("back", "stayed", "dead")),
}


def copies(stage, code, expected):
    path = os.path.join(stage.scratch, "copies.py")
    with open(path, "w") as f:
        f.write(code)
    answer = stage.live.ask("back " + path, 40)
    if answer.partition(":")[0] not in expected:
        return "it said %r, not one of %r" % (answer, expected)
    if stage.second() == float("inf"):
        return "the next session does not answer"
    left = stage.leftovers.settle(2)
    return "left: %r" % left if left else None


def of_images(stage, cicada, scratch, origin, live):
    yield "a session outlives its image", removed_image(stage, cicada, scratch, origin)
    if not live:
        return
    place = Stage(cicada, scratch, stage.deployment, live, origin=origin)
    for what, (code, expected) in COPIES.items():
        yield "a session's copies, " + what, copies(place, code, expected)
    place.close()


def all(cicada, scratch, deployment, probes, origin, live):
    host.become_subreaper()
    stage = Stage(cicada, scratch, deployment, origin=origin)
    yield "ordinary use of the libraries, 18 of 18", ordinary_use(stage, probes)
    for who in ("cicada", "spawner"):
        try:
            complaint = murder(stage, who)
        except (RuntimeError, StopIteration) as e:
            complaint = repr(e)
        yield "kill -9 of the %s ends everything" % who, complaint
    if origin.store:
        yield from of_images(stage, cicada, scratch, origin, live)
