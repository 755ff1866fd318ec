"""What goes to which stream, unchanged; ends and their exit codes."""
import os
import pty
import re
import select

from harness import CICADA, Case, PATIENCE_S

# Together: without a cgroup, one process alone gets a MemoryError before it is over the limit.
OVER_MEMORY = "import os, time\nfor i in range(4):\n    if os.fork() == 0:\n" \
              "        x = bytearray(b'x') * (90 << 20)\n        time.sleep(600)\ntime.sleep(600)"


class Streams(Case):
    def test_stdout_and_stderr_stay_apart(self):
        ran = self.ok("-c", "import sys; print('out'); print('err', file=sys.stderr)")
        self.assertEqual(("out\n", "err\n"), (ran.out, ran.err))

    def test_bytes_come_out_unchanged(self):
        code = "import os; os.write(1, bytes(range(256)) * 500); os.write(2, bytes(range(256)));"
        ran = self.ok("-c", code)
        self.assertEqual(bytes(range(256)) * 500, ran.raw_out)
        self.assertEqual(bytes(range(256)), ran.raw_err)

    def test_unicode(self):
        text = "Grüße 日本語 🦗 \u202e \u2028"
        self.assertEqual(text + "\n", self.ok("-c", f"print({text!r})").out)
        self.assertEqual(repr(text) + "\n", self.ok("-c", f"{text!r}").out)

    def test_a_line_is_not_ended_for_the_code(self):
        ran = self.ok("-c", "import sys; print('a', end=''); sys.stderr.write('b');")
        self.assertEqual(("a", "b"), (ran.out, ran.err))

    def test_output_of_processes_is_output(self):
        ran = self.ok("-c", "import subprocess; subprocess.run('echo o; echo e >&2', shell=True);")
        self.assertEqual(("o\n", "e\n"), (ran.out, ran.err))

    def test_the_last_expression_is_printed_and_none_is_not(self):
        self.assertEqual("42\n", self.ok("-c", "6 * 7").out)
        self.assertEqual("'a'\n", self.ok("-c", "'a'").out)
        self.assertEqual("", self.ok("-c", "None").out)
        self.assertEqual("", self.ok("-c", "x = 1").out)
        self.assertEqual("", self.ok("-c", "6 * 7;").out)

    def test_it_is_streamed_while_the_code_runs(self):
        child = self.start("run", "-c", "import time; print('first'); time.sleep(3600)")
        ready, _, _ = select.select([child.stdout], [], [], PATIENCE_S)
        self.assertTrue(ready, "nothing came while the code ran")
        self.assertEqual(b"first\n", child.stdout.readline())
        child.terminate()
        self.assertEqual(130, self.finish(child).code)

    def test_of_long_output_beginning_and_end_are_shown(self):
        code = "for i in range(100000): print(f'{i:09}')"
        ran = self.ok("-c", code, "--output", "10k")
        self.assertTrue(ran.out.startswith("000000000\n000000001\n"))
        self.assertTrue(ran.out.endswith("\n000099999\n"))
        self.assertEqual(10240, len(ran.raw_out))
        self.assertEqual(1, ran.err.count("left out of the middle of standard output"), ran.err)
        self.assertIn("--output", ran.err)

    def test_output_that_just_fits_is_whole(self):
        ran = self.ok("-c", "print('x' * 10239)", "--output", "10k")
        self.assertEqual("x" * 10239 + "\n", ran.out)
        self.assertEqual("", ran.err)

    def test_tracebacks_go_to_stderr(self):
        ran = self.cicada("run", "-c", "print('before')\nraise ValueError('the reason')")
        self.assertEqual((1, "before\n"), (ran.code, ran.out))
        self.assertIn("Traceback", ran.err)
        self.assertIn("ValueError: the reason", ran.err)

    def test_no_colours_where_there_is_no_terminal(self):
        ran = self.cicada("run", "-c", "1/0", "--timeout", "5")
        self.assertNotIn("\033", ran.out + ran.err)


