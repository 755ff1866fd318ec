"""The run object."""
import base64
import hashlib
import json

import schema
from harness import Case
from test_files import FIGURE
from test_output import OVER_MEMORY


class RunObject(Case):
    def checked(self, *words, code=0, **more):
        run = self.run_object(*words, code=code, **more)
        self.assertEqual([], schema.problems(run))
        return run

    def test_a_run_that_did_a_bit_of_everything(self):
        self.file("in.txt", "in")
        source = "import sys, os\nprint('out')\nprint('err', file=sys.stderr)\n" \
                 "open('new.csv', 'w').write('a,b\\n')\nopen('in.txt', 'a').write('!')\n6 * 7"
        run = self.checked("-c", source, "-f", "in.txt")
        self.assertEqual(("ok", "fresh", "out\n", "err\n", None),
                         (run["end"], run["state"], run["stdout"], run["stderr"], run["error"]))
        self.assertEqual("42", run["result"]["text/plain"])
        files = {f["path"]: f for f in run["files"]}
        self.assertEqual({"new.csv", "in.txt"}, set(files))
        self.assertEqual({"path": "new.csv", "size": 4, "mime": "text/csv", "change": "created",
                          "sha256": hashlib.sha256(b"a,b\n").hexdigest()}, files["new.csv"])
        self.assertEqual(("modified", 3), (files["in.txt"]["change"], files["in.txt"]["size"]))
        self.assertGreater(run["peak_memory_bytes"], 1 << 20)
        self.assertGreater(run["duration_ms"], 0)

    def test_limits_are_those_in_force(self):
        run = self.checked("-c", "1", "--memory", "512", "--cpu", "0.5", "--timeout", "7.5", "--pids",
                           "64", "--output", "2M", "--disk", "1G")
        self.assertEqual({"memory_mb": 512, "cpu": 0.5, "wall_s": 7.5, "pids": 64,
                          "output_bytes": 2 << 20, "disk_mb": 1024}, run["limits"])

    def test_an_error(self):
        run = self.checked("-c", "x = 1\nraise KeyError('k')", code=1)
        self.assertEqual("error", run["end"])
        self.assertEqual(("KeyError", "'k'", 2), tuple(run["error"][k] for k in ("name", "message",
                                                                                 "line")))
        self.assertIn("KeyError: 'k'", run["error"]["traceback"])

    def test_each_end_is_a_whole_object_with_a_hint(self):
        for end, code, words in (
                ("timeout", 124, ["-c", "while True: pass", "--timeout", "0.3"]),
                ("memory", 137, ["-c", OVER_MEMORY, "--memory", "128"]),
                ("crashed", 134, ["-c", "import os; os.abort()"])):
            run = self.checked(*words, code=code)
            self.assertEqual(end, run["end"])
            self.assertTrue(run["hint"])
            if end == "crashed":
                self.assertEqual(("SIGABRT", "lost"), (run["signal"], run["state"]))

    def test_images_are_base64_text_is_text_and_json_is_json(self):
        run = self.checked("-c", FIGURE + "from IPython.display import JSON, display\n"
                                          "display(JSON({'a': [1, None, 0.1]}))\n"
                                          "import pandas as pd; pd.DataFrame({'é': [1]})")
        png = base64.b64decode(run["displays"][0]["image/png"], validate=True)
        self.assertTrue(png.startswith(b"\x89PNG"))
        self.assertEqual({"a": [1, None, 0.1]}, run["displays"][1]["application/json"])
        self.assertIn("<table", run["result"]["text/html"])
        self.assertIn("é", run["result"]["text/plain"])

    def test_output_that_is_not_utf8_is_still_json(self):
        run = self.checked("-c", "import os; os.write(1, b'a\\xff\\x00\\xe2\\x80z\\n')")
        self.assertEqual("a\ufffd\0\ufffdz\n", run["stdout"])

    def test_what_was_left_out_is_counted(self):
        run = self.checked("-c", "print('x' * 99999)", "--output", "1k")
        self.assertEqual(100000 - 1024, run["truncated"]["stdout"])
        self.assertIn("bytes left out", run["stdout"])

    def test_a_deep_json_is_text_and_does_not_break_the_object(self):
        source = "from IPython.display import display\n" \
                 "display({'application/json': '[' * 5000 + ']' * 5000, 'text/plain': 'x'}, raw=True)"
        run = self.checked("-c", source)
        self.assertEqual("x", run["displays"][0]["text/plain"])

    def test_several_pieces_are_one_line_each(self):
        ran = self.cicada("run", "--json", "-c", "x = 1", "-c", "x", "-c", "1/0", "-c", "never")
        runs = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual(1, ran.code)
        self.assertEqual(["ok", "ok", "error"], [r["end"] for r in runs])
        self.assertEqual(["fresh", "kept", "kept"], [r["state"] for r in runs])
        self.assertEqual(1, len({r["session_id"] for r in runs}))
        self.assertEqual(3, len({r["id"] for r in runs}))
        for run in runs:
            self.assertEqual([], schema.problems(run))

    def test_nothing_else_is_printed(self):
        ran = self.cicada("run", "--json", "-c", "print(1)\nopen('a', 'w')\n" + FIGURE)
        self.assertEqual(1, ran.out.count("\n"))
        self.assertEqual("", ran.err)
        self.assertEqual([], list(self.tmp.iterdir()))

    def test_with_out_files_and_figures_are_saved_too(self):
        self.run_object("-c", "open('a', 'w').write('x')\n" + FIGURE, "-o", "out")
        self.assertEqual({"a", "figure-1.png"}, set(self.tree("out")))

    def test_no_path_of_this_host_is_in_it(self):
        path = self.file("deep/job.py", "import os, sys\nprint(os.getcwd(), sys.argv, __name__)\n"
                                        "print(open('/proc/self/mountinfo').read())\n"
                                        "open('data.csv')\n1/0")
        self.file("data.csv", "")
        ran = self.cicada("run", "--json", path, "-f", self.here / "data.csv")
        self.assertEqual(1, ran.code)
        for secret in (str(self.place), str(self.here), self.place.name, "/var/tmp"):
            self.assertNotIn(secret, json.loads(ran.out)["error"]["traceback"])
        hidden = dict(json.loads(ran.out), stdout="")
        self.assertNotIn(str(self.place), json.dumps(hidden))

    def test_a_failure_of_ours_is_an_object_too(self):
        env = self.environment(CICADA_TMP="/nonexistent/base")
        ran = self.cicada("run", "--json", "-c", "1", env=env)
        self.assertEqual(125, ran.code)
        error = json.loads(ran.out)["error"]
        self.assertEqual({"code", "message", "hint"}, set(error))
        self.assertEqual("not_found", error["code"])
        self.assertIn("the code was not run", ran.err)
