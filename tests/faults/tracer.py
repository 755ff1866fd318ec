"""Makes one system call of the jail's setup fail, and looks at the jail that results.

The product is started under ptrace and followed through every fork and exec. Processes are told
apart by the part they play:

    cicada       the command line; not touched
    spawn        cicada-spawn
    child        made by cicada-spawn: init of the jail, or a trial of what the host can do
    grandchild   made by such a child: the kernel before its exec
    kernel       cicada-kernel, from its exec to its last seccomp call, which seals it
    user         whatever comes after that: not touched

Each use of each call is counted over all processes of a part, in order. The use that is to fail is
replaced by getpid, which every filter allows, and answered with the error.

At the moment the kernel is sealed, before it has read a byte of the session's code, and whenever
init begins to wait, the tracer looks at the process from outside: credentials, namespaces, mounts,
limits, cgroups, descriptors. Two starts with the same pictures are equally strong.
"""

import collections
import contextlib
import ctypes
import os
import re
import signal
import struct
import time
from operator import le

TRACEME, POKEUSER, CONT, SYSCALL = 0, 6, 7, 24
SETOPTIONS, GETEVENTMSG, GET_SYSCALL_INFO = 0x4200, 0x4201, 0x420E
OPTIONS = 1 | 2 | 4 | 8 | 16 | 1 << 20  # SYSGOOD, FORK, VFORK, CLONE, EXEC, EXITKILL
EVENT_CLONES, EVENT_EXEC = (1, 2, 3), 4
WALL = 0x40000000
ORIG_RAX, RAX = 15 * 8, 10 * 8
GETPID, SECCOMP, WAITID = 39, 317, 247
SENDTO, SENDMSG = 44, 46

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    result = libc.ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), "ptrace %#x" % request)
    return result


def syscall_names():
    """number -> name, from the C library's headers"""
    names = {}
    for path in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        with contextlib.suppress(OSError), open(path) as f:
            names.update({int(n): name for name, n in
                          re.findall(r"#define __NR_(\w+) (\d+)", f.read())})
    return names


# -- pictures of a process

# Names of directories, numbers of inodes, and the session's own uid: each session has another.
VARIES = re.compile(r"cicada-(work-)?[A-Za-z0-9]{6}\b|cicada-\d+-\d+(-\d+)?|\[\d+\]|anon_inode:\S*|"
                    r"\d+:\d+|\b[1-4]\d{5,9}\b|/proc/self/fd/\d+")


def read(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name)) as f:
            return f.read()
    except OSError as e:
        return "(%s)" % e.strerror


def status(pid):
    wanted = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
              "NoNewPrivs", "Seccomp", "Seccomp_filters", "SigBlk", "SigIgn", "SigCgt")
    found = {}
    for line in read(pid, "status").splitlines():
        key, _, value = line.partition(":")
        if key in wanted and key != "SigCgt":
            found[key] = VARIES.sub("*", value).split()
    return found


def namespaces(pid):
    """Which namespaces are not ours."""
    own = []
    for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
        try:
            if os.readlink("/proc/%d/ns/%s" % (pid, name)) != os.readlink("/proc/self/ns/" + name):
                own.append(name)
        except OSError as e:
            own.append("%s?%s" % (name, e.strerror))
    return own


