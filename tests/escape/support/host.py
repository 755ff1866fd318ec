"""The machine around a session: bait that must not be taken, and what must not be left behind."""

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

CANARY_DIR = "/var/tmp/cicada-canary"  # the probes know this path
CANARY_TEXT = "canary-of-the-host-4c1f9a"
SECRET_NAME, SECRET_TEXT = "CI_CANARY_SECRET_7f3a", "secret-of-the-host-8d20b7"
TCP_PORT = 47999


class Bait:
    """Files, listeners and a secret of the host. Whoever connects has escaped."""

    def __init__(self):
        self.visitors = []
        self.listeners = []

    def listen(self, name, family, address):
        s = socket.socket(family, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(address)
        except OSError as e:
            raise SystemExit("%s: %s; does another run of these tests go on?" % (name, e.strerror))
        s.listen(8)
        self.listeners.append(s)
        threading.Thread(target=self.watch, args=(name, s), daemon=True).start()

    def watch(self, name, s):
        with contextlib.suppress(OSError):
            while True:
                s.accept()[0].close()
                self.visitors.append(name)

    def __enter__(self):
        os.makedirs(CANARY_DIR, exist_ok=True)
        os.chmod(CANARY_DIR, 0o755)
        path = os.path.join(CANARY_DIR, "CANARY_HOST")
        with open(path, "w") as f:
            f.write(CANARY_TEXT + "\n")
        os.chmod(path, 0o644)
        canary = os.path.join(CANARY_DIR, "canary.sock")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(canary)
        self.listen("canary.sock", socket.AF_UNIX, canary)
        os.chmod(canary, 0o777)
        self.listen("@ci_probe_canary", socket.AF_UNIX, "\0ci_probe_canary")
        self.listen("127.0.0.1:%d" % TCP_PORT, socket.AF_INET, ("127.0.0.1", TCP_PORT))
        return self

    def __exit__(self, *unused):
        for s in self.listeners:
            s.close()
        for name in ("CANARY_HOST", "canary.sock"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(CANARY_DIR, name))
        with contextlib.suppress(OSError):
            os.rmdir(CANARY_DIR)


def remove_tree(path):
    """Removes what a hostile program made: deeper than Python's recursion, closed to its owner."""
    subprocess.run(["chmod", "-R", "u+rwx", path], stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", path], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def scratch_dir(prefix, where=None):
    path = tempfile.mkdtemp(prefix=prefix, dir=where)
    try:
        yield path
    finally:
        remove_tree(path)


def host_secrets():
    """Byte strings that no answer and no file of a session may ever contain."""
    secrets = [CANARY_TEXT.encode(), SECRET_TEXT.encode()]
    with contextlib.suppress(OSError):
        with open("/etc/shadow", "rb") as f:
            secrets.append(f.readline().strip())
    return [s for s in secrets if s]


def become_subreaper():
    """Orphans of what this process starts come to it, not to init: what is left can be seen."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def stat_fields(pid):
    """(name, state, parent) of a process; None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            text = f.read().decode(errors="replace")
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:].rsplit(")", 1)
    return name, rest.split()[0], int(rest.split()[1])


def descriptor_count(pid):
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except PermissionError:  # a process that may not be looked into, and we are not allowed to
        return 0


def private_kib(pid):
    """Resident memory that is not from files."""
    with open("/proc/%d/statm" % pid) as f:
        _size, resident, shared = f.read().split()[:3]
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE") >> 10


def children(known=()):
    """Children of this process that are not among the known ones, dead ones reaped on the way."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) in known:
            continue
        fields = stat_fields(int(entry))
        if not fields or fields[2] != os.getpid():
            continue
        if fields[1] == "Z":
            with contextlib.suppress(ChildProcessError):
                os.waitpid(int(entry), os.WNOHANG)
        else:
            found.append((int(entry), fields[0]))
    return found


def kill_children(known=()):
    """Ends whatever is left, one by one, so that one failure does not spoil the next test."""
    for _ in range(200):
        left = children(known)
        if not left:
            return
        for pid, _name in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def mounts():
    with open("/proc/self/mountinfo") as f:
        return {" ".join(line.split()[2:5]) for line in f}


OURS = re.compile(r"cicada-(\d+)-\d+(-\d+)?$")
WORK_DIR = re.compile(r"cicada-(work-)?[A-Za-z0-9]{6}$")


def abandoned_groups():
    """cgroup directories whose spawner is gone."""
    found = set()
    for top, dirs, _files in os.walk("/sys/fs/cgroup"):
        for name in list(dirs):
            match = OURS.match(name)
            if match:
                dirs.remove(name)
                if not os.path.exists("/proc/" + match.group(1)):
                    found.add(os.path.join(top, name))
    return found


def is_abandoned(path):
    try:
        owner = os.readlink(os.path.join(path, "owner"))
    except FileNotFoundError:
        return True  # its maker died before it could say who it is
    except OSError:
        return False  # somebody else's
    return not os.path.exists("/proc/" + owner.split(".")[0])


def abandoned_dirs(bases):
    """Work directories whose maker is gone."""
    found = set()
    for base in bases:
        with contextlib.suppress(OSError):
            for entry in os.scandir(base):
                if WORK_DIR.match(entry.name) and is_abandoned(entry.path):
                    found.add(entry.path)
    return found


class Leftovers:
    """What there was before, and whatever is there later that was not."""

    def __init__(self, bases, known=()):
        self.bases, self.known = list(bases), set(known)
        self.mounts = mounts()
        self.groups = abandoned_groups()
        self.dirs = abandoned_dirs(self.bases)

    def forgive(self):
        """What is left now has been told of; from here on only more of it counts."""
        self.mounts |= mounts()
        self.groups |= abandoned_groups()
        self.dirs |= abandoned_dirs(self.bases)

    def now(self):
        found = ["process %d (%s)" % child for child in children(self.known)]
        found += ["mount " + m for m in mounts() - self.mounts]
        found += ["cgroup " + g for g in abandoned_groups() - self.groups]
        found += ["directory " + d for d in abandoned_dirs(self.bases) - self.dirs]
        return found

    def settle(self, seconds=1.0):
        """Waits until nothing is left, at most so long; what is left then."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.now()
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.02)
