"""Steers shim.c: a disk that fails, is full, or forgets, for one program and below one directory."""
import mmap
import os
import pathlib
import struct

CALLS = {"write": 1, "sync": 2, "rename": 4, "truncate": 8, "create": 16, "remove": 32}
HOW = {"EIO": 0, "ENOSPC": 1, "short": 2, "skip": 3}
EVER = (1 << 64) - 1


class Shim:
    """`env` is for the program; arm() and disarm() work while it runs, and in those it starts."""

    def __init__(self, library, place, below, only=None, calls=CALLS):
        path = pathlib.Path(place) / "control"
        path.write_bytes(bytes(48))
        os.chmod(path, 0o666)  # a server gives root up
        with open(path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 48)
        self.env = {"LD_PRELOAD": str(library), "SHIM_CONTROL": str(path), "SHIM_BELOW": str(below)}
        if only:
            self.env["SHIM_ONLY"] = only
        self.put(4, sum(CALLS[call] for call in calls))

    def get(self, index):
        return struct.unpack_from("<Q", self.memory, 8 * index)[0]

    def put(self, index, value):
        struct.pack_into("<Q", self.memory, 8 * index, value)

    @property
    def count(self):
        return self.get(0)

    @property
    def hits(self):
        return self.get(5)

    def arm(self, how, first, last=None):
        """The calls with these numbers, counted from 1 since the program began; `last` EVER: all after."""
        self.put(1, 0)
        self.put(5, 0)
        self.put(3, HOW[how])
        self.put(2, first if last is None else last)
        self.put(1, first)

    def disarm(self):
        self.put(1, 0)
        self.put(2, 0)
