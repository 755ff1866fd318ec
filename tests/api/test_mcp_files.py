"""The tools for files over MCP: list_files, read_file, write_file, edit_file, search_files, transfer_url."""
import base64
import concurrent.futures
import json
import re
import subprocess
import urllib.parse

import documents
import jsonschema
from base import Client
from files import FilesTest
from mcp import Legacy, Modern

TEXT_MAX = 48 << 10
STRUCTURED_MAX = 13 << 10
HOSTILE = ["a b/c d.txt", "ünï/cödé.txt", "semi;colon'quote\".txt", "100%/%2e%2e.txt", "back\\slash.txt", "[x]*?.txt", "-rf.txt",
           "question?version=3.txt", "#hash.txt", "🦗.txt", "<b>|pipe|.txt", "mnt/data/mnt.txt"]


class McpFilesTest(FilesTest):
    settings = {"search.index": "off"}

    def setUp(self):
        super().setUp()
        self.id_ws = self.ws.rpartition("/")[2]
        self.mcp = Modern(self.server)
        if "outputs" not in type(self).__dict__:
            type(self).outputs = {t["name"]: t["outputSchema"] for t in self.mcp.rpc("tools/list")["tools"]}

    def call(self, tool, mcp=None, **arguments):
        arguments.setdefault("workspace_id", self.id_ws)
        result = (mcp or self.mcp).call(tool, **arguments)
        text = Modern.text(result)
        self.assertLessEqual(len(text.encode()), TEXT_MAX + 100)
        self.assertEqual(result["content"][0]["type"], "text")
        structured = result.get("structuredContent")
        if structured is not None:
            self.assertLessEqual(len(json.dumps(structured)), STRUCTURED_MAX)
            jsonschema.Draft202012Validator(self.outputs[tool]).validate(structured)
        return result

    def ok(self, tool, **arguments):
        result = self.call(tool, **arguments)
        self.assertFalse(result.get("isError"), Modern.text(result))
        self.assertIn("structuredContent", result)
        return result

    def bad(self, tool, **arguments):
        """The text of an error."""
        result = self.call(tool, **arguments)
        self.assertTrue(result.get("isError"), Modern.text(result))
        self.assertNotIn("structuredContent", result)
        return Modern.text(result)

    def text(self, tool, **arguments):
        return Modern.text(self.ok(tool, **arguments))

    def said(self, tool, **arguments):
        return self.ok(tool, **arguments)["structuredContent"]

    def link(self, result):
        links = Modern.blocks(result, "resource_link")
        self.assertEqual(len(links), 1, result["content"])
        return links[0]

    def uri(self, path):
        return f"workspace://{self.id_ws}/" + urllib.parse.quote(path, safe="/-._~")


