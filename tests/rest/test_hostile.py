"""Sleeping sessions that lie: everything outside their own jail is as if nothing had happened.

The file's head is made right again after every change, so that what was changed gets as far as it can:
to the loader, inside the jail.
"""
import hashlib
import os
import random
import struct
import unittest

from driver import Driver

CASES = 150 if os.environ.get("CICADA_TEST_LONG") else 30
SEED = int(os.environ.get("CICADA_TEST_SEED", "1"))
HEAD, BODY_LEN, NAMES_LEN, BODY_HASH, HEAD_HASH = 512, 48, 56, 64, 480  # see session/sleeper.h
MACHINE = 40  # of a delta: magic, version, regions, mark, paths; then registers and the rest


def seal(head, names, body):
    """A sleeper's file with right lengths and hashes."""
    head = bytearray(head)
    struct.pack_into("<Q", head, BODY_LEN, len(body))
    head[BODY_HASH:BODY_HASH + 32] = hashlib.sha256(body).digest()
    head[HEAD_HASH:] = hashlib.sha256(bytes(head[:HEAD_HASH]) + names).digest()
    return bytes(head) + names + body


class Hostile(unittest.TestCase):
    def setUp(self):
        self.d = Driver()
        self.addCleanup(self.d.close)
        if not self.d.hello["images"]:
            self.skipTest("this host cannot use images")
        self.good = self.d.start()
        self.d.run(self.good, "x = list(range(1000))")
        self.victim = self.sleeper()

    def sleeper(self):
        session = self.d.start()
        self.d.run(session, "import pandas as pd; df = pd.DataFrame({'a': range(100)}); df.describe()")
        self.assertFalse(self.d("sleep", id=session)["refused"])
        return session

    def wake_changed(self, change):
        """Puts a changed body in the victim's place, and wakes it. Gives the run."""
        path = self.d.file(self.victim)
        whole = path.read_bytes()
        names_len = struct.unpack_from("<I", whole, NAMES_LEN)[0]
        names, body = whole[HEAD:HEAD + names_len], whole[HEAD + names_len:]
        path.write_bytes(seal(whole[:HEAD], names, bytes(change(bytearray(body)))))
        run = self.d.run(self.victim, "1 + 1", wall_ms=5000)
        self.assertEqual(self.d.value(self.good, "sum(x)"), "499500")  # others live on
        return run

    def expect_lost(self, change):
        run = self.wake_changed(change)
        self.assertEqual((run["state"], run["end"]), ("lost", "ok"), run)
        self.assertEqual(run["result"]["text/plain"], "2")  # in a fresh kernel
        self.assertTrue(run["hint"])
        self.d("delete", id=self.victim)
        self.victim = self.sleeper()
        return run["hint"]

    def test_the_seal_of_this_test_is_right(self):
        run = self.wake_changed(lambda body: body)
        self.assertEqual((run["state"], run["end"]), ("woken", "ok"))

    def test_another_image_s_mark_is_refused_in_words(self):
        def change(body):
            body[16] ^= 1
            return body
        self.assertIn("another image", self.expect_lost(change))

    def test_what_is_cut_off_is_refused_in_words(self):
        self.assertIn("cut short", self.expect_lost(lambda body: body[:len(body) // 2]))
        self.assertIn("cut short", self.expect_lost(lambda body: body[:100]))
        self.assertIn("cut short", self.expect_lost(lambda body: body[:0]))

    def test_rubbish_is_refused_in_words(self):
        self.assertIn("not a sleeping session", self.expect_lost(lambda body: os.urandom(len(body))))

    def test_registers_of_an_attacker_s_choice_hurt_only_the_session(self):
        def change(body):
            for i in range(10):
                struct.pack_into("<Q", body, MACHINE + 8 * i, 0x4141414141414141)
            return body
        self.expect_lost(change)

    def test_counts_beyond_all_limits_are_refused(self):
        for at in 12, 24:  # regions, paths
            def change(body):
                struct.pack_into("<I", body, at, 0x7fffffff)
                return body
            self.assertIn("damaged", self.expect_lost(change))

    def test_random_changes_never_hurt_anybody_else(self):
        dice = random.Random(SEED)
        for case in range(CASES):
            def change(body):
                for _ in range(dice.choice((1, 3, 30))):
                    body[dice.randrange(len(body))] = dice.randrange(256)
                return body
            with self.subTest(seed=SEED, case=case):
                run = self.wake_changed(change)
                self.assertIn(run["state"], ("woken", "lost", "fresh", "kept"))
                self.d("delete", id=self.victim)
                self.victim = self.sleeper()
