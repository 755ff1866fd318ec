"""Runs in bash and JavaScript: one process each, beside a Python that keeps its variables."""
import os
import pathlib
import unittest

from base import KernelTest
from client import Kernel

HAS_NODE = os.access("/usr/bin/node", os.X_OK)


class LanguageTest(KernelTest):
    def bash(self, code, **options):
        return self.kernel.run(code, language="bash", **options)

    def node(self, code, **options):
        return self.kernel.run(code, language="javascript", **options)

    def assert_ok(self, run):
        self.assertIsNone(run.error, f"{run.error} {run.stderr}")
        return run

    def running(self, marker):
        """Processes whose command line has the marker, those that have ended but are not waited for
        aside."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if marker.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found


class Bash(LanguageTest):
    def test_it_runs_in_the_data_directory_and_python_does_not_notice(self):
        self.run_ok("x = 41")
        run = self.assert_ok(self.bash("pwd; echo hello > note.txt; x=5; echo $BASH_VERSION >&2"))
        self.assertEqual(run.stdout, self.kernel.where + "\n")
        self.assertRegex(run.stderr, r"^\d+\.")
        self.assertEqual(self.text("x + 1, open('note.txt').read()"), "(42, 'hello\\n')")

    def test_nothing_is_kept_between_two_runs_but_files(self):
        self.assert_ok(self.bash("v=1; cd /; export W=2; f() { :; }; umask 0"))
        run = self.assert_ok(self.bash('echo "[$v][$W]"; pwd; type f 2>&1 | head -1; umask'))
        lines = run.stdout.splitlines()
        self.assertEqual(lines[:2] + lines[3:], ["[][]", self.kernel.where, "0022"])

    def test_errors_name_the_line(self):
        run = self.bash("echo a\n\nnosuchcommand\necho b")
        self.assert_ok(run)
        self.assertEqual(run.stdout, "a\nb\n")
        self.assertIn("line 3: nosuchcommand: command not found", run.stderr)

    def test_a_status_other_than_0_is_an_error(self):
        self.assertEqual(self.bash("echo x; exit 3").error,
                         {"name": "ExitStatus", "message": "bash ended with status 3", "line": None,
                          "traceback": ""})
        self.assertEqual(self.bash("false").error["message"], "bash ended with status 1")
        self.assertEqual(self.bash("if (").error["message"], "bash ended with status 2")
        self.assertEqual(self.bash("set -e; false; echo no").stdout, "")

    def test_death_by_a_signal_is_an_error(self):
        for name in "SEGV", "KILL", "TERM":
            error = self.bash(f"kill -{name} $$").error
            self.assertEqual((error["name"], error["message"]), ("Signal", f"bash was killed by SIG{name}"))

    def test_input_is_what_was_given_or_nothing(self):
        self.assertEqual(self.bash("cat; echo .", stdin="one\ntwo\n").stdout, "one\ntwo\n.\n")
        self.assertEqual(self.bash("cat; echo .").stdout, ".\n")
        self.assertEqual(self.bash("wc -c", stdin=b"x" * 3_000_000).stdout.strip(), "3000000")

    def test_the_environment_is_the_sessions_and_the_runs(self):
        self.run_ok("import os; os.environ['A'] = 'session'; os.environ['B'] = 'session'")
        run = self.bash('echo "$A $B $C $TZ"', env=["B=early", "C=run", "B=late"])
        self.assertEqual(run.stdout, "session late run UTC\n")
        self.assertEqual(self.bash('echo "$A $B [$C]"').stdout, "session session []\n")
        self.assertEqual(self.bash("env | grep -c CICADA").stdout, "0\n")
        self.run_ok("del os.environ['A'], os.environ['B']")

    def test_signals_are_those_of_a_shell(self):
        run = self.assert_ok(self.bash("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2; yes | head -1"))
        blocked, ignored, yes = run.stdout.split()
        self.assertEqual((int(blocked, 16), int(ignored, 16) & 0x7FFFFFFF, yes), (0, 0, "y"))  # 32, 33: libc's

    def test_it_has_no_descriptors_of_the_kernel(self):
        self.run_ok("import os; leaked = os.open('/', 0); os.set_inheritable(leaked, True)")
        self.assertEqual(self.bash("ls /proc/$BASHPID/fd | tr '\\n' ' '").stdout, "0 1 2 3 9 ")
        self.run_ok("os.close(leaked)")

    def test_code_of_the_largest_size(self):
        code = "v=" + "x" * ((4 << 20) - 12) + "\necho ${#v}"
        self.assertEqual(self.assert_ok(self.bash(code)).stdout, f"{(4 << 20) - 12}\n")
        self.assertEqual(self.bash("").events, [])

    def test_much_output_arrives_whole(self):
        run = self.assert_ok(self.bash("seq 200000; seq 200000 >&2"))
        self.assertEqual(run.stdout, "".join(f"{i}\n" for i in range(1, 200001)))
        self.assertEqual(run.stderr, run.stdout)

    def test_what_it_leaves_running_ends_with_the_run(self):
        run = self.assert_ok(self.bash("sleep 98765 & (trap '' TERM INT HUP; sleep 98765) & echo $!"))
        self.assertNotEqual(run.stdout, "")
        self.assertEqual(self.running("98765"), [])

    def test_it_leaves_no_child_and_no_file(self):
        before = self.text("import os; sorted(os.listdir('/proc/self/fd'))")
        self.assert_ok(self.bash("true", stdin="x"))
        self.assertEqual(self.text("sorted(os.listdir('/proc/self/fd'))"), before)
        self.assertEqual(self.text("os.listdir(os.environ['TMPDIR'])"), "[]")
        self.assertEqual(self.text("open('/proc/self/task/%d/children' % os.getpid()).read()"), "''")

    def test_an_unknown_language_is_an_error(self):
        self.assertEqual(self.kernel.run("x", language=77).error["name"], "NotInstalled")
        self.assertEqual(self.text("1"), "1")


class Interrupts(LanguageTest):
    def begin(self, code, language="bash"):
        run = self.kernel.begin(code, language=language)
        self.kernel.wait_for(run, "go")
        return run

    def interrupt(self, run):
        self.kernel.interrupt()
        return self.kernel.finish(run, 20)

    def test_the_group_is_interrupted(self):
        self.run_ok("x = 1")
        error = self.interrupt(self.begin("echo go; sleep 100")).error
        self.assertEqual((error["name"], error["message"]), ("Signal", "bash was killed by SIGINT"))
        error = self.interrupt(self.begin("echo go; while :; do :; done")).error
        self.assertEqual(error["message"], "bash was killed by SIGINT")
        self.assertEqual(self.text("x"), "1")

    def test_code_may_handle_it(self):
        run = self.interrupt(self.begin("trap 'echo caught; exit 4' INT\necho go; sleep 100 & wait"))
        self.assertEqual((run.stdout, run.error["message"]), ("go\ncaught\n", "bash ended with status 4"))

    def test_the_second_kills_what_does_not_listen_and_python_lives_on(self):
        self.run_ok("x = 2")
        run = self.begin("trap '' INT TERM\necho go; while :; do sleep 1; done")
        self.kernel.interrupt()
        with self.assertRaises(TimeoutError):
            self.kernel.finish(run, 0.3)
        self.assertEqual(self.interrupt(run).error["message"], "bash was killed by SIGKILL")
        self.assertEqual(self.text("x"), "2")

    def test_a_handler_of_python_is_back_afterwards(self):
        self.run_ok("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)")
        self.assertEqual(self.bash("exit 5").error["message"], "bash ended with status 5")
        self.assertEqual(self.text("signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN"), "True")
        self.run_ok("signal.signal(signal.SIGCHLD, signal.SIG_DFL);")
        run = self.kernel.begin("import time\nprint('go')\ntime.sleep(100)")
        self.kernel.wait_for(run, "go")
        self.assertEqual(self.interrupt(run).error["name"], "KeyboardInterrupt")

    def test_an_interrupt_while_idle_hits_nobody(self):
        for _ in range(20):
            self.kernel.interrupt()
            self.assertEqual(self.assert_ok(self.bash("echo 1")).stdout, "1\n")


class StrangePython(LanguageTest):
    """What a session can do to Python does not matter to bash."""

    def test_builtins_and_modules_gone(self):
        with Kernel() as k:
            k.run("import os, sys, builtins, subprocess\ndel os.fork, os.execve, subprocess.Popen\n"
                  "for name in list(sys.modules): sys.modules[name] = None\n"
                  "builtins.__dict__.clear()")
            self.assertEqual(k.run("echo fine", language="bash").stdout, "fine\n")

    def test_streams_and_descriptors_gone(self):
        with Kernel() as k:
            k.run("import os, sys\nsys.stdout = None\nos.close(0)\nos.chdir('/')")
            run = k.run("cat; pwd", language="bash", stdin="in ")
            self.assertEqual(run.stdout, f"in {k.where}\n" if k.image else "in /\n")
            k.run("os.close(2)")
            run = k.run("echo out; echo err >&2; exit 6", language="bash")
            self.assertEqual((run.stdout, run.error["message"]), ("out\n", "bash ended with status 6"))

    def test_pipes_that_do_not_block(self):
        self.run_ok("import os; os.set_blocking(1, False)")
        self.assertEqual(len(self.assert_ok(self.bash("seq 100000")).stdout), 588895)
        self.assertEqual(self.text("os.get_blocking(1)"), "False")
        self.run_ok("os.set_blocking(1, True)")

    def test_threads_go_on_beside_it(self):
        self.run_ok("import threading, time\nticks = []\nstop = threading.Event()\ndef tick():\n"
                    "    while not stop.is_set():\n        ticks.append(1); time.sleep(0.001)\n"
                    "t = threading.Thread(target=tick)\nt.start()")
        self.assert_ok(self.bash("sleep 0.3"))
        self.assertGreater(int(self.text("len(ticks)")), 50)
        self.run_ok("stop.set(); t.join()")

    def test_a_thread_that_waits_for_all_children(self):
        self.run_ok("import os, threading, time\nstop = threading.Event()\ndef reap():\n"
                    "    while not stop.is_set():\n        try: os.wait()\n"
                    "        except ChildProcessError: time.sleep(0.001)\n"
                    "t = threading.Thread(target=reap)\nt.start()")
        for _ in range(5):
            run = self.bash("echo done")
            self.assertEqual(run.stdout, "done\n")
            self.assertIn(run.error and run.error["name"], (None, "ExitStatus"))
        self.run_ok("stop.set(); t.join()")


@unittest.skipUnless(HAS_NODE, "there is no node here")
class JavaScript(LanguageTest):
    def test_it_is_as_a_file_in_the_data_directory(self):
        self.run_ok("x = 3\nopen('part.js', 'w').write('exports.n = 41')\n"
                    "open('part.mjs', 'w').write('export const n = 42; export default 7')")
        run = self.assert_ok(self.node(
            "const {n} = require('./part.js');\n"
            "console.log(n, __filename, require.main === module, process.argv.length);\n"
            "require('fs').writeFileSync('made.txt', 'by node');", name="main.js"))
        self.assertEqual(run.stdout, f"41 {self.kernel.where}/main.js true 2\n")
        self.assertEqual(self.text("x, open('made.txt').read()"), "(3, 'by node')")

    def test_modules_and_await(self):
        self.run_ok("open('part.mjs', 'w').write('export const n = 42; export default 7')")
        run = self.assert_ok(self.node(
            "import fs, {existsSync} from 'fs';\nimport seven, {n} from './part.mjs';\n"
            "console.log(n + seven, existsSync('part.mjs'), fs.existsSync === existsSync,\n"
            "  await Promise.resolve(5), typeof import.meta.url);"))
        self.assertEqual((run.stdout, run.stderr), ("49 true true 5 string\n", ""))
        run = self.assert_ok(self.node("const os = require('os');\nconst {n} = await import('./part.mjs');\n"
                                       "console.log(typeof os.EOL, n)"))
        self.assertEqual(run.stdout, "string 42\n")
        run = self.assert_ok(self.node("for await (const x of [1, 2]) console.log(x, await 3);\nexport default 1"))
        self.assertEqual(run.stdout, "1 3\n2 3\n")
        self.assertIn("cell.js:2\nlet y = ;", self.node("import 'fs';\nlet y = ;").stderr)

    def test_uncaught_exceptions_are_as_node_prints_them(self):
        run = self.node("\nfunction f() {\n  throw new TypeError('bad');\n}\nf();", name="broken.js")
        self.assertEqual((run.error["name"], run.error["message"]),
                         ("ExitStatus", "node ended with status 1"))
        self.assertIn("broken.js:3\n  throw new TypeError('bad');\n  ^\n\nTypeError: bad\n    at f (",
                      run.stderr)
        self.assertIn("SyntaxError", self.node("let x = ;").stderr)
        self.assertIn("Error: later", self.node("await 1;\nthrow new Error('later')").stderr)
        self.assertIn("Error: nobody", self.node("Promise.reject(new Error('nobody'))").stderr)
        self.assertEqual(self.node("process.exit(7)").error["message"], "node ended with status 7")

    def test_input_output_and_environment(self):
        run = self.assert_ok(self.node(
            "let text = '';\nprocess.stdin.on('data', d => text += d).on('end', () => {\n"
            "  console.log(text.trim(), process.env.A); console.error('e'); });", stdin="in\n", env=["A=b"]))
        self.assertEqual((run.stdout, run.stderr), ("in b\n", "e\n"))
        run = self.assert_ok(self.node("for (let i = 0; i < 100000; i++) console.log(i)"))
        self.assertEqual(run.stdout, "".join(f"{i}\n" for i in range(100000)))

    def test_code_of_the_largest_size_and_unusual_names(self):
        code = "const s = '" + "x" * ((4 << 20) - 40) + "';\nconsole.log(s.length)"
        self.assertEqual(self.assert_ok(self.node(code)).stdout, f"{(4 << 20) - 40}\n")
        for name in "-e.js", "--version", "<cell 3>", "a b.js", "":
            self.assertEqual(self.assert_ok(self.node("console.log(1)", name=name)).stdout, "1\n", name)

    def test_interrupts(self):
        self.run_ok("x = 4")
        for code in ("console.log('go'); for (;;);", "console.log('go'); setTimeout(() => {}, 1e6)"):
            run = self.kernel.begin(code, language="javascript")
            self.kernel.wait_for(run, "go")
            self.kernel.interrupt()
            self.assertEqual(self.kernel.finish(run, 20).error["message"], "node was killed by SIGINT")
        self.assertEqual(self.text("x"), "4")

    def test_one_that_was_killed_leaves_the_pipes_in_order(self):
        self.node("process.kill(process.pid, 'SIGKILL')")
        self.assertEqual(len(self.assert_ok(self.bash("seq 100000")).stdout), 588895)
        self.assertEqual(self.out("print('x' * 200000)"), "x" * 200000 + "\n")


class Zones(KernelTest):
    def test_enter_sets_the_zone_for_python_and_its_children(self):
        with Kernel() as k:
            k.enter(["TZ=Asia/Kolkata"])
            self.assertEqual(k.run("import time; time.localtime(0)[3:5], time.tzname[0]").text,
                             "((5, 30), 'IST')")
            self.assertEqual(k.run("date -d @0 +%H:%M", language="bash").stdout, "05:30\n")


if __name__ == "__main__":
    unittest.main()