class Shapes(McpFilesTest):
    def test_both_eras_say_the_same(self):
        self.make("a.txt", b"one\ntwo\n")
        legacy = Legacy(self.server)
        modern = self.ok("read_file", path="a.txt")
        older = self.ok("read_file", path="a.txt", mcp=legacy)
        self.assertEqual(modern["resultType"], "complete")
        self.assertNotIn("resultType", older)
        self.assertEqual(modern["content"], older["content"])
        self.assertEqual(modern["structuredContent"], older["structuredContent"])
        for tool, arguments in (("list_files", {}), ("write_file", {"path": "b.txt", "content": "x"}),
                                ("edit_file", {"path": "b.txt", "edits": [{"old_text": "x", "new_text": "y"}]}),
                                ("search_files", {"query": "b", "mode": "name"}),
                                ("transfer_url", {"path": "b.txt", "direction": "download"})):
            self.ok(tool, mcp=legacy, **arguments)

    def test_old_clients_get_text_only(self):
        self.make("a.txt", b"one\n")
        result = Legacy(self.server, version="2025-03-26").call("read_file", path="a.txt", workspace_id=self.id_ws)
        self.assertNotIn("structuredContent", result)
        self.assertEqual([block["type"] for block in result["content"]], ["text"])
        self.assertIn(self.uri("a.txt"), Modern.text(result))

    def test_what_the_tools_say_of_themselves(self):
        tools = {t["name"]: t for t in self.mcp.rpc("tools/list")["tools"]}
        for name in ("list_files", "read_file", "search_files"):
            self.assertTrue(tools[name]["annotations"]["readOnlyHint"], name)
        for name in ("list_files", "read_file", "write_file", "edit_file", "search_files", "transfer_url"):
            tool = tools[name]
            self.assertFalse(tool["annotations"]["destructiveHint"], name)
            self.assertFalse(tool["inputSchema"].get("additionalProperties", True), name)
            self.assertIn("{\"", tool["description"])
            jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
            jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
            for field, schema in tool["inputSchema"]["properties"].items():
                self.assertTrue(schema.get("description") or field == "limit", (name, field))

    def test_a_key_that_only_reads_sees_no_tools_that_write(self):
        secret = self.client.ok("POST", "/api/v1/keys", {"name": "reader", "scopes": ["files:read"]}, 201)["secret"]
        reader = Modern(self.server, secret)
        names = {t["name"] for t in reader.rpc("tools/list")["tools"]}
        self.assertTrue({"list_files", "read_file", "search_files", "transfer_url"} <= names)
        self.assertFalse({"write_file", "edit_file", "run_code"} & names)
        self.make("a.txt", b"one\n")
        self.assertIn("one", self.text("read_file", mcp=reader, path="a.txt"))
        self.assertIn("files:write", self.bad("transfer_url", mcp=reader, path="a.txt", direction="upload"))

    def test_wrong_arguments_are_explained(self):
        self.assertIn("path", self.bad("read_file"))
        self.assertIn("path", self.bad("read_file", pth="a"))
        self.assertIn("limit", self.bad("list_files", limit=501))
        self.assertIn("expires_s", self.bad("transfer_url", path="a", direction="upload", expires_s=59))
        self.assertIn("workspace itself", self.bad("read_file", path="/mnt/data/"))
        self.assertIn("list_files", self.bad("read_file", path="no/such.txt"))
        for path in ("../up", "a//b", "a/../b"):
            self.assertIn("Error", self.bad("write_file", path=path, content="x"))
        for tool, more in (("read_file", {"path": "a"}), ("list_files", {}), ("write_file", {"path": "a", "content": ""}), ("search_files", {"query": "a", "mode": "name"}),
                           ("edit_file", {"path": "a", "edits": [{"old_text": "a", "new_text": "b"}]}), ("transfer_url", {"path": "a", "direction": "download"})):
            text = self.bad(tool, workspace_id="ws_nowhere", **more)
            self.assertIn("no workspace", text)
            self.assertIn("tool workspace", text)

    def test_who_mistypes_a_name_is_told_what_is_there(self):
        self.make("d/notes.md", b"x")
        for path in ("d/nots.md", "d/Notes.MD"):
            for tool, more in (("read_file", {}), ("edit_file", {"edits": [{"old_text": "x", "new_text": "y"}]}), ("transfer_url", {"direction": "download"})):
                text = self.bad(tool, path=path, **more)
                self.assertIn(f"no file '{path}'", text)
                self.assertIn("Did you mean 'd/notes.md'?", text)
        self.assertIn("Did you mean 'd'?", self.bad("list_files", path="D"))
        self.assertNotIn("mean", self.bad("read_file", path="quite/different.txt"))

    def test_a_workspace_of_others_is_not_there(self):
        made = self.client.ok("POST", "/api/v1/principals", {"name": "stranger"}, 201)["id"]
        secret = self.client.ok("POST", "/api/v1/keys", {"name": "s", "principal": made, "scopes": ["files:read", "files:write"]}, 201)["secret"]
        self.make("secret.txt", b"hidden treasure\n")
        stranger = Modern(self.server, secret)
        for tool, arguments in (("read_file", {"path": "secret.txt"}), ("list_files", {}), ("search_files", {"query": "treasure", "mode": "regex"}),
                                ("write_file", {"path": "secret.txt", "content": ""}), ("transfer_url", {"path": "secret.txt", "direction": "download"}),
                                ("edit_file", {"path": "secret.txt", "edits": [{"old_text": "hidden", "new_text": "x"}]})):
            self.assertNotIn("treasure", self.bad(tool, mcp=stranger, **arguments))
        self.assertEqual(self.data("secret.txt"), b"hidden treasure\n")


class Listing(McpFilesTest):
    def paths(self, **arguments):
        return [f["path"] for f in self.said("list_files", **arguments)["files"]]

    def test_a_directory_and_what_is_below(self):
        for path in ("b.csv", "data/a.csv", "data/deep/c.csv", "data/x.txt"):
            self.make(path, b"12345")
        self.assertEqual(self.paths(), ["b.csv", "data"])
        self.assertEqual(self.paths(path="data"), ["data/a.csv", "data/deep", "data/x.txt"])
        self.assertEqual(self.paths(path="/mnt/data/data/"), self.paths(path="data"))
        self.assertEqual(self.paths(recursive=True), ["b.csv", "data/a.csv", "data/deep/c.csv", "data/x.txt"])
        self.assertEqual(self.paths(glob="*.csv"), ["b.csv"])
        self.assertEqual(self.paths(glob="*.csv", recursive=True), ["b.csv", "data/a.csv", "data/deep/c.csv"])
        self.assertEqual(self.paths(path="data", glob="**/*.csv"), ["data/a.csv", "data/deep/c.csv"])
        self.assertEqual(self.paths(path="data/a.csv"), ["data/a.csv"])  # a file named as a directory
        text = self.text("list_files")
        self.assertRegex(text, r"(?m)^ +5  \d{4}-\d\d-\d\d \d\d:\d\d +1  b\.csv$")
        self.assertRegex(text, r"(?m)^ +dir .* data/$")
        self.assertIn("list_files", self.bad("list_files", path="nowhere"))
        self.assertIn("nothing", self.text("list_files", glob="*.none"))

    def test_names_that_look_like_patterns_are_names(self):
        self.make("[x]*?/a.txt")
        self.make("x/b.txt")
        self.assertEqual(self.paths(path="[x]*?", glob="*.txt"), ["[x]*?/a.txt"])

    def test_pages_have_everything_once(self):
        names = [f"f{i:03}.txt" for i in range(25)] + ["d/1", "d/2", "d-1.txt", "d.txt", "d0"]
        for name in names:
            self.make(name)
        for arguments in ({}, {"sort": "modified"}, {"sort": "size"}, {"recursive": True}):
            seen, cursor, whole = [], {}, self.paths(limit=500, **arguments)
            while True:
                page = self.said("list_files", limit=7, **arguments, **cursor)
                self.assertLessEqual(len(page["files"]), 7)
                seen += [f["path"] for f in page["files"]]
                if not page["next_cursor"]:
                    break
                cursor = {"cursor": page["next_cursor"]}
            self.assertEqual(seen, whole, arguments)
            self.assertEqual(len(set(seen)), len(seen))
        self.assertIn("cursor", self.text("list_files", limit=3))
        self.assertIn("cursor", self.bad("list_files", sort="size", cursor="what"))

    def test_many_long_names_make_shorter_pages(self):
        names = [f"{i:03}" + "x" * 240 for i in range(120)]
        for name in names:
            self.make(name)
        seen, cursor, pages = [], {}, 0
        while True:
            page = self.said("list_files", limit=500, **cursor)
            seen += [f["path"] for f in page["files"]]
            pages += 1
            if not page["next_cursor"]:
                break
            cursor = {"cursor": page["next_cursor"]}
        self.assertEqual(seen, names)
        self.assertGreater(pages, 1)

    def test_other_orders_and_the_trash(self):
        self.make("small", b"1")
        self.make("large", b"1" * 100)
        self.make("middle", b"1" * 10)
        self.make("small", b"2")
        self.assertEqual(self.paths(sort="size"), ["large", "middle", "small"])
        self.assertEqual(self.paths(sort="modified"), ["small", "middle", "large"])
        self.client.ok("DELETE", self.at("middle"), status=204)
        trash = self.said("list_files", deleted=True)["files"]
        self.assertEqual([f["path"] for f in trash], ["middle"])
        self.assertTrue(trash[0]["file_id"].startswith("file_"))
        self.assertEqual(self.paths(deleted=True, path="elsewhere"), [])
        self.assertEqual(self.paths(), ["large", "small"])

    def test_hostile_names_come_and_go(self):
        for name in HOSTILE:
            said = self.said("write_file", path="./" + name if not name.startswith("mnt/") else name, content=name)
            self.assertEqual((said["path"], said["uri"]), (name, self.uri(name)))
            result = self.ok("read_file", path=name)
            self.assertIn("1\t" + name, Modern.text(result))
            self.assertEqual(self.link(result)["uri"], self.uri(name))
            self.assertEqual(self.data(name), name.encode())
        self.assertEqual(sorted(self.paths(recursive=True)), sorted(HOSTILE))


