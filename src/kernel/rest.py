"""Going to rest, as an image or as a copy: may this process, and what has to be put back afterwards?

Memory comes along by itself. What does not: threads, child processes, what the OS keeps behind most
kinds of descriptors. If there is any of that, nothing is done, and each reason is one sentence that
names it. Files and directories are remembered and opened again (files.py), /tmp and /dev/shm, which end
with the sandbox, are carried along (carry.py).

    settle    before: the reasons why not, empty if it may
    go_on     after, in the process that stays
    wake      after, in the process that was put together again: what is lost
    part      after, in the copy: what is lost
"""
import _signal
import os
import sys

import _cicada_carry as carry
import _cicada_files as files
import _cicada_hooks as hooks
import _cicada_world as world
from _cicada_start import native

NAMES_MAX = 5  # of the same kind, in one sentence
COMMAND_MAX = 80
REASONS_MAX = 20
TRIES = 50  # milliseconds
BASE = range(0x100000000000, 0x110000000000)  # where the image is mapped once more: image/places.h

kept = None  # between settle and what comes after


class Kept:
    cwd = None
    umask = 0o022
    files = ()
    packed = ()


def settle(request):
    """`request` is (how, descriptor): "sleep" or "copy", and what the engine has sent with it."""
    global kept
    how, fd = request
    kept = Kept()
    end_idle()
    reasons = threads() + children() + timers()
    budget = carry.Budget()
    kept.files, found = files.look(own={fd, native.control()}, budget=budget, is_copy=how == "copy")
    reasons += found
    reasons += mappings(is_copy=how == "copy")
    if not reasons and how == "sleep":
        kept.packed, reasons = carry.pack(budget)
    kept.cwd = guarded(os.getcwd)
    kept.umask = os.umask(0o077)
    os.umask(kept.umask)
    if reasons:
        kept = None
    if len(reasons) > REASONS_MAX:
        reasons[REASONS_MAX:] = [f"and {len(reasons) - REASONS_MAX} more of the kind"]
    return reasons


def go_on():
    global kept
    kept = None


def wake():
    global kept
    before, kept = kept, None
    lost = []
    os.umask(0o022)
    carry.unpack(before.packed, lost)
    os.umask(before.umask)
    if before.cwd is not None:
        guarded(os.chdir, before.cwd, lost=lost, what=before.cwd)
    files.reopen(before.files, lost)
    know_thread()
    return lost


def part():
    global kept
    before, kept = kept, None
    lost = []
    if before is not None:  # there was nothing but memory: plain.h
        files.separate(before.files, lost)
    know_thread()
    return lost


def guarded(function, *args, lost=None, what=""):
    try:
        return function(*args)
    except OSError as error:
        if lost is not None:
            lost.append(f"{what}: {error.strerror}")
        return None


def know_thread():
    """The main thread's number is that of the process, and may be another now."""
    threading = sys.modules.get("threading")
    if threading is not None:
        guarded(threading.main_thread()._set_native_id)


# ---- what only waits


def end_idle():
    """Ends what is not the session's doing and starts again when needed."""
    loop = sys.modules.get("_cicada_loop")
    if loop is not None:
        loop.close_idle()
    end_monitor()
    if thread_count() > 1 and not others():
        native.stop_workers()
        numexpr = sys.modules.get("numexpr")
        if numexpr is not None and hasattr(numexpr, "set_num_threads"):
            count = numexpr.set_num_threads(1)
            numexpr.utils.num_threads = count
    world.flush_streams()
    world.flush_files()


def end_monitor():
    """tqdm has a thread that looks whether a bar has stopped moving."""
    tqdm = getattr(sys.modules.get("tqdm.std"), "tqdm", None)
    monitor = getattr(tqdm, "monitor", None)
    if monitor is not None and not getattr(tqdm, "_instances", None):
        monitor.exit()
        tqdm.monitor = None


# ---- reasons not to


