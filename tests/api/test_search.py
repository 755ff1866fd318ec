"""Search: files of every kind and runs, indexed through the sandbox; who finds what; hostile documents."""
import time
import unittest
import urllib.parse

import documents
from base import Client, Server
from files import WORKSPACES, FilesTest

WAIT_S = 120


class SearchTest(FilesTest):
    settings = {"search.index": "on", "search.file_max_mb": 8}

    def search(self, words, client=None, ws=None, **more):
        query = urllib.parse.urlencode({"q": words, **more})
        return (client or self.client).ok("GET", f"{ws or self.ws}/search?{query}")["data"]

    def index(self, ws=None):
        return self.client.ok("GET", f"{ws or self.ws}/index")

    def settled(self, documents, ws=None):
        """Waits until so many documents are known and none is pending."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            state = self.index(ws)
            if not state["pending"] and state["ready"] + state["failed"] + state["skipped"] >= documents:
                return state
            time.sleep(0.1)
        raise AssertionError(f"still not indexed: {self.index(ws)}\n{self.server.log()}")

    def one(self, words, **more):
        found = self.search(words, **more)
        self.assertEqual(len(found), 1, found)
        return found[0]


class Documents(SearchTest):
    def test_every_kind_is_found_where_it_is(self):
        lines = [f"line number {i}" for i in range(1, 400)]
        lines[299] = "the quick hippopotamus jumps"
        self.make("notes/deep.txt", "\n".join(lines).encode())
        self.make("tool.py", b"import os\n\n\ndef load_sales_table(path):\n    return open(path)\n")
        self.make("sales.csv", b"region,amount\nnorth,12\nsouth,15\n\"west\nern\",7\nantarctica,99\n")
        self.make("book.ipynb", documents.ipynb([("markdown", "# Intro", None),
                                                 ("code", "x = 1\ny = zyzzyva(x)", "marmalade 42\n")]))
        self.make("paper.pdf", documents.pdf([f"page about topic{i}" for i in range(1, 301)]))
        self.make("letter.docx", documents.docx([("Heading1", "Terms"), (None, "Payment in thirty days."),
                                                 (None, "Penguins are excluded.")]))
        self.make("plan.xlsx", documents.xlsx({"Costs": {1: ["what", "how much"], 2: ["walrus feed", 12.5]},
                                               "Team": {4: ["name", "", "dolphin trainer"]}}))
        self.make("talk.pptx", documents.pptx(["Welcome", "Quarterly kangaroo review"]))
        self.make("photo.png", documents.png("a lighthouse at dusk"))
        state = self.settled(9)
        self.assertEqual((state["ready"], state["failed"], state["skipped"]), (9, 0, 0), state)

        hit = self.one("hippopotamus")
        self.assertEqual((hit["path"], hit["cite"], hit["version"], hit["match"]),
                         ("notes/deep.txt", {"lines": [300, 300]}, 1, "keyword"))
        self.assertIn("the quick **hippopotamus** jumps", hit["snippet"])
        self.assertEqual(self.one("load_sales_table")["cite"], {"lines": [4, 4]})
        self.assertEqual(self.one("antarctica")["cite"], {"rows": [5, 5]})
        self.assertEqual(self.one("zyzzyva")["cite"], {"cell": 2, "part": "code", "lines": [2, 2]})
        self.assertEqual(self.one("marmalade")["cite"], {"cell": 2, "part": "output", "lines": [1, 1]})
        for page in (1, 77, 300):
            hit = self.one(f"topic{page}")
            self.assertEqual((hit["path"], hit["cite"]), ("paper.pdf", {"page": page}))
        self.assertEqual(self.one("penguins")["cite"], {"paragraphs": [3, 3], "heading": "Terms"})
        self.assertEqual(self.one("walrus")["cite"], {"sheet": "Costs", "range": "A1:B2", "cell": "A2"})
        self.assertEqual(self.one("dolphin")["cite"], {"sheet": "Team", "range": "A4:C4", "cell": "C4"})
        self.assertEqual(self.one("kangaroo")["cite"], {"slide": 2})
        self.assertEqual(self.one("lighthouse")["path"], "photo.png")

    def test_words_of_a_question(self):
        self.make("a.txt", b"running engines are tested in the wind tunnel")
        self.make("b.txt", b"the engine of the boat; the tunnel of the mole")
        self.make("c.txt", b"nothing of that kind")
        self.settled(3)
        self.assertEqual([hit["path"] for hit in self.search("engine tunnel wind")], ["a.txt", "b.txt"])
        self.assertEqual(self.one('"wind tunnel"')["path"], "a.txt")
        self.assertEqual(self.search('"tunnel wind"'), [])
        self.assertEqual(self.one("tunnel -mole")["path"], "a.txt")
        self.assertEqual(self.one("test*")["path"], "a.txt")
        self.assertEqual({hit["path"] for hit in self.search("engnie")}, {"a.txt", "b.txt"})  # a typing mistake
        self.assertEqual(self.one("kind")["path"], "c.txt")
        for bad in ("-", '""', "...", "x" * 1001):
            answer = self.client.get(f"{self.ws}/search?" + urllib.parse.urlencode({"q": bad}))
            self.assertEqual((answer.status, answer.code), (400, "invalid_request"), bad)

    def test_filters(self):
        self.make("in/one.txt", b"pelican")
        self.make("in/deep/two.csv", b"bird\npelican\n")
        self.make("out/three.txt", b"pelican")
        self.settled(3)
        paths = lambda **more: sorted(hit["path"] for hit in self.search("pelican", **more))
        self.assertEqual(paths(), ["in/deep/two.csv", "in/one.txt", "out/three.txt"])
        self.assertEqual(paths(path="in/"), ["in/deep/two.csv", "in/one.txt"])
        self.assertEqual(paths(path="**/*.txt"), ["in/one.txt", "out/three.txt"])
        self.assertEqual(paths(type="csv"), ["in/deep/two.csv"])
        self.assertEqual(paths(type="text/csv"), ["in/deep/two.csv"])
        self.assertEqual(paths(after="2099-01-01"), [])
        self.assertEqual(len(paths(before="2099-01-01T00:00:00Z")), 3)
        self.assertEqual(paths(kind="runs"), [])
        self.assertEqual(len(paths(limit=1)), 1)
        self.assertEqual(self.client.get(f"{self.ws}/search?q=x&after=tomorrow").status, 400)

    def test_what_changes_is_found_as_it_is(self):
        self.make("a.txt", b"first flamingo")
        self.settled(1)
        self.assertEqual(self.one("flamingo")["version"], 1)
        self.make("a.txt", b"second ostrich")
        self.until(lambda: [hit["version"] for hit in self.search("ostrich")] == [2])
        self.assertEqual(self.search("flamingo"), [])
        self.client.ok("POST", f"{self.ws}/move", {"from": "a.txt", "to": "b/moved.txt"})
        self.until(lambda: [hit["path"] for hit in self.search("moved")] == ["b/moved.txt"])
        self.make("copy.txt", b"second ostrich")
        self.until(lambda: len(self.search("ostrich")) == 2)
        self.assertEqual(self.client.request("DELETE", self.at("copy.txt")).status, 204)
        self.assertEqual(len(self.search("ostrich")), 1)  # at once, whatever the index knows

    def until(self, fits):
        end = time.monotonic() + WAIT_S
        while not fits():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_runs_are_found_by_who_ran_them(self):
        session = self.client.session(workspace=self.ws.rpartition("/")[2])
        run = self.client.run(session, "albatross = 41 + 1\nprint('cormorant', albatross)")
        self.until(lambda: self.search("albatross"))
        hit = self.one("albatross")
        self.assertEqual((hit["kind"], hit["run_id"], hit["cite"]),
                         ("run", run["id"], {"part": "code", "lines": [1, 2]}))
        self.assertEqual(self.one("cormorant 42", kind="runs")["run_id"], run["id"])
        self.assertEqual(self.search("albatross", kind="files"), [])

    def test_across_workspaces_one_finds_what_one_may_read(self):
        self.make("mine.txt", b"heliotrope")
        self.settled(1)
        made = self.client.ok("POST", "/api/v1/principals", {"name": "other", "kind": "human"}, 201)
        key = self.client.ok("POST", "/api/v1/keys",
                             {"principal": made["id"], "scopes": ["files:read", "files:write"]}, 201)
        other = Client(self.server, key["secret"])
        theirs = other.ok("POST", WORKSPACES, {"name": "theirs"}, 201)["id"]
        answer = other.request("PUT", f"{WORKSPACES}/{theirs}/files/t.txt", raw=b"heliotrope too")
        self.assertEqual(answer.status, 201)
        self.settled(1, f"{WORKSPACES}/{theirs}")
        found = other.ok("GET", "/api/v1/search?q=heliotrope")["data"]
        self.assertEqual([hit["workspace_id"] for hit in found], [theirs])
        found = self.client.ok("GET", "/api/v1/search?q=heliotrope")["data"]  # an admin's
        self.assertEqual(len(found), 2)
        self.assertEqual(other.get(f"{self.ws}/search?q=heliotrope").status, 404)
        self.assertEqual(other.get(f"/api/v1/search?q=x&workspace={self.ws.rpartition('/')[2]}").status, 404)


class Hostile(SearchTest):
    def test_hostile_documents_cost_one_failure_each(self):
        bad = {
            "bomb.docx": documents.zip_bomb(1 << 30),
            "bomb.xlsx": documents.package({"xl/workbook.xml": b" " * (100 << 20)}),
            "deep.docx": documents.deep_docx(100000),
            "laughing.docx": documents.laughing_docx(),
            "not.docx": b"PK\x03\x04 no zip at all",
            "cut.docx": documents.docx([(None, "x" * 5000)])[:200],
            "not.pdf": b"%PDF-1.4\nnothing of that",
            "cut.pdf": documents.pdf(["a page"] * 20)[:100],
            "not.ipynb": b"[" * 200000,
            "not.png": b"\x89PNG\r\n\x1a\nbroken",
            "huge.txt": b" " * (9 << 20),
        }
        for name, data in bad.items():
            self.make(name, data)
        self.make("white.txt", b" \n" * (2 << 20))
        self.make("bytes.bin", bytes(range(256)) * 10)
        self.make("fine.txt", b"a wombat survives all of that")
        state = self.settled(len(bad) + 3)
        failed = {entry["path"]: entry["reason"] for entry in state["failures"]}
        self.assertEqual(set(failed), set(bad), state)
        self.assertIn("larger than", failed["bomb.docx"])
        self.assertIn("larger than", failed["huge.txt"])
        self.assertIn("too deeply", failed["deep.docx"])
        self.assertIn("entities", failed["laughing.docx"])
        self.assertEqual({entry["path"] for entry in state["without_text"]}, {"white.txt", "bytes.bin"})
        self.assertEqual(self.one("wombat")["path"], "fine.txt")
        for reason in failed.values():
            self.assertNotIn("/", reason.replace("word/document.xml", "").replace("xl/workbook.xml", ""))


class Off(FilesTest):
    def test_a_server_without_an_index_says_so(self):
        answer = self.client.get(f"{self.ws}/search?q=x")
        self.assertEqual((answer.status, answer.code), (503, "unavailable"))
        self.assertFalse(self.client.ok("GET", f"{self.ws}/index")["is_on"])


class Restart(unittest.TestCase):
    def test_the_index_is_made_again_when_it_is_gone(self):
        import os
        import pathlib
        import shutil
        import tempfile
        data = tempfile.mkdtemp(prefix="cicada-api-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, data, True)
        settings = {"search.index": "on"}
        for damage in (None, "nothing", "remove", "garble"):
            path = pathlib.Path(data) / "data" / "search.db"
            if damage == "remove":
                for name in os.listdir(path.parent):
                    if name.startswith("search.db"):
                        os.unlink(path.parent / name)
            elif damage == "garble":
                with open(path, "r+b") as f:
                    f.write(b"no database" * 1000)
            server = Server(data, settings)
            try:
                client = Client(server)
                if damage is None:
                    client.ok("PUT", f"{WORKSPACES}/default/files/a.txt", status=201, raw=b"an axolotl")
                end = time.monotonic() + WAIT_S
                while not client.ok("GET", "/api/v1/search?q=axolotl")["data"]:
                    self.assertLess(time.monotonic(), end, server.log())
                    time.sleep(0.1)
            finally:
                server.close()


if __name__ == "__main__":
    unittest.main()