class Reading(McpFilesTest):
    def test_text_has_numbers_and_goes_on(self):
        self.make("a.txt", "".join(f"line {i}\n" for i in range(1, 11)).encode())
        result = self.ok("read_file", path="a.txt")
        text = Modern.text(result)
        self.assertRegex(text, r"^a\.txt: version 1, \d+ bytes, text/plain, lines 1-10 of 10\.\n     1\tline 1\n")
        self.assertTrue(text.endswith("    10\tline 10\n"), text)
        said = result["structuredContent"]
        self.assertEqual((said["kind"], said["first"], said["last"], said["total"], said["encoding"]), ("text", 1, 10, 10, "utf-8"))
        self.assertNotIn("next_offset", said)
        link = self.link(result)
        self.assertEqual((link["uri"], link["name"], link["mimeType"]), (self.uri("a.txt"), "a.txt", "text/plain"))
        part = self.ok("read_file", path="a.txt", offset=4, limit=2)
        self.assertIn("     5\tline 5\n     6\tline 6\n[there is more: call again with offset=6]", Modern.text(part))
        self.assertEqual(part["structuredContent"]["next_offset"], 6)
        self.assertIn("no lines after the first 10", self.text("read_file", path="a.txt", offset=99))

    def test_empty_and_without_a_line_end(self):
        self.make("empty", b"")
        self.make("open.txt", b"a\nb")
        said = self.said("read_file", path="empty")
        self.assertEqual((said["size"], said["first"], said["last"], said["total"]), (0, 0, 0, 0))
        text = self.text("read_file", path="open.txt")
        self.assertIn("lines 1-2 of 2", text)
        self.assertTrue(text.endswith("     2\tb\n"))
        self.make("empty.csv", b"")
        self.text("read_file", path="empty.csv")

    def test_versions(self):
        self.make("a.txt", b"old\n")
        self.make("a.txt", b"new\n")
        result = self.ok("read_file", path="a.txt", version=1)
        self.assertIn("\told\n", Modern.text(result))
        self.assertEqual(self.link(result)["uri"], self.uri("a.txt") + "?version=1")
        self.assertEqual(result["structuredContent"]["version"], 1)
        self.assertIn("\tnew\n", self.text("read_file", path="a.txt"))
        self.client.ok("POST", self.ws + "/move", {"from": "a.txt", "to": "b.txt"})
        self.assertIn("\told\n", self.text("read_file", path="b.txt", version=1))
        self.assertIn("version", self.bad("read_file", path="b.txt", version=99))

    def test_a_directory_is_no_file(self):
        self.make("d/a.txt")
        self.assertIn("list_files", self.bad("read_file", path="d"))

    def test_encodings(self):
        for name, encoding, note in (("8.txt", "utf-8", "lines 1-2 of 2.\n"), ("mark.txt", "utf-8-sig", "byte order mark"),
                                     ("16.txt", "utf-16", "utf-16le"), ("latin.txt", "latin-1", "not UTF-8")):
            self.make(name, "größe €\nzwei\n".encode(encoding, "replace"))
            text = self.text("read_file", path=name)
            self.assertIn(note, text)
            self.assertIn("     1\tgröße", text)
            self.assertIn("     2\tzwei\n", text)
        self.make("be.txt", b"\xfe\xff" + "😀 ok\n".encode("utf-16-be"))
        self.assertIn("\t😀 ok\n", self.text("read_file", path="be.txt"))
        self.make("crlf.txt", b"a\r\nb\r\n")
        self.assertIn("CRLF", self.text("read_file", path="crlf.txt"))

    def test_binary_is_told_and_not_shown(self):
        data = b"\x7fELF\0\1\2\3" * 1000
        self.make("program", data)
        result = self.ok("read_file", path="program")
        text = Modern.text(result)
        self.assertIn("binary", text)
        self.assertIn("run_code", text)
        self.assertIn("transfer_url", text)
        self.assertEqual(result["structuredContent"]["kind"], "binary")
        self.link(result)
        self.make("db.sqlite", data)
        self.assertIn("sqlite3", self.text("read_file", path="db.sqlite"))

    def test_base64_is_attached_and_never_in_text(self):
        data = bytes(range(256)) * 100
        self.make("raw.bin", data)
        result = self.ok("read_file", path="raw.bin", **{"as": "base64"})
        resource = Modern.blocks(result, "resource")[0]["resource"]
        self.assertEqual((base64.b64decode(resource["blob"]), resource["uri"]), (data, self.uri("raw.bin")))
        coded = base64.b64encode(data).decode()[:60]
        self.assertNotIn(coded, Modern.text(result) + json.dumps(result["structuredContent"]))
        self.make("raw.bin", data * 10)
        result = self.ok("read_file", path="raw.bin", **{"as": "base64"})
        self.assertEqual(Modern.blocks(result, "resource"), [])
        self.link(result)
        self.make("nothing", b"")
        self.ok("read_file", path="nothing", **{"as": "base64"})

    def test_long_lines_are_cut(self):
        self.make("one.json", b"[" + b"1," * 500_000 + b"2]")
        text = self.text("read_file", path="one.json")
        self.assertLess(len(text), 3000)
        self.assertRegex(text, r"\[cut: 99\d+ more bytes\]")
        self.make("many.txt", (b"x" * 5000 + b"\n") * 200)
        said = self.said("read_file", path="many.txt")
        self.assertTrue(10 < said["last"] < 30, said)
        self.assertEqual(said["next_offset"], said["last"])

    def test_of_50_mb_only_what_is_wanted_is_read(self):
        line = b"%08d " + b"y" * 90 + b"\n"
        count = (50 << 20) // 100
        self.make("big.log", b"".join(line % i for i in range(1, count + 1)))
        said = self.said("read_file", path="big.log")
        self.assertEqual(said["first"], 1)
        self.assertNotIn("total", said)
        self.assertIn("next_offset", said)
        text = self.text("read_file", path="big.log", offset=count - 3)
        self.assertIn(f"lines {count - 2}-{count} of {count}", text)
        self.assertIn(f"{count}\t{count:08d} yyy", text)

    def test_beyond_what_is_looked_through_run_code_is_named(self):
        self.make("huge.log", b"z" * 99 + b"\n")
        self.make("huge.log", (b"z" * 999 + b"\n") * (70 << 10))
        text = self.text("read_file", path="huge.log", offset=(69 << 10))
        self.assertIn("64 MiB", text)
        self.assertIn("/mnt/data/huge.log", text)

    def test_tables(self):
        rows = "".join(f"{i},name {i},\"a, b | c\"\n" for i in range(1, 201))
        self.make("t.csv", ("id,name,note\n" + rows).encode())
        result = self.ok("read_file", path="t.csv")
        text = Modern.text(result)
        self.assertIn("3 columns, rows 1-50 of 200", text)
        self.assertIn("| id | name | note |\n| --- | --- | --- |\n| 1 | name 1 | a, b \\| c |\n", text)
        said = result["structuredContent"]
        self.assertEqual((said["kind"], said["columns"], said["next_offset"]), ("table", 3, 50))
        text = self.text("read_file", path="t.csv", offset=198, limit=10)
        self.assertIn("rows 199-200 of 200", text)
        self.assertIn("| id | name | note |", text)
        self.assertIn("| 200 | name 200 |", text)
        self.assertIn("     2\t1,name 1", self.text("read_file", path="t.csv", **{"as": "text"}))
        self.make("t.tsv", b"a\tb\n1\t2\n")
        self.assertIn("| 1 | 2 |", self.text("read_file", path="t.tsv"))
        self.make("data.txt", b"a;b\n1;2\n")
        self.assertIn("| 1 | 2 |", self.text("read_file", path="data.txt", **{"as": "table"}))
        self.make("latin.csv", "stadt,größe\nköln,1\n".encode("latin-1"))
        self.assertIn("| köln | 1 |", self.text("read_file", path="latin.csv"))
        self.make("broken.csv", b"a,b\n1,\"2\n" + b"x" * (3 << 20))
        self.assertIn("quote", self.text("read_file", path="broken.csv"))

    def test_images(self):
        self.make("dot.png", documents.png("a dot"))
        result = self.ok("read_file", path="dot.png")
        block = Modern.blocks(result, "image")[0]
        self.assertEqual(block["mimeType"], "image/png")
        self.assertTrue(base64.b64decode(block["data"]).startswith(b"\x89PNG"))
        self.assertIn("1x1 pixels", Modern.text(result))
        said = result["structuredContent"]
        self.assertEqual((said["kind"], said["width"], said["height"]), ("image", 1, 1))
        self.assertEqual(self.link(result)["uri"], self.uri("dot.png"))
        self.make("lie.png", b"this is no image")
        result = self.ok("read_file", path="lie.png")
        self.assertEqual(Modern.blocks(result, "image"), [])
        self.assertIn("cannot be shown as an image", Modern.text(result))
        self.make("draw.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>\n")
        self.assertIn("     1\t<svg", self.text("read_file", path="draw.svg"))

    def test_large_images_are_made_small(self):
        code = ("import numpy, PIL.Image\n"
                "PIL.Image.fromarray(numpy.random.default_rng(1).integers(0, 255, (1500, 2000, 3), dtype='uint8')).save('/mnt/data/noise.png')")
        self.client.ok("POST", "/api/v1/runs", {"code": code, "workspace": self.id_ws})
        result = self.ok("read_file", path="noise.png")
        block = Modern.blocks(result, "image")[0]
        self.assertLessEqual(len(base64.b64decode(block["data"])), 150 << 10)
        self.assertIn("2000x1500 pixels, made smaller", Modern.text(result))
        self.assertGreater(self.link(result)["size"], 1 << 20)

    def test_documents(self):
        self.make("d/paper.pdf", documents.pdf(["first page", "second page about walruses"]))
        self.make("plan.xlsx", documents.xlsx({"Costs": {1: ["what", "how much"], 2: ["walrus feed", 12.5]}, "Team": {1: ["name"], 2: ["Ann"]}}))
        self.make("letter.docx", documents.docx([("Heading1", "Terms"), (None, "Payment in thirty days.")]))
        self.make("talk.pptx", documents.pptx(["Welcome", "Quarterly review"]))
        self.make("book.ipynb", documents.ipynb([("code", "x = 1", "marmalade\n")]))
        result = self.ok("read_file", path="d/paper.pdf")
        text = Modern.text(result)
        self.assertIn("--- page 2 ---", text)
        self.assertIn("walruses", text)
        self.assertEqual(result["structuredContent"]["kind"], "document")
        self.link(result)
        text = self.text("read_file", path="plan.xlsx")
        for piece in ("--- sheet Costs ---", "walrus feed\t12.5", "--- sheet Team ---", "Ann"):
            self.assertIn(piece, text)
        self.assertIn("thirty days", self.text("read_file", path="letter.docx"))
        self.assertIn("--- slide 2 ---", self.text("read_file", path="talk.pptx"))
        self.assertIn("marmalade", self.text("read_file", path="book.ipynb"))
        text = self.text("read_file", path="d/paper.pdf", offset=2, limit=1)
        self.assertIn("     3\t--- page 2 ---\n[there is more", text)
        self.make("t.parquet", b"PAR1")
        self.assertIn("cannot be shown", self.text("read_file", path="t.parquet"))
        self.make("broken.pdf", b"no pdf")
        self.assertIn("cannot be shown", self.text("read_file", path="broken.pdf"))
        # The sandbox has only the newest version.
        self.make("letter.docx", documents.docx([(None, "Changed.")]))
        self.assertIn("manage_file", self.text("read_file", path="letter.docx", version=1))
        # Who may not run code gets what is known without.
        secret = self.client.ok("POST", "/api/v1/keys", {"name": "reader", "scopes": ["files:read"]}, 201)["secret"]
        text = self.text("read_file", mcp=Modern(self.server, secret), path="d/paper.pdf")
        self.assertIn("cannot be shown", text)
        self.assertNotIn("walruses", text)


    def test_what_is_in_the_workspace_is_not_run(self):
        trap = b"open('/mnt/data/trapped', 'w').close()\nraise SystemExit('trapped')\n"
        for name in ("csv", "zipfile", "json", "os", "io", "expat", "subprocess", "sitecustomize"):
            self.make(name + ".py", trap)
        self.make("plan.xlsx", documents.xlsx({"Costs": {1: ["walrus feed"]}}))
        self.assertIn("walrus feed", self.text("read_file", path="plan.xlsx"))
        self.assertEqual(self.get("trapped").status, 404)


