"""`cicada run` through a server: the same as without one, as far as anybody can see."""
import json
import os
import signal
import socket
import threading
import time

from harness import Case, await_true
from served import Served, scripted
from standin import StandIn, drop, raw, refuse

SLEEP = "import time; print('ready', flush=True); time.sleep(600)"
RUNS = "/api/v1/runs"


class Runs(Served):
    def test_output_result_and_exit_code(self):
        ran = self.good("run", "-c", "print('out')\n6 * 7")
        self.assertEqual("out\n42\n", ran.out)
        self.assertEqual("", ran.err)

    def test_the_two_streams_stay_apart(self):
        ran = self.good("run", "-c", "import sys\nprint('o')\nprint('e', file=sys.stderr)")
        self.assertEqual(("o\n", "e\n"), (ran.out, ran.err))

    def test_an_exception_is_exit_code_1(self):
        ran = self.cicada("run", "-c", "1 / 0")
        self.assertEqual(1, ran.code, ran)
        self.assertIn("ZeroDivisionError: division by zero", ran.err)

    def test_as_json_it_is_the_object_of_the_server(self):
        run = self.object("run", "-c", "print('x')\n'y'")
        self.assertEqual(("done", "ok", "x\n"), (run["status"], run["end"], run["stdout"]))
        self.assertEqual({"text/plain": "'y'"}, run["result"])
        self.assertRegex(run["id"], "^run_")

    def test_pieces_share_a_session_that_is_gone_afterwards(self):
        ran = self.good("run", "-c", "x = 20", "-c", "x + 1")
        self.assertEqual("21\n", ran.out)
        self.assertEqual([], self.objects("sessions", "ls"))

    def test_the_first_piece_that_fails_is_the_last(self):
        ran = self.cicada("run", "-c", "print(1)", "-c", "boom", "-c", "print(2)")
        self.assertEqual((1, "1\n"), (ran.code, ran.out))
        self.assertEqual([], self.objects("sessions", "ls"))

    def test_a_named_session_is_made_and_keeps_its_variables(self):
        ran = self.good("run", "--session", "work", "-c", "x = 5")
        self.assertIn("cicada: made the session 'work'", ran.err)
        ran = self.good("run", "-s", "work", "-c", "x")
        self.assertEqual(("5\n", ""), (ran.out, ran.err))
        session = self.object("sessions", "ls")
        self.assertEqual(("work", 2), (session["name"], session["runs"]))
        self.assertEqual("5\n", self.good("run", "-s", session["id"], "-c", "x").out)

    def test_a_session_made_by_a_typing_mistake_is_told(self):
        self.good("run", "-s", "work", "-c", "1")
        err = self.good("run", "-s", "wrok", "-c", "1").err
        self.assertIn("did you mean 'work'?", err)

    def test_an_id_that_does_not_exist_is_not_made(self):
        self.fails(2, "run", "-s", "ses_000000000000000000000000", "-c", "1")

    def test_files_travel_along(self):
        self.file("a.txt", "some text")
        ran = self.good("run", "-f", "a.txt=in/b.txt", "-c", "print(open('in/b.txt').read())")
        self.assertEqual("some text\n", ran.out)

    def test_directories_travel_along_without_links(self):
        self.file("dir/a.txt", "1")
        self.file("dir/sub/b.txt", "2")
        os.symlink("/etc/passwd", self.here / "dir" / "link")
        ran = self.good("run", "-f", "dir", "-c", "print(open('dir/a.txt').read(), open('dir/sub/b.txt').read())")
        self.assertEqual("1 2\n", ran.out)
        self.assertIn("1 entry of dir not brought", ran.err)

    def test_too_much_to_travel_is_said_with_what_to_do(self):
        (self.here / "big").write_bytes(b"")
        os.truncate(self.here / "big", (16 << 20) + 1)
        self.assertIn("--direct", self.fails(2, "run", "-f", "big", "-c", "1"))

    def test_stdin_env_and_timeout_are_passed_on(self):
        code = "import os\nprint(input(), os.environ['A'])"
        self.assertEqual("7 b=c\n", self.good("run", "--stdin", "7\n", "--env", "A=b=c", "-c", code).out)
        run = self.object("run", "--timeout", "2.5", "--memory", "512M", "-c", "1")
        self.assertEqual(512, run["limits"]["memory_mb"])

    def test_code_from_a_file_has_its_name(self):
        self.file("job.py", "print(1)")
        run = self.object("run", "job.py")
        self.assertEqual("job.py", run["name"])

    def test_changed_files_are_listed(self):
        err = self.good("run", "-c", "f = open('made.txt', 'w'); n = f.write('x')").err
        self.assertIn("made.txt", err)
        self.assertIn("1 file changed in /mnt/data and kept in the workspace:", err)
        err = self.good("run", "-s", "work", "-c", "f = open('other.txt', 'w'); n = f.write('x')").err
        self.assertIn("1 file changed in /mnt/data and kept in the workspace:", err)

    def test_what_a_server_cannot_do_is_refused_before_anything_runs(self):
        self.file("a", "1")
        for words in (["--cold"], ["-f", "a", "-c", "2"], ["-f", "a", "-s", "work"],
                      ["-s", "work", "--memory", "1G"], ["--direct", "-s", "work"],
                      ["--direct", "--server"], ["-s", ""], ["-w", ""], ["--direct", "-w", "x"]):
            self.fails(2, "run", "-c", "1", *words)
        self.assertEqual([], self.objects("runs", "ls"))

    def test_direct_does_not_ask_the_server(self):
        ran = self.good("run", "--direct", "-c", "6 * 7")
        self.assertEqual("42\n", ran.out)
        self.assertEqual([], self.objects("runs", "ls"))


