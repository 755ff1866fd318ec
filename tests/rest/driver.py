"""Talks to drive (drive.c): one engine, its sessions, and how long each call took.

    with Driver() as d:
        session = d.start(snapshots=2)
        assert d.value(session, "6 * 7") == "42"
        d("sleep", id=session)
        assert d.run(session, "1")["state"] == "woken"
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("CICADA", "build/cicada")).resolve().parent
WORK = os.environ.get("CICADA_TMP", "/var/tmp")
store = None  # where images are kept that all drivers share


@contextlib.contextmanager
def images():
    """A store for all drivers within, with an image in it where this host can use one."""
    global store
    kept = os.environ.get("CICADA_TEST_IMAGES")
    store = kept or tempfile.mkdtemp(prefix="cicada-images-", dir=WORK)
    try:
        with Driver() as d:
            if d.hello["images"]:
                d("bake")
        yield store
    finally:
        if not kept:
            shutil.rmtree(store)
        store = None


def until(condition, seconds=30):
    """Waits for what nothing tells us of."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come about")
        time.sleep(0.002)


class Failed(Exception):
    """An answer that is an error."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]


class Driver:
    """Its directory is removed at the end unless it was given one. `through` are words of a command that
    starts the one behind them."""

    def __init__(self, base=None, images=None, through=()):
        self.own = None if base else tempfile.mkdtemp(prefix="cicada-rest-", dir=WORK)
        self.base = pathlib.Path(base or self.own)
        words = [*through, BUILD / "tests/rest/drive", BUILD / "cicada-spawn", BUILD / "cicada-kernel",
                 BUILD / "cicada-load", self.base, *filter(None, [images or store])]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.us = 0  # how long the last call took
        self.answers = {}  # by tag, of those nobody has asked for yet
        self.count = 0
        self.hello = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError(f"drive ended with {self.process.wait(10)}")
        return json.loads(line)

    def begin(self, do, **fields):
        """Starts a command in a thread of the engine; `end` waits for its answer."""
        return self.send(do, {"async": True, **fields})

    def send(self, do, fields):
        self.count += 1
        message = {"do": do, "tag": str(self.count), **fields}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return message["tag"]

    def end(self, tag):
        while tag not in self.answers:
            answer = self.read()
            self.answers[answer["tag"]] = answer
        answer = self.answers.pop(tag)
        self.us = answer["us"]
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def __call__(self, do, **fields):
        return self.end(self.send(do, fields))

    def start(self, **wishes):
        return self("start", **wishes)["id"]

    def run(self, session, code, **fields):
        """The run object."""
        return self("run", id=session, code=code, **fields)["run"]

    def value(self, session, code):
        """What the last expression of the code is, as text; None if there is none."""
        run = self.run(session, code)
        if run["end"] != "ok":
            raise AssertionError(f"{code!r} ended {run['end']}: {run['error'] or run.get('hint')}")
        return run["result"]["text/plain"] if run["result"] else None

    def life(self, session):
        return self("look", id=session)["life"]

    def file(self, session):
        return self.base / "sleepers" / f"{session}.sleep"

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(60)
            self.process.stdout.close()
        if self.own:
            shutil.rmtree(self.own)
            self.own = None

    def kill(self):
        """As when somebody takes the engine away; then another may be started on its directory."""
        self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
