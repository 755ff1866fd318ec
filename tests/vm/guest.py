"""The checks of the virtual machine; see README.md. Runs as root in the guest.

Reports on the second serial port, a line per check: `ok NAME`, `FAIL NAME: why`, `note TEXT`, and
`end` when all were made.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

CICADA = "/cicada/build/cicada"
CGROUP = Path("/sys/fs/cgroup")
ROOT_SCOPE = CGROUP / "user.slice/session.scope"
USER_SLICE = CGROUP / "user.slice/tester/app.slice"  # given to the user
USER = 1000
PATIENCE_S = 300  # for one command; emulation is slow
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}

checks = []  # (scenario, name, function)
report = open("/dev/ttyS1", "w", encoding="utf-8")


def say(word, text):
    print(word, " | ".join(text.splitlines()), file=report, flush=True)


def check(*scenarios):
    def add(function):
        checks.extend((s, function.__name__.replace("_", " "), function) for s in scenarios)
        return function
    return add


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __str__(self):
        return f"exit {self.code}, stdout {self.out[-1500:]!r}, stderr {self.err[-1500:]!r}"

    @property
    def json(self):
        return json.loads(self.out.splitlines()[-1])  # of several pieces, the last


def become(uid, scope):
    """In a new process: joins the group, then becomes the user."""
    if scope:
        (scope / "cgroup.procs").write_text("0")
    if uid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


@contextlib.contextmanager
def delegated():
    """A new group that belongs to the user, as `systemd-run --user --scope` makes one."""
    scope = USER_SLICE / f"run-{time.monotonic_ns()}.scope"
    scope.mkdir()
    for path in (scope, *scope.iterdir()):
        os.chown(path, USER, USER)
    try:
        yield scope
    finally:
        with contextlib.suppress(FileNotFoundError):
            (scope / "cicada-leaf").rmdir()  # where the user's own processes were moved to
        scope.rmdir()  # fails if anything is left in it


def cicada(*args, uid=0, scope=None, env=ENV):
    return Result(subprocess.run([CICADA, *args], preexec_fn=lambda: become(uid, scope),
                                 capture_output=True, text=True, errors="replace", env=env,
                                 cwd="/tmp", timeout=PATIENCE_S))


@contextlib.contextmanager
def endless(argv, uid=0, scope=None):
    process = subprocess.Popen(argv, preexec_fn=lambda: become(uid, scope))
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def run(code, *options, **how):
    return cicada("run", "--json", *options, "-c", code, **how)


def must(condition, result):
    if not condition:
        raise AssertionError(str(result))


# ---- what is left when nothing runs ----


def processes():
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = Path("/proc", pid, "comm").read_text().strip()
        except OSError:
            continue
        if name.startswith(("cicada", "python")) and int(pid) != os.getpid():
            found.add((pid, name))
    return found


def state():
    """Everything a session could leave behind."""
    return {
        "processes": processes(),
        "cgroups": {str(p) for p in CGROUP.rglob("*") if p.is_dir()},
        "mounts": set(Path("/proc/mounts").read_text().splitlines()),
        "files": {str(p) for place in ("/var/tmp", "/run") for p in Path(place).iterdir()},
    }


def leftovers(before, patience_s=20):
    """What is there and was not; waits a while for it to go, an orphan's exit takes its time."""
    deadline = time.monotonic() + patience_s
    while True:
        now = state()
        more = {kind: now[kind] - before[kind] for kind in now if now[kind] - before[kind]}
        if not more or time.monotonic() > deadline:
            return more
        time.sleep(0.2)


# ---- the machine itself ----


@check("cgroup2", "no-landlock", "no-memory-controller")
def cgroup_v2_is_the_only_hierarchy():
    kinds = [line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()]
    must(kinds.count("cgroup2") == 1 and "cgroup" not in kinds, kinds)


@check("cgroup2")
def the_controllers_are_there():
    there = (CGROUP / "user.slice/cgroup.controllers").read_text().split()
    must({"memory", "pids", "cpu"} <= set(there), there)


# ---- doctor ----


def doctor(**how):
    result = cicada("doctor", "--json", **how)
    say("note", f"doctor: exit {result.code}, {summary(result)}")
    return result


def summary(result):
    found = result.json
    return (f"tier {found['tier']}, Landlock ABI {found['landlock_abi']}, "
            f"cgroup {found['cgroup']}, missing {sorted(missing(found)) or 'nothing'}, "
            f"{found['sandbox']}")