class Figures(Served):
    def code(self):
        if self.standin:
            return "plot()"
        return "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"

    def test_they_are_saved_and_named(self):
        ran = self.good("run", "-c", self.code())
        self.assertRegex(ran.err, r"figure saved as .*/figure-1\.png")
        figures = list(self.tmp.glob("cicada-figures-*/figure-1.png"))
        self.assertEqual(1, len(figures))
        self.assertEqual(b"\x89PNG", figures[0].read_bytes()[:4])

    def test_as_json_they_are_in_the_object_only(self):
        run = self.object("run", "-c", self.code())
        self.assertIn("image/png", run["displays"][0])
        self.assertEqual([], list(self.tmp.glob("cicada-figures-*")))


class Interrupts(Served):
    def cancels(self, *words, signals=(signal.SIGINT,)):
        return self.interrupt_when(self.start("run", *words, "-c", SLEEP), b"ready", signals)

    def test_a_signal_cancels_the_run(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            ran = self.cancels(signals=[number])
            self.assertEqual(130, ran.code, ran)
            self.assertIn("cancelled", ran.err)
        self.assertEqual({"cancelled"}, {run["end"] for run in self.objects("runs", "ls")})

    def test_in_a_session_its_variables_stay(self):
        self.good("run", "-s", "work", "-c", "x = 1")
        self.assertEqual(130, self.cancels("-s", "work").code)
        if self.standin:
            self.assertEqual("1\n", self.good("run", "-s", "work", "-c", "x").out)

    def test_later_pieces_are_not_run(self):
        child = self.start("run", "-c", SLEEP, "-c", "print('never')")
        ran = self.interrupt_when(child, b"ready")
        self.assertEqual((130, ""), (ran.code, ran.out))
        self.assertEqual([], self.objects("sessions", "ls"))

    @scripted
    def test_while_it_waits_for_a_server_that_is_full(self):
        self.world.faults.append(refuse("POST", RUNS, 503, "overloaded", "full", Retry_After=50))
        child = self.start("run", "-c", "1")
        await_true("the request came", lambda: self.asked("POST"))
        await_true("it waits", lambda: b"trying again" in child.stderr.peek())
        child.send_signal(signal.SIGINT)
        ran = self.finish(child)
        self.assertEqual(130, ran.code, ran)

    def test_a_reader_that_goes_away_ends_the_run(self):
        child = self.start("run", "-c", "import itertools\nfor i in itertools.count(): print(i)")
        self.assertEqual(b"0\n", child.stdout.readline())
        child.stdout.close()
        self.assertEqual(141, child.wait(60), child.stderr.read())
        child.stderr.close()
        self.assertEqual("cancelled", self.objects("runs", "ls")[0]["end"])


@scripted
class Faults(Served):
    """What the network and the server do to a client, one by one."""

    def test_a_broken_stream_is_taken_up_where_it_broke(self):
        self.standin.server.drop_after = 2
        ran = self.good("run", "-c", "print('a')\nprint('b')\nprint('c')\n1")
        self.assertEqual("a\nb\nc\n1\n", ran.out)
        path, headers = [(p, h) for m, p, h in self.world.requests if p.endswith("/events")][0]
        self.assertEqual("2", headers["Last-Event-ID"])
        self.assertEqual(1, len(self.world.runs))

    def test_a_server_that_is_full_is_asked_again_when_it_says_so(self):
        for status, code in ((429, "limit_exceeded"), (503, "overloaded")):
            self.world.faults.append(refuse("POST", RUNS, status, code, "full", Retry_After=1))
            begun = time.monotonic()
            ran = self.good("run", "-c", "1")
            self.assertGreaterEqual(time.monotonic() - begun, 1)
            self.assertEqual("1\n", ran.out)
            self.assertIn("trying again in 1 s", ran.err)
        self.assertEqual(2, len(self.world.runs))

    def test_the_same_key_is_sent_again(self):
        self.world.faults.append(refuse("POST", RUNS, 503, "overloaded", "full", Retry_After=1))
        self.good("run", "-c", "1")
        keys = [h["Idempotency-Key"] for m, p, h in self.world.requests if m == "POST"]
        self.assertEqual(2, len(keys))
        self.assertEqual(1, len(set(keys)))

    def test_a_server_that_stays_full_is_given_up(self):
        self.world.faults.append(refuse("POST", RUNS, 503, "overloaded", "no room", Retry_After=3000))
        self.assertIn("no room", self.fails(125, "run", "-c", "1"))

    def test_a_hang_up_before_the_answer_is_tried_once_more(self):
        self.world.faults.append(drop("POST", RUNS))
        self.assertEqual("1\n", self.good("run", "-c", "1").out)

    def test_a_server_that_always_hangs_up_is_given_up(self):
        self.world.faults += [drop("POST", RUNS)] * 3
        self.assertIn("broke", self.fails(125, "run", "-c", "1"))

    def test_a_server_that_goes_in_the_middle_of_a_run(self):
        child = self.start("run", "-c", SLEEP)
        self.assertIn(b"ready", child.stdout.readline())
        self.standin.server.drop_after = 0
        run_id = next(iter(self.world.runs))
        self.standin.server.shutdown()
        self.standin.server.server_close()
        os.unlink(self.socket)
        self.world.run(run_id).tell("stdout", {"text": "wake"})
        ran = self.finish(child)
        self.assertEqual(125, ran.code, ran)
        self.assertIn(f"cicada runs events {run_id}", ran.err)
        self.standin = None

    def test_each_refusal_has_its_exit_code(self):
        cases = [(400, "invalid_request", 2), (401, "unauthorized", 77), (403, "permission_denied", 77),
                 (404, "not_found", 2), (409, "busy", 125), (409, "conflict", 125), (413, "too_large", 2),
                 (422, "idempotency_mismatch", 2), (500, "internal_error", 125), (418, "new_code", 2)]
        for status, code, exit_code in cases:
            self.world.faults.append(refuse("POST", RUNS, status, code, f"because {code}"))
            self.assertIn(f"because {code}", self.fails(exit_code, "run", "-c", "1"))
            self.world.faults.append(refuse("POST", RUNS, status, code, f"because {code}"))
            ran = self.cicada("run", "--json", "-c", "1")
            self.assertEqual(exit_code, ran.code)
            self.assertEqual(f"because {code}", json.loads(ran.out)["error"]["message"])

    def test_what_is_no_answer_of_ours_is_said_so(self):
        for text in (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
                     b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 14\r\n\r\ndata: {nope}\n\n",
                     b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
                     b"SSH-2.0-OpenSSH\r\n"):
            self.world.faults += [raw(text)] * 2
            self.fails(125, "run", "-c", "1")
            self.world.faults.clear()

    def test_events_of_the_future_are_passed_over(self):
        def fault(handler, method, path):
            if method != "POST":
                return False
            handler.body()
            stream = ("event: run.queued\ndata: {\"place\":3}\n\n: ping\n\n"
                      "id: 1\nevent: stdout\ndata: {\"text\":\"hi\\n\",\"more\":1}\n\n"
                      "event: stdout\ndata: {}\n\n"
                      "event: run.done\ndata: {\"id\":\"run_1\",\"end\":\"ok\",\"stdout\":\"hi\\n\"}\n\n").encode()
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                                b"Content-Length: %d\r\n\r\n" % len(stream))
            handler.wfile.write(stream)
            return True
        self.world.faults.append(fault)
        self.assertEqual("hi\n", self.good("run", "-c", "1").out)

    def test_long_output_keeps_head_and_tail(self):
        lines = "".join(f"{i:09}\n" for i in range(1000))
        def fault(handler, method, path):
            if method != "POST":
                return False
            handler.body()
            head, tail = lines[:512], lines[-512:]
            out = f"{head}\n[... {len(lines) - 1024} bytes left out ...]\n{tail}"
            done = {"id": "run_1", "end": "ok", "stdout": out, "truncated": {"stdout": len(lines) - 1024},
                    "result": {"text/plain": "7"}}
            stream = (f"event: stdout\ndata: {json.dumps({'text': lines})}\n\n"
                      f"event: result\ndata: {json.dumps({'data': done['result']})}\n\n"
                      f"event: run.done\ndata: {json.dumps(done)}\n\n").encode()
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                                b"Content-Length: %d\r\n\r\n" % len(stream) + stream)
            return True
        self.world.faults.append(fault)
        ran = self.good("run", "--output", "1024", "-c", "1")
        self.assertEqual(lines[:512] + lines[-512:] + "7\n", ran.out)
        self.assertIn("left out of the middle of standard output", ran.err)

    def test_a_server_that_does_not_answer_does_not_hold_ctrl_c(self):
        release = threading.Event()
        self.addCleanup(release.set)
        self.world.faults.append(lambda *_: release.wait(60))
        child = self.start("run", "-s", "work", "-c", "1")
        await_true("the request came", lambda: self.world.requests)
        child.send_signal(signal.SIGINT)
        self.assertEqual(130, child.wait(30))


