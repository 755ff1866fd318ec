"""Moving files with `cicada files get` and `put`: trees, pipes, broken connections, Ctrl-C, progress."""
import fcntl
import hashlib
import os
import pty
import random
import re
import signal
import struct
import subprocess
import termios

from harness import CICADA, PATIENCE_S, await_true
from served import Served, scripted

MIB = 1 << 20
LARGE = 70 * MIB  # made of pieces


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


def sha256(raw):
    return hashlib.sha256(raw).hexdigest()


class Put(Served):
    def stored(self, path, *more):
        return self.good("files", "cat", path, *more).raw_out

    def names(self, *more):
        return self.good("files", "ls", "-R", *more).out.splitlines()

    def test_files_go_under_their_names_or_another(self):
        self.file("some/a.csv", "1")
        self.file("b.csv", "2")
        ran = self.good("files", "put", "some/a.csv", "b.csv")
        self.assertIn("stored a.csv (1 B, version 1)", ran.err)
        self.assertEqual("", ran.out)
        self.good("files", "put", "some/a.csv", "--to", "x/y.csv")
        self.good("files", "put", "some/a.csv", "--to", "dir/")
        self.good("files", "put", "b.csv", "--to", "dir")
        self.good("files", "put", "b.csv", "some/a.csv", "--to", "both")
        self.assertEqual(["a.csv", "b.csv", "both/a.csv", "both/b.csv", "dir/a.csv", "dir/b.csv", "x/y.csv"], self.names())

    def test_directories_go_whole_without_links(self):
        self.file("d/one", "1")
        self.file("d/sub/two é", "2")
        os.symlink("/etc/passwd", self.here / "d/link")
        ran = self.good("files", "put", "d/")
        self.assertIn("1 entry left out", ran.err)
        self.assertEqual(["d/one", "d/sub/two é"], self.names())
        self.good("workspaces", "create", "other")
        self.good("files", "put", "d", "--to", "e", "-w", "other")
        self.assertEqual(["e/one", "e/sub/two é"], self.names("-w", "other"))
        self.good("workspaces", "create", "third")
        self.good("files", "put", ".", "-w", "third")
        self.assertEqual(["d/one", "d/sub/two é"], self.names("-w", "third"))

    def test_standard_input_needs_a_name(self):
        raw = noise(3 * MIB)
        self.good("files", "put", "-", "--to", "in.bin", stdin=raw)
        self.assertEqual(raw, self.stored("in.bin"))
        self.assertIn("--to NAME", self.fails(2, "files", "put", "-"))
        self.good("files", "put", "-", "--to", "empty", stdin=b"")
        self.assertEqual(b"", self.stored("empty"))

    def test_what_is_there_already_is_not_sent_again(self):
        self.file("a.bin", noise(2 * MIB))
        self.good("files", "put", "a.bin")
        self.assertIn("stored already", self.good("files", "put", "a.bin").err)
        self.assertEqual(1, len(self.objects("files", "history", "a.bin")))

    def test_nothing_is_sent_when_one_is_missing(self):
        self.file("a", "1")
        self.assertIn("there is no file b here", self.fails(2, "files", "put", "a", "b"))
        self.assertIn("--to b", self.fails(2, "files", "put", "a", "b"))
        self.assertEqual([], self.names())
        self.fails(2, "files", "put", "a", "--to", "../x")

    def test_as_json_each_is_an_object(self):
        self.file("a", "1")
        self.file("b", "22")
        files = self.objects("files", "put", "a", "b")
        self.assertEqual([("a", 1), ("b", 2)], [(f["path"], f["size"]) for f in files])

    def test_a_large_file_goes_in_pieces(self):
        raw = noise(LARGE)
        self.file("big.bin", raw)
        self.assertEqual(sha256(raw), self.object("files", "put", "big.bin")["sha256"])
        self.assertEqual([], list((self.place / "state/cicada/transfers").glob("*")))
        if self.standin:
            offsets = [int(o) for path in self.asked("PUT") for o in re.findall(r"offset=(\d+)", path)]
            self.assertEqual([0, 32 * MIB, 64 * MIB], offsets)

    @scripted
    def test_a_broken_connection_is_gone_on_with(self):
        raw = noise(LARGE)
        self.file("big.bin", raw)
        self.world.trouble.cut_upload = 20 * MIB
        self.good("files", "put", "big.bin")
        self.assertEqual(raw, self.world.workspace.files["big.bin"].versions[-1]["raw"])
        offsets = [int(o) for path in self.asked("PUT") for o in re.findall(r"offset=(\d+)", path)]
        self.assertEqual(20 * MIB, offsets[1])

    @scripted
    def test_a_small_one_is_sent_again(self):
        self.file("a.bin", noise(5 * MIB))
        self.world.trouble.cut_upload = 2 * MIB
        self.good("files", "put", "a.bin")
        self.assertEqual(noise(5 * MIB), self.world.workspace.files["a.bin"].versions[-1]["raw"])

    def cancel_at(self, byte, *words):
        """Ctrl-C while the server holds the transfer at that byte."""
        trouble = self.world.trouble
        trouble.hold = byte
        child = self.start(*words)
        self.assertTrue(trouble.is_held.wait(PATIENCE_S))
        child.send_signal(signal.SIGINT)
        ran = self.finish(child)
        trouble.let_go.set()
        self.assertEqual(130, ran.code, ran)
        return ran

    @scripted
    def test_after_ctrl_c_the_same_command_goes_on(self):
        raw = noise(LARGE)
        self.file("big.bin", raw)
        self.world.trouble.cut_upload = None
        ran = self.cancel_at(32 * MIB, "files", "put", "big.bin", "--to", "x/big.bin")
        upload, = self.world.workspace.uploads
        await_true("the server has noticed", lambda: len(self.world.workspace.uploads[upload]["raw"]) >= 32 * MIB)
        before = len(self.asked("PUT"))
        self.good("files", "put", "big.bin", "--to", "x/big.bin")
        self.assertEqual(raw, self.world.workspace.files["x/big.bin"].versions[-1]["raw"])
        again = self.asked("PUT")[before:]
        self.assertTrue(all(upload in path for path in again), again)
        self.assertIn(f"offset={32 * MIB}", again[0])
        self.assertIn("cancelled", ran.err)

    @scripted
    def test_a_file_that_was_changed_meanwhile_is_begun_anew(self):
        path = self.file("big.bin", noise(LARGE))
        self.cancel_at(32 * MIB, "files", "put", "big.bin")
        path.write_bytes(noise(LARGE, seed=2))
        self.good("files", "put", "big.bin")
        self.assertEqual(noise(LARGE, seed=2), self.world.workspace.files["big.bin"].versions[-1]["raw"])
        self.assertEqual(1, len(self.world.workspace.files["big.bin"].versions))

    @scripted
    def test_an_upload_the_server_has_forgotten_is_begun_anew(self):
        self.file("big.bin", noise(LARGE))
        self.cancel_at(32 * MIB, "files", "put", "big.bin")
        self.world.workspace.uploads.clear()
        self.good("files", "put", "big.bin")
        self.assertEqual(noise(LARGE), self.world.workspace.files["big.bin"].versions[-1]["raw"])

    @scripted
    def test_ctrl_c_at_standard_input_ends_it(self):
        child = self.start("files", "put", "-", "--to", "x", stdin=subprocess.PIPE)
        await_true("it asks", lambda: self.asked("PUT"))
        child.send_signal(signal.SIGINT)
        self.assertEqual(130, child.wait(PATIENCE_S))
        child.stdin.close()
        self.assertNotIn("x", self.world.workspace.files)


