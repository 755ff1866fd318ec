"""`cicada lock`, `unlock` and `locks`, beside a real server."""
import json
import os
import signal
import subprocess
import sys

from harness import CICADA, Case, await_true
from served import Served

TOKEN = r"^clk_[0-9a-z]{40}$"


class Locks(Served):
    def setUp(self):
        Case.setUp(self)
        self.run_dir = self.place / "run"
        (self.run_dir / "cicada").mkdir(parents=True, mode=0o700)
        self.socket = self.run_dir / "cicada" / "cicada.sock"
        os.chmod(self.place, 0o711)  # a server that was started as root goes on as somebody else
        self.standin = self.real = None
        self.start_real()
        self.put("data.csv", b"1\n")

    def put(self, path, raw, *more, **how):
        return self.cicada("files", "put", "-", "--to", path, *more, stdin=raw, **how)

    def held(self):
        return [json.loads(line) for line in self.good("locks", "--json").out.splitlines()]

    def test_a_token_lets_changes_pass_and_others_are_told_who_holds_it(self):
        ran = self.good("lock", "data.csv", "--holder", "alice", "--ttl", "2m")
        self.assertRegex(ran.out.strip(), TOKEN)
        self.assertRegex(ran.err, r"locked data\.csv \(lock_\w+\); it ends in \d+ (s|min)")
        refused = self.put("data.csv", b"2\n")
        self.assertEqual(75, refused.code)
        self.assertIn("data.csv is locked by alice until ", refused.err)
        self.assertEqual(75, self.cicada("files", "rm", "data.csv").code)
        self.assertEqual(75, self.cicada("files", "mv", "data.csv", "b").code)
        token = ran.out.strip()
        self.assertEqual(0, self.put("data.csv", b"2\n", "--lock", token).code)
        self.assertEqual(0, self.put("data.csv", b"3\n", env=self.environment(CICADA_LOCK_TOKEN=token)).code)
        self.assertEqual("3\n", self.good("files", "cat", "data.csv", env=self.environment(CICADA_LOCK_TOKEN=token)).out)
        self.assertEqual(77, self.cicada("unlock", "data.csv").code)
        self.good("files", "cp", "data.csv", "c", "--lock", token)
        self.assertIn("released the lock on data.csv", self.good("unlock", "data.csv", "--lock", token).err)
        late = self.put("data.csv", b"4\n", "--lock", token)
        self.assertEqual(125, late.code)
        self.assertIn("lock the path again", late.err)
        self.assertEqual(2, self.cicada("unlock", "data.csv").code)

    def test_locks_lists_them_for_eyes_and_programs(self):
        self.assertEqual("", self.good("locks").out)
        self.good("lock", "plots/", "--holder", "alice", "--shared")
        self.good("lock", "data.csv", "--holder", "bob")
        rows = [line.split("\t") for line in self.good("locks").out.splitlines()]
        self.assertEqual([["data.csv", "bob", "exclusive"], ["plots", "alice", "shared, tree"]], [row[:3] for row in rows])
        self.assertEqual(["2", "0"], rows[0][4:6])
        self.assertEqual([["plots", "alice"]], [line.split("\t")[:2] for line in self.good("locks", "plots/x").out.splitlines()])
        lock = self.held()[0]
        self.assertEqual(("data.csv", "bob", 300, False), tuple(lock[k] for k in ("path", "holder", "ttl_s", "tree")))
        self.assertIn("broke " + lock["id"], self.good("unlock", lock["id"], "--break").err)
        self.good("unlock", "plots", "--break")
        self.assertEqual([], self.held())

    def test_a_command_is_run_with_the_lock_and_it_ends_with_it(self):
        code = "import os, subprocess, sys; c = sys.argv[1]; t = os.environ['CICADA_LOCK_TOKEN']; print(t);" \
            "subprocess.run([c, 'files', 'put', '-', '--to', 'data.csv'], input=b'by command', check=True);" \
            "print(subprocess.run([c, 'files', 'rm', 'data.csv'], env={**os.environ, 'CICADA_LOCK_TOKEN': ''}).returncode); sys.exit(7)"
        ran = self.cicada("lock", "data.csv", "--", sys.executable, "-c", code, CICADA)
        self.assertEqual(7, ran.code, ran.err)
        token, refused = ran.out.split()
        self.assertRegex(token, TOKEN)
        self.assertEqual("75", refused)
        self.assertEqual("by command", self.good("files", "cat", "data.csv").out)
        self.assertEqual([], self.held())
        self.assertEqual(127, self.cicada("lock", "data.csv", "--", "/nowhere/at/all").code)
        self.assertEqual(128 + signal.SIGTERM, self.cicada("lock", "data.csv", "--", "sh", "-c", "kill -TERM $$").code)
        self.assertEqual([], self.held())

    def test_a_lock_inside_of_another_shows_both_tokens(self):
        ran = self.good("lock", "data.csv", "--", CICADA, "lock", "b", "--", "sh", "-c", "echo $CICADA_LOCK_TOKEN")
        self.assertRegex(ran.out.strip(), r"^clk_\w{40},clk_\w{40}$")

    def test_signals_reach_the_command_and_the_lock_is_released(self):
        running = subprocess.Popen(
            [CICADA, "lock", "data.csv", "--", "sh", "-c", "trap 'echo heard; exit 3' TERM; echo begun; while :; do sleep 0.05; done"],
            env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.assertEqual("begun", running.stdout.readline().strip())
        self.assertEqual(1, len(self.held()))
        running.send_signal(signal.SIGTERM)
        self.assertEqual("heard\n", running.communicate(timeout=60)[0])
        self.assertEqual(3, running.returncode)
        self.assertEqual([], self.held())

    def test_waiting_for_a_lock(self):
        token = self.good("lock", "data.csv", "--holder", "alice").out.strip()
        refused = self.cicada("lock", "data.csv")
        self.assertEqual(75, refused.code)
        self.assertIn("alice", refused.err)
        self.assertEqual(75, self.cicada("lock", "data.csv", "--wait", "1").code)
        waiting = subprocess.Popen([CICADA, "lock", "data.csv", "--wait", "2m", "--holder", "second"], env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.good("unlock", "data.csv", "--lock", token)
        self.assertRegex(waiting.communicate(timeout=60)[0].strip(), TOKEN)
        self.assertEqual(["second"], [lock["holder"] for lock in self.held()])

    def test_a_lock_of_a_session_ends_with_it(self):
        self.good("sessions", "create", "mine")
        self.good("lock", "data.csv", "--session", "mine")
        self.assertEqual(1, len(self.held()))
        self.good("sessions", "rm", "mine")
        await_true("the lock ended", lambda: self.held() == [])

    def test_mistakes_are_told(self):
        for words, part in ((["lock"], "something is missing"), (["lock", "a", "b"], "one too many"), (["lock", "a", "--"], "behind the --"),
                            (["lock", "a", "--ttl", "10"], "ttl_s"), (["lock", "a", "--ttl", "2h"], "ttl_s"), (["lock", "a", "--wait", "x"], "--wait"),
                            (["unlock"], "something is missing"), (["lock", "a", "--session", "none"], "no session")):
            ran = self.cicada(*words)
            self.assertEqual(2, ran.code, words)
            self.assertIn(part, ran.err, words)
        for word in ("lock", "unlock", "locks"):
            self.assertIn(f"usage: cicada {word}", self.good("help", word).out)
            self.assertIn(f"usage: cicada {word}", self.good(word, "--help").out)