def listed(names):
    shown = ", ".join(names[:NAMES_MAX])
    more = len(names) - NAMES_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def thread_count():
    return os.stat("/proc/self/task").st_nlink - 2


def others():
    """Python's threads beside this one."""
    return sys._current_frames().keys() - {hooks.own_import("_thread").get_ident()}


def threads():
    count = thread_count() - 1
    if count <= 0:
        return []
    known = []
    threading = sys.modules.get("threading")
    if threading is not None:
        main = threading.main_thread()
        known = [thread.name for thread in threading.enumerate() if thread is not main]
    count = wait_for_end(len(known))
    reasons = []
    if known:
        reasons.append(f"threads are running: {listed(known)}")
    if count > len(known):
        reasons.append(f"libraries have {count - len(known)} threads of their own running")
    return reasons


def wait_for_end(expected):
    """A thread that was joined needs a moment to be gone. Gives how many there are beside this one."""
    time = hooks.own_import("time")
    for _ in range(TRIES):
        count = thread_count() - 1
        if count <= expected:
            break
        time.sleep(0.001)
    return count


def child_pids():
    pids = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                pids += map(int, file.read().split())
        except OSError:
            return pids_by_parent()
    return pids


def pids_by_parent():
    """For an OS without the list of children."""
    mine, pids = str(os.getpid()), []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        stat = read(f"/proc/{name}/stat")
        if stat.rpartition(")")[2].split()[1:2] == [mine]:
            pids.append(int(name))
    return pids


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def children():
    if not child_pids():
        return []
    ask_the_ended()
    pids = child_pids()
    names = [f"{pid} ({command(pid)})" for pid in pids]
    return [f"child processes are there: {listed(names)}"] if names else []


def ask_the_ended():
    """Takes notice of children that have ended, as their owners would do later."""
    subprocess = sys.modules.get("subprocess")
    if subprocess is not None:
        for value in hooks.own_import("gc").get_objects():
            if issubclass(type(value), subprocess.Popen) and hasattr(value, "returncode"):
                value.poll()
        subprocess._cleanup()
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.active_children()


def command(pid):
    text = read(f"/proc/{pid}/cmdline").rstrip("\0").replace("\0", " ")
    if not text:
        state = read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1]
        return "ended, not waited for" if state == ["Z"] else "no command line"
    return text if len(text) <= COMMAND_MAX else text[:COMMAND_MAX] + "..."


def timers():
    reasons = []
    for name in "ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF":
        left = _signal.getitimer(getattr(_signal, name))[0]
        if left > 0:
            reasons.append(f"an alarm is set, {left:.1f} seconds from now")
    if read("/proc/self/timers"):
        reasons.append("timers are running")
    return reasons


def mappings(is_copy):
    """Memory that is shared, or lies in files that will not be there."""
    lines = [line.split(maxsplit=5) for line in read("/proc/self/maps").splitlines()]
    image = {(l[3], l[4]) for l in lines if int(l[0].partition("-")[0], 16) in BASE}
    reasons = set()
    for _, flags, _, device, inode, *path in lines:
        if path and inode != "0" and (device, inode) not in image:
            reasons.add(problem(path[0], flags, is_copy))
    return sorted(reasons - {None})


def problem(path, flags, is_copy):
    is_shared = flags[3] == "s" and flags[1] == "w"
    if path.startswith(("/dev/zero", "/SYSV")):
        return "memory is shared with other processes (an anonymous mmap)" if is_shared else None
    if path.startswith("/dev/shm/sem."):
        return "semaphores are shared with other processes (multiprocessing)"
    if path.endswith(" (deleted)"):
        if is_copy and not is_shared:
            return None
        return f"memory is mapped from {path.removesuffix(' (deleted)')}, a file that has been removed"
    if not is_copy and carry.is_in_place(path):
        return f"memory is mapped from {path}, which ends with the sandbox"
    return None