class Get(Served):
    def store(self, path, raw):
        if self.standin:
            self.world.workspace.put(path, raw)
        else:
            self.good("files", "put", "-", "--to", path, stdin=raw)

    def test_a_file_comes_here_to_a_name_a_directory_or_a_pipe(self):
        self.store("d/a.csv", b"some")
        ran = self.good("files", "get", "d/a.csv")
        self.assertIn("saved a.csv (4 B)", ran.err)
        self.good("files", "get", "d/a.csv", "-o", "b.csv")
        self.good("files", "get", "d/a.csv", "-o", "new/")
        self.good("files", "get", "d/a.csv", "-o", "new/c.csv")
        self.assertEqual({n: b"some" for n in ("a.csv", "b.csv", "new/a.csv", "new/c.csv")}, self.tree("."))
        self.assertEqual(b"some", self.good("files", "get", "d/a.csv", "-o", "-").raw_out)
        self.assertEqual(b"some", self.good("files", "get", "d/a.csv", "-o", "/dev/stdout").raw_out)
        self.assertEqual(b"somesome", self.good("files", "cat", "d/a.csv", "d/a.csv").raw_out)

    def test_directories_and_patterns_come_as_trees(self):
        for path in ("a.txt", "plots/b.png", "plots/deep/c.png", "plots/.hidden"):
            self.store(path, path.encode())
        self.good("files", "get", "plots", "-o", "one")
        self.assertEqual({"plots/b.png", "plots/deep/c.png", "plots/.hidden"}, set(self.tree("one")))
        self.good("files", "get", "/", "-o", "two")
        self.assertEqual({"a.txt", "plots/b.png", "plots/deep/c.png", "plots/.hidden"}, set(self.tree("two")))
        self.good("files", "get", "plots/**/*.png", "-o", "three")
        self.assertEqual({"b.png": b"plots/b.png", "deep/c.png": b"plots/deep/c.png"}, self.tree("three"))
        self.file("four/mine", "")
        self.assertIn("1 file not saved", self.good("files", "get", "plots", "-o", "four").err)
        self.assertNotIn("plots/.hidden", self.tree("four"))
        self.good("files", "get", "plots", "-o", "four", "--hidden")
        self.assertIn("plots/.hidden", self.tree("four"))
        self.good("files", "get", "plots/.hidden")
        self.assertIn(".hidden", self.tree("."))

    def test_what_is_here_already_is_not_fetched_and_else_replaced(self):
        self.store("a", b"new")
        self.file("a", "old")
        self.good("files", "get", "a")
        self.assertEqual({"a": b"new"}, self.tree("."))
        self.assertIn("here already", self.good("files", "get", "a").err)

    def test_an_empty_file_and_a_large_one(self):
        self.store("empty", b"")
        raw = noise(5 * MIB + 1)
        self.store("large", raw)
        self.good("files", "get", "empty", "large")
        self.assertEqual({"empty": b"", "large": raw}, self.tree("."))

    def test_mistakes(self):
        self.store("a", b"1")
        self.fails(2, "files", "get", "missing")
        self.assertIn("-o b", self.fails(2, "files", "get", "a", "b"))
        self.assertEqual({}, self.tree("."))
        self.fails(2, "files", "get")
        self.assertNotEqual(0, self.cicada("files", "get", "a", "-o", "no/such/dir").code)

    @scripted
    def test_a_reader_that_is_gone_is_exit_code_141(self):
        self.store("a", noise(4 * MIB))
        child = self.start("files", "cat", "a")
        child.stdout.read(10)
        child.stdout.close()
        self.assertEqual(141, child.wait(PATIENCE_S), child.stderr.read())
        child.stderr.close()

    @scripted
    def test_a_broken_connection_is_gone_on_with(self):
        raw = noise(8 * MIB)
        self.store("a", raw)
        self.world.trouble.cut_download = 3 * MIB
        self.good("files", "get", "a")
        self.assertEqual({"a": raw}, self.tree("."))
        ranges = [h["Range"] for _, _, h in self.world.requests if "Range" in h]
        self.assertEqual([f"bytes={3 * MIB}-"], ranges)
        self.world.trouble.cut_download = 3 * MIB
        self.assertEqual(raw, self.good("files", "cat", "a").raw_out)

    def cancel_at(self, byte):
        trouble = self.world.trouble
        trouble.hold = byte
        child = self.start("files", "get", "a")
        part = self.here / "a.part"
        await_true("part of it is here", lambda: part.exists() and part.stat().st_size == byte)
        child.send_signal(signal.SIGINT)
        ran = self.finish(child)
        trouble.let_go.set()
        self.assertEqual(130, ran.code, ran)
        return ran

    @scripted
    def test_after_ctrl_c_the_same_command_goes_on(self):
        raw = noise(8 * MIB)
        self.store("a", raw)
        ran = self.cancel_at(5 * MIB)
        self.assertIn("5 MiB of 8 MiB are kept; the same command goes on from there", ran.err)
        self.assertEqual({"a.part": raw[:5 * MIB]}, self.tree("."))
        self.good("files", "get", "a")
        self.assertEqual({"a": raw}, self.tree("."))
        self.assertIn(f"bytes={5 * MIB}-", [h.get("Range") for _, _, h in self.world.requests])

    @scripted
    def test_a_part_of_another_version_or_by_nobody_is_begun_anew(self):
        self.store("a", noise(8 * MIB))
        self.cancel_at(5 * MIB)
        self.store("a", noise(8 * MIB, seed=2))
        self.good("files", "get", "a")
        self.assertEqual({"a": noise(8 * MIB, seed=2)}, self.tree("."))
        self.file("b.part", "whose is this?")
        self.store("b", b"right")
        self.good("files", "get", "b")
        self.assertEqual(b"right", self.tree(".")["b"])

    @scripted
    def test_a_part_that_was_damaged_is_noticed(self):
        raw = noise(8 * MIB)
        self.store("a", raw)
        self.cancel_at(5 * MIB)
        with open(self.here / "a.part", "r+b") as part:
            part.write(b"X")
        self.assertIn("SHA-256", self.fails(125, "files", "get", "a"))
        self.assertEqual({}, self.tree("."))
        self.good("files", "get", "a")
        self.assertEqual({"a": raw}, self.tree("."))