def mounts(pid):
    """Mount points with their options, without what differs from start to start."""
    found = []
    for line in read(pid, "mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        found.append(VARIES.sub("*", " ".join(fields[3:6] + right.split()[:1] + right.split()[2:])))
    return sorted(found)


def descriptors(pid):
    found = []
    with contextlib.suppress(OSError):
        for fd in sorted(os.listdir("/proc/%d/fd" % pid), key=int):
            found.append((int(fd), VARIES.sub("*", os.readlink("/proc/%d/fd/%s" % (pid, fd)))))
    return found


def groups(pid):
    """Limits of the cgroups a process is in, as far as they are ours."""
    found = {}
    for line in read(pid, "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if "cicada-" not in path:
            continue
        for top in ("/sys/fs/cgroup/%s" % (controllers or "unified"), "/sys/fs/cgroup"):
            for knob in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max",
                         "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.max", "memory.swap.max",
                         "cpu.max", "memory.oom_control"):
                with contextlib.suppress(OSError), open(top + path + "/" + knob) as f:
                    found[controllers + ":" + knob] = f.readline().strip()
    return found


def cwd(pid):
    try:
        return VARIES.sub("*", os.readlink("/proc/%d/cwd" % pid))
    except OSError as e:  # a user may not look into a process that gave up being looked into
        return "(%s)" % e.strerror


def limits(pid):
    """name -> (soft, hard); unlimited is infinite"""
    found = {}
    for line in read(pid, "limits").splitlines()[1:]:
        match = re.match(r"(.*?)\s{2,}(\S+)\s+(\S+)", line)
        if not match:
            continue
        found[match.group(1)] = tuple(
            float("inf") if v == "unlimited" else int(v) for v in match.groups()[1:])
    return found


def picture(pid):
    return {"status": status(pid), "namespaces": namespaces(pid), "mounts": mounts(pid),
            "descriptors": descriptors(pid), "groups": groups(pid), "limits": limits(pid),
            "personality": read(pid, "personality").strip(),
            "oom_score_adj": read(pid, "oom_score_adj").strip(),
            "uid_map": VARIES.sub("*", read(pid, "uid_map")).split(),
            "gid_map": VARIES.sub("*", read(pid, "gid_map")).split(),
            "setgroups": read(pid, "setgroups").strip(),
            "cwd": cwd(pid)}


def differences(one, two):
    """In what the second picture differs from the first; a lower limit is no difference."""
    found = []
    for key in sorted(set(one or {}) | set(two or {})):
        a, b = (one or {}).get(key), (two or {}).get(key)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            for k in sorted(set(a) | set(b)):
                lower = key == "limits" and k in a and k in b and all(map(le, b[k], a[k]))
                if a.get(k) != b.get(k) and not lower:
                    found.append("%s.%s: %s -> %s" % (key, k, a.get(k), b.get(k)))
        elif isinstance(a, list) and isinstance(b, list):
            found.append("%s: -%s +%s" % (key, [x for x in a if x not in b],
                                          [x for x in b if x not in a]))
        else:
            found.append("%s: %r -> %r" % (key, a, b))
    return found


# -- the tracer

Fault = collections.namedtuple("Fault", "part call use errno")


class Tracer:
    def __init__(self, fault=None, deadline_s=45):
        self.fault, self.deadline_s = fault, deadline_s
        self.parts = {}  # pid -> part
        self.entered = {}  # pid -> (call, is it the one that fails)
        self.stopped = set()  # new processes that stopped before their parent told of them
        self.uses = collections.Counter()  # (part, call) -> how often
        self.successes = collections.Counter()
        self.greeted = False  # the spawner has told the engine what this host can do
        self.hit = self.hit_early = False  # the fault happened; before the greeting
        self.kernel = self.init = None  # pictures
        self.names = {v: k for k, v in syscall_names().items()}

    def start(self, arguments, env, stdout, stderr):
        pid = os.fork()
        if pid == 0:
            try:
                null = os.open("/dev/null", os.O_RDONLY)
                for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
                    os.dup2(source, target)
                os.closerange(3, 4096)
                ptrace(TRACEME, 0)
                os.kill(os.getpid(), signal.SIGSTOP)
                os.execve(arguments[0], arguments, env)
            finally:
                os._exit(127)
        os.waitpid(pid, WALL)
        ptrace(SETOPTIONS, pid, 0, OPTIONS)
        self.parts[pid] = "cicada"
        ptrace(CONT, pid)
        return pid

    def run(self, arguments, env, stdout, stderr):
        """Runs to the end; the exit code of cicada, None when it hung."""
        first = self.start(arguments, env, stdout, stderr)
        code = None
        timer = signal.signal(signal.SIGALRM, lambda *unused: None)
        signal.siginterrupt(signal.SIGALRM, True)
        end = time.monotonic() + self.deadline_s
        try:
            while self.parts:
                pid, status = self.wait(end)
                if pid is None:
                    self.kill_all()
                    return None
                if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                    self.parts.pop(pid, None)
                    if pid == first:
                        code = os.waitstatus_to_exitcode(status)
                else:
                    self.step(pid, status)
        finally:
            signal.signal(signal.SIGALRM, timer)
        return code

    def wait(self, end):
        """The next event; (None, None) when there was none until `end`."""
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return None, None
            pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if pid:
                return pid, status
            signal.setitimer(signal.ITIMER_REAL, left)
            try:
                # SIGALRM interrupts; Python would begin again, so it must raise.
                signal.signal(signal.SIGALRM, self.too_late)
                return os.waitpid(-1, WALL)
            except TimeoutError:
                return None, None
            except ChildProcessError:
                return None, None
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def too_late(*unused):
        raise TimeoutError

    def kill_all(self):
        for pid in list(self.parts):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while self.parts:
                pid, status = os.waitpid(-1, WALL)
                if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                    self.parts.pop(pid, None)

    def go_on(self, pid, sig=0):
        part = self.parts.get(pid)
        request = CONT if part in ("cicada", "user") else SYSCALL
        with contextlib.suppress(ProcessLookupError):
            ptrace(request, pid, 0, sig)

    def step(self, pid, status):
        sig, event = os.WSTOPSIG(status), status >> 16
        try:
            if sig == signal.SIGTRAP | 0x80:
                self.at_syscall(pid)
                self.go_on(pid)
            elif event in EVENT_CLONES:
                self.at_clone(pid)
                self.go_on(pid)
            elif event == EVENT_EXEC:
                self.at_exec(pid)
                self.go_on(pid)
            elif pid not in self.parts:  # a new process, before its parent's event
                self.stopped.add(pid)
            elif sig == signal.SIGSTOP and pid in self.entered and self.entered[pid] == "new":
                del self.entered[pid]
                self.go_on(pid)
            else:
                self.go_on(pid, sig)
        except ProcessLookupError:
            pass  # killed meanwhile; its end will be told

    def at_clone(self, pid):
        message = ctypes.c_ulong()
        ptrace(GETEVENTMSG, pid, 0, ctypes.addressof(message))
        child = message.value
        part = self.parts[pid]
        self.parts[child] = {"spawn": "child", "child": "grandchild", "grandchild": "user",
                             "kernel": "user"}.get(part, part)
        if child in self.stopped:
            self.stopped.remove(child)
            self.go_on(child)
        else:
            self.entered[child] = "new"

    def at_exec(self, pid):
        try:
            name = os.path.basename(os.readlink("/proc/%d/exe" % pid))
        except OSError:
            name = "?"
        part = self.parts.get(pid)
        if "cicada-spawn" in name:
            self.parts[pid] = "spawn"
        elif part in ("child", "grandchild"):
            self.parts[pid] = "kernel"

    def at_syscall(self, pid):
        buffer = ctypes.create_string_buffer(88)
        ptrace(GET_SYSCALL_INFO, pid, len(buffer), ctypes.addressof(buffer))
        kind = buffer.raw[0]
        part = self.parts.get(pid)
        if kind == 1:
            call = struct.unpack_from("<Q", buffer.raw, 24)[0]
            self.uses[part, call] += 1
            fails = self.is_fault(part, call)
            if fails:
                self.hit, self.hit_early = True, not self.greeted
                ptrace(POKEUSER, pid, ORIG_RAX, GETPID)
            self.entered[pid] = (call, fails)
            if part == "child" and call == WAITID and not self.init:
                self.init = picture(pid)
        elif kind == 2 and isinstance(self.entered.get(pid), tuple):
            call, fails = self.entered.pop(pid)
            if fails:
                ptrace(POKEUSER, pid, RAX, ctypes.c_ulong(-self.fault.errno).value)
                return
            value = struct.unpack_from("<q", buffer.raw, 24)[0]
            if value >= 0:
                self.successes[part, call] += 1
                self.greeted |= part == "spawn" and call in (SENDTO, SENDMSG)
            if part == "kernel" and call == SECCOMP:
                self.at_seal(pid)

    def is_fault(self, part, call):
        f = self.fault
        return bool(f) and f.part == part and self.names.get(f.call) == call and \
            self.uses[part, call] == f.use

    def at_seal(self, pid):
        self.kernel = picture(pid)
        self.parts[pid] = "user"
