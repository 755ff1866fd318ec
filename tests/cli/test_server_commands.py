"""`cicada sessions`, `runs`, `key` and `principal`: every verb, for eyes, for programs, and its mistakes."""
import os
import pty
import signal
import struct
import subprocess
import fcntl
import termios

from harness import CICADA, PATIENCE_S
from served import Served, scripted
from standin import refuse

SLEEP = "import time; print('ready', flush=True); time.sleep(600)"


def on_terminal(case, *words, columns=80):
    """What the command prints to a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen([CICADA, *words], stdin=slave, stdout=slave, stderr=subprocess.PIPE, cwd=case.here,
                             env=case.environment(TERM="xterm"))
    os.close(slave)
    text = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.close(master)
    err = child.stderr.read()
    child.stderr.close()
    case.assertEqual(0, child.wait(PATIENCE_S), err)
    return text.decode().replace("\r\n", "\n")


class Sessions(Served):
    def make(self, *words):
        return self.good("sessions", "create", *words).out.strip()

    def needs_image(self):
        """Only sessions from an image sleep, branch and go back (tests/with-image makes one)."""
        if self.real and not self.object("sessions", "show", "one")["baked"]:
            self.skipTest("there is no image")

    def test_create_prints_the_id_and_passes_options_on(self):
        made = self.make("work", "--memory", "2G", "--cpu", "0.5", "--disk", "64", "--pids", "64",
                         "--idle", "10m", "--snapshots", "3", "--tz", "Europe/Berlin")
        self.assertRegex(made, "^ses_")
        session = self.object("sessions", "show", "work")
        self.assertEqual(made, session["id"])
        self.assertEqual((2048, 0.5, 64, 64), tuple(session["limits"][k] for k in ("memory_mb", "cpu", "disk_mb", "pids")))
        self.assertEqual((600, 3, "Europe/Berlin"), tuple(session[k] for k in ("idle_s", "snapshots", "tz")))

    def test_ls_is_tabs_for_programs(self):
        first, second = self.make("one"), self.make()
        rows = [line.split("\t") for line in self.good("sessions", "ls").out.splitlines()]
        self.assertEqual({("one", first), ("", second)}, {(row[0], row[1]) for row in rows})
        for row in rows:
            self.assertEqual(7, len(row))
            self.assertRegex(row[5], r"^\d{4}-\d\d-\d\dT")

    def test_ls_is_a_table_for_eyes(self):
        self.make("one")
        lines = on_terminal(self, "sessions", "ls", columns=120).splitlines()
        self.assertRegex(lines[0], r"^NAME +ID +STATUS +RUNS +MEMORY +USED +EXPIRES$")
        self.assertRegex(lines[1], r"^one +ses_\w+ +idle +0 ")
        long_name = "a-rather-long-name-for-a-session-日本語"
        self.make(long_name)
        for line in on_terminal(self, "sessions", "ls", columns=100).splitlines():
            self.assertLessEqual(len(line), 100, line)
        self.assertIn("…", on_terminal(self, "sessions", "ls", columns=100))

    def test_ls_follows_pages_up_to_the_limit(self):
        if self.standin:
            self.standin.server.page_max = 2
        made = {self.make() for _ in range(5)}
        self.assertEqual(made, {s["id"] for s in self.objects("sessions", "ls")})
        ran = self.good("sessions", "ls", "--limit", "3")
        self.assertEqual(3, len(ran.out.splitlines()))
        self.assertIn("there are more", ran.err)

    def test_ls_of_nothing_says_so(self):
        ran = self.good("sessions", "ls")
        self.assertEqual("", ran.out)
        self.assertIn("no sessions", ran.err)
        self.make("one")
        self.assertEqual([], self.objects("sessions", "ls", "--status", "asleep"))
        self.assertEqual(1, len(self.objects("sessions", "ls", "--status", "idle")))

    def test_show_for_programs_and_eyes(self):
        self.make("one")
        fields = dict(line.split("\t", 1) for line in self.good("sessions", "show", "one").out.splitlines())
        self.assertEqual("one", fields["name"])
        self.assertIn("memory_mb", fields["limits"])
        text = on_terminal(self, "sessions", "show", "one", columns=100)
        self.assertRegex(text, r"(?m)^name +one$")
        self.assertRegex(text, r"(?m)^created_at .* \((now|\d+ s ago)\)$")

    def test_rm_by_name_and_id(self):
        first = self.make("one")
        self.make("two")
        self.assertIn("removed", self.good("sessions", "rm", "two", first).err)
        self.assertEqual([], [s for s in self.objects("sessions", "ls") if s["status"] != "closed"])

    def test_sleep(self):
        self.make("one")
        self.needs_image()
        self.good("run", "-s", "one", "-c", "x = 1")
        self.assertIn("asleep", self.good("sessions", "sleep", "one").err)
        self.assertEqual("asleep", self.object("sessions", "show", "one")["status"])
        self.assertEqual("1\n", self.good("run", "-s", "one", "-c", "x").out)

    def test_fork_prints_the_new_id(self):
        self.make("one")
        self.needs_image()
        self.good("run", "-s", "one", "-c", "x = 1")
        twin = self.good("sessions", "fork", "one", "--name", "two").out.strip()
        self.assertEqual(twin, self.object("sessions", "show", "two")["id"])
        self.good("run", "-s", "one", "-c", "x = 2")
        self.assertEqual("1\n", self.good("run", "-s", "two", "-c", "x").out)

    def test_rollback(self):
        self.make("one", "--snapshots", "3")
        self.needs_image()
        self.good("run", "-s", "one", "-c", "x = 1")
        self.good("run", "-s", "one", "-c", "x = 2")
        self.good("sessions", "rollback", "one")
        self.assertEqual("1\n", self.good("run", "-s", "one", "-c", "x").out)
        self.fails(2, "sessions", "rollback", "one", "--steps", "0")
        self.fails(2, "sessions", "rollback", "one", "--steps", "1", "--run", "run_1")
        self.assertIn(self.cicada("sessions", "rollback", "one", "--steps", "900").code, (2, 125))

    def test_runs_that_were_undone_are_marked_in_the_list(self):
        self.make("one", "--snapshots", "3")
        self.needs_image()
        self.good("run", "-s", "one", "-c", "x = 1")
        self.good("run", "-s", "one", "-c", "x = 2")
        self.good("sessions", "rollback", "one")
        lines = self.good("runs", "ls").out.splitlines()
        self.assertRegex(next(line for line in lines if "x = 2" in line), r"\tok, undone\t")
        self.assertNotIn("undone", next(line for line in lines if "x = 1" in line))
        undone = next(r for r in self.objects("runs", "ls") if r["code"] == "x = 2")
        self.assertIn("undone_at", self.good("runs", "show", undone["id"]).out)

    def test_back_to_before_a_run(self):
        self.make("one", "--snapshots", "3")
        self.needs_image()
        for i in range(3):
            self.good("run", "-s", "one", "-c", f"x = {i}")
        runs = {r["code"]: r["id"] for r in self.objects("runs", "ls")}
        self.good("sessions", "rollback", "one", "--run", runs["x = 1"])
        self.assertEqual("0\n", self.good("run", "-s", "one", "-c", "x").out)
        told = self.fails(2, "sessions", "rollback", "one", "--run", runs["x = 2"])
        self.assertIn("undone", told)

    def test_restart(self):
        self.make("one")
        self.good("run", "-s", "one", "-c", "x = 1")
        self.good("sessions", "restart", "one")
        self.assertEqual(1, self.cicada("run", "-s", "one", "-c", "x").code)

    def test_interrupt(self):
        self.make("one")
        child = self.start("run", "-s", "one", "-c", SLEEP)
        self.assertIn(b"ready", child.stdout.readline())
        self.good("sessions", "interrupt", "one")
        ran = self.finish(child)
        self.assertIn(ran.code, (1, 130), ran)

    def test_rename(self):
        made = self.make("one")
        session = self.object("sessions", "rename", "one", "two")
        self.assertEqual((made, "two"), (session["id"], session["name"]))
        self.fails(2, "sessions", "show", "one")

    def test_a_name_that_does_not_exist_has_a_hint(self):
        self.make("analysis")
        for verb in ("show", "rm", "sleep", "fork", "rollback", "interrupt", "restart"):
            self.assertIn("did you mean 'analysis'?", self.fails(2, "sessions", verb, "analisys"))
        self.assertIn("cicada sessions ls", self.fails(2, "sessions", "show", "xyz"))
        self.fails(2, "sessions", "show", "ses_000000000000000000000000")

    def test_wrong_command_lines(self):
        for words in ([], ["list"], ["sohw", "x"], ["show"], ["show", "a", "b"], ["ls", "--limit", "0"],
                      ["ls", "--nope"], ["rename", "a"], ["create", "--memory", "much"],
                      ["create", "--idle", "soon"], ["create", "--cpu", "x"]):
            self.fails(2, "sessions", *words)
        self.assertIn("did you mean 'sessions show'?", self.fails(2, "sessions", "sohw", "x"))

    @scripted
    def test_names_are_encoded_and_shown_harmlessly(self):
        self.make("a b/../c?d=ä")
        self.assertEqual("a b/../c?d=ä", self.object("sessions", "show", "a b/../c?d=ä")["name"])
        self.make("red\033[31m\nname")
        self.assertNotIn("\033", self.good("sessions", "ls").out)
        self.fails(2, "sessions", "show", "ses_x/../../keys")

    def test_help(self):
        for words in (["help", "sessions"], ["sessions", "--help"], ["sessions", "ls", "--help"],
                      ["help", "runs"], ["help", "key"], ["help", "principal"], ["help", "repl"],
                      ["repl", "--help"], ["key", "create", "-h"]):
            self.assertIn("usage: cicada", self.good(*words).out)


class Runs(Served):
    def test_ls_newest_first_and_filtered(self):
        self.good("run", "-s", "work", "-c", "1")
        self.cicada("run", "-c", "boom")
        runs = self.objects("runs", "ls")
        self.assertEqual(["error", "ok"], [run["end"] for run in runs])
        self.assertEqual(["1"], [run["code"] for run in self.objects("runs", "ls", "--session", "work")])
        self.assertEqual(["boom"], [run["code"] for run in self.objects("runs", "ls", "--end", "error")])
        self.assertEqual([], self.objects("runs", "ls", "--status", "running"))
        rows = [line.split("\t") for line in self.good("runs", "ls").out.splitlines()]
        self.assertEqual([("error", "boom"), ("ok", "1")], [(row[2], row[5]) for row in rows])
        self.fails(2, "runs", "ls", "--session", "nope")

    def test_show(self):
        run = self.object("run", "-c", "print('a')\nprint('b')")
        shown = self.object("runs", "show", run["id"])
        self.assertEqual("a\nb\n", shown["stdout"])
        text = self.good("runs", "show", run["id"]).out
        self.assertIn("end\tok\n", text)
        self.assertIn("\nstdout:\na\nb\n", text)
        self.fails(2, "runs", "show", "run_000000000000000000000000")

    def test_show_waits(self):
        child = self.start("run", "-c", "import time; print('ready', flush=True); time.sleep(1)")
        self.assertIn(b"ready", child.stdout.readline())
        run = self.objects("runs", "ls", "--status", "running")[0]
        self.assertEqual("done", self.object("runs", "show", run["id"], "--wait", "30")["status"])
        self.finish(child)

    def test_cancel(self):
        child = self.start("run", "-c", SLEEP)
        self.assertIn(b"ready", child.stdout.readline())
        run = self.objects("runs", "ls")[0]
        self.good("runs", "cancel", run["id"])
        self.assertEqual(130, self.finish(child).code)
        self.fails(2, "runs", "cancel", "run_000000000000000000000000")

    def test_events_follow_and_exit_as_the_run_did(self):
        run = self.object("run", "-c", "print('a')\n6 * 7")
        self.assertEqual("a\n42\n", self.good("runs", "events", run["id"]).out)
        self.cicada("run", "-c", "boom")
        failed = self.objects("runs", "ls")[0]
        ran = self.cicada("runs", "events", failed["id"])
        self.assertEqual(1, ran.code)
        self.assertIn("NameError", ran.err)
        self.fails(2, "runs", "events", "work")

    def test_events_of_a_run_that_goes_on(self):
        runner = self.start("run", "-c", SLEEP)
        self.assertIn(b"ready", runner.stdout.readline())
        run = self.objects("runs", "ls")[0]
        follower = self.start("runs", "events", run["id"])
        self.assertIn(b"ready", follower.stdout.readline())
        self.good("runs", "cancel", run["id"])
        self.assertEqual(130, self.finish(follower).code)
        self.finish(runner)

    def test_events_as_json(self):
        run = self.object("run", "-c", "print('a')\n7")
        events = self.objects("runs", "events", run["id"])
        names = [event["event"] for event in events]
        self.assertEqual(("run.started", "run.done"), (names[0], names[-1]))
        self.assertIn("stdout", names)
        self.assertIn("result", names)
        printed = [event["data"]["text"] for event in events if event["event"] == "stdout"]
        self.assertEqual("a\n", "".join(printed))  # in as many pieces as it was written in

    def test_a_follower_may_leave(self):
        runner = self.start("run", "-c", SLEEP)
        self.assertIn(b"ready", runner.stdout.readline())
        run = self.objects("runs", "ls")[0]
        follower = self.start("runs", "events", run["id"])
        self.assertIn(b"ready", follower.stdout.readline())
        follower.send_signal(signal.SIGINT)
        self.assertEqual(-signal.SIGINT, self.finish(follower).code)
        self.assertEqual("running", self.object("runs", "show", run["id"])["status"])
        self.good("runs", "cancel", run["id"])
        self.finish(runner)


class Keys(Served):
    def test_create_prints_the_secret_alone(self):
        ran = self.good("key", "create", "--name", "bot", "--scopes", "run,files:read", "--expires", "30d",
                        "--sessions", "2", "--runs-per-minute", "60", "--cpu-per-day", "2h", "--memory", "512M",
                        "--runs-per-month", "1000", "--cpu-per-month", "20h")
        self.assertRegex(ran.out, r"\Acik_\w+\n\Z")
        self.assertIn("only this once", ran.err)
        self.assertNotIn(ran.out.strip(), ran.err)
        key = self.objects("key", "ls")
        key = [k for k in key if k["name"] == "bot"][0]
        self.assertEqual(["run", "files:read"], key["scopes"])
        self.assertEqual({"sessions": 2, "runs_per_minute": 60, "cpu_s_per_day": 7200, "memory_mb": 512,
                          "runs_per_month": 1000, "cpu_s_per_month": 72000},
                         {k: v for k, v in key["limits"].items() if v is not None})
        self.assertIsNotNone(key["expires_at"])
        self.assertNotIn("secret", key)

    def test_the_secret_works_and_stops_working(self):
        if self.real:
            self.skipTest("the socket's owner needs no key")
        secret = self.object("key", "create", "--name", "bot", "--scopes", "run")["secret"]
        self.world.needs_key = True
        env = self.environment(CICADA_API_KEY=secret)
        self.good("run", "-c", "1", env=env)
        self.fails(77, "key", "ls", env=env)
        self.fails(77, "run", "-c", "1")

    def test_ls_show_and_rm(self):
        self.good("key", "create", "--name", "bot", "--scopes", "run")
        rows = [line.split("\t") for line in self.good("key", "ls").out.splitlines()]
        row = [r for r in rows if r[0] == "bot"][0]
        self.assertRegex(row[1], "^key_")
        self.assertEqual("run", row[2])
        self.assertIn("bot", on_terminal(self, "key", "ls", columns=120))
        self.assertEqual("bot", self.object("key", "show", "bot")["name"])
        self.assertIn("did you mean 'bot'?", self.fails(2, "key", "rm", "bta"))
        self.assertIn("revoked", self.good("key", "rm", "bot").err)

    def test_mistakes(self):
        self.fails(2, "key", "create")
        self.fails(2, "key", "create", "--name", "bot")
        self.assertIn("did you mean 'files:read'?",
                      self.fails(2, "key", "create", "--name", "b", "--scopes", "files:raed"))
        self.fails(2, "key", "create", "--name", "b", "--scopes", "run", "--expires", "tomorrow")
        self.fails(2, "key", "create", "--name", "b", "--scopes", "run", "--sessions", "0")
        self.fails(2, "key", "create", "--name", "b", "--scopes", "run", "--principal", "nobody")
        self.fails(2, "key", "rm")

    def test_principals(self):
        made = self.good("principal", "create", "reporting", "--kind", "agent").out.strip()
        self.assertRegex(made, "^prn_")
        rows = {r.split("\t")[0]: r.split("\t") for r in self.good("principal", "ls").out.splitlines()}
        self.assertEqual((made, "agent"), (rows["reporting"][1], rows["reporting"][2]))
        key = self.object("key", "create", "--name", "n", "--scopes", "run", "--principal", "reporting")
        self.assertEqual(made, key["principal_id"])
        self.assertRegex(self.object("principal", "me")["id"], "^prn_")
        self.fails(2, "principal", "create", "x", "--kind", "robot")
        self.fails(2, "principal", "create")

    @scripted
    def test_a_list_that_is_refused_for_a_moment_is_asked_for_again(self):
        self.world.faults.append(refuse("GET", "/api/v1/keys", 429, "limit_exceeded", "slow down", Retry_After=1))
        self.assertIn("trying again", self.good("key", "ls").err)

    @scripted
    def test_what_may_not_be_repeated_is_not(self):
        self.good("sessions", "create", "one")
        path = "/api/v1/sessions/" + self.object("sessions", "show", "one")["id"] + "/sleep"
        self.world.faults.append(refuse("POST", path, 503, "overloaded", "no room", Retry_After=1))
        self.assertIn("no room", self.fails(125, "sessions", "sleep", "one"))