def missing(found):
    """Names of the mechanisms that do not work."""
    return {m["name"] for m in found["mechanisms"] if not m["active"]}


@check("cgroup2")
def doctor_finds_everything_as_root():
    result = doctor(scope=ROOT_SCOPE)
    found = result.json
    must(result.code == 0 and found["tier"] == "full" and found["cgroup"] == 2, result)
    must(not missing(found) and found["landlock_abi"] == 2, result)


@check("cgroup2")
def doctor_tells_people_the_same():
    result = cicada("doctor")
    must(result.code == 0 and re.search(r"tier +full", result.out) and "v2" in result.out, result)


@check("cgroup2")
def doctor_finds_namespaces_but_no_controllers_as_a_user():
    result = doctor(uid=USER, scope=ROOT_SCOPE)
    found = result.json
    must(result.code == 0 and found["tier"] == "full", result)
    must({"memory cgroup", "pids cgroup", "cpu cgroup"} <= missing(found), result)


@check("cgroup2")
def doctor_finds_the_controllers_delegated_to_a_user():
    with delegated() as scope:
        result = doctor(uid=USER, scope=scope)
    found = result.json
    must(result.code == 0 and found["tier"] == "full" and found["cgroup"] == 2, result)
    must(not {"memory cgroup", "pids cgroup", "cpu cgroup"} & missing(found), result)


@check("cgroup2")
def others_in_the_group_are_moved_only_if_it_was_given_away():
    for mark, has_memory in (None, False), (b"1", True):
        with delegated() as scope:
            if mark:
                os.setxattr(scope, "user.delegate", mark)  # as systemd marks Delegate=yes
            with endless(["sleep", "1000"], uid=USER, scope=scope):
                result = doctor(uid=USER, scope=scope)
                must(("memory cgroup" not in missing(result.json)) == has_memory, result)


@check("cgroup2")
def without_user_namespaces_a_user_is_refused():
    # Landlock of this kernel cannot keep sessions of one uid apart, and there is no other uid.
    switch = Path("/proc/sys/kernel/unprivileged_userns_clone")
    switch.write_text("0")
    try:
        result = doctor(uid=USER)
        must(result.code == 125 and result.json["tier"] == "none", result)
        result = run("print(1)", uid=USER)
        must(result.code == 125 and "1" not in result.out, result)
    finally:
        switch.write_text("1")


@check("no-landlock")
def without_landlock_everybody_is_refused():
    for uid in 0, USER:
        result = doctor(uid=uid)
        must(result.code == 125 and result.json["tier"] == "none", result)
        must("Landlock" in missing(result.json), result)
        begin = time.monotonic()
        result = run("print(1)", uid=uid)
        must(result.code == 125 and "1" not in result.out, result)
        must(time.monotonic() - begin < 15, "refusing took as long as a time limit")


@check("no-memory-controller")
def doctor_misses_only_the_memory_controller():
    result = doctor()
    found = result.json
    must(result.code == 0 and missing(found) == {"memory cgroup"}, result)


@check("no-cgroup")
def doctor_misses_all_controllers():
    result = doctor()
    found = result.json
    must(found["cgroup"] == 0, result)
    must(missing(found) == {"memory cgroup", "pids cgroup", "cpu cgroup"}, result)


# ---- runs and their limits ----

@contextlib.contextmanager
def as_root():
    yield {"scope": ROOT_SCOPE if ROOT_SCOPE.exists() else None}


@contextlib.contextmanager
def as_user():
    yield {"uid": USER, "scope": ROOT_SCOPE if ROOT_SCOPE.exists() else None}


@contextlib.contextmanager
def as_user_with_a_group():
    with delegated() as scope:
        yield {"uid": USER, "scope": scope}


def everybody():
    return [as_root, as_user, *([as_user_with_a_group] if USER_SLICE.exists() else [])]


def each(people):
    """(name, arguments for run), one after the other."""
    for person in people:
        with person() as how:
            yield person.__name__.replace("_", " "), how


WITH_CONTROLLERS = [as_root, as_user_with_a_group]
BOMB = "held = []\nwhile True: held.append(bytearray(b'x' * (8 << 20)))"
# Memory that others could share, which nobody refuses.
SHARED = ("import mmap\nheld = []\n"
          "while True:\n    held.append(mmap.mmap(-1, 8 << 20))\n    held[-1].write(b'x' * (8 << 20))")


