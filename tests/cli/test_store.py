"""`cicada stats`, `gc`, `backup` and `fsck`."""
import json
import unittest

from harness import Case
from served import IS_REAL, Served


class Alone(Case):
    def well(self, *words):
        ran = self.cicada(*words)
        self.assertEqual((0, ""), (ran.code, ran.err), ran)
        return ran


class Help(Alone):
    def test_every_command_explains_itself(self):
        for command in "stats", "gc", "backup", "fsck", "store":
            for words in ([command, "--help"], ["help", command]):
                ran = self.well(*words)
                self.assertTrue(ran.out.startswith(f"usage: cicada {command} "), ran)
            self.assertIn(f"\n  {command:<12}", self.well("help").out)


class Fsck(Alone):
    def fails(self, code, *words):
        ran = self.cicada("fsck", *words)
        self.assertEqual((code, ""), (ran.code, ran.out), ran)
        return ran.err

    def test_what_is_not_there_cannot_be_checked(self):
        self.assertIn("nowhere", self.fails(125, "--data", str(self.here / "nowhere")))
        empty = self.here / "empty"
        empty.mkdir()
        for words in [], ["--quick"], ["--packs"]:
            self.fails(125, "--data", str(empty), *words)
        self.assertEqual([], [p.name for p in empty.iterdir() if p.name != "lock"])

    def test_mistakes_on_the_command_line(self):
        self.assertIn("takes no operands", self.fails(2, "here"))
        self.assertIn("--quik", self.fails(2, "--quik"))

    def test_packs_alone_need_no_database(self):
        packs = self.here / "data" / "packs"
        packs.mkdir(parents=True)
        ran = self.well("fsck", "--data", "data", "--packs", "--json")
        self.assertEqual((0, [], 0), tuple(json.loads(ran.out)[key] for key in ("problems", "messages", "packs")))
        self.assertIn("nothing is wrong", self.well("fsck", "--data", "data", "--packs").out)


@unittest.skipUnless(IS_REAL, "needs a store")
class Store(Served):
    def test_the_same_with_one_word_and_with_two(self):
        file = self.file("a.txt", "text")
        self.good("files", "put", str(file))
        for words in ["stats"], ["store", "stats"], ["store"]:
            seen = self.object(*words)
            self.assertEqual(("ok", 1, 4), (seen["status"], seen["files"], seen["bytes"]))
        self.assertIn("\nfiles\t1\n", self.good("stats").out)
        for words in ["gc"], ["gc", "--now"], ["store", "gc", "--now"]:
            self.assertEqual((1, 0), tuple(self.object(*words)[key] for key in ("chunks", "swept")))
        for words in ["backup"], ["store", "backup"]:
            self.assertIn("backup_dir", self.fails(125, *words))

    def test_a_store_that_is_used_is_not_checked(self):
        self.assertIn("another server", self.fails(125, "fsck", "--data", str(self.place / "data")))
        self.real.terminate()
        self.real.wait()
        self.assertIn("nothing is wrong", self.good("fsck", "--data", str(self.place / "data")).out)
