"""Ctrl-C, closed pipes, killed processes, many at once: what is left is nothing."""
import array
import fcntl
import os
import signal
import subprocess
import termios
import threading
import time

from harness import CICADA, Case, PATIENCE_S, await_true, children, reap

SLEEP = "import time; print('ready', flush=True); time.sleep(3600)"


class Signals(Case):
    def test_a_signal_cancels_the_run(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            begun = time.monotonic()
            ran = self.interrupt_when(self.start("run", "-c", SLEEP), b"ready", [number])
            self.assertEqual(130, ran.code, ran)
            self.assertIn("cicada: cancelled after", ran.err)
            self.assertLess(time.monotonic() - begun, 30)

    def test_code_that_does_not_listen_is_ended_all_the_same(self):
        stubborn = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" \
                   "print('ready', flush=True)\nwhile True: time.sleep(1)"
        ran = self.interrupt_when(self.start("run", "-c", stubborn), b"ready")
        self.assertEqual(130, ran.code, ran)

    def test_files_made_before_are_kept(self):
        code = "open('a', 'w').write('kept')\n" + SLEEP
        ran = self.interrupt_when(self.start("run", "-c", code, "-o", "out"), b"ready")
        self.assertEqual(130, ran.code)
        self.assertEqual({"a": b"kept"}, self.tree("out"))

    def test_later_pieces_are_not_run(self):
        ran = self.interrupt_when(self.start("run", "-c", SLEEP, "-c", "print('never')"), b"ready")
        self.assertEqual((130, ""), (ran.code, ran.out))

    def test_the_whole_group_as_a_terminal_does_it(self):
        child = self.start("run", "-c", SLEEP, start_new_session=True)
        self.assertIn(b"ready", child.stdout.readline())
        os.killpg(child.pid, signal.SIGINT)
        ran = self.finish(child)
        self.assertEqual(130, ran.code, ran)
        self.assertIn("cancelled", ran.err)

    def test_at_any_moment(self):
        """From the first instruction on: it either dies of the signal or ends cleanly."""
        for delay_ms in range(0, 60, 4):
            child = self.start("run", "-c", SLEEP)
            time.sleep(delay_ms / 1000)
            child.send_signal(signal.SIGINT)
            ran = self.finish(child)
            self.assertIn(ran.code, (130, -signal.SIGINT), f"after {delay_ms} ms: {ran}")
        # One that died while it made its directory is swept by the next.
        self.ok("-c", "1")

    def test_as_json_the_object_says_cancelled(self):
        import json
        child = self.start("run", "--json", "-c", "open('mark', 'w')\nimport time; time.sleep(3600)")
        await_true("the code runs", lambda: list(self.work.glob("*/data/mark")))
        child.send_signal(signal.SIGINT)
        ran = self.finish(child)
        self.assertEqual(130, ran.code)
        self.assertEqual("cancelled", json.loads(ran.out)["end"])


class Pipes(Case):
    def test_a_reader_that_goes_away_ends_the_run(self):
        code = "import itertools\nfor i in itertools.count(): print(i)"
        child = self.start("run", "-c", code)
        self.assertEqual(b"0\n", child.stdout.readline())
        child.stdout.close()
        err = child.stderr.read()
        self.assertEqual(141, child.wait(PATIENCE_S), err)
        child.stderr.close()
        self.assertNotIn(b"cicada:", err)

    def test_head(self):
        line = f"{CICADA} run -c 'for i in range(10**9): print(i)' | head -1"
        ran = subprocess.run(line, shell=True, capture_output=True, text=True, check=False,
                             env=self.environment(), timeout=PATIENCE_S)
        self.assertEqual(("0\n", ""), (ran.stdout, ran.stderr))

    def test_files_are_delivered_although_nobody_reads(self):
        line = f"{CICADA} run -c \"open('a', 'w').write('kept')\nwhile True: print(1)\" -o out | head -1"
        ran = subprocess.run(line, shell=True, cwd=self.here, capture_output=True, text=True,
                             check=False, env=self.environment(), timeout=PATIENCE_S)
        self.assertEqual(("1\n", ""), (ran.stdout, ran.stderr))
        self.assertEqual({"a": b"kept"}, self.tree("out"))

    def test_an_object_that_nobody_reads_can_be_interrupted(self):
        code = "print('x' * 400000)"
        child = self.start("run", "--json", "-c", code)
        full = array.array("i", [0])
        await_true("the pipe is full", lambda: (fcntl.ioctl(child.stdout, termios.FIONREAD, full),
                                                full[0] >= 20000)[1])
        child.send_signal(signal.SIGINT)
        self.assertEqual(130, child.wait(PATIENCE_S))

    def test_a_reader_that_does_not_read_can_be_interrupted(self):
        child = self.start("run", "-c", "open('mark', 'w')\nprint('x' * 400000)\n" + SLEEP)
        await_true("the code runs", lambda: list(self.work.glob("*/data/mark")))
        full = array.array("i", [0])
        await_true("the pipe is full", lambda: (fcntl.ioctl(child.stdout, termios.FIONREAD, full),
                                                full[0] >= 20000)[1])
        child.send_signal(signal.SIGINT)
        self.assertEqual(130, child.wait(PATIENCE_S))
        child.stdout.close()
        child.stderr.close()

    def test_a_slow_reader_gets_everything(self):
        child = self.start("run", "-c", "for i in range(50000): print(f'{i:09}')")
        full = array.array("i", [0])
        await_true("the pipe is full", lambda: (fcntl.ioctl(child.stdout, termios.FIONREAD, full),
                                                full[0] >= 20000)[1])
        ran = self.finish(child)
        self.assertEqual("".join(f"{i:09}\n" for i in range(50000)), ran.out)

    def test_a_full_disk_behind_stdout_is_said(self):
        with open("/dev/full", "wb") as full:
            ran = self.finish(self.start("run", "-c", "print(1)", stdout=full))
        self.assertEqual(125, ran.code)
        self.assertIn("cannot write to standard output: No space left", ran.err)

    def test_closed_standard_descriptors(self):
        script = f"exec {CICADA} run -c \"open('a', 'w').write('x')\" -o out <&- >&- 2>&-"
        ran = subprocess.run(["sh", "-c", script], cwd=self.here, env=self.environment(), check=False,
                             timeout=PATIENCE_S)
        self.assertEqual(0, ran.returncode)
        self.assertEqual({"a": b"x"}, self.tree("out"))


class Leftovers(Case):
    def test_a_killed_cicada_takes_its_session_with_it_and_the_next_sweeps(self):
        child = self.start("run", "-c", SLEEP)
        self.assertIn(b"ready", child.stdout.readline())
        child.kill()
        self.finish(child)
        await_true("no process is left", lambda: (reap(), not children())[1])
        self.assertEqual(1, len(os.listdir(self.work)))
        self.ok("-c", "1")
        self.assertEqual([], os.listdir(self.work))

    def test_a_living_session_is_not_swept(self):
        child = self.start("run", "-c", "open('mark', 'w')\n" + SLEEP + "\nprint(open('mark'))")
        self.assertIn(b"ready", child.stdout.readline())
        self.ok("-c", "1")
        self.assertEqual(1, len(list(self.work.glob("*/data/mark"))))
        child.send_signal(signal.SIGINT)
        self.finish(child)

    def test_trees_that_are_hard_to_remove(self):
        code = "import os\nfor i in range(300):\n    os.mkdir('d'); os.chdir('d')\n" \
               "os.chdir('/mnt/data')\nos.mkdir('locked')\nopen('locked/x', 'w')\n" \
               "os.chmod('locked', 0)\nos.symlink('/', 'root')\nNone"
        self.ok("-c", code)

    def test_the_session_directory_is_private_and_says_nothing(self):
        child = self.start("run", "-c", SLEEP)
        self.assertIn(b"ready", child.stdout.readline())
        name, = os.listdir(self.work)
        self.assertRegex(name, "^cicada-work-[A-Za-z0-9]{6}$")
        is_root = os.geteuid() == 0  # then a session of another uid may have to pass through
        self.assertEqual(0o711 if is_root else 0o700, os.stat(self.work / name).st_mode & 0o7777)
        self.assertEqual(0o700, os.stat(self.work / name / "data").st_mode & 0o7777)
        if is_root:
            self.assertNotEqual(0, os.stat(self.work / name / "data").st_uid)
        child.send_signal(signal.SIGINT)
        self.finish(child)

    def test_many_at_once_do_not_disturb_each_other(self):
        results = {}

        def one(number):
            code = f"import os\nopen('n', 'w').write('{number}')\nprint(os.listdir('.'), {number})"
            results[number] = self.cicada("run", "-c", code, "-o", f"out{number}")

        threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(8):
            self.assertEqual((0, f"['n'] {number}\n"), (results[number].code, results[number].out))
            self.assertEqual({"n": str(number).encode()}, self.tree(f"out{number}"))
