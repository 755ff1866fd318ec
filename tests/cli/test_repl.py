"""`cicada repl`: from a pipe, and in a terminal as a person uses it."""
import errno
import fcntl
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import termios
import time

from harness import CICADA, PATIENCE_S
from served import Served, scripted
from standin import refuse

# What a terminal obeys rather than shows.
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][0-9A-Za-z]?|[\x00\x07\x0f]")


class Terminal:
    """A terminal with `cicada repl` in it."""

    def __init__(self, case, *words, columns=100):
        self.case = case
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.child = subprocess.Popen(
            [CICADA, "repl", *words], stdin=slave, stdout=slave, stderr=slave, cwd=case.here,
            env=case.environment(TERM="xterm"), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        case.started.append(self.child)
        self.seen = b""

    def read_some(self, timeout):
        ready, _, _ = select.select([self.master], [], [], timeout)
        if not ready:
            return False
        try:
            more = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.seen += more
        return bool(more)

    def expect(self, pattern):
        """Waits for it; returns what came up to its end, without what steers the terminal."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            text = CONTROL.sub(b"", self.seen)
            found = re.search(pattern.encode(), text)
            if found:
                self.seen = text[found.end():]
                return text[:found.end()].decode(errors="replace").replace("\r", "")
            if time.monotonic() > deadline or not self.read_some(max(0.01, deadline - time.monotonic())):
                self.case.fail(f"{pattern!r} did not come; instead: {text[-2000:]!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def line(self, text, prompt=">>> "):
        """Types a line and waits for the next prompt; returns what came in between."""
        self.type(text + "\r")
        return self.expect(prompt)

    def end(self):
        while self.read_some(PATIENCE_S):
            pass
        os.close(self.master)
        return self.child.wait(PATIENCE_S)


class Piped(Served):
    def repl(self, text, *words, code=0):
        ran = self.cicada("repl", *words, stdin=text.encode())
        self.assertEqual(code, ran.code, ran)
        return ran

    def test_lines_run_one_after_the_other(self):
        ran = self.repl("x = 20\nx + 1\nprint('hi')\n")
        self.assertEqual("21\nhi\n", ran.out)
        self.assertEqual("", ran.err)

    def test_blocks_end_with_an_empty_line_or_the_input(self):
        ran = self.repl("for i in range(2):\n    print(i)\n\nprint('then')\nif True:\n    print('last')")
        self.assertEqual("0\n1\nthen\nlast\n", ran.out)

    def test_brackets_and_strings_go_on(self):
        self.assertEqual("[1, 2]\n'a\\n\\nb'\n", self.repl("[1,\n\n2]\n'''a\n\nb'''\n").out)

    def test_an_error_does_not_end_it(self):
        ran = self.repl("boom\n1 + 1\n")
        self.assertEqual("2\n", ran.out)
        self.assertIn("NameError", ran.err)

    def test_a_session_without_a_name_is_gone_afterwards(self):
        self.repl("1\n")
        self.assertEqual([], self.objects("sessions", "ls"))

    def test_a_named_one_stays(self):
        self.repl("x = 7\n", "--session", "work")
        self.assertEqual("7\n", self.repl("x\n", "--session", "work").out)

    def test_naming_it_keeps_it(self):
        self.repl("x = 7\n:name kept\n")
        self.assertEqual("7\n", self.repl("x\n", "-s", "kept").out)

    def test_commands(self):
        self.good("sessions", "create", "work", "--snapshots", "3")
        if self.real and not self.object("sessions", "show", "work")["baked"]:
            self.skipTest("there is no image")
        ran = self.repl("x = 1\nx = 2\n:rollback\nx\n:fork twin\n:vars\n:sleep\nx\n:restart\nx\n:quit\nprint(9)\n", "-s", "work")
        self.assertEqual("1\n", ran.out.split("x\t")[0])
        self.assertIn("x\tint\t1\n", ran.out)
        self.assertNotIn("9", ran.out)
        self.assertIn("NameError", ran.err)
        self.assertIn("cicada repl --session twin", ran.err)
        self.assertEqual("1\n", self.repl("x\n", "-s", "twin").out)

    def test_help_and_mistakes(self):
        ran = self.repl(":help\n:hepl\n:xyz\n:rollback many\n:name\n")
        self.assertIn(":rollback [N]", ran.out)
        self.assertIn("did you mean :help?", ran.err)
        self.assertIn(":help lists", ran.err)
        self.assertIn("'many' is not a whole number", ran.err)
        self.assertIn("write :name NAME", ran.err)

    def test_inspection(self):
        ran = self.repl("?len\nlen?\n?nothing\n")
        self.assertEqual(2, ran.out.count("Return the number of items in a container."))
        self.assertIn("'nothing' is not defined", ran.err)

    def test_wrong_command_lines(self):
        self.fails(2, "repl", "work")
        self.fails(2, "repl", "--sesion", "work")
        self.fails(2, "repl", "-s", "ses_000000000000000000000000")

    @scripted
    def test_a_refusal_does_not_end_it(self):
        path = "/api/v1/sessions"
        self.good("sessions", "create", "work")
        runs = f"{path}/{self.object('sessions', 'show', 'work')['id']}/runs"
        self.world.faults.append(refuse("POST", runs, 500, "internal_error", "oh no"))
        ran = self.repl("1\n2\n", "-s", "work")
        self.assertEqual("2\n", ran.out)
        self.assertIn("oh no", ran.err)

    def test_figures_are_saved(self):
        code = "plot()" if self.standin else "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()"
        self.assertRegex(self.repl(code + "\n").err, r"figure saved as .*figure-1\.png")

    def test_output_that_nobody_reads_ends_it(self):
        child = self.start("repl", stdin=subprocess.PIPE)
        child.stdin.write(b"for i in range(10**9): print(i)\n\nprint('never')\n")
        child.stdin.flush()
        child.stdout.readline()
        child.stdout.close()
        child.stdin.close()
        self.assertEqual(141, child.wait(PATIENCE_S), child.stderr.read())
        child.stderr.close()


class Typed(Served):
    def test_a_conversation(self):
        t = Terminal(self)
        self.assertIn(":help lists commands", t.expect(">>> "))
        self.assertIn("42\n", t.line("6 * 7"))
        t.line("def f():", r"\.\.\. ")
        t.line("    return 5", r"\.\.\. ")
        t.line("")
        self.assertIn("5\n", t.line("f()"))
        t.type("\x04")
        self.assertEqual(0, t.end())
        self.assertEqual([], self.objects("sessions", "ls"))

    def test_output_comes_while_it_is_printed(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.type("import time\r")
        t.expect(">>> ")
        t.type("print('first', flush=True); time.sleep(600)\r")
        t.expect("\nfirst")
        t.type("\x03")
        t.expect("KeyboardInterrupt")
        t.expect(">>> ")
        t.type("\x04")
        self.assertEqual(0, t.end())

    def test_ctrl_c_interrupts_the_code_and_keeps_the_variables(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.line("x = 1; import time")
        t.type("print('re' + 'ady', flush=True); time.sleep(600)\r")
        t.expect("ready")
        t.type("\x03")
        t.expect("KeyboardInterrupt")
        t.expect(">>> ")
        self.assertIn("1\n", t.line("x"))
        t.type("\x04")
        self.assertEqual(0, t.end())

    def test_ctrl_c_forgets_the_line_and_the_block(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.type("boom\x03")
        t.expect(r"\^C")
        t.expect(">>> ")
        self.assertIn("12\n", t.line("3 * 4"))
        t.line("if True:", r"\.\.\. ")
        t.type("    print(1)\x03")
        t.expect(">>> ")
        self.assertNotIn("1\n", t.line("'next'").replace("print(1)", ""))
        t.type("\x04")
        self.assertEqual(0, t.end())

    def test_tab_completes(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.line("unmistakable_name = 'found it'")
        t.type("unmist\t")
        t.expect("akable_name")  # the rest of it
        self.assertIn("found it", t.line(""))
        t.type("pr\t")
        t.expect("print +property")
        t.expect(">>> pr")  # the line again, below the choices
        t.type("\x03")
        t.expect(">>> ")
        t.line("if True:", r"\.\.\. ")
        t.type("\tprint('indented')\r")
        t.expect(r"\.\.\. ")
        t.type("\r")
        t.expect("\nindented")
        t.expect(">>> ")
        t.type("\x04")
        self.assertEqual(0, t.end())

    def test_history_is_kept_for_the_next_time_and_private(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.line("print('re' + 'membered')")
        t.type("\x1b[A\r")
        t.expect("remembered")
        t.expect(">>> ")
        t.type("\x04")
        self.assertEqual(0, t.end())
        path = self.place / "state" / "cicada" / "history"
        self.assertEqual(0o600, stat.S_IMODE(path.stat().st_mode))
        again = Terminal(self)
        again.expect(">>> ")
        again.type("\x1b[A\r")
        again.expect("\nremembered")
        again.expect(">>> ")
        again.type("\x04")
        self.assertEqual(0, again.end())

    def test_letters_beyond_ascii(self):
        t = Terminal(self)
        t.expect(">>> ")
        self.assertIn("grüße 日本", t.line("print('grü' + 'ße 日' + '本')"))
        t.type("\x04")
        self.assertEqual(0, t.end())

    def test_errors_are_red(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.type("boom\r")
        deadline = time.monotonic() + PATIENCE_S
        while b"\x1b[31m" not in t.seen and time.monotonic() < deadline:
            t.read_some(1)
        self.assertIn(b"\x1b[31m", t.seen)
        t.expect("NameError")
        t.expect(">>> ")
        t.type("\x04")
        self.assertEqual(0, t.end())

    def test_a_window_that_changes_its_size(self):
        t = Terminal(self)
        t.expect(">>> ")
        fcntl.ioctl(t.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        self.assertIn("7\n", t.line("3 + 4"))
        t.type("\x04")
        self.assertEqual(0, t.end())

    def test_a_terminal_that_goes_away(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.line("x = 1")
        os.close(t.master)
        self.assertIsNotNone(t.child.wait(PATIENCE_S))
        self.assertEqual([], self.objects("sessions", "ls"))

    def test_quit_and_sigterm(self):
        t = Terminal(self)
        t.expect(">>> ")
        t.type(":quit\r")
        self.assertEqual(0, t.end())
        t = Terminal(self)
        t.expect(">>> ")
        t.child.send_signal(signal.SIGTERM)
        self.assertEqual(0, t.end())
        self.assertEqual([], self.objects("sessions", "ls"))