class Writing(McpFilesTest):
    def test_a_file_and_its_versions(self):
        result = self.ok("write_file", path="/mnt/data/notes/a.md", content="grüße\n")
        said = result["structuredContent"]
        self.assertEqual((said["path"], said["version"], said["size"], said["created"]), ("notes/a.md", 1, 8, True))
        self.assertEqual(self.link(result)["uri"], self.uri("notes/a.md"))
        self.assertEqual(self.data("notes/a.md"), "grüße\n".encode())
        said = self.said("write_file", path="notes/a.md", content="")
        self.assertEqual((said["version"], said["size"], said["created"]), (2, 0, False))
        self.assertEqual(self.data("notes/a.md", "?version=1"), "grüße\n".encode())

    def test_base64(self):
        data = bytes(range(256))
        coded = base64.b64encode(data).decode()
        self.ok("write_file", path="b.bin", content=coded[:76] + "\n" + coded[76:], encoding="base64")
        self.assertEqual(self.data("b.bin"), data)
        self.assertIn("base64", self.bad("write_file", path="b.bin", content="no base64!", encoding="base64"))
        self.assertEqual(self.data("b.bin"), data)
        self.ok("write_file", path="nul.txt", content="a\0b")
        self.assertEqual(self.data("nul.txt"), b"a\0b")

    def test_create_does_not_overwrite(self):
        self.ok("write_file", path="a", content="1", mode="create")
        text = self.bad("write_file", path="a", content="2", mode="create")
        self.assertIn("version 1", text)
        self.assertIn("overwrite", text)
        self.assertEqual(self.data("a"), b"1")

    def test_a_version_that_is_not_the_current_one_is_a_conflict(self):
        self.make("a", b"1")
        self.make("a", b"2")
        text = self.bad("write_file", path="a", content="x", if_version=1)
        self.assertIn("version 2", text)
        self.assertIn("read_file", text)
        self.assertEqual(self.data("a"), b"2")
        self.assertEqual(self.said("write_file", path="a", content="3", if_version=2)["version"], 3)
        self.assertIn("no file", self.bad("write_file", path="nothing", content="x", if_version=1))
        self.assertEqual(self.get("nothing").status, 404)
        # Another file of the same name and version is another file.
        self.client.ok("DELETE", self.at("a"), status=204)
        self.make("a", b"another")
        self.bad("write_file", path="a", content="x", if_version=3)
        self.assertEqual(self.data("a"), b"another")

    def test_append(self):
        self.ok("write_file", path="log", content="a\n", mode="append")
        said = self.said("write_file", path="log", content="b\n", mode="append")
        self.assertEqual((said["version"], said["size"]), (2, 4))
        self.assertEqual(self.data("log"), b"a\nb\n")
        self.assertIn("version 2", self.bad("write_file", path="log", content="c", mode="append", if_version=1))
        self.ok("write_file", path="log", content="c\n", mode="append", if_version=2)
        self.assertEqual(self.data("log"), b"a\nb\nc\n")

    def test_nobodys_line_is_lost_when_several_append(self):
        def add(number):
            mcp = Modern(self.server)
            for i in range(5):
                result = mcp.call("write_file", workspace_id=self.id_ws, path="log", content=f"{number}-{i}\n", mode="append")
                assert not result.get("isError"), Modern.text(result)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(4)))
        self.assertEqual(sorted(self.data("log").decode().split()), sorted(f"{n}-{i}" for n in range(4) for i in range(5)))

    def test_locks_keep_others_out(self):
        self.make("a", b"1")
        lock = self.client.ok("POST", self.ws + "/locks", {"path": "a", "holder": "alice"}, 201)
        for tool, more in (("write_file", {"content": "2"}), ("write_file", {"content": "2", "mode": "append"}),
                           ("edit_file", {"edits": [{"old_text": "1", "new_text": "2"}]})):
            text = self.bad(tool, path="a", **more)
            self.assertIn("alice", text)
            self.assertIn(lock["expires_at"][:16], text)
            self.assertIn("lock_token", text)
        self.assertEqual(self.data("a"), b"1")
        self.ok("edit_file", path="a", edits=[{"old_text": "1", "new_text": "2"}], lock_token=lock["token"])
        self.ok("write_file", path="a", content="3", mode="append", lock_token=lock["token"])
        self.assertEqual(self.data("a"), b"23")
        self.client.ok("DELETE", f"{self.ws}/locks/{lock['id']}", status=204, headers={"Lock-Token": lock["token"]})
        self.assertIn("lock", self.bad("write_file", path="a", content="4", lock_token=lock["token"]))
        self.assertEqual(self.data("a"), b"23")

    def test_a_few_megabytes(self):
        content = "0123456789abcde\n" * (256 << 10)
        self.assertEqual(self.said("write_file", path="big", content=content)["size"], 4 << 20)