@check("cgroup2", "no-memory-controller", "no-cgroup")
def a_run_answers():
    for who, how in each(everybody()):
        result = run("import os\nprint(os.getcwd())\n6*7", **how)
        must(result.code == 0 and result.json["stdout"] == "/mnt/data\n", f"{who}: {result}")
        must(result.json["result"]["text/plain"] == "42", f"{who}: {result}")


def is_over_memory(result):
    """Killed for it, or told by Python that there is none."""
    found = result.json
    is_error = found["end"] == "error" and found["error"]["name"] == "MemoryError"
    return found["end"] == "memory" and result.code == 137 or is_error and result.code == 1


@check("cgroup2", "no-memory-controller", "no-cgroup")
def a_memory_bomb_is_ended():
    for who, how in each(everybody()):
        result = run(BOMB, "--memory", "128", "--timeout", "60", **how)
        must(is_over_memory(result), f"{who}: {result}")
        say("note", f"{who}: memory 128 MiB, end {result.json['end']}, "
                    f"peak {result.json['peak_memory_bytes'] >> 20} MiB")


@check("no-memory-controller", "no-cgroup")
def many_processes_together_are_ended_too():
    code = ("import os, time\n"
            "for i in range(12):\n"
            "    if os.fork() == 0: x = bytearray(b'x' * (24 << 20)); time.sleep(60); os._exit(0)\n"
            "time.sleep(60)")
    for who, how in each(everybody()):
        result = run(code, "--memory", "128", "--timeout", "40", **how)
        must(result.code == 137 and result.json["end"] == "memory", f"{who}: {result}")


@check("cgroup2")
def the_kernel_holds_the_memory_limit_to_the_page():
    for who, how in each(WITH_CONTROLLERS):
        result = run(SHARED, "--memory", "128", "--timeout", "60", **how)
        must(result.code == 137 and result.json["end"] == "memory", f"{who}: {result}")
        must(0 < result.json["peak_memory_bytes"] <= 128 << 20, f"{who}: {result}")


@check("cgroup2")
def a_child_that_takes_the_memory_ends_the_session_too():
    result = run("import subprocess, sys\n"
                 f"subprocess.run([sys.executable or '/usr/bin/python3', '-c', {SHARED!r}])",
                 "--memory", "128", "--timeout", "60")
    must(result.json["end"] == "memory", result)


@check("cgroup2")
def processes_are_limited():
    code = ("import os, time\nn = 0\n"
            "try:\n"
            "    while n < 200:\n"
            "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
            "        n += 1\n"
            "except OSError as e: print(e.errno)\n"
            "print(n)")
    for who, how in each(WITH_CONTROLLERS):
        result = run(code, "--pids", "32", **how)
        lines = result.json["stdout"].split()
        must(len(lines) == 2 and lines[0] == "11" and 0 < int(lines[1]) < 32, f"{who}: {result}")


@check("cgroup2")
def a_session_gets_the_cpu_it_was_given():
    code = ("import time\nend = time.monotonic() + 8\n"
            "while time.monotonic() < end: pass")
    for who, how in each(WITH_CONTROLLERS):
        result = run(code, "--cpu", "0.25", "-c", "'the start is counted with the first'", **how)
        share = result.json["cpu_ms"] / result.json["duration_ms"]
        must(result.code == 0 and 0.1 < share < 0.35, f"{who}: share {share:.2f}: {result}")


@check("cgroup2")
def data_on_tmpfs_works_where_it_cannot_be_idmapped():
    for who, how in each(everybody()):
        result = run("open('new.txt', 'w').write('x')\n1", **how,
                     env=ENV | {"CICADA_TMP": "/dev/shm"})
        must(result.code == 0 and [f["path"] for f in result.json["files"]] == ["new.txt"],
             f"{who}: {result}")


# ---- nothing is left ----


def start_endless():
    """A cicada whose code prints a line and then sleeps; returns when it does."""
    process = subprocess.Popen([CICADA, "run", "-c", "print('here', flush=True)\n"
                                "import os, time\nos.fork()\ntime.sleep(1000)"],
                               stdout=subprocess.PIPE, env=ENV, cwd="/tmp", text=True)
    must(process.stdout.readline() == "here\n", "it did not start")
    return process


