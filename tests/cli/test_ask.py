"""`cicada ask`: what is seen of a question and its answer, and how it ends."""
import json
import os
import pty
import signal
import unittest

from asked import Asked, script
from harness import PATIENCE_S, await_true
from served import IS_REAL, scripted
from standin import drop, refuse

SIMPLE = script({"think": "Let me compute that.", "code": "x = 6 * 7\nprint(x)"}, {"say": "It is {{last}}."})


class Ask(Asked):
    def test_the_answer_alone_is_on_standard_output(self):
        ran = self.ask(SIMPLE)
        self.assertEqual("It is 42.\n", ran.out)
        self.assertIn("Let me compute that.\n", ran.err)
        self.assertRegex(ran.err, r"running 2 lines of Python \.\.\. ok, \d.*s\n    42\n")
        self.assertNotIn("x = 6", ran.err)
        self.assertRegex(ran.err, r"cicada: 1 run, \d+ tokens, ")

    def test_the_code_is_shown_when_asked_for(self):
        ran = self.ask("--show-code", SIMPLE)
        self.assertEqual("It is 42.\n", ran.out)
        self.assertIn("    x = 6 * 7\n    print(x)\nrunning 2 lines", ran.err)

    def test_an_answer_without_code(self):
        ran = self.ask(script({"say": "Nothing to compute."}))
        self.assertEqual("Nothing to compute.\n", ran.out)
        self.assertNotIn("running", ran.err)

    def test_the_question_from_standard_input(self):
        self.assertEqual("It is 42.\n", self.ask("-", stdin=SIMPLE.encode()).out)
        self.assertEqual("It is 42.\n", self.ask(stdin=SIMPLE.encode()).out)

    def test_a_failure_of_the_code_and_its_mending(self):
        ran = self.ask(script({"code": "1 / 0"}, {"code": "print(1)"}, {"say": "One: {{last}}"}))
        self.assertEqual("One: 1\n", ran.out)
        self.assertRegex(ran.err, r"running 1 line of Python \.\.\. ZeroDivisionError: division by zero, ")
        self.assertRegex(ran.err, r"running 1 line of Python \.\.\. ok, ")

    def test_only_the_first_lines_of_much_output_are_shown(self):
        question = script({"code": "for i in range(100): print('line', i)"}, {"say": "Done."})
        few, many = self.ask(question).err, self.ask("--show-code", question).err
        self.assertIn("    line 5\n    ... and 94 more lines\n", few)
        self.assertIn("    line 39\n    ... and 60 more lines\n", many)

    def test_a_file_is_brought_and_another_comes_back(self):
        self.file("in/sales.csv", "city,sold\nOslo,3\nRome,4\n")
        code = ("rows = open('sales.csv').read().split()[1:]\n"
                "f = open('sum.txt', 'w')\nf.write(str(sum(int(r.split(',')[1]) for r in rows)))\n"
                "del f")
        ran = self.ask("-f", "in/sales.csv", "-o", "results", script({"code": code}, {"say": "See sum.txt."}))
        self.assertEqual("See sum.txt.\n", ran.out)
        self.assertEqual({"sum.txt": b"7"}, self.tree("results"))
        self.assertIn("cicada: saved results/sum.txt", ran.err)
        self.assertEqual("7", self.good("files", "cat", "sum.txt").out)
        self.assertEqual("city,sold", self.good("files", "cat", "sales.csv").out.split("\n")[0])
        self.assertEqual(["sum.txt"], [f["path"] for f in self.last_answer()["files"]])

    @unittest.skipUnless(IS_REAL, "needs a server that draws")
    def test_charts_are_saved_where_files_are(self):
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"
        ran = self.ask("-o", "charts", script({"code": code}, {"say": "Drawn."}))
        self.assertIn("cicada: figure saved as charts/figure-1.png", ran.err)
        self.assertEqual(b"\x89PNG", self.tree("charts")["figure-1.png"][:4])

    def test_what_is_made_is_named_without_a_directory(self):
        ran = self.ask(script({"code": "f = open('a.txt', 'w')\nf.write('x')\ndel f"}, {"say": "Made."}))
        self.assertIn("cicada: kept in the workspace: a.txt (version 1)\n", ran.err)

    def test_a_file_under_another_name_in_another_workspace(self):
        self.good("workspaces", "create", "lab")
        self.file("a.csv", "1")
        ran = self.ask("-w", "lab", "-f", "a.csv=in/b.csv",
                       script({"code": "print(open('in/b.csv').read())"}, {"echo": True}))
        self.assertEqual("1\n", ran.out)
        self.assertEqual("1", self.good("files", "cat", "-w", "lab", "in/b.csv").out)

    def test_an_answer_object(self):
        found = self.object("ask", SIMPLE)
        self.assertEqual(("done", "ok", "It is 42."), (found["status"], found["end"], found["answer"]))
        self.assertEqual(["ok"], [r["end"] for r in found["runs"]])
        self.assertTrue(found["id"].startswith("ans_"))
        ran = self.ask("--json", SIMPLE)
        self.assertEqual("", ran.err)

    def test_a_limit_of_runs_ends_with_1(self):
        ran = self.cicada("ask", "--max-runs", "1",
                          script({"code": "print(1)"}, {"code": "print(2)"}, {"say": "Two."}))
        self.assertEqual(1, ran.code, ran)
        self.assertIn("--max-runs, --max-tokens and --timeout set limits", ran.err)

    def test_an_endpoint_that_fails_ends_with_125(self):
        ran = self.cicada("ask", script({"status": 500}))
        self.assertEqual((125, ""), (ran.code, ran.out), ran)
        self.assertIn("500", ran.err)
        ran = self.cicada("ask", "--json", script({"status": 500}))
        self.assertEqual(125, ran.code, ran)
        self.assertEqual("failed", json.loads(ran.out)["end"])

    def test_a_session_goes_on(self):
        first = self.object("ask", script({"code": "kept = 41"}, {"say": "Kept."}))
        again = script({"code": "print(kept + 1)"}, {"echo": True})
        self.assertEqual("42\n", self.ask("--session", first["session_id"], again).out)
        if IS_REAL:
            self.assertEqual("42\n", self.ask("--session", first["id"], again).out)
        self.ask("--session", "work", script({"code": "kept = 1"}, {"say": "Kept."}))
        self.assertEqual("2\n", self.ask("-s", "work", again).out)
        self.assertEqual(2, self.cicada("ask", "--session", "ses_000000000000000000000000", "q").code)

    def test_a_question_that_cannot_be_asked_ends_with_2(self):
        self.assertIn("put the question in quotes", self.fails(2, "ask", "which", "cities"))
        self.assertIn("the question is empty", self.fails(2, "ask", " "))
        self.assertIn("there is no file none.csv here", self.fails(2, "ask", "q", "-f", "none.csv"))
        (self.here / "folder").mkdir()
        self.assertIn("is no file", self.fails(2, "ask", "q", "-f", "folder"))
        self.assertIn("there is no workspace", self.fails(2, "ask", "-w", "none", "q"))
        self.assertIn("did you mean --show-code?", self.fails(2, "ask", "--show-cod", "q"))

    def test_answers_are_listed_and_told(self):
        self.assertIn("no answers", self.good("ask", "--list").err)
        first = self.object("ask", SIMPLE)["id"]
        second = self.object("ask", script({"say": "Nothing."}, text="Another question"))["id"]
        rows = [line.split("\t") for line in self.good("ask", "--list").out.splitlines()]
        self.assertEqual([[second, "ok", "0", "Another question"], [first, "ok", "1", "What is it?"]],
                         [[r[0], r[1], r[3], r[5]] for r in rows])
        self.assertIn("there are more", self.good("ask", "--list", "-n", "1").err)
        told = self.good("ask", "--transcript", first).out
        self.assertIn("What is it?", told)
        self.assertIn("It is 42.", told)
        json.loads(self.good("ask", "--transcript", first, "--format", "json").out)
        notebook = json.loads(self.good("ask", "--transcript", first, "--format", "notebook").out)
        if IS_REAL:
            self.assertEqual(4, notebook["nbformat"])
        self.fails(2, "ask", "--transcript", "ans_000000000000000000000000")

    def test_ctrl_c_cancels_the_answer_on_the_server(self):
        child = self.start("ask", script({"think": "This takes long.", "code": "print('now')"}, {"hang": 60}))
        while (line := child.stderr.readline()) and b"now" not in line:
            pass
        child.send_signal(signal.SIGINT)
        ran = self.finish(child)
        self.assertEqual((130, ""), (ran.code, ran.out), ran)
        await_true("it is cancelled there", lambda: self.last_answer()["end"] == "cancelled")

    def test_nobody_who_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        child = self.start("ask", SIMPLE, stdout=writer)
        os.close(writer)
        self.assertEqual(141, self.finish(child).code)

    def test_verifying_says_the_same(self):
        if not IS_REAL:
            self.world.answer_extra = {"verification": {"status": "same", "runs": []}}
        self.assertIn("cicada: verified: ", self.ask("--verify", SIMPLE).err)

    def test_verifying_finds_a_difference(self):
        if not IS_REAL:
            self.world.answer_extra = {"verification": {"status": "different", "runs": [
                {"run_id": "run_1", "differences": [{"what": "output", "was": "1", "is": "2", "line": 1}]}]}}
        question = script({"code": "import random\nprint(random.randrange(10 ** 9))"}, {"echo": True})
        ran = self.cicada("ask", "--verify", question)
        self.assertEqual(3, ran.code, ran)
        self.assertIn("cicada: not verified: ", ran.err)
        self.assertRegex(ran.err, r"cicada:   output of run_\w+ was '\d+' and is '\d+'")
        self.assertEqual(3, self.cicada("ask", "--verify", "--json", question).code)

    def test_verifying_without_code_finds_nothing_to_do(self):
        self.assertIn("cicada: nothing was verified: ", self.ask("--verify", script({"say": "Just so."})).err)

    @scripted
    def test_a_verification_that_did_not_happen(self):
        ran = self.cicada("ask", "--verify", SIMPLE)
        self.assertEqual(3, ran.code, ran)
        self.assertIn("cicada: not verified: the server could not", ran.err)

    def test_a_figure_that_no_output_has(self):
        if not IS_REAL:
            self.world.answer_extra = {"figures": [
                {"text": "42", "value": 42, "run_id": "run_1", "line": "42"},
                {"text": "77.5", "value": 77.5, "run_id": None, "line": None}]}
        ran = self.ask(script({"code": "print(42)"}, {"say": "It is 42, or 77.5."}))
        self.assertEqual("It is 42, or 77.5.\n", ran.out)
        self.assertIn("cicada: in no output of the code, so better checked: 77.5\n", ran.err)

    def test_on_a_terminal_it_comes_as_it_is_said_and_steers_nothing(self):
        out, err, code = self.on_terminal("ask", script(
            {"think": "Hm.", "code": "print('\\x1b[31mred')"}, {"say": "Not \x1b[31mred."}))
        self.assertEqual(0, code, (out, err))
        self.assertIn("Not ?[31mred.\r\n", out)
        self.assertEqual(1, out.count("Not "), "it is shown once")
        self.assertIn("\x1b[2mHm.\x1b[0m", err)
        self.assertIn("?[31mred", err)
        self.assertIn("to go on: cicada ask --session ses_", err)

    def on_terminal(self, *words):
        """Both streams are terminals, of their own; what came out of each, and the exit code."""
        masters, children = zip(*(pty.openpty() for _ in range(2)))
        child = self.start(*words, stdout=children[0], stderr=children[1], env=self.environment(TERM="xterm"))
        for fd in children:
            os.close(fd)
        seen = [b"", b""]
        for index, fd in enumerate(masters):
            while True:
                try:
                    piece = os.read(fd, 4096)
                except OSError:
                    break
                if not piece:
                    break
                seen[index] += piece
            os.close(fd)
        return seen[0].decode(), seen[1].decode(), child.wait(PATIENCE_S)