class Editing(McpFilesTest):
    def edit(self, *edits, **more):
        return {"path": "a.py", "edits": [{"old_text": old, "new_text": new} for old, new in edits], **more}

    def test_pieces_are_replaced_and_the_diff_is_shown(self):
        self.make("a.py", b"x = 1\ny = 2\nz = 3\n")
        result = self.ok("edit_file", **self.edit(("x = 1", "x = 10"), ("z = 3\n", "")))
        self.assertEqual(self.data("a.py"), b"x = 10\ny = 2\n")
        self.assertIn("--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,2 @@\n-x = 1\n+x = 10\n y = 2\n-z = 3\n", Modern.text(result))
        said = result["structuredContent"]
        self.assertEqual((said["version"], said["replaced"], said["lines_added"], said["lines_removed"], said["dry_run"]), (2, 2, 1, 2, False))
        self.link(result)

    def test_a_dry_run_changes_nothing(self):
        self.make("a.py", b"x = 1\n")
        result = self.ok("edit_file", **self.edit(("1", "2")), dry_run=True)
        self.assertIn("-x = 1\n+x = 2\n", Modern.text(result))
        self.assertEqual((result["structuredContent"]["version"], result["structuredContent"]["dry_run"]), (1, True))
        self.assertEqual(self.stat("a.py")["version"], 1)

    def test_what_is_there_twice(self):
        self.make("a.py", b"a\nb\na\n")
        text = self.bad("edit_file", **self.edit(("a", "c")))
        self.assertIn("2 times, in lines 1, 3", text)
        self.assertIn("replace_all", text)
        self.assertEqual(self.data("a.py"), b"a\nb\na\n")
        self.ok("edit_file", path="a.py", edits=[{"old_text": "a", "new_text": "c", "replace_all": True}])
        self.assertEqual(self.data("a.py"), b"c\nb\nc\n")

    def test_what_is_not_there_is_told_with_what_comes_closest(self):
        self.make("a.py", "def f():\n\tprint(“hi”)\n".encode())
        text = self.bad("edit_file", **self.edit(('    print("hi")', "pass")))
        self.assertIn("not in the file", text)
        self.assertIn('Line 2 differs only', text)
        self.assertIn('file:     "\\tprint(“hi”)"', text)
        self.assertIn("Nothing was changed", text)
        self.assertIn("Nothing in the file is like it", self.bad("edit_file", **self.edit(("qqqqqqqq", "x"))))
        self.assertIn("the same", self.bad("edit_file", **self.edit(("def", "def"))))
        # All or nothing.
        self.bad("edit_file", **self.edit(("def f", "def g"), ("nowhere to be found", "x")))
        self.assertIn(b"def f", self.data("a.py"))

    def test_line_ends_stay(self):
        self.make("a.py", b"a\r\nb\r\nc\r\n")
        self.ok("edit_file", **self.edit(("a\nb", "1\n2")))
        self.assertEqual(self.data("a.py"), b"1\r\n2\r\nc\r\n")

    def test_conflicts(self):
        self.make("a.py", b"1\n")
        self.make("a.py", b"2\n")
        text = self.bad("edit_file", **self.edit(("2", "3")), if_version=1)
        self.assertIn("version 2", text)
        self.assertIn("read_file", text)
        self.ok("edit_file", **self.edit(("2", "3")), if_version=2)
        self.assertEqual(self.data("a.py"), b"3\n")

    def test_edits_of_several_are_all_made(self):
        self.make("a.py", "".join(f"slot {i} empty\n" for i in range(20)).encode())

        def fill(number):
            mcp = Modern(self.server)
            for i in range(number, 20, 4):
                edits = [{"old_text": f"slot {i} empty", "new_text": f"slot {i} full"}]
                result = mcp.call("edit_file", workspace_id=self.id_ws, path="a.py", edits=edits)
                assert not result.get("isError"), Modern.text(result)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(fill, range(4)))
        self.assertNotIn(b"empty", self.data("a.py"))
        self.assertEqual(self.stat("a.py")["version"], 21)

    def test_what_is_no_text_is_refused(self):
        self.make("a.py", b"\xff\xfea\0")
        self.assertIn("run_code", self.bad("edit_file", **self.edit(("a", "b"))))
        self.make("a.py", b"x" * (9 << 20))
        self.assertIn("run_code", self.bad("edit_file", **self.edit(("a", "b"))))
        self.assertIn("list_files", self.bad("edit_file", path="none", edits=[{"old_text": "a", "new_text": "b"}]))
        self.bad("edit_file", path="a.py", edits=[])

    def test_a_large_diff_is_cut(self):
        self.make("a.py", b"".join(b"old %06d\n" % i for i in range(20000)))
        text = self.text("edit_file", path="a.py", edits=[{"old_text": "old", "new_text": "new", "replace_all": True}])
        self.assertIn("more bytes of the diff are left out", text)
        self.assertNotIn(b"old", self.data("a.py"))


