"""What lies in /tmp and /dev/shm, carried along in memory: both end with the sandbox.

Little, as a rule: notes of libraries, a file that is about to be read again. More than BYTES_MAX is a
reason not to go to sleep.
"""
import os
import stat

PLACES = ("/tmp", "/dev/shm")
BYTES_MAX = 64 << 20
FILES_MAX = 2000


class Budget:
    """How much more may be carried."""

    def __init__(self):
        self.bytes = BYTES_MAX
        self.files = FILES_MAX

    def has_room(self, size):
        self.bytes -= size
        self.files -= 1
        return self.bytes >= 0 and self.files >= 0


class Full(Exception):
    pass


def is_ours(place):
    """Only what the sandbox has mounted there. By hand, /tmp is everybody's."""
    return os.path.isdir("/mnt/data") and os.path.ismount(place)


def is_in_place(path):
    return any(path.startswith(f"{place}/") and is_ours(place) for place in PLACES)


def pack(budget):
    """([(path, mode, mtime, content)], reasons): content is bytes, the target of a link as text, None
    for a directory. A directory comes before what is in it."""
    packed = []
    for place in PLACES:
        try:
            if is_ours(place):
                add_folder(place, packed, budget)
        except Full:
            return [], [
                f"{place} holds more than can be carried along "
                f"({BYTES_MAX >> 20} MiB and {FILES_MAX} files are possible)"
            ]
        except OSError as error:
            return [], [f"{error.filename} cannot be read: {error.strerror}"]
    return packed, []


def add_folder(folder, packed, budget):
    """Without recursion: how deep it goes is up to the session."""
    folders = [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    folders.append(entry.path)
                add(entry.path, found, packed, budget)


def add(path, found, packed, budget):
    mode = found.st_mode
    is_file = stat.S_ISREG(mode)
    if not budget.has_room(found.st_size if is_file else 0):
        raise Full
    content = None
    if is_file:
        with open(path, "rb") as file:
            content = file.read(found.st_size)
    elif stat.S_ISLNK(mode):
        content = os.readlink(path)
    elif not stat.S_ISDIR(mode):
        return  # a socket: nobody listens
    packed.append((path, mode, found.st_mtime_ns, content))


def unpack(packed, lost):
    for path, mode, _, content in packed:
        try:
            put(path, mode, content)
        except OSError as error:
            lost.append(f"{path}: {error.strerror}")
    for path, mode, mtime, content in reversed(packed):  # a folder after what is in it
        try:
            if not isinstance(content, str):
                os.chmod(path, stat.S_IMODE(mode))
            os.utime(path, ns=(mtime, mtime), follow_symlinks=False)
        except OSError:
            pass  # it is among the lost already


def put(path, mode, content):
    if content is None:
        os.makedirs(path, 0o700, exist_ok=True)
    elif isinstance(content, str):
        os.symlink(content, path)
    else:
        with open(path, "wb") as file:
            file.write(content)
