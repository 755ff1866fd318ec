"""Tests of the command line beside a server: the stand-in, or with CICADA_TEST_SERVER=real the real one."""
import json
import os
import subprocess
import unittest

from harness import CICADA, PATIENCE_S, Case, await_true
from standin import StandIn

IS_REAL = os.environ.get("CICADA_TEST_SERVER") == "real"
scripted = unittest.skipIf(IS_REAL, "needs a server that misbehaves on request")


class Served(Case):
    """Each test has a server of its own on a unix socket, which the environment names."""

    index = "off"  # whether it indexes files
    settings = {}  # more of the environment of a real one

    def setUp(self):
        super().setUp()
        self.run_dir = self.place / "run"
        (self.run_dir / "cicada").mkdir(parents=True, mode=0o700)
        self.socket = self.run_dir / "cicada" / "cicada.sock"
        os.chmod(self.place, 0o711)  # a server that was started as root goes on as somebody else
        self.standin = self.real = None
        if IS_REAL:
            self.start_real()
        else:
            self.standin = StandIn(str(self.socket))

    def start_real(self):
        log = open(self.place / "server.log", "wb")
        self.addCleanup(log.close)
        self.real = subprocess.Popen(
            [CICADA, "serve", "--listen", f"unix:{self.socket}", "--data", str(self.place / "data")],
            env=super().environment(CICADA_SEARCH_INDEX=self.index, **self.settings), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        probe = ["curl", "-sf", "--max-time", "5", "--unix-socket", str(self.socket), "http://localhost/healthz"]
        await_true("the server answers",
                   lambda: self.real.poll() is not None
                   or subprocess.run(probe, stdout=subprocess.DEVNULL, check=False).returncode == 0)
        self.assertIsNone(self.real.poll(), (self.place / "server.log").read_text())

    def tearDown(self):
        if self.standin:
            self.standin.close()
        if self.real:
            self.real.terminate()
            try:
                self.real.wait(PATIENCE_S)
            finally:
                self.real.kill()
        super().tearDown()

    @property
    def world(self):
        return self.standin.world

    def environment(self, **more):
        return super().environment(CICADA_SOCKET=str(self.socket), **more)

    def good(self, *words, **more):
        """A command that must end well; what it printed."""
        ran = self.cicada(*words, **more)
        self.assertEqual(0, ran.code, ran)
        return ran

    def objects(self, *words, **more):
        """What a command prints with --json: a list of objects."""
        return [json.loads(line) for line in self.good(*words, "--json", **more).out.splitlines()]

    def object(self, *words, **more):
        found = self.objects(*words, **more)
        self.assertEqual(1, len(found), found)
        return found[0]

    def fails(self, code, *words, **more):
        """A command that must fail so; what it said."""
        ran = self.cicada(*words, **more)
        self.assertEqual(code, ran.code, ran)
        self.assertIn("cicada: ", ran.err)
        return ran.err

    def asked(self, method):
        """Paths of the requests of that method the stand-in has seen."""
        return [path for got, path, _ in self.world.requests if got == method]
