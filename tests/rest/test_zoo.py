"""Everything zoo.py lists, put to sleep and woken again, alone and in company."""
import os
import random
import unittest

import zoo
from driver import Driver

CYCLES = 200 if os.environ.get("CICADA_TEST_LONG") else 40
SEED = int(os.environ.get("CICADA_TEST_SEED", "1"))
ANIMALS = zoo.ALIVE + zoo.IN_JAIL


class Zoo(unittest.TestCase):
    def setUp(self):
        self.d = Driver()
        self.addCleanup(self.d.close)
        if not self.d.hello["images"]:
            self.skipTest("this host cannot use images")

    def fine(self, session, code, what):
        run = self.d.run(session, code)
        self.assertEqual(run["end"], "ok", f"{what}: {run['error'] or run.get('hint')}")
        return run

    def nap(self, session, what):
        answer = self.d("sleep", id=session)
        self.assertFalse(answer["refused"], f"{what}: {answer['reasons']}")

    def test_each_is_alive_after_one_sleep_and_after_two(self):
        for name, setup, check in ANIMALS:
            with self.subTest(name):
                session = self.d.start()
                self.fine(session, setup, name + ", made")
                self.fine(session, check, name + ", before")
                for generation in 1, 2:
                    self.nap(session, name)
                    run = self.fine(session, check, f"{name}, sleep {generation}")
                    self.assertEqual((run["state"], run["lost"]), ("woken", []))
                self.d("delete", id=session)

    def test_any_number_of_them_in_any_order_survive_any_number_of_sleeps(self):
        dice = random.Random(SEED)
        cycles = 0
        while cycles < CYCLES:
            group = dice.sample(ANIMALS, 8)
            what = f"seed {SEED}, cycle {cycles}: " + " ".join(name for name, _, _ in group)
            session = self.d.start()
            for name, setup, _ in group:
                self.fine(session, setup, f"{what}: {name}, made")
            for _ in range(5):
                self.nap(session, what)
                dice.shuffle(group)
                for name, _, check in group:
                    self.fine(session, check, f"{what}: {name}")
                cycles += 1
            self.d("delete", id=session)

    def test_what_cannot_sleep_says_why_and_can_when_it_is_gone(self):
        for name, setup, words, undo in zoo.REFUSED:
            with self.subTest(name):
                session = self.d.start()
                self.fine(session, "kept = 5\n" + setup, name + ", made")
                answer = self.d("sleep", id=session)
                self.assertTrue(answer["refused"])
                self.assertTrue(any(words in reason for reason in answer["reasons"]), answer["reasons"])
                self.assertEqual(self.fine(session, "kept", name)["state"], "kept")
                self.fine(session, undo, name + ", undone")
                self.nap(session, name + ", undone")
                self.assertEqual(self.fine(session, "assert kept == 5", name)["state"], "woken")
                self.d("delete", id=session)

    def test_a_branch_and_its_origin_both_have_them(self):
        for name, setup, check in ANIMALS:
            if name in ("sqlite_file", "locked", "file", "descriptors", "memmap"):
                continue  # files of two sessions on two copies of a folder: theirs are other files
            with self.subTest(name):
                session = self.d.start()
                self.fine(session, setup, name + ", made")
                branch = self.d("fork", id=session)["id"]
                if name != "random":  # a branch has other numbers on purpose
                    self.fine(branch, check, name + ", branch")
                self.fine(session, check, name + ", origin")
                self.d("delete", id=branch)
                self.d("delete", id=session)