class Ends(Case):
    def ended(self, code, *words):
        ran = self.cicada("run", *words)
        self.assertEqual(code, ran.code, ran)
        return ran.err

    def test_timeout(self):
        err = self.ended(124, "-c", "while True: pass", "--timeout", "0.5")
        self.assertRegex(err, r"cicada: ended by timeout after \d+\.\d s \(limit 0\.5 s\)")
        self.assertIn("--timeout", err)

    def test_memory(self):
        err = self.ended(137, "-c", OVER_MEMORY, "--memory", "128M")
        self.assertRegex(err, r"ended by memory: peak [\d.]+ MiB \(limit 128 MiB\)")

    def test_output_limit(self):
        code = "while True: print('x' * 65535)"
        err = self.ended(139, "-c", code)
        self.assertRegex(err, r"ended by output_limit: printed .* \(limit 64 MiB\)")

    def test_disk(self):
        code = "f = open('big', 'wb')\nfor i in range(100): f.write(bytes(1 << 20)); f.flush()\n" \
               "import time; time.sleep(30)"
        ran = self.cicada("run", "-c", code, "--disk", "20M")
        self.assertIn(ran.code, (1, 138), ran)  # EFBIG where the file limit is first
        two = "import time\nfor n in range(9):\n    open(str(n), 'wb').write(bytes(5 << 20))\n" \
              "time.sleep(30)"
        err = self.ended(138, "-c", two, "--disk", "20M")
        self.assertRegex(err, r"ended by disk: /mnt/data grew by .* \(limit 20 MiB")

    def test_a_crash_names_its_signal(self):
        err = self.ended(134, "-c", "import ctypes; ctypes.string_at(0)")
        self.assertIn("the interpreter crashed: SIGSEGV (Segmentation fault)", err)
        err = self.ended(134, "-c", "import os; os._exit(7)")
        self.assertIn("it exited with code 7", err)

    def test_an_error_has_no_second_note(self):
        err = self.ended(1, "-c", "1/0")
        self.assertNotIn("cicada:", err)

    def test_what_was_printed_before_the_end_is_there(self):
        ran = self.cicada("run", "-c", "print('before')\nwhile True: pass", "--timeout", "0.5")
        self.assertEqual((124, "before\n"), (ran.code, ran.out))
        ran = self.cicada("run", "-c", "print('before', end='')\nimport os; os.kill(os.getpid(), 11)")
        self.assertEqual((134, "before"), (ran.code, ran.out))


class Terminal(Case):
    """The same with a terminal on the other side."""

    def on_terminal(self, *words, **variables):
        """Everything that appears on a terminal, and the exit code."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.here)
            os.execve(CICADA, [CICADA, *words],
                      self.environment(**{"TERM": "xterm-256color", **variables}))
        seen = b""
        while True:
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        _, status = os.waitpid(pid, 0)
        os.close(fd)
        return seen.decode(errors="replace"), os.waitstatus_to_exitcode(status)

    def test_notes_are_coloured_unless_asked_not_to_be(self):
        words = ["run", "-c", "open('a', 'w').write('x'); None"]
        seen, code = self.on_terminal(*words)
        self.assertEqual(0, code)
        self.assertIn("\033[2mcicada: ", seen)
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            seen, _ = self.on_terminal(*words, **variables)
            self.assertNotIn("\033[", seen)
            self.assertIn("cicada: ", seen)

    def test_a_note_begins_on_a_line_of_its_own(self):
        seen, _ = self.on_terminal("run", "-c", "open('a', 'w'); print('no newline', end='')")
        self.assertIn("no newline\r\n\033[2mcicada: ", seen)

    def test_a_person_is_not_waited_for(self):
        seen, code = self.on_terminal("run")
        self.assertEqual(2, code)
        self.assertIn("nothing to run", seen)

    def test_names_of_files_cannot_steer_the_terminal(self):
        code = r"open('a\033]0;evil\007b\u009b31m', 'w')"
        seen, _ = self.on_terminal("run", "-c", code + "; None")
        self.assertIn("a?]0;evil?b?31m", seen)

    DRAW = "from IPython.display import display, Image\n" \
           "import base64\n" \
           "display(Image(base64.b64decode('%s')))"
    PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5"
             "ErkJggg==")

    def test_images_are_shown_the_way_the_terminal_understands(self):
        words = ["run", "--show", "-c", self.DRAW % self.PIXEL]
        seen, code = self.on_terminal(*words, CICADA_IMAGES="kitty")
        self.assertEqual(0, code, seen)
        self.assertRegex(seen, r"\033_Ga=T,f=100,q=2,m=0;" + re.escape(self.PIXEL) + r"\033\\")
        seen, _ = self.on_terminal(*words, TERM_PROGRAM="iTerm.app")
        self.assertRegex(seen, r"\033\]1337;File=inline=1;size=\d+:" + re.escape(self.PIXEL) + "\a")
        self.assertIn("figure saved as", seen)

    def test_sixels_are_made_by_the_session(self):
        seen, code = self.on_terminal("run", "--show", "-c", self.DRAW % self.PIXEL,
                                      CICADA_IMAGES="sixel")
        self.assertEqual(0, code, seen)
        self.assertRegex(seen, r'\033Pq"1;1;1;1#0;2;\d+;\d+;\d+#0@\$-\033\\')

    def test_a_terminal_without_images_is_told(self):
        seen, code = self.on_terminal("run", "--show", "-c", "1")
        self.assertEqual(0, code)
        self.assertIn("CICADA_IMAGES", seen)
        ran = self.ok("--show", "-c", "1")
        self.assertIn("no terminal", ran.err)
