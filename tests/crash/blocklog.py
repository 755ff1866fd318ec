"""A disk that remembers every write and every flush, and what it would hold after a power cut.

The disk is a file behind qemu-storage-daemon: its blklogwrites driver writes each request to a log
before it is done (the format of Linux's dm-log-writes), its FUSE export makes a file of it, and a
loop device a disk of that. Nothing of this needs a module that a stock kernel lacks.

    with Recording(place, "ext4") as r:
        ...write below r.mount; r.log is the log, whose head says how many entries it has...
    for state in States(r, random, points):
        with state.mounted() as directory: ...

A request that was flushed is there. One that was not may be there, or not, or in part (in pieces of
4 KiB, which is what disks write at once), whatever became of those before and after it.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

SIZE = {"ext4": 320 << 20, "xfs": 320 << 20}  # xfs does not go below 300 MiB
MKFS = {"ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
        "xfs": ["mkfs.xfs", "-q", "-f", "-K"]}
PIECE = 4096
FLUSH, FUA, DISCARD = 1, 2, 4  # flags of an entry
PATIENCE_S = 20
ENV = {**os.environ, "PATH": "/usr/sbin:/sbin:/usr/bin:/bin", "LANG": "C.UTF-8"}


class Broken(Exception):
    """The means failed, not what is tested."""


def call(*argv):
    done = subprocess.run(list(map(str, argv)), env=ENV, capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"{' '.join(map(str, argv))}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


def missing():
    """What this machine lacks for it: a list of sentences, empty when nothing."""
    found = []
    if os.geteuid() != 0:
        found.append("this needs root, to mount")
    for program in ("qemu-storage-daemon", "mkfs.ext4", "mkfs.xfs", "fusermount3", "losetup"):
        if not shutil.which(program, path=ENV["PATH"]):
            found.append(f"no {program}: install the packages in packages_crash of ./dev")
    for device in ("/dev/fuse", "/dev/loop-control"):
        if not os.path.exists(device):
            found.append(f"no {device} here")
    kinds = pathlib.Path("/proc/filesystems").read_text().split()
    return found + [f"this kernel has no {kind}" for kind in MKFS if kind not in kinds]


def until(what, is_so):
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > end:
            raise Broken(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.02)


def unmount(directory):
    """Whoever scans the machine for mounts may hold it for a moment."""
    for _ in range(50):
        if subprocess.run(["umount", directory], env=ENV, capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    raise Broken(f"cannot unmount {directory}")


class Recording:
    def __init__(self, place, kind):
        self.place, self.kind = pathlib.Path(place), kind
        self.disk, self.log, self.export = (self.place / name for name in ("disk", "log", "export"))
        self.mount = self.place / "mount"
        self.daemon = self.loop = None
        self.is_mounted = False

    def __enter__(self):
        self.mount.mkdir()
        for path, size in (self.disk, SIZE[self.kind]), (self.log, 8 << 30), (self.export, 0):
            with open(path, "wb") as f:
                f.truncate(size)
        try:
            self.begin()
        except BaseException:
            self.end()
            raise
        return self

    def begin(self):
        self.daemon = subprocess.Popen(
            ["qemu-storage-daemon",
             "--blockdev", f"file,node-name=disk,filename={self.disk}",
             "--blockdev", f"file,node-name=log,filename={self.log}",
             "--blockdev", "driver=blklogwrites,node-name=logged,file=disk,log=log,log-append=off,"
                           "log-super-update-interval=1",
             "--export", f"type=fuse,id=export,node-name=logged,mountpoint={self.export},writable=on"],
            env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        until("the export of the disk", lambda: self.daemon.poll() is not None
              or os.path.getsize(self.export) == SIZE[self.kind])
        self.loop = call("losetup", "-f", "--show", self.export)
        call(*MKFS[self.kind], self.loop)
        call("mount", self.loop, self.mount)
        self.is_mounted = True

    def end(self):
        if self.is_mounted:
            unmount(self.mount)
            self.is_mounted = False
        if self.loop:
            call("losetup", "-d", self.loop)
            until("the loop device", lambda: not os.path.exists(
                f"/sys/block/{os.path.basename(self.loop)}/loop/backing_file"))
        if self.daemon:
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(PATIENCE_S)
        self.loop = self.daemon = None

    def __exit__(self, *unused):
        self.end()

    def entry_count(self):
        """How many requests the log has by now."""
        with open(self.log, "rb") as f:
            return struct.unpack("<QQQ", f.read(24))[2]

    def entries(self):
        """[(offset on the disk, length, flags, where its bytes are in the log)], once it has ended."""
        found = []
        with open(self.log, "rb") as f:
            _magic, _version, count, sector = struct.unpack("<QQQI", f.read(28))
            at = sector
            for _ in range(count):
                f.seek(at)
                start, length, flags, _unused = struct.unpack("<QQQQ", f.read(32))
                at += sector
                found.append((start * sector, length * sector, flags, at))
                if not flags & DISCARD:
                    at += length * sector
        return found


class State:
    """What the disk may hold when the power goes after request `point`."""

    def __init__(self, point, way, image):
        self.point, self.way, self.image = point, way, image

    def __str__(self):
        return f"{self.way} at {self.point}"

    @contextlib.contextmanager
    def mounted(self):
        directory = self.image.parent / "state"
        directory.mkdir(exist_ok=True)
        call("mount", "-o", "loop", self.image, directory)
        try:
            yield directory
        finally:
            unmount(directory)


WAYS = "prefix", "subset", "torn"


class States:
    """Makes the states for these points, one image after the other. Every image has a name of its own: a
    loop device that is still being given up would show the image of before."""

    def __init__(self, recording, random, points):
        self.place, self.random, self.points = recording.place, random, sorted(points)
        self.entries = recording.entries()
        self.log = open(recording.log, "rb")
        self.flushed = self.place / "flushed"
        with open(self.flushed, "wb") as f:
            f.truncate(SIZE[recording.kind])
        self.made = 0

    def close(self):
        self.log.close()

    def data(self, entry):
        self.log.seek(entry[3])
        return self.log.read(entry[1])

    def apply(self, image, entry, way):
        start, length, flags, _at = entry
        if flags & DISCARD or not length:
            return
        data = self.data(entry)
        if way == "prefix" or flags & FUA:
            os.pwrite(image, data, start)
        elif way == "subset":
            if self.random.random() < 0.5:
                os.pwrite(image, data, start)
        else:
            for piece in range(0, length, PIECE):
                if self.random.random() < 0.5:
                    os.pwrite(image, data[piece:piece + PIECE], start + piece)

    def __iter__(self):
        done = 0  # requests in `flushed`
        last = -1
        flushes = [i for i, entry in enumerate(self.entries) if entry[2] & FLUSH]
        image = os.open(self.flushed, os.O_WRONLY)
        at = 0
        for point in self.points:
            while at < len(flushes) and flushes[at] <= point:
                last, at = flushes[at], at + 1
            while done <= last:
                self.apply(image, self.entries[done], "prefix")
                done += 1
            for way in WAYS:
                yield self.state(point, way, self.entries[last + 1:point + 1])
        os.close(image)

    def state(self, point, way, pending):
        path = self.place / f"state-{self.made}"
        self.made += 1
        call("cp", "--sparse=always", self.flushed, path)
        image = os.open(path, os.O_WRONLY)
        for entry in pending:
            self.apply(image, entry, way)
        os.close(image)
        return State(point, way, path)