class Progress(Served):
    def on_terminal(self, *words):
        """What standard error shows if it is a terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        child = subprocess.Popen([CICADA, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                                 cwd=self.here, env=self.environment(TERM="xterm"))
        os.close(slave)
        text = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            text += more
        os.close(master)
        self.assertEqual(0, child.wait(PATIENCE_S), text)
        return text.decode()

    @scripted
    def test_a_long_transfer_has_a_bar_on_a_terminal_and_none_elsewhere(self):
        self.world.workspace.put("long.bin", noise(2 * MIB))
        self.world.trouble.pause_s = 0.05  # 32 pieces
        text = self.on_terminal("files", "get", "long.bin")
        bars = re.findall(r"long\.bin  (\d+) % \[[#-]+\]  \S+ (?:MiB|KiB) of 2 MiB  \S+ .iB/s  0:\d\d left", text)
        self.assertGreaterEqual(len(bars), 2, text)
        self.assertEqual(sorted(bars, key=int), bars)
        self.assertIn("\r\x1b[K", text)
        os.unlink(self.here / "long.bin")
        self.assertEqual("cicada: saved long.bin (2 MiB)\n", self.good("files", "get", "long.bin").err)

    @scripted
    def test_a_short_one_has_none(self):
        self.world.workspace.put("short.bin", noise(2 * MIB))
        self.assertNotIn("%", self.on_terminal("files", "get", "short.bin"))