def spawner_of(process):
    for pid, name in processes():
        status = Path("/proc", pid, "status").read_text()
        if name == "cicada-spawn" and f"\nPPid:\t{process.pid}\n" in status:
            return int(pid)
    raise AssertionError("no spawner")


@check("cgroup2", "no-cgroup")
def a_killed_engine_takes_its_session_along():
    before = state()
    process = start_endless()
    process.kill()
    process.wait()
    left = leftovers(before)
    left.pop("files", None)  # its directory is removed by the next
    must(not left, left)
    must(run("1").code == 0, "the next run")
    must(not leftovers(before), leftovers(before, 0))


@check("cgroup2", "no-cgroup")
def what_a_killed_spawner_left_is_swept_by_the_next():
    before = state()
    process = start_endless()
    os.kill(spawner_of(process), signal.SIGKILL)
    process.wait(PATIENCE_S)
    left = leftovers(before)
    must(not left.get("processes") and not left.get("mounts"), left)
    must(run("1").code == 0, "the next run")
    must(not leftovers(before), leftovers(before, 0))


# ---- the probes ----

# Those whose answer depends on the kernel, on its control groups or on its Landlock.
PROBES = """
    001 002 004 005 006 007 008 010 011 012 013 014 015 017 026 028 029 030 031 032 033 034 036 037
    038 040 041 043 044 045 046 047 048 049 050 051 052 053 055 057 058 059 060 061 062
    068 069 070 071 072 073 074 079 082 083 084 085 086 089 102 103 107 131 133 140 141 149
    022 024 025 117
""".split()


@check("cgroup2")
def probes():
    """Runs them with the harness of tests/escape, with more time. Reports each by itself."""
    sys.path.insert(0, "/cicada/tests/escape")
    from support import host, product, stage, table, trial
    trial.SLACK_S = product.GRACE_S = stage.GRACE_S = PATIENCE_S
    stage.COLD_BOUND_S = PATIENCE_S
    host.become_subreaper()
    rows = {row.number: row for row in table.TABLE}
    programs = {p.name[:3]: p for p in Path("/cicada/tests/escape/probes").glob("[0-9]*.py")}
    with host.Bait() as bait, host.scratch_dir("escape-", "/var/tmp") as scratch:
        place = stage.Stage(CICADA, scratch, "root")
        for number in PROBES:
            row = rows[number]
            row.seconds *= 2 if "timeout" in row.ends else 6
            before = state()
            done = trial.Trial(row, str(programs[number]), place).run()
            complaints = done.complaints + [f"left: {x}" for x in leftovers(before).items()]
            name = f"{programs[number].stem}: {done.end}, {done.verdict[:100]}"
            say("FAIL" if complaints else "ok", " | ".join([name, *complaints]))
        must(not bait.visitors, f"somebody connected to the host: {bait.visitors}")
        place.close()


# ---- all of them ----


def perform(name, function):
    before = state()
    try:
        function()
        left = leftovers(before)
        must(not left, f"left behind: {left}")
    except Exception as e:
        why = str(e) if isinstance(e, AssertionError) else traceback.format_exc()
        say("FAIL", f"{name}: {why}")
    else:
        say("ok", name)


# ---- the spawner driven by hand ----


def jails(who):
    """Those that have to do with layers: the rest takes too long here, and is seen elsewhere."""
    done = subprocess.run(["/cicada/tests/jails/run", who, "layers", "overlay"],
                          capture_output=True, text=True, errors="replace",
                          env={**ENV, "CICADA": CICADA}, timeout=2 * PATIENCE_S,
                          preexec_fn=lambda: become(0, ROOT_SCOPE))
    cicada("doctor", scope=ROOT_SCOPE)  # sweeps: one of the tests kills its spawner
    bad = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    must(done.returncode == 0 and not bad, f"{bad} {done.stdout[-200:]} {done.stderr[-300:]}")


@check("layers")
def layers_keep_their_promises_as_root():
    jails("root")


@check("layers")
def layers_keep_their_promises_as_a_user():
    jails("user")


def main():
    scenario = re.search(r"cicada\.scenario=(\S+)", Path("/proc/cmdline").read_text()).group(1)
    say("note", Path("/proc/version").read_text().strip())
    for wanted, name, function in checks:
        if wanted == scenario:
            perform(name, function)
    say("end", "")


main()
