"""Bash and JavaScript through the jail, and the time zone."""
import os
import unittest

import schema
from harness import Case

HAS_NODE = os.access("/usr/bin/node", os.X_OK)


class Languages(Case):
    def checked(self, *words, code=0):
        run = self.run_object(*words, code=code)
        self.assertEqual([], schema.problems(run))
        return run

    def test_an_option_or_the_files_name_chooses(self):
        self.file("job.sh", "echo $BASH_VERSION; pwd")
        self.assertRegex(self.ok("job.sh").out, r"^\d+\..*\n/mnt/data\n$")
        self.assertEqual("bash", self.checked("-l", "bash", "-c", "true")["language"])
        self.assertEqual("python", self.checked("-c", "1")["language"])
        self.file("code.txt", "echo txt")
        self.assertEqual("txt\n", self.ok("--language", "bash", "code.txt").out)
        self.assertEqual("in\n", self.ok("-l", "bash", "-", stdin=b"echo in").out)
        ran = self.cicada("run", "-l", "ruby", "-c", "1")
        self.assertEqual(2, ran.code)
        self.assertIn("write python, bash or javascript", ran.err)

    def test_python_keeps_its_variables_over_a_piece_of_bash(self):
        self.file("job.sh", "cat from-python > from-bash; echo bash")
        ran = self.ok("-c", "x = 6; open('from-python', 'w').write('7');", "job.sh",
                      "-c", "print(x * int(open('from-bash').read()))")
        self.assertEqual("bash\n42\n", ran.out)

    def test_a_status_is_said_and_is_an_error(self):
        ran = self.cicada("run", "-l", "bash", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((1, "out\n", "err\nExitStatus: bash ended with status 3\n"),
                         (ran.code, ran.out, ran.err))
        run = self.checked("-l", "bash", "-c", "exit 3", code=1)
        self.assertEqual(("error", {"name": "ExitStatus", "message": "bash ended with status 3",
                                    "line": None, "traceback": ""}), (run["end"], run["error"]))

    def test_files_input_and_environment(self):
        self.file("data.csv", "a\n1\n")
        ran = self.ok("-l", "bash", "-c", 'cat data.csv; read line; echo "$line $A" > made.txt', "-f", "data.csv",
                      "-o", "out", "--stdin", "line\n", "--env", "A=b")
        self.assertEqual("a\n1\n", ran.out)
        self.assertEqual({"made.txt": b"line b\n"}, self.tree("out"))

    def test_nothing_of_ours_is_captured(self):
        run = self.checked("-l", "bash", "-c", "echo x > mine.txt")
        self.assertEqual(["mine.txt"], [f["path"] for f in run["files"]])

    def test_a_timeout_ends_bash_and_not_the_session(self):
        for code in ("sleep 100", "trap '' INT TERM; while :; do sleep 0.1; done", "sleep 100 & wait"):
            run = self.checked("-l", "bash", "-c", code, "--timeout", "0.4", code=124)
            self.assertEqual(("timeout", "fresh"), (run["end"], run["state"]), code)
            self.assertIn("Variables are kept", run["hint"])

    def test_ctrl_c(self):
        ran = self.interrupt_when(self.start("run", "-l", "bash", "-c", "echo ready; sleep 3600"), b"ready")
        self.assertEqual(130, ran.code, ran)

    def test_limits_hold(self):
        run = self.checked("-l", "bash", "-c", "yes | head -c 200M", code=139)
        self.assertEqual("output_limit", run["end"])
        hold = "python3 -c \"x = bytearray(b'x') * (60 << 20); import time; time.sleep(60)\""
        run = self.checked("-l", "bash", "-c", f"for i in 1 2 3; do {hold} & done; wait", "--memory", "128", code=137)
        self.assertEqual("memory", run["end"])
        fill = "for i in 1 2 3 4 5 6; do head -c 8M /dev/zero > big$i; done; sleep 20"
        run = self.checked("-l", "bash", "-c", fill, "--disk", "16M", code=138)
        self.assertEqual("disk", run["end"])

    def test_background_processes_end_with_their_run(self):
        self.file("job.sh", "(while :; do echo x >> beat; sleep 0.01; done) & sleep 0.1")
        ran = self.ok("job.sh", "-c", "import os, time; a = os.path.getsize('beat'); time.sleep(0.2); "
                                      "print(a == os.path.getsize('beat'))")
        self.assertEqual("True\n", ran.out)

    def test_it_can_do_no_more_than_python(self):
        code = "grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status; exec 3<>/dev/tcp/1.1.1.1/80"
        ran = self.cicada("run", "-l", "bash", "-c", code)
        self.assertEqual(1, ran.code)
        self.assertEqual(["0000000000000000", "1", "2"], [line.split()[1] for line in ran.out.splitlines()])


@unittest.skipUnless(HAS_NODE, "there is no node here")
class JavaScript(Case):
    def test_a_file_runs_and_errors_are_nodes(self):
        self.file("job.js", "const fs = require('fs');\nfs.writeFileSync('a.txt', 'made');\n"
                            "console.log(fs.readFileSync('a.txt', 'utf8'));\nthrow new Error('oops')")
        ran = self.cicada("run", "job.js", "-o", "out")
        self.assertEqual((1, "made\n"), (ran.code, ran.out))
        self.assertIn("/mnt/data/job.js:4\nthrow new Error('oops')", ran.err)
        self.assertIn("ExitStatus: node ended with status 1", ran.err)
        self.assertEqual({"a.txt": b"made"}, self.tree("out"))

    def test_modules_workers_and_compiled_code_in_half_a_gigabyte(self):
        code = ("import {Worker} from 'worker_threads';\nfunction f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
                "console.log(f(25), new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) !== null);\n"
                "const w = new Worker('require(\"worker_threads\").parentPort.postMessage(5)', {eval: true});\n"
                "console.log(await new Promise(done => w.on('message', done)));")
        self.assertEqual("75025 true\n5\n", self.ok("-l", "javascript", "-c", code, "--memory", "512").out)

    def test_a_full_heap_ends_node_alone(self):
        run = self.run_object("-l", "javascript", "-c", "const a = []; for (;;) a.push({a: [1, 2, 3]})",
                              "--memory", "256", code=1)
        self.assertEqual(("error", "Signal", "fresh"), (run["end"], run["error"]["name"], run["state"]))
        self.assertIn("heap out of memory", run["stderr"])

    def test_there_is_no_network(self):
        code = ("require('net').connect(80, '1.1.1.1').on('error', e => console.log(e.code));\n"
                "require('net').createServer().listen(0).on('error', e => console.log(e.code))")
        self.assertEqual("EPERM\nEPERM\n", self.ok("-l", "javascript", "-c", code).out)


class Zones(Case):
    def test_python_and_bash_are_in_the_zone(self):
        self.file("job.sh", "date -d @0 +%H:%M")
        ran = self.ok("--tz", "Asia/Kolkata", "-c", "import time; print(time.strftime('%H:%M', time.localtime(0)))",
                      "job.sh")
        self.assertEqual("05:30\n05:30\n", ran.out)
        self.assertEqual("00:00\n", self.ok("job.sh").out)

    def test_one_that_does_not_exist_is_refused(self):
        for zone in ("Mars/Base", "../../etc/passwd", "/etc/localtime"):
            ran = self.cicada("run", "--tz", zone, "-c", "1")
            self.assertEqual(2, ran.code, ran)
            self.assertIn("write one like Europe/Berlin", ran.err)
