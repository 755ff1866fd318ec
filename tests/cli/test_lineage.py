"""`cicada files why`, `cicada reproduce`, `cicada sessions export`: against a real server."""
import json
import os
import re
import unittest

from served import IS_REAL, Served


@unittest.skipUnless(IS_REAL, "needs a server that runs code: CICADA_TEST_SERVER=real")
class Lineage(Served):
    def pipeline(self):
        self.good("files", "put", "-", "--to", "raw.csv", stdin=b"n\n1\n2\n")
        self.good("run", "--session", "one", "-c", "rows = open('raw.csv').read().split()[1:]\n"
                  "open('clean.csv', 'w').write('\\n'.join(rows))")
        self.good("run", "--session", "two", "-c", "total = sum(map(int, open('clean.csv').read().split()))\n"
                  "open('sum.txt', 'w').write(str(total))")

    def test_why_draws_the_tree(self):
        self.pipeline()
        shown = self.good("files", "why", "sum.txt").out
        self.assertRegex(shown, re.compile(
            r"\Asum\.txt v1  1 B, .*\n"
            r"└─ run_\w+ in ses_\w+, .*\n"
            r"   │    total = sum\(.*\n"
            r"   │    open\('sum\.txt'.*\n"
            r"   └─ clean\.csv v1  3 B, .*\n"
            r"      └─ run_\w+ in ses_\w+, .*\n"
            r"         │    rows = open.*\n"
            r"         │    open\('clean\.csv'.*\n"
            r"         └─ raw\.csv v1  6 B, .*, made by no run\n\Z"))
        graph = self.object("files", "why", "sum.txt")
        self.assertEqual(3, len([n for n in graph["nodes"] if n["kind"] == "version"]))
        short = self.cicada("files", "why", "sum.txt", "--depth", "1")
        self.assertNotIn("raw.csv", short.out)
        self.assertIn("--depth", short.err)
        self.assertNotEqual(0, self.cicada("files", "why", "none.txt").code)

    def test_why_says_what_was_undone(self):
        self.good("sessions", "create", "one", "--snapshots", "2")
        if not self.object("sessions", "show", "one")["baked"]:
            self.skipTest("there is no image")
        self.good("run", "--session", "one", "-c", "x = 1")
        self.good("run", "--session", "one", "-c", "open('x.txt', 'w').write('2')")
        self.good("sessions", "rollback", "one")
        self.assertRegex(self.good("files", "why", "x.txt", "-v", "1").out, r"\n└─ run_\w+ in ses_\w+, .*, undone .*\n")

    def test_reproduce_says_same_and_different(self):
        self.pipeline()
        self.assertEqual("same: the same bytes\n", self.good("reproduce", "sum.txt").out)
        self.assertEqual("same: the same bytes\n", self.good("reproduce", "sum.txt", "--latest-inputs").out)
        self.good("files", "put", "-", "--to", "raw.csv", stdin=b"n\n1\n40\n")
        self.assertEqual("same: the same bytes\n", self.good("files", "reproduce", "sum.txt").out)
        ran = self.cicada("reproduce", "sum.txt", "--latest-inputs")
        self.assertEqual((1, "different: line 1 is '41' instead of '3'\n"), (ran.code, ran.out))
        told = self.cicada("reproduce", "clean.csv")
        self.assertIn("has version 2 by now; --latest-inputs", told.err)
        self.good("files", "put", "-", "--to", "raw.csv", stdin=b"n\nx\n")
        ran = self.cicada("reproduce", "sum.txt", "--latest-inputs")
        self.assertEqual(1, ran.code)
        self.assertIn("ValueError", ran.out)
        self.assertEqual(1, self.cicada("reproduce", "sum.txt", "--latest-inputs", "--json").code)
        self.assertIn("no run made this version", self.cicada("reproduce", "raw.csv").err)

    def test_export_writes_a_notebook_or_a_script(self):
        self.good("run", "--session", "one", "-c", "x = 6\nx * 7")
        book = json.loads(self.good("sessions", "export", "one").out)
        self.assertEqual("42", book["cells"][0]["outputs"][0]["data"]["text/plain"])
        path = self.place / "work.py"
        self.good("sessions", "export", "one", "-o", str(path))
        text = path.read_text()
        self.assertTrue(text.startswith("#!/usr/bin/env python3\n"))
        self.assertIn("x = 6\nx * 7\n", text)
        self.good("sessions", "export", "one", "-o", str(self.place / "work.ipynb"))
        self.assertEqual(4, json.loads((self.place / "work.ipynb").read_text())["nbformat"])
        self.assertNotEqual(0, self.cicada("sessions", "export", "none").code)
        self.assertNotEqual(0, self.cicada("sessions", "export", "one", "--format", "pdf").code)


class Mistakes(Served):
    def test_a_path_is_needed(self):
        self.assertEqual(2, self.cicada("reproduce").code)
        self.assertEqual(2, self.cicada("files", "why").code)
        self.assertEqual(2, self.cicada("reproduce", "a", "b").code)
        self.assertIn("--latest-inputs", self.cicada("help", "reproduce").out)