class Scanning(McpFilesTest):
    def hits(self, query, **arguments):
        return self.said("search_files", query=query, **arguments)["hits"]

    def test_names(self):
        for path in ("Report.md", "data/report.csv", "data/other.csv", "reports/x.txt"):
            self.make(path)
        paths = [h["path"] for h in self.hits("report", mode="name")]
        self.assertEqual(paths[:2], ["Report.md", "data/report.csv"])
        self.assertEqual(paths[2], "reports/x.txt")
        self.assertEqual([h["path"] for h in self.hits("*.csv", mode="name")], ["data/other.csv", "data/report.csv"])
        self.assertEqual([h["path"] for h in self.hits("/mnt/data/data/report.csv", mode="name")], ["data/report.csv"])
        self.assertEqual([h["path"] for h in self.hits("report", mode="name", path_glob="*.csv")], ["data/report.csv"])
        self.assertEqual([h["path"] for h in self.hits("report", mode="name", path_glob="data/")], ["data/report.csv"])
        self.assertEqual(len(self.hits("report", mode="name", limit=1)), 1)
        hit = self.hits("other", mode="name")[0]
        self.assertEqual((hit["match"], hit["version"], hit["uri"]), ("name", 1, self.uri("data/other.csv")))
        self.assertIn("shorter part", self.text("search_files", query="zzz", mode="name"))

    def test_regular_expressions(self):
        self.make("a.py", b"import os\n\ndef load_sales(path):\n    return 1\n\ndef other():\n    pass\n")
        self.make("b.txt", "größe 12\n".encode("latin-1"))
        self.make("c.bin", b"\0\0def load_x(\0")
        hits = self.hits(r"^def load_\w+\(", mode="regex")
        self.assertEqual([(h["path"], h["line_start"], h["line_end"], h["match"]) for h in hits], [("a.py", 3, 3, "regex")])
        self.assertEqual(hits[0]["snippet"], "1- import os\n2- \n3: def load_sales(path):\n4-     return 1\n5- \n")
        text = self.text("search_files", query=r"^def \w+", mode="regex", context_lines=0)
        self.assertIn("1. a.py:3-3 (version 1, regex)\n   3: def load_sales(path):\n2. a.py:6-6", text)
        self.assertEqual([(h["line_start"], h["line_end"]) for h in self.hits("^def", mode="regex")], [(3, 6)])  # they touch
        self.assertEqual(self.hits("größe", mode="regex")[0]["path"], "b.txt")
        self.assertEqual(self.hits("DEF LOAD", mode="regex"), [])
        self.assertEqual(len(self.hits("(?i)DEF LOAD", mode="regex")), 1)
        self.assertEqual(self.hits("def", mode="regex", path_glob="*.txt"), [])
        self.assertIn("(?i)", self.text("search_files", query="nothing like it", mode="regex"))
        self.assertIn("parenthesis", self.bad("search_files", query="(a", mode="regex"))
        self.assertEqual(len(self.hits(r"def load(?=_sales)", mode="regex")), 1)

    def test_many_hits_stay_small(self):
        self.make("long/" + "x" * 200 + ".txt", ("needle " + "y" * 400 + "\n").encode() * 500)
        hits = self.hits("needle", mode="regex", limit=50, context_lines=0)
        self.assertEqual(len(hits), 1)  # lines that touch are one hit
        self.make("apart.txt", ("needle " + "y" * 400 + "\n\n\n\n\n\n\n").encode() * 500)
        self.assertEqual(len(self.hits("needle", mode="regex", limit=50)), 50)

    def test_a_large_file_is_read_as_far_as_it_goes(self):
        self.make("big.log", b"".join(b"%08d " % i + b"y" * 90 + b"\n" for i in range(1, 60001)))
        hits = self.hits("00059999 ", mode="regex", context_lines=0)
        self.assertEqual([(h["line_start"], h["line_end"]) for h in hits], [(59999, 59999)])
        self.make("huge.log", (b"x" * 999 + b"\n") * (70 << 10) + b"needle\n")
        text = self.text("search_files", query="needle", mode="regex", path_glob="huge.log")
        self.assertIn("Not everything was looked at", text)
        self.assertIn("run_code", text)

    def test_without_an_index_it_says_what_else_there_is(self):
        text = self.bad("search_files", query="words")
        self.assertIn("regex", text)


