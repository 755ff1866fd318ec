"""Open files and directories: what they are, and how to have them back at the same numbers."""
import errno
import fcntl
import os
import stat
import struct

from _cicada_start import native

FLAGS = (
    os.O_ACCMODE | os.O_APPEND | os.O_NONBLOCK | os.O_DIRECT | os.O_SYNC | os.O_DSYNC | os.O_NOATIME
    | os.O_PATH
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
KINDS = {
    "pipe:": "a pipe",
    "socket:": "a socket",
    "anon_inode:[eventpoll]": "an event loop, or another use of epoll",
    "anon_inode:[eventfd]": "an eventfd",
    "anon_inode:[timerfd]": "a timer",
    "anon_inode:[signalfd]": "a signalfd",
    "anon_inode:inotify": "a watch on files (inotify)",
    "anon_inode:[pidfd]": "a process (pidfd)",
}


class Held:
    """One descriptor."""

    stream = None  # 1 or 2: it is that pipe of the engine's
    path = None
    content = None  # of a file that has no name any more
    twin = None  # number of an earlier descriptor with which it shares its position
    locks = ()

    def __init__(self, fd, link):
        self.fd = fd
        self.link = link
        self.stat = os.fstat(fd)
        self.id = self.stat.st_dev, self.stat.st_ino
        self.flags = fcntl.fcntl(fd, fcntl.F_GETFL) & FLAGS
        self.is_inherited = os.get_inheritable(fd)
        self.offset = position(fd)

    def name(self):
        return self.link.removesuffix(" (deleted)")


def position(fd):
    try:
        return os.lseek(fd, 0, os.SEEK_CUR)
    except OSError:
        return None


def look(own, budget, is_copy):
    """(what is open, reasons why it cannot come along)."""
    found, reasons = [], []
    for fd in sorted(map(int, os.listdir("/proc/self/fd"))):
        if fd in own:
            continue
        try:
            held = Held(fd, os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue  # it was that of the list itself
        reason = understand(held, budget, is_copy)
        if reason:
            reasons.append(f"descriptor {fd} is {reason}")
        elif not is_plain_stream(held):
            find_twin(held, found)
            found.append(held)
    return found, reasons


def is_plain_stream(held):
    return held.fd == held.stream or (held.fd == 0 and held.link == os.devnull)


def understand(held, budget, is_copy):
    """Fills in what it takes to open it again, or says what it is."""
    if held.id in native.pipes():
        held.stream = 1 + native.pipes().index(held.id)
        return None
    mode = held.stat.st_mode
    if stat.S_ISDIR(mode) or held.link in DEVICES:
        held.path = held.link
        return None
    if not stat.S_ISREG(mode):
        kind = next((text for start, text in KINDS.items() if held.link.startswith(start)), None)
        return kind or held.link
    held.locks = locks(held.fd)
    if has_name(held):
        held.path = held.link
        return None
    return None if is_copy else keep_content(held, budget)


def has_name(held):
    try:
        found = os.stat(held.link)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == held.id


def keep_content(held, budget):
    """A file without a name: a temporary one, or one that was removed while open."""
    if not budget.has_room(held.stat.st_size):
        return f"{held.name()}, a file that has been removed and is too large to be carried along"
    try:
        with open(f"/proc/self/fd/{held.fd}", "rb") as file:
            held.content = file.read(held.stat.st_size)
    except OSError as error:
        return f"{held.name()}, a file that has been removed and cannot be read: {error.strerror}"
    return None


def find_twin(held, earlier):
    """Descriptors made by dup share a position: moving one moves the other."""
    if held.offset is None or not stat.S_ISREG(held.stat.st_mode):
        return
    for other in earlier:
        if other.twin is None and (other.id, other.flags, other.offset) == (
            held.id, held.flags, held.offset,
        ):
            os.lseek(other.fd, held.offset + 1, os.SEEK_SET)
            is_twin = position(held.fd) == held.offset + 1
            os.lseek(other.fd, held.offset, os.SEEK_SET)
            if is_twin:
                held.twin = other.fd
                return


# ---- locks


def locks(fd):
    """(kind, type, start, length) of what this descriptor holds; /proc tells."""
    found = []
    with open(f"/proc/self/fdinfo/{fd}") as file:
        for line in file:
            if line.startswith("lock:"):
                _, _, kind, _, mode, _, _, start, end = line.split()[:9]
                length = 0 if end == "EOF" else int(end) - int(start) + 1
                found.append((kind, mode, int(start), length))
    return found


def take_locks(held, lost):
    for kind, mode, start, length in held.locks:
        try:
            if kind == "FLOCK":
                how = fcntl.LOCK_SH if mode == "READ" else fcntl.LOCK_EX
                fcntl.flock(held.fd, how | fcntl.LOCK_NB)
            else:
                how = fcntl.F_RDLCK if mode == "READ" else fcntl.F_WRLCK
                call = fcntl.F_OFD_SETLK if kind == "OFDLCK" else fcntl.F_SETLK
                fcntl.fcntl(held.fd, call, struct.pack("hhqqi4x", how, 0, start, length, 0))
        except OSError as error:
            lost.append(f"lock on {held.name()}: {error.strerror}")


# ---- after


def reopen(found, lost):
    """In a process that has nothing but its streams."""
    for held in found:  # first, while 1 and 2 are what the engine gave
        if held.stream is not None:
            place(held, os.dup(held.stream))
    for held in found:
        if held.stream is not None:
            continue
        try:
            open_again(held)
        except OSError as error:
            lost.append(f"open file {held.name()}: {error.strerror}")
            occupy(held.fd)
    for held in found:
        take_locks(held, lost)


def open_again(held):
    if held.twin is not None:
        place(held, os.dup(held.twin))
        return
    if held.content is None:
        place(held, os.open(held.path, held.flags | os.O_CLOEXEC))
    else:
        place(held, make_nameless(held))
    if held.offset is not None:
        os.lseek(held.fd, held.offset, os.SEEK_SET)


def make_nameless(held):
    """A file without a name, with that content, opened as it was."""
    if held.link.startswith("/memfd:"):
        return fill(os.memfd_create(held.name()[len("/memfd:") :]), held.content)
    folder = os.path.dirname(held.link)
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        fd = os.open("/tmp", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fill(fd, held.content)
    held.content = None
    if held.flags & os.O_ACCMODE == os.O_RDWR and held.flags == os.O_RDWR:
        return fd
    try:
        return os.open(f"/proc/self/fd/{fd}", held.flags | os.O_CLOEXEC)
    finally:
        os.close(fd)


def fill(fd, content):
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
    return fd


def place(held, fd):
    """Puts the open descriptor where the old one was."""
    if fd != held.fd:
        os.dup2(fd, held.fd, inheritable=held.is_inherited)
        os.close(fd)
    else:
        os.set_inheritable(fd, held.is_inherited)


def occupy(fd):
    """So that no other file gets this number, which somebody still believes to be theirs. What is
    there can neither be read nor written."""
    try:
        other = os.open("/", os.O_PATH | os.O_CLOEXEC)
        if other != fd:
            os.dup2(other, fd, inheritable=False)
            os.close(other)
    except OSError as error:
        if error.errno != errno.EBADF:  # the limit of descriptors is lower now
            raise


def separate(found, lost):
    """In a copy: a position of its own for every file."""
    for held in found:
        if held.stream is not None or held.offset is None or held.flags & os.O_PATH:
            continue
        try:
            if held.twin is not None:
                os.dup2(held.twin, held.fd, inheritable=held.is_inherited)
                continue
            place(held, os.open(f"/proc/self/fd/{held.fd}", held.flags | os.O_CLOEXEC))
            os.lseek(held.fd, held.offset, os.SEEK_SET)
        except OSError as error:
            lost.append(f"open file {held.name()}: {error.strerror}")
            occupy(held.fd)
