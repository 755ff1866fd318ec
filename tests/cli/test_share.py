"""`cicada share`: links made, listed and revoked."""
import re
import subprocess
import unittest

from harness import Case
from served import IS_REAL, Served


class Help(Case):
    def test_it_explains_itself(self):
        for words in ["share", "--help"], ["help", "share"]:
            ran = self.cicada(*words)
            self.assertEqual(0, ran.code, ran)
            self.assertTrue(ran.out.startswith("usage: cicada share "), ran)
        self.assertIn("--password-stdin", self.cicada("share", "create", "--help").out)
        self.assertIn("\n  share ", self.cicada("help").out)


@unittest.skipUnless(IS_REAL, "needs a server that shares")
class Share(Served):
    def setUp(self):
        super().setUp()
        for path, content in (("a.txt", b"one"), ("d/b.txt", b"two")):
            self.good("files", "put", "-", "--to", path, stdin=content)

    def fetch(self, url, *more):
        """What somebody gets who has nothing but the address."""
        path = re.search(r"/s/[0-9a-z]{32}$", url.strip())[0]
        return subprocess.run(["curl", "-s", "-w", "\n%{http_code}", "--unix-socket", str(self.socket), *more,
                               "http://localhost" + path], capture_output=True, text=True, check=True).stdout

    def test_a_link_is_made_listed_and_revoked(self):
        ran = self.good("share", "a.txt", "--expires", "7d", "--note", "for Ann")
        share = re.search(r"shr_\w+", ran.err)[0]
        self.assertIn("200", self.fetch(ran.out).splitlines()[-1])
        listed = self.good("share", "ls").out
        for word in (share, "a.txt", "view,download", "works", "for Ann"):
            self.assertIn(word, listed)
        self.assertIn(share, self.good("share").out)
        self.assertEqual(self.object("share", "show", share)["path"], "a.txt")
        self.assertIn(f"revoked {share}", self.good("share", "rm", share).err)
        self.assertIn("404", self.fetch(ran.out).splitlines()[-1])
        self.assertEqual(self.object("share", "show", share)["state"], "revoked")

    def test_options(self):
        made = self.object("share", "d", "--upload")
        self.assertEqual((made["rights"], made["kind"]), (["upload"], "folder"))
        self.assertEqual(self.object("share", "d", "--upload", "--view")["rights"], ["view", "upload"])
        self.assertEqual(self.object("share", "a.txt", "--view")["rights"], ["view"])
        self.assertEqual(self.object("share", "--max", "3", "a.txt")["max_downloads"], 3)
        self.assertEqual(self.object("share", "create", "/mnt/data/a.txt", "--version", "1")["version"], 1)
        self.assertEqual(self.object("share", "/")["path"], "")

    def test_the_password_comes_from_standard_input(self):
        made = self.object("share", "a.txt", "--password-stdin", stdin=b"open sesame\nmore\n")
        self.assertTrue(made["has_password"])
        self.assertIn("401", self.fetch(made["url"]).splitlines()[-1])
        self.assertIn("200", self.fetch(made["url"], "-H", "X-Share-Password: open sesame").splitlines()[-1])
        self.fails(2, "share", "a.txt", "--password-stdin", stdin=b"")

    def test_mistakes(self):
        self.assertIn("no file or folder nothing.txt", self.fails(2, "share", "nothing.txt"))
        self.fails(2, "share", "a.txt", "--expires", "soon")
        self.assertIn("upload is for folders", self.fails(2, "share", "a.txt", "--upload"))
        self.assertIn("shr_none", self.fails(2, "share", "rm", "shr_none"))
        self.fails(2, "share", "a.txt", "d")


if __name__ == "__main__":
    unittest.main()
