"""A server of its own, its log in a file, and a client that costs little: for load and for measuring.

tests/api/base.py is the one that checks everything; reading a line of log for every request and
holding every answer against its schema would take more of the machine than what is measured.
"""
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CICADA = pathlib.Path(os.environ.get("CICADA") or ROOT / "build/cicada").resolve()
LOAD = CICADA.parent / "bench/bench-load"
KEY = "cik_" + "l" * 36
PATIENCE_S = 120


def files_max():
    """Lets this process, and what it starts, have as many descriptors as the machine allows."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def status_kib(pid, name):
    """A line of /proc/PID/status: VmRSS, RssAnon, VmHWM."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name + ":"))


class Server:
    """`cicada serve`, with a data directory that outlives it: start() after stop() finds it again."""

    def __init__(self, **settings):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cicada-load-", dir="/var/tmp"))
        os.chmod(self.dir, 0o711)
        os.mkdir(self.dir / "s")
        os.chmod(self.dir / "s", 0o777)
        self.settings = settings
        self.socket = self.dir / "s/api.sock"
        self.process = self.log = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self, soft_files=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CICADA_")}
        env.update(CICADA_API_KEY=KEY, CICADA_SERVER_SOCKET=str(self.socket))
        env.update({"CICADA_" + key.upper(): str(value) for key, value in self.settings.items()})
        # In memory: under systemd the log is a socket, and never waits for the disk of the data.
        if self.log:
            self.log.close()
        self.log = tempfile.TemporaryFile(dir="/dev/shm")

        def before():
            if soft_files:
                hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft_files, hard))

        self.process = subprocess.Popen(
            [CICADA, "serve", "--listen", "127.0.0.1:0", "--data", self.dir / "data"],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log,
            start_new_session=True, preexec_fn=before)
        found = self.await_line(rb"msg=listening on=(?:http://)?127\.0\.0\.1:(\d+)")
        self.port = int(found[1])

    def text(self):
        """What this life of the server has said so far."""
        size = os.fstat(self.log.fileno()).st_size
        return os.pread(self.log.fileno(), size, 0)

    def await_line(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.text())
            if found:
                return found
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no {pattern} in the log:\n" + self.text().decode()[-4000:])
            time.sleep(0.005)

    def await_image(self):
        """Sessions start from an image; it is baked in the background at the first start."""
        self.await_line(rb"msg=baked |msg=\"no image\"|msg=\"no images\"", 120)

    @property
    def pid(self):
        return self.process.pid

    def spawner(self):
        """Its process of that name; None when there is none."""
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/children") as f:
                for child in f.read().split():
                    if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "cicada-spawn":
                        return int(child)
        return None

    def kill(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)

    def close(self):
        self.kill()
        self.log.close()
        subprocess.run(["chmod", "-R", "u+rwx", self.dir], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- clients ----

    def client(self):
        return Client(self.port)

    def connect(self, timeout=PATIENCE_S):
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def load(self, path, body, *options, expected=None, start=False):
        """bench-load on that path; what it found, or the process when only started."""
        argv = [LOAD, "-X", "POST", "-p", path, "-H", f"Authorization: Bearer {KEY}",
                "-H", "Content-Type: application/json", "-d", json.dumps(body),
                *(("-e", expected) if expected else ()), *map(str, options),
                f"127.0.0.1:{self.port}"]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return process if start else loaded(process)


def loaded(process):
    """What a bench-load found: a dict, with `why` in it when something was wrong."""
    try:
        out, why = process.communicate(timeout=2 * PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, why = process.communicate()
    if not out:
        raise AssertionError("bench-load: " + why)
    return {**json.loads(out), "why": why.strip()}


class Wrong(AssertionError):
    pass


class Client:
    """One keep-alive connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def ask(self, method, path, body=None, **headers):
        """(status, answer): the answer is read as JSON if that is what it is."""
        sent = {"Authorization": "Bearer " + KEY, **headers}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        try:
            self.connection.request(method, path, data, sent)
            response = self.connection.getresponse()
            text = response.read()
        except BaseException:
            self.connection.close()
            raise
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response.status, json.loads(text) if is_json else text

    def must(self, method, path, body=None, status=200, **headers):
        got, answer = self.ask(method, path, body, **headers)
        if got != status:
            raise Wrong(f"{method} {path}: {got} instead of {status}: {str(answer)[:300]}")
        return answer

    def session(self, **wishes):
        return self.must("POST", "/api/v1/sessions", wishes, 201)["id"]

    def run(self, session, code, end="ok", status=200, **more):
        run = self.must("POST", f"/api/v1/sessions/{session}/runs", {"code": code, **more}, status)
        if status == 200 and run["end"] != end:
            raise Wrong(f"{code!r} ended {run['end']} instead of {end}: {str(run)[:500]}")
        return run

    def close(self):
        self.connection.close()
