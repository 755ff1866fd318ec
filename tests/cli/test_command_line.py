"""Options, mistakes and help."""
import os
import pathlib
import re
import subprocess

from harness import CICADA, Case, HERE


class Help(Case):
    def test_help_goes_to_stdout_and_is_the_same_in_every_spelling(self):
        first = self.cicada("help")
        self.assertEqual(0, first.code)
        self.assertIn("cicada run -c", first.out)
        for words in (["--help"], ["-h"]):
            self.assertEqual(first.out, self.cicada(*words).out)
        run = self.cicada("run", "--help")
        self.assertEqual(0, run.code)
        for words in (["run", "-h"], ["help", "run"], ["run", "--json", "-h"]):
            self.assertEqual(run.out, self.cicada(*words).out)
        for command in ("bake", "doctor", "version", "help"):
            ran = self.cicada(command, "--help")
            self.assertEqual(0, ran.code)
            self.assertIn(f"usage: cicada {command}", ran.out)

    def test_help_that_nobody_reads_says_so(self):
        for words in (["help"], ["help", "run"], ["run", "--help"], ["files", "--help"], ["locks", "--help"], ["version"],
                      ["config", "example"], ["mcp", "install", "--help"]):
            with self.subTest(words=words):
                theirs, ours = os.pipe()
                os.close(theirs)
                ran = subprocess.run([CICADA, *words], stdin=subprocess.DEVNULL, stdout=ours, stderr=subprocess.PIPE,
                                     text=True, timeout=60, check=False, restore_signals=False)  # SIGPIPE stays ignored
                os.close(ours)
                self.assertEqual((141, ""), (ran.returncode, ran.stderr))
                with open("/dev/full", "w") as full:
                    ran = subprocess.run([CICADA, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                                         text=True, timeout=60, check=False)
                self.assertEqual((125, "cicada: standard output: No space left on device\n"), (ran.returncode, ran.stderr))

    def test_every_option_and_exit_code_of_the_help_is_in_the_manual(self):
        manual = (HERE.parent.parent / "docs" / "cli.md").read_text()
        text = self.cicada("run", "--help").out
        options = re.findall(r"--([a-z]+)", text)
        self.assertGreater(len(options), 10)
        for option in options:
            self.assertIn(f"--{option}", manual)
        codes = re.findall(r"^ +(\d+)  ", text, re.MULTILINE) + re.findall(r"  (1\d\d)  ", text)
        self.assertGreater(len(set(codes)), 10)
        for code in codes:
            self.assertIn(f"| {code} |", manual)

    def test_version(self):
        for words in (["version"], ["--version"]):
            ran = self.cicada(*words)
            self.assertEqual(0, ran.code)
            self.assertRegex(ran.out, r"^cicada \d+\.\d+\.\d+\S*\n$")
        self.assertEqual(2, self.cicada("version", "now").code)


class Mistakes(Case):
    def refused(self, expected, *words, **more):
        ran = self.cicada(*words, **more)
        self.assertEqual(2, ran.code, ran)
        self.assertEqual("", ran.out)
        self.assertIn(expected, ran.err)
        return ran

    def test_no_command(self):
        self.refused("cicada help")

    def test_an_unknown_command_is_answered_with_the_likely_one(self):
        self.refused("did you mean 'run'?", "rum", "-c", "1")
        self.refused("`cicada help` lists", "frobnicate")

    def test_a_file_instead_of_a_command_is_answered_with_the_right_one(self):
        self.file("job.py", "1")
        self.refused("cicada run job.py", "job.py")

    def test_unknown_options(self):
        ran = self.refused("did you mean --timeout?", "run", "--timout", "5", "-c", "1")
        self.assertIn("cicada run --help", ran.err)
        self.refused("there is no option -x", "run", "-x")
        self.refused("takes no value", "run", "--json=1", "-c", "1")
        self.refused("there is no option --fast", "doctor", "--fast")
        self.refused("no operands", "doctor", "now")

    def test_missing_values(self):
        self.refused("-c needs a value", "run", "-c")
        self.refused("--timeout needs a value", "run", "-c", "1", "--timeout")

    def test_values_out_of_range_name_the_range(self):
        self.refused("not a size such as", "run", "-c", "1", "--memory", "lots")
        self.refused("between 32 and", "run", "-c", "1", "--memory", "1")
        self.refused("between 0.1 and 86400 seconds", "run", "-c", "1", "--timeout", "0")
        self.refused("not a number such as", "run", "-c", "1", "--timeout", "-3")
        self.refused("not a whole number", "run", "-c", "1", "--pids", "1.5")
        self.refused("cores", "run", "-c", "1", "--cpu", "0")
        self.refused("bytes", "run", "-c", "1", "--output", "1")
        self.refused("MiB", "run", "-c", "1", "--disk", "0")

    def test_nothing_to_run(self):
        self.refused("standard input was empty", "run")
        self.refused("give a FILE or -c CODE", "run", "--json")

    def test_code_that_cannot_be_read(self):
        self.refused("cannot read none.py: No such file", "run", "none.py")
        (self.here / "folder").mkdir()
        self.refused("folder is a directory", "run", "folder")

    def test_too_much_code(self):
        self.file("big.py", b"#" * (4 * 2**20 + 1))
        self.refused("bring it with -f", "run", "big.py")
        self.refused("larger than 4 MiB", "run", "-", stdin=b"#" * (4 * 2**20 + 1))

    def test_a_second_file(self):
        self.file("a.py", "1")
        self.refused("bring data with -f", "run", "a.py", "data.csv")

    def test_files_that_cannot_be_brought(self):
        self.refused("cannot bring none.csv: No such file", "run", "-c", "1", "-f", "none.csv")
        os.mkfifo(self.here / "pipe")
        self.refused("neither a file nor a directory", "run", "-c", "1", "-f", "pipe")
        self.file("a")
        self.refused("no name below /mnt/data", "run", "-c", "1", "-f", "a=../up")
        self.refused("no name below /mnt/data", "run", "-c", "1", "-f", "a=/etc/passwd")
        self.file("other/a")
        self.refused("two files would be called a", "run", "-c", "1", "-f", "a", "-f", "other/a")

    def test_an_out_directory_that_cannot_be(self):
        self.file("taken")
        self.refused("taken", "run", "-c", "1", "-o", "taken")
        self.refused("no/such/parent", "run", "-c", "1", "-o", "no/such/parent")

    def test_standard_input_cannot_be_two_things(self):
        self.refused("cannot be both", "run", "-", "--stdin", "-", stdin=b"1")

    def test_a_mistake_leaves_the_out_directory_unmade(self):
        self.refused("between", "run", "-c", "1", "-o", "out", "--memory", "1")
        self.assertFalse((self.here / "out").exists())


class Code(Case):
    def test_from_a_file_from_stdin_and_from_the_line(self):
        self.file("job.py", "print('file')")
        self.assertEqual("file\n", self.ok("job.py").out)
        self.assertEqual("in\n", self.ok("-", stdin=b"print('in')").out)
        self.assertEqual("in\n", self.ok(stdin=b"print('in')").out)
        self.assertEqual("line\n", self.ok("-c", "print('line')").out)
        self.assertEqual("line\n", self.ok("--code=print('line')").out)

    def test_a_file_whose_name_begins_with_a_dash(self):
        self.file("-c", "print('odd')")
        self.assertEqual("odd\n", self.ok("--", "-c").out)

    def test_empty_code_is_no_error_as_in_python(self):
        self.file("empty.py")
        for words in (["-c", ""], ["empty.py"]):
            self.assertEqual("", self.ok(*words).out)

    def test_pieces_run_in_order_in_one_session_up_to_the_first_failure(self):
        self.file("middle.py", "y = x + 1")
        self.assertEqual("42\n", self.ok("-c", "x = 41", "middle.py", "-c", "print(y)").out)
        ran = self.cicada("run", "-c", "print(1)", "-c", "1/0", "-c", "print(3)")
        self.assertEqual((1, "1\n"), (ran.code, ran.out))
        self.assertIn("ZeroDivisionError", ran.err)

    def test_the_largest_code_is_run(self):
        code = b"print(1)\n"
        self.file("big.py", code + b"#" * (4 * 2**20 - len(code)))
        self.assertEqual("1\n", self.ok("big.py").out)

    def test_tracebacks_name_the_file_without_its_directory(self):
        path = self.file("deep/er/job.py", "x = 1\nraise ValueError('no')\n")
        ran = self.cicada("run", str(path))
        self.assertEqual(1, ran.code)
        self.assertIn("job.py", ran.err)
        self.assertIn("ValueError: no", ran.err)
        self.assertNotIn(str(path.parent), ran.err)

    def test_input_reads_the_given_text(self):
        code = "print(input() + '|' + input())"
        self.file("lines", "c\nd\n")
        self.assertEqual("a|b\n", self.ok("-c", code, "--stdin", "a\nb\n").out)
        self.assertEqual("c|d\n", self.ok("-c", code, "--stdin", "@lines").out)
        self.assertEqual("e|f\n", self.ok("-c", code, "--stdin", "-", stdin=b"e\nf\n").out)
        ran = self.cicada("run", "-c", code)
        self.assertEqual(1, ran.code)

    def test_environment_variables(self):
        code = "import os; print(os.environ['A'], os.environ['B'])"
        self.assertEqual("1 x=y\n", self.ok("-c", code, "--env", "A=1", "--env=B=x=y").out)

    def test_nothing_of_our_own_environment_is_inside(self):
        env = self.environment(SECRET_OF_THE_HOST="s3cret")
        ran = self.ok("-c", "import os; print(sorted(os.environ.items()))", env=env)
        self.assertNotIn("s3cret", ran.out)
        self.assertNotIn(str(self.place), ran.out)


class Doctor(Case):
    def test_says_each_mechanism_and_that_a_sandbox_answers(self):
        ran = self.cicada("doctor")
        self.assertIn(ran.code, (0, 1), ran)
        self.assertIn("tier ", ran.out)
        self.assertIn("seccomp filter", ran.out)
        self.assertRegex(ran.out, r"started in [\d.]+ ms, answered 1\+1 in [\d.]+ ms")
        self.assertRegex(ran.out, r"encoder    (use-lite-q8|none, .*\./dev encoder)")

    def test_as_json_and_the_exit_code_is_the_tier(self):
        import json
        ran = self.cicada("doctor", "--json")
        found = json.loads(ran.out)
        self.assertEqual(ran.code, 0 if found["tier"] == "full" else 1, ran)
        self.assertEqual(os.uname().release, found["kernel"])
        self.assertIs(True, found["sandbox"]["answered"])
        encoder = found["encoder"]
        self.assertEqual(encoder["available"], encoder["error"] is None, encoder)
        self.assertEqual(encoder["available"], encoder["model"] is not None, encoder)
        listed = (HERE.parent.parent / "src/wire/mechanism.def").read_text().count("\nMECHANISM(")
        self.assertEqual(listed, len(found["mechanisms"]))
        for mechanism in found["mechanisms"]:
            self.assertTrue(mechanism["name"] and mechanism["meaning"])
            self.assertEqual(mechanism["active"], mechanism["error"] is None)
            self.assertEqual(mechanism["active"], mechanism["remedy"] is None)

    def test_without_its_programs_it_says_what_is_missing(self):
        import shutil
        import subprocess
        from harness import CICADA
        alone = self.here / "cicada"
        shutil.copy(CICADA, alone)
        for words, text in ((["doctor"], "failed: "), (["run", "-c", "1"], "cicada: ")):
            ran = subprocess.run([alone, *words], capture_output=True, text=True, check=False)
            self.assertEqual(125, ran.returncode)
            self.assertIn(text, ran.stdout + ran.stderr)
            self.assertIn("build or install all of them", ran.stdout + ran.stderr)