class Searching(McpFilesTest):
    settings = {"search.index": "on"}

    def test_the_index_cites_places(self):
        self.make("notes/deep.txt", "\n".join(f"line number {i}" if i != 30 else "the quick hippopotamus jumps" for i in range(1, 60)).encode())
        self.make("paper.pdf", documents.pdf(["nothing", "a walrus on page two"]))
        self.make("sales.csv", b"region,amount\nantarctica,99\n")
        self.make("kangaroo.bin", b"\0\1")

        def settled():
            state = self.client.ok("GET", self.ws + "/index")
            return not state["pending"] and state["ready"] + state["skipped"] + state["failed"] >= 4

        import base
        base.eventually(settled, 120)
        result = self.ok("search_files", query="hippopotamus")
        hit = result["structuredContent"]["hits"][0]
        self.assertEqual((hit["path"], hit["line_start"], hit["line_end"], hit["match"], hit["version"]), ("notes/deep.txt", 30, 30, "keyword", 1))
        self.assertIn("**hippopotamus**", hit["snippet"])
        self.assertEqual(hit["uri"], self.uri("notes/deep.txt"))
        self.assertIn("1. notes/deep.txt:30-30 (version 1, keyword)\n", Modern.text(result))
        self.assertEqual(result["structuredContent"]["pending"], 0)
        hit = self.said("search_files", query="walrus")["hits"][0]
        self.assertEqual((hit["page"], hit["cite"]), (2, "page 2"))
        self.assertIn("paper.pdf, page 2", self.text("search_files", query="walrus"))
        self.assertIn("rows", self.said("search_files", query="antarctica")["hits"][0]["cite"])
        self.assertEqual(self.said("search_files", query="walrus", path_glob="*.txt")["hits"], [])
        text = self.text("search_files", query="kangaroo", mode="auto")
        self.assertIn("kangaroo.bin", text)
        self.assertIn("Try fewer", self.text("search_files", query="unheardofword"))
        self.assertIn("intelligence is off", self.text("search_files", query="walrus", mode="semantic"))
        self.assertEqual(self.said("search_files", query="walrus", mode="text")["hits"][0]["path"], "paper.pdf")


