"""`cicada search` beside a server that indexes."""
import json
import unittest

from harness import await_true
from served import IS_REAL, Served


@unittest.skipUnless(IS_REAL, "needs a server that indexes")
class Search(Served):
    index = "on"

    def test_a_word_is_found_where_it_is(self):
        (self.here / "notes.txt").write_text("first\nthe quick hippopotamus\n")
        self.good("files", "put", "notes.txt")
        await_true("the file is indexed", lambda: self.cicada("search", "hippopotamus").code == 0)
        told = self.good("search", "-w", "default", "hippopotamus").out
        self.assertEqual("notes.txt, version 1, line 2\n    first the quick **hippopotamus**\n", told)
        found = self.object("search", "quick", "hippopotamus")
        self.assertEqual({"lines": [2, 2]}, found["cite"])
        self.assertEqual([], [json.loads(line) for line in self.cicada("search", "--json", "-t", "pdf", "quick").out.split()])

    def test_what_is_not_there_is_said_by_the_exit_code(self):
        self.assertEqual(1, self.cicada("search", "zyzzyva").code)
        self.assertEqual(2, self.cicada("search").code)
        self.assertIn("at least one word", self.cicada("search", "...").err)
