"""`cicada eval`: tasks that are read, given to a model, and checked."""
import hashlib
import json
import pathlib
import re
import signal

from asked import Asked, script
from harness import await_true
from served import IS_REAL, scripted

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "eval" / "tasks.jsonl"
SUM = "print(sum(int(n) for n in open('in/numbers.txt').read().split()))"
OUT = "f = open('out.txt', 'w')\nf.write('seven')\ndel f"


class Eval(Asked):
    def tasks(self, *tasks, name="tasks.jsonl"):
        self.file(name, "".join(json.dumps(t) + "\n" for t in tasks))

    def every_kind(self):
        self.file("in/numbers.txt", "20 22")
        digest = hashlib.sha256(b"seven").hexdigest()
        self.tasks(
            {"id": "number", "question": script({"code": SUM}, {"say": "About {{last}}."}), "files": ["in/numbers.txt"],
             "expect": {"number": 42.4, "tolerance": 0.5}},
            {"id": "text", "question": script({"say": "Oslo"}), "expect": {"text": "Oslo"}},
            {"id": "contains", "question": script({"say": "Oslo and Rome"}), "expect": {"contains": ["rome", "OSLO"]}},
            {"id": "regex", "question": script({"code": "1/0"}, {"code": "print(7)"}, {"say": "So {{last}}."}),
             "expect": {"regex": r"\b7\b"}},
            {"id": "file", "question": script({"code": OUT}, {"say": "Written."}), "expect": {"file": "out.txt", "sha256": digest}})

    def rows(self, ran):
        return [line.split("\t") for line in ran.out.splitlines()[:-1]]

    def test_all_are_solved(self):
        self.every_kind()
        ran = self.cicada("eval", "tasks.jsonl")
        self.assertEqual(0, ran.code, ran)
        self.assertEqual([["number", "yes", "1"], ["text", "yes", "0"], ["contains", "yes", "0"],
                          ["regex", "yes", "2"], ["file", "yes", "1"]], [r[:3] for r in self.rows(ran)])
        self.assertTrue(all(int(r[3]) > 0 and float(r[4]) >= 0 for r in self.rows(ran)), ran)
        tokens = sum(int(r[3]) for r in self.rows(ran))
        self.assertRegex(ran.out.splitlines()[-1], rf"^solved 5/5, 4 attempts, {tokens} tokens, \d+\.\d s$")
        self.assertIn("cicada: text: solved, ", ran.err)

    def test_nothing_of_it_stays(self):
        self.every_kind()
        self.good("eval", "tasks.jsonl", "--jobs", "3")
        self.assertEqual(["default"], [w["name"] for w in self.objects("workspaces", "ls")])
        self.assertEqual([], self.objects("sessions", "ls"))
        self.good("eval", "tasks.jsonl", "--only", "file", "--keep")
        kept = [w["name"] for w in self.objects("workspaces", "ls") if w["name"] != "default"]
        self.assertEqual(1, len(kept))
        self.assertEqual("seven", self.good("files", "cat", "-w", kept[0], "out.txt").out)

    def test_what_is_not_solved_is_told_with_why(self):
        self.tasks({"id": "good", "question": script({"say": "1"}), "expect": {"number": 1}},
                   {"id": "number", "question": script({"say": "It is 5."}), "expect": {"number": 4}},
                   {"id": "file", "question": script({"say": "I did not."}), "expect": {"file": "out.txt"}},
                   {"id": "broken", "question": script({"status": 500}), "expect": {"number": 1}})
        ran = self.cicada("eval", "tasks.jsonl")
        self.assertEqual(1, ran.code, ran)
        self.assertEqual(["yes", "no", "no", "no"], [r[1] for r in self.rows(ran)])
        self.assertRegex(ran.out, r"(?m)^solved 1/4, 0 attempts, ")
        self.assertRegex(ran.err, r"cicada: number: not solved, .*; expected 4; the answer has 5\n")
        self.assertIn("there is no file out.txt", ran.err)
        self.assertRegex(ran.err, r"cicada: broken: not solved, .*; no answer \(failed\): .*500")

    def test_objects(self):
        self.tasks({"id": "good", "question": script({"code": "print(1)"}, {"echo": True}), "expect": {"number": 1}},
                   {"id": "bad", "question": script({"say": "2"}), "expect": {"number": 1}})
        ran = self.cicada("eval", "--json", "tasks.jsonl")
        self.assertEqual((1, ""), (ran.code, ran.err), ran)
        good, bad, whole = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual((True, None, 1, "1"), (good["solved"], good["why"], good["attempts"], good["answer"]))
        self.assertEqual((False, "expected 1; the answer has 2"), (bad["solved"], bad["why"]))
        self.assertEqual((1, 2, 1, good["tokens"] + bad["tokens"]),
                         (whole["solved"], whole["total"], whole["attempts"], whole["tokens"]))
        self.assertIn("print(1)", self.good("ask", "--transcript", good["answer_id"]).out if IS_REAL else "print(1)")

    def test_reasons_are_cut_between_characters(self):
        self.tasks(*({"id": f"t{i}", "question": script({"say": "x" * i + "日本語" * 200}), "expect": {"text": "no"}}
                     for i in range(3)))
        ran = self.cicada("eval", "--json", "tasks.jsonl")
        self.assertEqual(1, ran.code, ran)
        self.assertEqual(4, len([json.loads(line) for line in ran.raw_out.splitlines()]))

    def test_one_task_alone(self):
        self.every_kind()
        ran = self.good("eval", "--only", "text", "tasks.jsonl")
        self.assertEqual([["text", "yes"]], [r[:2] for r in self.rows(ran)])
        self.assertIn("there is no task 'other'", self.fails(2, "eval", "--only", "other", "tasks.jsonl"))

    def test_several_at_a_time(self):
        wait = "import time\ntime.sleep(0.5)\nprint({})"
        self.tasks(*({"id": f"t{i}", "question": script({"code": wait.format(i)}, {"echo": True}), "expect": {"number": i}}
                     for i in range(6)))
        ran = self.good("eval", "--jobs", "6", "tasks.jsonl")
        self.assertEqual([f"t{i}" for i in range(6)], [r[0] for r in self.rows(ran)])
        self.assertIn("solved 6/6", ran.out)

    def test_a_line_that_is_wrong_is_told_before_anything_is_asked(self):
        self.file("tasks.jsonl", '{"id":"a","question":"q","expect":{"number":1}}\n\n{"id":"b","question":"q"}\n')
        self.assertIn("tasks.jsonl: line 3: \"expect\" has to say", self.fails(2, "eval", "tasks.jsonl"))
        self.file("tasks.jsonl", '{"id":"a","question":"q","files":["none.csv"],"expect":{"number":1}}\n')
        self.assertIn("line 1: there is no file none.csv", self.fails(2, "eval", "tasks.jsonl"))
        self.assertIn("cannot read none.jsonl", self.fails(2, "eval", "none.jsonl"))
        self.assertIn("which tasks?", self.fails(2, "eval"))
        self.assertIn("--jobs", self.fails(2, "eval", "--jobs", "99", "tasks.jsonl"))

    def test_ctrl_c_ends_all_of_it(self):
        self.tasks({"id": "first", "question": script({"say": "1"}), "expect": {"number": 1}},
                   {"id": "hangs", "question": script({"code": "print(1)"}, {"hang": 60}), "expect": {"number": 1}})
        child = self.start("eval", "tasks.jsonl")
        while (line := child.stderr.readline()) and b"first: solved" not in line:
            pass
        await_true("it is asked", lambda: len(self.objects("ask", "--list")) == 2)
        child.send_signal(signal.SIGINT)
        ran = self.finish(child)
        self.assertEqual(130, ran.code, ran)
        self.assertIn("solved 1/2", ran.out)
        await_true("it is cancelled there", lambda: self.last_answer()["end"] == "cancelled")
        self.assertEqual(["default"], [w["name"] for w in self.objects("workspaces", "ls")])
        self.assertEqual([], self.objects("sessions", "ls"))

    def test_the_example_can_be_read(self):
        ran = self.cicada("eval", EXAMPLE)
        self.assertEqual(1, ran.code, ran)
        self.assertRegex(ran.out, r"(?m)^solved \d/7, ")
        self.assertEqual(set(re.findall(r'"files": \["(.*?)"\]', EXAMPLE.read_text())),
                         {p.name for p in EXAMPLE.parent.glob("*.csv")})


@scripted
class WithoutModel(Asked):
    def test_a_refusal_ends_all_of_it(self):
        self.world.model = None
        self.file("tasks.jsonl", "".join(json.dumps({"id": f"t{i}", "question": "q", "expect": {"number": 1}}) + "\n"
                                         for i in range(5)))
        told = self.fails(125, "eval", "tasks.jsonl")
        self.assertIn("t0: no model is configured", told)
        self.assertIn("cicada:   Ollama: CICADA_MODEL_URL=", told)
        self.assertEqual(1, self.asked("POST").count("/api/v1/ask"))