@scripted
class Misbehaving(Asked):
    def test_what_is_asked_for(self):
        self.file("a.csv", "1")
        self.good("workspaces", "create", "lab")
        self.ask("q")
        self.assertEqual({"question": "q", "search": False, "verify": False}, self.world.asked[-1])
        self.ask("-w", "lab", "q")
        self.assertEqual(("lab", True), (self.world.asked[-1]["workspace"], self.world.asked[-1]["search"]))
        self.ask("-w", "lab", "-f", "a.csv", "q")
        self.assertEqual((["a.csv"], False), (self.world.asked[-1]["files"], self.world.asked[-1]["search"]))
        self.ask("--model", "m", "--instructions", "be brief", "--max-tokens", "9", "--timeout", "7", "--search", "q")
        self.assertEqual({"question": "q", "model": "m", "instructions": "be brief", "search": True, "verify": False,
                          "max_tokens": 9, "timeout_s": 7}, self.world.asked[-1])

    def test_what_is_said_before_a_run_is_a_step(self):
        ran = self.ask(script({"say": "First I look.", "code": "print(1)"}, {"say": "One."}))
        self.assertEqual("One.\n", ran.out)
        self.assertIn("First I look.\nrunning 1 line", ran.err)

    def test_sources_are_listed_once_each(self):
        self.world.answer_extra = {"citations": [
            {"kind": "file", "mark": 2, "path": "report.pdf", "version": 3, "page": 2, "where": "page 2", "url": "", "start": 0, "end": 3},
            {"kind": "file", "mark": 1, "path": "a\x1b.txt", "version": 1, "where": "lines 3-8", "url": "", "start": 4, "end": 7},
            {"kind": "file", "mark": 2, "path": "report.pdf", "version": 3, "page": 2, "where": "page 2", "url": "", "start": 9, "end": 12}]}
        self.world.answer_extra["unknown_marks"] = [7]
        ran = self.ask("-w", "default", script({"say": "It fell [2] and rose [1], then fell [2]."}))
        self.assertEqual("It fell [2] and rose [1], then fell [2].\n\n"
                         "[2] report.pdf, version 3, page 2\n[1] a?.txt, version 1, lines 3-8\n", ran.out)
        self.assertIn("cicada: [7] of the answer stands for nothing that was found\n", ran.err)

    def test_without_a_model_it_is_said_what_to_set(self):
        self.world.model = None
        told = self.fails(125, "ask", "q")
        self.assertIn("cicada:   Ollama: CICADA_MODEL_URL=http://localhost:11434/v1", told)
        self.assertEqual(1, self.asked("POST").count("/api/v1/ask"), "it is asked once")
        self.assertNotIn("is set here", told)
        self.assertIn("CICADA_MODEL_URL is set here, but", self.fails(125, "ask", "q", env=self.environment(CICADA_MODEL_URL="x")))
        ran = self.cicada("ask", "--json", "q")
        self.assertEqual("unavailable", json.loads(ran.out)["error"]["code"])

    def test_a_server_that_is_full_is_not_asked_again(self):
        self.world.faults.append(refuse("POST", "/api/v1/ask", 429, "limit_exceeded", "too many", Retry_After=1))
        self.assertIn("too many", self.fails(125, "ask", "q"))
        self.assertEqual(1, self.asked("POST").count("/api/v1/ask"))

    def test_a_server_that_hangs_up(self):
        self.world.faults.append(drop("POST", "/api/v1/ask"))
        self.fails(125, "ask", "q")
        self.assertEqual(1, self.asked("POST").count("/api/v1/ask"))

    def test_a_key_that_is_missing_ends_with_77(self):
        self.world.needs_key = True
        self.fails(77, "ask", "q")

    def test_an_answer_that_has_nothing(self):
        self.world.answer_extra = {"answer": None, "runs": None, "usage": 7, "files": "x", "citations": {}, "figures": [3, None],
                                   "verification": [], "error": "?", "duration_ms": "long", "end": ["ok"]}
        self.assertEqual(1, self.cicada("ask", "q").code)

    def test_files_whose_names_lead_out_stay_out(self):
        self.world.answer_extra = {"files": [{"path": "../out.txt", "version": 1, "url": "/x", "size": 1}]}
        ran = self.cicada("ask", "-o", "results", "q")
        self.assertEqual(125, ran.code, ran)
        self.assertIn("not saved: ../out.txt", ran.err)
        self.assertFalse((self.here / "out.txt").exists())


@unittest.skipUnless(IS_REAL, "needs a server that indexes")
class Chat(Asked):
    index = "on"

    def test_a_workspace_answers_with_where_it_stands(self):
        self.file("notes.txt", "first\nthe quick hippopotamus\n")
        self.good("files", "put", "notes.txt")
        await_true("the file is indexed", lambda: self.cicada("search", "hippopotamus").code == 0)
        ran = self.ask("-w", "default", script(
            {"calls": [{"name": "search_workspace", "arguments": {"query": "hippopotamus"}}]},
            {"say": "It is quick [1]."}))
        self.assertRegex(ran.out, r"^It is quick \[1\]\.\n\n\[1\] notes\.txt, version 1\b.*\n$")

    def test_what_it_says_without_a_model(self):
        env = self.environment()
        self.real.terminate()
        self.real.wait(PATIENCE_S)
        self.settings = {}
        self.start_real()
        ran = self.cicada("ask", "q", env=env)
        self.assertEqual(125, ran.code, ran)
        for word in ("CICADA_MODEL_URL", "CICADA_MODEL_NAME", "llama", "CICADA_MODEL_KEY"):
            self.assertIn(word.lower(), ran.err.lower())