class Transferring(McpFilesTest):
    def curl(self, command):
        done = subprocess.run(["sh", "-c", command], cwd=self.server.data + "/s", capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_command_works_as_it_stands_there(self):
        for name in ("plain.csv", "it's a 'name'.txt", "-rf", "d/ünï cödé.bin"):
            local = self.server.data + "/s/" + name.rpartition("/")[2]
            with open(local, "wb") as f:
                f.write(b"up " + name.encode())
            result = self.ok("transfer_url", path=name, direction="upload")
            said = result["structuredContent"]
            self.assertEqual(said["method"], "PUT")
            self.assertIn(said["curl"], Modern.text(result))
            self.assertTrue(said["url"].startswith("http://127.0.0.1:"), said)
            self.assertEqual(json.loads(self.curl(said["curl"]))["version"], 1)
            self.assertEqual(self.data(name), b"up " + name.encode())
            self.make(name, b"down")
            said = self.said("transfer_url", path="/mnt/data/" + name, direction="download", expires_s=60)
            self.assertEqual(said["method"], "GET")
            self.curl(said["curl"])
            with open(local, "rb") as f:
                self.assertEqual(f.read(), b"down")

    def test_it_is_good_for_one_thing_only(self):
        self.make("a.txt", b"1")
        url = self.said("transfer_url", path="a.txt", direction="download")["url"]
        path = re.sub(r"^http://[^/]+", "", url)
        nobody = Client(self.server, None)
        self.addCleanup(nobody.close)
        self.assertEqual(nobody.get(path).body, b"1")
        self.assertEqual(nobody.request("PUT", path, raw=b"2").status, 403)
        self.assertEqual(nobody.get(path.replace("a.txt", "b.txt")).status, 403)

    def test_what_is_not_there_cannot_be_downloaded(self):
        self.assertIn("list_files", self.bad("transfer_url", path="none", direction="download"))
        self.make("d/a")
        self.assertIn("make_archive", self.bad("transfer_url", path="d", direction="download"))
        self.assertIn("direction", self.bad("transfer_url", path="d"))