class Addresses(Case):
    """Where the server is looked for."""

    def standin(self, path=None):
        one = StandIn(path)
        self.addCleanup(one.close)
        return one

    def test_one_that_is_named_and_not_there_is_said(self):
        for more in ({"CICADA_SOCKET": "/nowhere/cicada.sock"}, {"CICADA_URL": self.closed_url()}):
            ran = self.cicada("run", "-c", "1", env=self.environment(**more))
            self.assertEqual(125, ran.code, ran)
            self.assertIn("cannot reach", ran.err)

    def closed_url(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return f"http://127.0.0.1:{s.getsockname()[1]}"

    def test_nonsense_is_a_usage_error(self):
        for more in ({"CICADA_URL": "nonsense"}, {"CICADA_URL": "ftp://host"}, {"CICADA_SOCKET": "x" * 200}):
            self.assertEqual(2, self.cicada("run", "-c", "1", env=self.environment(**more)).code)
            self.assertEqual(2, self.cicada("sessions", "ls", env=self.environment(**more)).code)

    def test_off_means_none_for_those_that_need_one(self):
        ran = self.cicada("sessions", "ls")
        self.assertEqual(125, ran.code)
        self.assertIn("CICADA_SOCKET is off", ran.err)

    def test_a_url_with_a_key(self):
        one = self.standin()
        one.world.needs_key = True
        secret = one.world.add_key({"name": "k", "scopes": ["run"]})["secret"]
        env = self.environment(CICADA_URL=one.url + "/", CICADA_API_KEY=secret)
        ran = self.cicada("run", "-c", "6 * 7", env=env)
        self.assertEqual((0, "42\n", ""), (ran.code, ran.out, ran.err))
        ran = self.cicada("key", "ls", env=env)
        self.assertEqual(77, ran.code)
        self.assertIn("may not do that", ran.err)
        ran = self.cicada("run", "-c", "1", env=self.environment(CICADA_URL=one.url))
        self.assertEqual(77, ran.code)
        self.assertIn("CICADA_API_KEY", ran.err)
        ran = self.cicada("run", "-c", "1", env=self.environment(CICADA_URL=one.url, CICADA_API_KEY="cik_wrong"))
        self.assertEqual(77, ran.code)
        self.assertNotIn("cik_wrong", ran.err + ran.out)

    def test_no_proxy_stands_between_us_and_this_machine(self):
        one = self.standin()
        path = str(self.place / "s.sock")
        self.standin(path)
        proxy = {"http_proxy": self.closed_url(), "all_proxy": self.closed_url()}
        for more in ({"CICADA_URL": one.url}, {"CICADA_SOCKET": path}):
            ran = self.cicada("run", "-c", "1", env=self.environment(**more, **proxy))
            self.assertEqual(0, ran.code, ran)

    def own(self, **more):
        env = self.environment(**more)
        del env["CICADA_SOCKET"]
        return env

    def test_the_users_own_is_found_by_itself(self):
        if os.path.exists("/run/cicada/cicada.sock"):
            self.skipTest("this machine has a server of its own")
        (self.place / "run" / "cicada").mkdir(parents=True, mode=0o700)
        one = self.standin(str(self.place / "run/cicada/cicada.sock"))
        ran = self.cicada("run", "-c", "6 * 7", env=self.own(CICADA_API_KEY="cik_of_another_server"))
        self.assertEqual((0, "42\n"), (ran.code, ran.out), ran)
        self.assertEqual(1, len(one.world.runs))
        self.assertFalse(any("Authorization" in h for _, _, h in one.world.requests))

    def test_one_that_was_only_found_is_passed_over_when_it_cannot_do_it(self):
        if os.path.exists("/run/cicada/cicada.sock"):
            self.skipTest("this machine has a server of its own")
        (self.place / "run" / "cicada").mkdir(parents=True, mode=0o700)
        one = self.standin(str(self.place / "run/cicada/cicada.sock"))
        ran = self.cicada("run", "--cold", "-c", "6 * 7", env=self.own())
        self.assertEqual((0, "42\n"), (ran.code, ran.out), ran)
        self.assertEqual(0, len(one.world.runs))

    def test_a_directory_others_may_enter_is_not_looked_into(self):
        if os.path.exists("/run/cicada/cicada.sock"):
            self.skipTest("this machine has a server of its own")
        (self.place / "run" / "cicada").mkdir(parents=True)
        os.chmod(self.place / "run" / "cicada", 0o755)
        one = self.standin(str(self.place / "run/cicada/cicada.sock"))
        ran = self.cicada("run", "-c", "6 * 7", env=self.own())
        self.assertEqual((0, "42\n"), (ran.code, ran.out))
        self.assertEqual(0, len(one.world.requests))
        ran = self.cicada("sessions", "ls", env=self.own())
        self.assertEqual(77, ran.code)
        self.assertIn("only you can enter", ran.err)
