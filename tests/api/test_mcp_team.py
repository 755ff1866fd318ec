"""MCP: the tools for working together: files moved and restored, versions, locks, links, workspaces, the audit."""
import http.client
import json
import re
import threading
import urllib.parse

import jsonschema
from base import KEY, Client, eventually
from files import WORKSPACES, FilesTest
from mcp import Legacy, Modern, RpcError

TEAM = ["manage_file", "file_versions", "lock_file", "share", "workspace", "audit_log"]


class TeamTest(FilesTest):
    def setUp(self):
        super().setUp()
        self.workspace_id = self.ws.rpartition("/")[2]
        self.mcp = self.speaker()
        self.schemas = {t["name"]: t["outputSchema"] for t in self.mcp.rpc("tools/list")["tools"] if "outputSchema" in t}

    def speaker(self, era=Modern, key=KEY, **more):
        made = era(self.server, key, **more)
        if hasattr(made, "close"):
            self.addCleanup(made.close)
        return made

    def somebody(self, role=None, scopes=("run", "files:read", "files:write"), era=Modern, name="ed", **more):
        """(principal, client over MCP) of somebody with that role here."""
        principal = self.client.ok("POST", "/api/v1/principals", {"name": name}, 201)["id"]
        secret = self.client.ok("POST", "/api/v1/keys", {"principal": principal, "scopes": list(scopes)}, 201)["secret"]
        if role:
            self.client.ok("PUT", f"{self.ws}/members/{principal}", {"role": role})
        return principal, self.speaker(era, secret, **more)

    def call(self, tool, mcp=None, **args):
        """(text, structured content) of a call that works; what is structured is held against its schema."""
        args.setdefault("workspace_id", self.workspace_id)
        result = (mcp or self.mcp).call(tool, **args)
        text = self.text(result)
        self.assertFalse(result.get("isError"), text)
        jsonschema.Draft202012Validator(self.schemas[tool]).validate(result["structuredContent"])
        self.assertEqual(args.get("action", result["structuredContent"].get("action")), result["structuredContent"].get("action"))
        if "next" in result["structuredContent"]:
            self.assertTrue(text.endswith("next: " + result["structuredContent"]["next"] + "\n"), text)
        return text, result["structuredContent"]

    def refused_call(self, tool, pattern, mcp=None, **args):
        args.setdefault("workspace_id", self.workspace_id)
        result = (mcp or self.mcp).call(tool, **args)
        text = self.text(result)
        self.assertTrue(result.get("isError"), text)
        self.assertRegex(text, pattern)
        self.assertNotIn("openapi", text)
        return text

    @staticmethod
    def text(result):
        return "".join(block["text"] for block in result["content"] if block["type"] == "text")

    def plain(self, path, method="GET", body=None, **headers):
        """A request of somebody who has nothing but an address."""
        connection = http.client.HTTPConnection(*self.server.address, timeout=120)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


class Listed(TeamTest):
    def test_they_are_described_as_what_they_are(self):
        for era in Modern, Legacy:
            tools = {t["name"]: t for t in self.speaker(era).rpc("tools/list")["tools"]}
            for name in TEAM:
                tool = tools[name]
                jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
                jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
                self.assertEqual(tool["outputSchema"]["type"], "object")
                self.assertTrue(tool["title"] and tool["description"])
                for field in tool["inputSchema"]["properties"].values():
                    self.assertNotEqual(field.get("type"), "object", "parameters are flat")
            self.assertEqual({n: tools[n]["annotations"]["readOnlyHint"] for n in TEAM}, {n: n == "audit_log" for n in TEAM})
            self.assertTrue(all(tools[n]["annotations"]["destructiveHint"] for n in ("manage_file", "share", "workspace")))

    def test_a_key_sees_what_its_scopes_are_enough_for(self):
        for scopes, seen in ((["files:read"], ["file_versions", "workspace"]), (["share"], ["share"]), (["audit"], ["audit_log"]),
                             (["files:read", "files:write"], ["manage_file", "file_versions", "lock_file", "workspace"])):
            for era in Modern, Legacy:
                _, mcp = self.somebody("admin", scopes, era)
                listed = [t["name"] for t in mcp.rpc("tools/list")["tools"]]
                self.assertEqual([n for n in listed if n in TEAM], seen)
        _, reader = self.somebody("viewer", ["files:read"])
        with self.assertRaises(RpcError):
            reader.call("manage_file", action="mkdir", path="d", workspace_id=self.workspace_id)
        self.assertEqual(self.paths(recursive=1), [])

    def test_what_a_role_does_not_allow_says_which_is_needed(self):
        self.make("a.txt", b"one")
        self.make("a.txt", b"two")
        _, viewer = self.somebody("viewer", ["files:read", "files:write", "share", "audit"])
        self.call("file_versions", viewer, action="list", path="a.txt")
        for tool, args in (("manage_file", {"action": "delete", "path": "a.txt"}), ("file_versions", {"action": "restore", "path": "a.txt", "version": 1}),
                           ("lock_file", {"action": "acquire", "path": "a.txt"}), ("share", {"action": "create", "path": "a.txt"}), ("share", {"action": "list"})):
            self.refused_call(tool, r"for editors of the workspace, and you are viewer(?s:.)*Ask an admin", viewer, **args)
        for tool, args in (("workspace", {"action": "update", "name": "x"}), ("audit_log", {}), ("workspace", {"action": "add_member", "principal_id": "prn_x"})):
            self.refused_call(tool, "for admins of the workspace, and you are viewer", viewer, **args)
        self.refused_call("workspace", "for owner of the workspace", viewer, action="transfer", confirm=True)
        _, stranger = self.somebody()
        self.refused_call("workspace", "there is no workspace", stranger, action="get")
        _, reader = self.somebody("editor", ["files:read"])
        self.refused_call("file_versions", "scope", reader, action="restore", path="a.txt", version=1)
        self.assertEqual(self.data("a.txt"), b"two")


class Files(TeamTest):
    def test_moving_copying_and_directories(self):
        self.make("a/b.txt", b"hello")
        self.make("taken", b"x")
        _, made = self.call("manage_file", action="mkdir", path="/mnt/data/empty dir")
        self.assertEqual((made["file"]["path"], made["file"]["kind"]), ("empty dir", "directory"))
        text, moved = self.call("manage_file", action="move", path="/mnt/data/a/b.txt", to="c/é d.txt")
        self.assertIn("moved to c/é d.txt", text)
        self.assertEqual((moved["file"]["path"], moved["file"]["size"]), ("c/é d.txt", 5))
        self.assertEqual(moved["file"]["uri"], f"workspace://{self.workspace_id}/c/%C3%A9%20d.txt")
        self.assertEqual(self.data("c/é d.txt"), b"hello")
        self.make("c/é d.txt", b"hello 2")
        self.call("manage_file", action="copy", path="c/é d.txt", to="now")
        self.call("manage_file", action="copy", path="c/é d.txt", to="then", version=1)
        self.assertEqual((self.data("now"), self.data("then")), (b"hello 2", b"hello"))
        for action in "move", "copy":
            self.refused_call("manage_file", "overwrite=true", action=action, path="now", to="taken")
            self.refused_call("manage_file", "to: action", action=action, path="now")
        self.call("manage_file", action="move", path="now", to="taken", overwrite=True)
        self.assertEqual(self.data("taken"), b"hello 2")
        self.refused_call("manage_file", "no file|there is no", action="move", path="gone", to="x")

    def test_only_if_it_is_at_a_version(self):
        self.make("f", b"one")
        self.make("f", b"two")
        for action, more in (("delete", {}), ("move", {"to": "g"})):
            self.refused_call("manage_file", r"(?s)at version 2 now.*Read it again", action=action, path="f", if_version=1, **more)
        self.call("manage_file", action="move", path="f", to="g", if_version=2)
        self.assertEqual(self.data("g"), b"two")

    def test_the_trash_gives_back_until_it_is_purged(self):
        self.make("d/f", b"one")
        self.refused_call("manage_file", "recursive=true", action="delete", path="d")
        text, _ = self.call("manage_file", action="delete", path="d/f")
        self.assertIn("action=restore", text)
        _, trash = self.call("manage_file", action="list_trash")
        self.assertEqual([t["path"] for t in trash["trash"]], ["d/f"])
        self.call("manage_file", action="restore", path="/mnt/data/d/f")
        self.assertEqual((self.data("d/f"), self.trash()), (b"one", []))
        self.call("manage_file", action="delete", path="d", recursive=True)
        self.call("manage_file", action="restore", path="d/f/", to="back")
        self.assertEqual((self.data("back"), self.trash()), (b"one", []))
        # Two that were at one path: the newest comes back, and to purge says which.
        for content in b"another", b"third":
            self.make("new", content)
            self.call("manage_file", action="move", path="new", to="d/f", overwrite=True)
        self.assertEqual(len(self.trash()), 1)
        self.refused_call("manage_file", "(?s)Pass `to`", action="restore", path="d/f")
        self.call("manage_file", action="delete", path="d/f")
        self.refused_call("manage_file", "(?s)file_id: 2 files.*list_trash", action="purge", path="d/f", confirm=True)
        rows = self.call("manage_file", action="list_trash")[1]["trash"]
        third, another = [r for r in rows if r["path"] == "d/f"]  # newest first
        self.assertGreater(third["deleted_at"], another["deleted_at"])
        self.assertEqual(self.call("manage_file", action="purge", file_id=another["file_id"], confirm=True)[1]["purged"], 1)
        self.assertEqual(self.call("manage_file", action="restore", path="d/f")[1]["file"]["size"], len(b"third"))
        self.refused_call("manage_file", "no 'd/f' in the trash", action="restore", path="d/f")
        self.refused_call("manage_file", "(?s)no 'd/f' in the trash.*delete it first", action="purge", path="d/f", confirm=True)

    def test_one_version_is_purged(self):
        self.make("f", b"secret")
        self.make("f", b"public")
        self.call("manage_file", action="purge", path="f", version=1, confirm=True)
        self.assertEqual([v["version"] for v in self.versions("f")], [2])
        self.refused_call("file_versions", "version", action="restore", path="f", version=1)

    def test_the_whole_trash_is_emptied_page_by_page_seen_before(self):
        for n in range(5):
            self.make(f"f{n}", b"x")
            self.client.ok("DELETE", self.at(f"f{n}"), status=204)
        seen, cursor = [], {}
        while True:
            text, page = self.call("manage_file", action="list_trash", limit=2, **cursor)
            seen += [t["path"] for t in page["trash"]]
            if not page["has_more"]:
                break
            self.assertIn(f'cursor="{page["next_cursor"]}"', text)
            cursor = {"cursor": page["next_cursor"]}
        self.assertEqual(sorted(seen), [f"f{n}" for n in range(5)])
        self.assertEqual(self.call("manage_file", action="empty_trash", confirm=True)[1]["purged"], 5)
        self.assertEqual(self.trash(), [])
        self.assertIn("the trash is empty", self.call("manage_file", action="list_trash")[0])

    def test_long_lists_stay_small_and_say_so(self):
        for n in range(30):
            self.make("/".join([f"{n:03}" + "x" * 200] * 4), b"x")
            self.client.ok("DELETE", self.at("/".join([f"{n:03}" + "x" * 200] * 4)), status=204)
        result = self.mcp.call("manage_file", action="list_trash", limit=50, workspace_id=self.workspace_id)
        self.assertLess(len(self.text(result)), 48 << 10)
        self.assertLess(len(json.dumps(result["structuredContent"])), 12 << 10)
        shown = len(result["structuredContent"]["trash"])
        self.assertTrue(0 < shown < 30 and result["structuredContent"]["has_more"])
        self.assertIn(f"repeat with limit={shown}", self.text(result))


class Versions(TeamTest):
    def test_what_was_and_what_changed(self):
        self.make("f.txt", b"a\nb\nc\n")
        self.make("f.txt", b"a\nB\nc\nd\n")
        self.make("f.txt", b"a\nB\nc\nd\ne\n")
        text, listed = self.call("file_versions", path="/mnt/data/f.txt", action="list")
        self.assertEqual([(v["version"], v["change"], v["size"]) for v in listed["versions"]],
                         [(3, "modified", 10), (2, "modified", 8), (1, "created", 6)])
        self.assertEqual(len(text.splitlines()), 6)
        text, diff = self.call("file_versions", action="diff", path="f.txt")
        self.assertEqual((diff["version"], diff["added"], diff["removed"], diff["truncated"]), (2, 1, 0, False))
        self.assertIn("+e\n", text)
        text, diff = self.call("file_versions", action="diff", path="f.txt", version=1, to_version=2)
        self.assertEqual((diff["added"], diff["removed"]), (2, 1))
        self.assertIn("-b\n+B\n", diff["diff"])
        self.assertIn("-b\n+B\n", text)
        text, back = self.call("file_versions", action="restore", path="f.txt", version=1)
        self.assertEqual((back["file"]["version"], self.data("f.txt")), (4, b"a\nb\nc\n"))
        self.assertIn("version 4 now", text)
        self.refused_call("file_versions", "version: action restore needs it", action="restore", path="f.txt")
        for action, pinned in (("pin", True), ("unpin", False)):
            _, said = self.call("file_versions", action=action, path="f.txt", version=2)
            self.assertEqual((said["version"], said["pinned"]), (2, pinned))
            self.assertEqual([v["pinned"] for v in self.versions("f.txt")], [False, False, pinned, False])

    def test_what_cannot_be_compared_says_what_to_do(self):
        self.make("one", b"x")
        self.refused_call("file_versions", "only one version", action="diff", path="one")
        self.make("bin", bytes(range(256)))
        self.make("bin", bytes(range(255)))
        self.refused_call("file_versions", "(?s)not text.*run_code", action="diff", path="bin")
        self.refused_call("file_versions", "list_files shows what there is", action="list", path="nothing")

    def test_a_long_diff_is_cut_between_lines(self):
        self.make("f", b"")
        self.make("f", b"".join(b"line %d\n" % n for n in range(20000)))
        text, diff = self.call("file_versions", action="diff", path="f", version=1)
        self.assertLess(len(text), 48 << 10)
        self.assertEqual((diff["added"], diff["truncated"]), (20000, True))
        self.assertRegex(diff["diff"].splitlines()[-1], r"^\+line \d+$")
        self.assertIn("bytes of the diff are shown", diff["next"])


class Locks(TeamTest):
    def acquire(self, path="f", mcp=None, **more):
        return self.call("lock_file", mcp, action="acquire", path=path, **more)[1]

    def test_who_has_no_token_is_refused_and_who_has_it_is_not(self):
        self.make("f", b"before")
        text, taken = self.call("lock_file", action="acquire", path="/mnt/data/f", holder="alice, a report", ttl_s=120)
        token = taken["lock_token"]
        self.assertIn("lock_token: " + token, text)
        self.assertIn("f is locked by alice, a report until 20", text)
        self.assertEqual((taken["lock"]["path"], taken["lock"]["scope"], taken["lock"]["holder"]), ("f", "exclusive", "alice, a report"))
        _, editor = self.somebody("editor")
        self.refused_call("write_file", "f is locked by alice, a report until 20", editor, path="f", content="theirs")
        for tool, args in (("manage_file", {"action": "delete"}), ("manage_file", {"action": "move", "to": "g"}), ("lock_file", {"action": "acquire"})):
            text = self.refused_call(tool, r"f is locked by alice(?s:.)*until 20\d\d-(?s:.)*wait_s(?s:.)*admin", editor, path="f", **args)
            self.assertNotIn("Lock-Token", text)
        wrote = self.mcp.call("write_file", path="f", content="mine", lock_token=token, workspace_id=self.workspace_id)
        self.assertFalse(wrote.get("isError"), wrote)
        self.assertEqual(self.data("f"), b"mine")
        self.call("manage_file", action="move", path="f", to="g", lock_token=token)
        text, held = self.call("lock_file", editor, action="status", path="f")
        self.assertEqual([k["lock_id"] for k in held["locks"]], [taken["lock"]["lock_id"]])
        self.assertNotIn(token, text + json.dumps(held))
        self.refused_call("lock_file", "lock_token: action release needs it", action="release", path="f")
        for action in "release", "renew":
            self.refused_call("lock_file", "(?s)Pass the lock_token.*action=break", editor, action=action, path="f", lock_token="clk_" + "x" * 36)
        self.assertEqual(self.call("lock_file", action="renew", path="f", lock_token=token, ttl_s=600)[1]["lock"]["lock_id"], taken["lock"]["lock_id"])
        self.assertEqual(self.call("lock_file", action="release", path="f", lock_token=token)[1]["released"], taken["lock"]["lock_id"])
        self.assertIn("nothing is locked", self.call("lock_file", action="status")[0])
        # Whoever is late is told so.
        self.refused_call("manage_file", "(?s)lock the path again", action="delete", path="g", lock_token=token)
        self.refused_call("lock_file", "there is no lock on 'f'", action="renew", path="f", lock_token=token)

    def test_waiting_for_it(self):
        first = self.acquire()
        _, editor = self.somebody("editor")
        begun, got = threading.Event(), []

        def wait():
            begun.set()
            got.append(editor.call("lock_file", action="acquire", path="f", wait_s=30, workspace_id=self.workspace_id))
        waiting = threading.Thread(target=wait)
        waiting.start()
        begun.wait()
        self.await_waiting()
        self.call("lock_file", action="release", lock_id=first["lock"]["lock_id"], lock_token=first["lock_token"])
        waiting.join(60)
        self.assertFalse(got[0].get("isError"), got)
        self.assertGreater(got[0]["structuredContent"]["lock"]["fence"], first["lock"]["fence"])
        self.refused_call("lock_file", "wait_s: 31", action="acquire", path="f", wait_s=31)

    def test_who_leaves_while_waiting_holds_nothing(self):
        for era in Modern, Legacy:
            first = self.acquire()
            principal, editor = self.somebody("editor", era=era)
            eventually(lambda: self.busy() == 1)
            pending = editor.start_call("lock_file", action="acquire", path="f", wait_s=30, workspace_id=self.workspace_id)
            self.await_waiting()
            if era is Modern:
                pending.close()
            else:
                editor.tell("notifications/cancelled", {"requestId": pending.message["id"]})
            self.call("lock_file", action="release", path="f", lock_token=first["lock_token"])
            # Whoever leaves late gets it and gives it back; held, it would be for five minutes.
            eventually(lambda: self.busy() == 1 and "nothing is locked" in self.call("lock_file", action="status")[0])
            events = [e["event"] for e in self.call("audit_log", actor=principal)[1]["entries"] if e["result"] == "ok"]
            self.assertEqual(events.count("takeLock"), events.count("releaseLock"), events)

    def busy(self):
        """How many requests are being worked on, the question included, or have just been."""
        return int(re.search(r"^cicada_workers_busy (\d+)", self.client.get("/metrics").body.decode(), re.M)[1])

    def await_waiting(self):
        """Until a request besides the question is being worked on, for a while."""
        eventually(lambda: all(self.busy() > 1 for _ in range(3)))

    def test_shared_ones_and_trees(self):
        self.acquire("d", scope="shared")
        second = self.acquire("d", scope="shared")
        self.refused_call("lock_file", "(?s)lock_id: there are 2 locks.*status", action="release", path="d", lock_token=second["lock_token"])
        self.call("lock_file", action="release", lock_id=second["lock"]["lock_id"], lock_token=second["lock_token"])
        tree = self.acquire("t", tree=True)
        self.assertTrue(tree["lock"]["tree"])
        self.refused_call("write_file", "t is locked by", path="t/x/y", content="x")
        text, _ = self.call("lock_file", action="status", path="t/x/y")
        self.assertIn("exclusive tree", text)
        self.refused_call("lock_file", "path: action acquire needs it", action="acquire", tree=True)

    def test_breaking_needs_a_word(self):
        taken = self.acquire(holder="alice")
        lock = taken["lock"]["lock_id"]
        for era in Modern, Legacy:
            text = self.refused_call("lock_file", "confirm: true", self.speaker(era), action="break", path="f")
            self.assertIn("held by alice until 20", text)
        _, editor = self.somebody("editor")
        self.refused_call("lock_file", "for admins of the workspace, and you are editor", editor, action="break", path="f", confirm=True)
        self.assertEqual(self.call("lock_file", action="status")[1]["locks"][0]["lock_id"], lock)
        self.assertEqual(self.call("lock_file", action="break", path="f", confirm=True)[1]["broken"], lock)
        self.refused_call("write_file", "lock the path again", path="f", content="late", lock_token=taken["lock_token"])


class Asking(TeamTest):
    """Somebody in front of the client is asked before what cannot be undone."""

    def ask_modern(self, answer, tool="lock_file", **args):
        args.setdefault("workspace_id", self.workspace_id)
        mcp = self.speaker(capabilities={"elicitation": {}})
        first = mcp.rpc("tools/call", {"name": tool, "arguments": args})
        self.assertEqual(first["resultType"], "input_required")
        (key, request), = first["inputRequests"].items()
        self.assertEqual(request["method"], "elicitation/create")
        again = mcp.rpc("tools/call", {"name": tool, "arguments": args, "requestState": first["requestState"], "inputResponses": {key: answer}})
        return request["params"], again

    def ask_legacy(self, answer, tool="lock_file", **args):
        args.setdefault("workspace_id", self.workspace_id)
        mcp = self.speaker(Legacy, capabilities={"elicitation": {}})
        pending = mcp.start("tools/call", {"name": tool, "arguments": args})
        asked = pending.note("elicitation/create")
        mcp.respond(asked, answer)
        return asked["params"], pending.wait()

    def locked(self):
        return [k["path"] for k in self.client.ok("GET", self.ws + "/locks")["data"]]

    ACCEPTED = {"action": "accept", "content": {"confirm": True}}
    REFUSALS = ({"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {"confirm": False}})

    def test_by_a_result_that_asks(self):
        self.client.ok("POST", self.ws + "/locks", {"path": "f", "holder": "alice"}, 201)
        for answer in self.REFUSALS:
            params, result = self.ask_modern(answer, action="break", path="f")
            self.assertIn("held by alice until 20", params["message"])
            self.assertTrue(result["isError"])
            self.assertIn("nothing was done", self.text(result))
            self.assertEqual(self.locked(), ["f"])
        _, result = self.ask_modern(self.ACCEPTED, action="break", path="f")
        self.assertFalse(result.get("isError"), result)
        self.assertEqual((result["resultType"], self.locked()), ("complete", []))

    def test_by_a_request_on_the_stream(self):
        self.client.ok("POST", self.ws + "/locks", {"path": "f", "holder": "alice"}, 201)
        for answer in self.REFUSALS:
            asked, result = self.ask_legacy(answer, action="break", path="f")
            self.assertIn("held by alice until 20", asked["message"])
            self.assertTrue(result["isError"])
            self.assertEqual(self.locked(), ["f"])
        _, result = self.ask_legacy(self.ACCEPTED, action="break", path="f")
        self.assertFalse(result.get("isError"), result)
        self.assertEqual(self.locked(), [])

    def test_whatever_cannot_be_undone_asks_concretely(self):
        principal, _ = self.somebody("editor", name="Ed Itor")
        self.make("old.csv", b"x")
        self.client.ok("DELETE", self.at("old.csv"), status=204)
        for tool, args, words in (("manage_file", {"action": "purge", "path": "old.csv"}, "old.csv"),
                                  ("manage_file", {"action": "empty_trash"}, "1 files"),
                                  ("workspace", {"action": "remove_member", "principal_id": principal}, "Ed Itor"),
                                  ("workspace", {"action": "transfer"}, self.workspace_id),
                                  ("workspace", {"action": "delete"}, "0 files")):
            params, result = self.ask_modern({"action": "decline"}, tool, **args)
            self.assertIn(words, params["message"])
            self.assertTrue(result["isError"])
            self.refused_call(tool, "confirm: true", **args)
        self.assertEqual(len(self.trash()), 1)
        self.assertEqual(len(self.client.ok("GET", self.ws + "/members")["data"]), 2)
        self.assertEqual(self.client.ok("GET", self.ws + "/claims")["data"], [])
        _, result = self.ask_modern(self.ACCEPTED, "workspace", action="delete")
        self.assertFalse(result.get("isError"), result)
        self.assertEqual(self.client.get(self.ws).status, 404)


class Shares(TeamTest):
    def create(self, path, **more):
        text, made = self.call("share", action="create", path=path, **more)
        self.assertIn("link: " + made["url"], text)
        self.assertRegex(made["url"], r"^http://127\.0\.0\.1:\d+/s/[0-9a-z]{32}$")
        return made["share"], urllib.parse.urlsplit(made["url"]).path

    def test_a_link_works_for_anybody_until_it_is_revoked(self):
        self.make("report.txt", b"hello")
        share, link = self.create("/mnt/data/report.txt", note="for\nAda")
        self.assertEqual((share["rights"], share["state"], share["has_password"]), (["view", "download"], "works", False))
        self.assertEqual(self.plain(link + "/files/report.txt"), (200, b"hello"))
        text, listed = self.call("share", action="list")
        self.assertEqual([(s["share_id"], s["downloads"]) for s in listed["shares"]], [(share["share_id"], 1)])
        self.assertIn("# for Ada", text)
        self.assertNotIn(link, text + json.dumps(listed))
        self.call("share", action="revoke", share_id=share["share_id"])
        self.assertEqual(self.plain(link + "/files/report.txt")[0], 404)
        self.assertEqual(self.call("share", action="get", share_id=share["share_id"])[1]["share"]["state"], "revoked")
        self.refused_call("share", "share_id: action revoke needs it", action="revoke")
        self.refused_call("share", "path: action create needs it", action="create")
        self.refused_call("share", "path: action create needs it", action="create", path=None)

    def test_a_password_is_asked_for_and_never_said(self):
        self.make("f", b"hello")
        word = "open sesame 123"
        result = self.mcp.call("share", action="create", path="f", password=word, max_downloads=5, expires_s=3600, workspace_id=self.workspace_id)
        self.assertNotIn(word, json.dumps(result))
        made = result["structuredContent"]
        self.assertTrue(made["share"]["has_password"] and made["share"]["expires_at"])
        link = urllib.parse.urlsplit(made["url"]).path
        self.assertEqual(self.plain(link + "/files/f")[0], 401)
        self.assertEqual(self.plain(link + "/files/f", X_Share_Password=word), (200, b"hello"))
        # null is as if it were not there; what is given is changed.
        text, after = self.call("share", action="update", share_id=made["share"]["share_id"], password=None, expires_s=None, max_downloads=7, note=None)
        self.assertEqual((after["share"]["has_password"], after["share"]["max_downloads"], after["share"]["expires_at"]), (True, 7, made["share"]["expires_at"]))
        self.assertIn("downloads 1 of 7", text)
        _, after = self.call("share", action="update", share_id=made["share"]["share_id"], password="", expires_s=0, max_downloads=0)
        self.assertEqual((after["share"]["has_password"], after["share"]["max_downloads"], after["share"]["expires_at"]), (False, None, None))
        self.assertEqual(self.plain(link + "/files/f"), (200, b"hello"))
        self.assertNotIn(word, self.server.log())

    def test_a_version_and_a_drop_box(self):
        self.make("f", b"one")
        share, link = self.create("f", version=1)
        self.make("f", b"two")
        self.assertEqual(self.plain(link + "/files/f"), (200, b"one"))
        self.assertEqual(share["version"], 1)
        self.client.ok("POST", self.ws + "/mkdir", {"path": "inbox"}, 201)
        share, link = self.create("inbox", rights=["upload"])
        self.assertEqual(share["rights"], ["upload"])
        self.assertEqual(self.plain(link + "/files/x")[0], 403)
        self.refused_call("share", "rights|upload", action="create", path="f", rights=["upload"])

    def test_a_link_begins_as_the_client_found_the_server(self):
        self.make("f", b"x")
        arguments = {"action": "create", "path": "f", "workspace_id": self.workspace_id}
        result = self.mcp.rpc("tools/call", {"name": "share", "arguments": arguments}, headers={"X-Forwarded-Proto": "https"})
        self.assertRegex(result["structuredContent"]["url"], "^https://127")


class Workspaces(TeamTest):
    def test_from_its_making_to_its_end(self):
        text, made = self.call("workspace", action="create", name="made by mcp")
        made = made["workspace"]
        self.assertEqual((made["name"], made["role"], made["files"]), ("made by mcp", "owner", 0))
        here = {"workspace_id": made["workspace_id"]}
        self.refused_call("workspace", "(?s)Choose another name", action="create", name="made by mcp")
        self.refused_call("workspace", "name: action create needs it", action="create")
        self.assertFalse(self.mcp.call("write_file", path="f", content="hello", **here).get("isError"))
        self.assertEqual(self.call("workspace", action="usage", **here)[1]["usage"]["bytes"], 5)
        self.assertEqual(self.call("workspace", action="update", name="renamed", **here)[1]["workspace"]["name"], "renamed")
        self.assertEqual(self.call("workspace", action="update", intelligence="on", **here)[1]["workspace"]["intelligence"], True)
        # Switched on stays on when something else is changed, and null is nothing.
        self.assertEqual(self.call("workspace", action="update", name="again", intelligence=None, **here)[1]["workspace"]["intelligence"], True)
        self.refused_call("workspace", "give name or intelligence", action="update", **here)
        listed = self.call("workspace", action="list", limit=50)[1]["workspaces"]
        self.assertIn(made["workspace_id"], [w["workspace_id"] for w in listed])
        self.assertEqual(sum(w.get("is_default", False) for w in listed if w["role"] == "owner") <= 1, True)
        self.assertEqual(self.call("workspace", action="delete", confirm=True, **here)[1]["deleted"], made["workspace_id"])
        self.refused_call("workspace", "(?s)no workspace.*action=list", action="get", **here)
        result = self.mcp.call("workspace", action="delete", confirm=True)
        self.assertIn("workspace_id: action delete needs it", self.text(result))

    def test_members(self):
        principal, other = self.somebody(name="Ed Itor", scopes=("files:read", "files:write", "share"))
        self.refused_call("workspace", "no workspace", other, action="get")
        text, added = self.call("workspace", action="add_member", principal_id=principal, role="editor")
        self.assertEqual((added["member"]["role"], added["member"]["principal_id"]), ("editor", principal))
        self.assertIn("is editor now", text)
        self.assertEqual(self.call("workspace", other, action="get")[1]["workspace"]["role"], "editor")
        text, listed = self.call("workspace", other, action="members")
        self.assertEqual([m["role"] for m in listed["members"]], ["owner", "editor"])
        self.assertEqual(len(text.splitlines()), 3, text)
        self.call("workspace", action="add_member", principal_id=principal)  # the least if nothing is said
        self.assertEqual(self.call("workspace", other, action="get")[1]["workspace"]["role"], "viewer")
        self.assertEqual(self.call("workspace", action="remove_member", principal_id=principal, confirm=True)[1]["removed"], principal)
        self.refused_call("workspace", "no workspace", other, action="get")

    def test_somebody_else_becomes_the_owner(self):
        principal, _ = self.somebody()
        secret = self.client.ok("POST", "/api/v1/keys", {"principal": principal, "scopes": ["files:read", "share"]}, 201)["secret"]
        text, made = self.call("workspace", action="transfer", confirm=True)
        token = made["claim"]["claim_token"]
        self.assertIn("claim_token: " + token, text)
        taker = Client(self.server, secret)
        self.addCleanup(taker.close)
        self.assertEqual(taker.ok("POST", "/api/v1/claims", {"token": token})["owner"], principal)
        self.assertEqual(self.client.ok("GET", self.ws)["owner_id"], principal)
        self.assertEqual(taker.post("/api/v1/claims", {"token": token}).status, 404)
        default = self.client.ok("GET", WORKSPACES + "/default")["id"]
        self.refused_call("workspace", "default", action="transfer", confirm=True, workspace_id=default)


class Audit(TeamTest):
    def test_it_tells_what_was_done_here(self):
        editor, other = self.somebody("editor")
        self.call("manage_file", action="mkdir", path="d")
        self.client.ok("PUT", self.at("d/f"), raw=b"x", status=201)
        self.call("manage_file", other, action="move", path="d/f", to="d/g")
        taken = self.call("lock_file", action="acquire", path="d/g")[1]
        self.refused_call("manage_file", "locked", other, action="delete", path="d/g")
        _, log = self.call("audit_log")
        told = [(e["event"], e["object"], e["result"], e["via"]) for e in log["entries"]]
        for entry in (("makeDirectory", "d", "ok", "mcp"), ("putFile", "d/f", "ok", "rest"), ("moveFile", "d/g", "ok", "mcp"),
                      ("takeLock", "d/g", "ok", "mcp"), ("deleteFile", "d/g", "denied", "mcp")):
            self.assertIn(entry, told)
        self.assertNotIn(taken["lock_token"], json.dumps(log))
        self.assertIn("listWorkspaceAudit", {e["event"] for e in self.call("audit_log")[1]["entries"]})
        self.assertNotIn("listWorkspaceAudit", {e["event"] for e in self.call("audit_log", changes=True)[1]["entries"]})
        mine = self.call("audit_log", actor=editor)[1]["entries"]
        self.assertEqual({e["actor"] for e in mine}, {editor})
        self.assertEqual(next(e for e in mine if e["event"] == "deleteFile")["reason"], "locked")
        self.assertEqual({e["event"] for e in self.call("audit_log", event="moveFile")[1]["entries"]}, {"moveFile"})
        self.assertEqual({e["result"] for e in self.call("audit_log", result="denied")[1]["entries"]}, {"denied"})
        self.assertTrue(all(e["object"].startswith("d/g") for e in self.call("audit_log", path="/mnt/data/d/g")[1]["entries"]))
        self.assertEqual(self.call("audit_log", until="2020-01-01")[1]["entries"], [])
        self.assertTrue(self.call("audit_log", since="2020-01-01T00:00:00Z")[1]["entries"])
        self.refused_call("audit_log", "2026-01-31", since="yesterday")

    def test_pages_and_how_much_is_shown(self):
        for n in range(90):
            self.make(f"directory with a long name/file number {n:03}.csv")
        seen, cursor = [], {}
        while True:
            result = self.mcp.call("audit_log", event="putFile", limit=200, workspace_id=self.workspace_id, **cursor)
            page = result["structuredContent"]
            self.assertLess(len(json.dumps(page)), 12 << 10)
            self.assertEqual(len(self.text(result).splitlines()), len(page["entries"]) + 1 + page["has_more"])
            seen += [e["object"] for e in page["entries"]]
            if not page["has_more"]:
                break
            cursor = {"cursor": page["next_cursor"]}
        self.assertEqual(seen, [f"directory with a long name/file number {n:03}.csv" for n in reversed(range(90))])

    def test_all_of_the_server_is_for_its_admins(self):
        _, other = self.somebody("admin", ["files:read", "audit"])
        result = other.call("audit_log", server=True)
        self.assertTrue(result["isError"])
        result = self.mcp.call("audit_log", server=True, limit=5)
        self.assertEqual(len(result["structuredContent"]["entries"]), 5)


class Eras(TeamTest):
    """What differs between them is not what the tools say."""

    def test_both_say_the_same(self):
        self.make("f.txt", b"a\n")
        self.make("f.txt", b"b\n")
        for tool, args in (("file_versions", {"action": "list", "path": "f.txt"}), ("file_versions", {"action": "diff", "path": "f.txt"}),
                           ("lock_file", {"action": "status"}), ("share", {"action": "list"}), ("workspace", {"action": "get"}), ("manage_file", {"action": "list_trash"})):
            results = [self.speaker(era).call(tool, workspace_id=self.workspace_id, **args) for era in (Modern, Legacy)]
            self.assertEqual(results[0]["content"], results[1]["content"])
            self.assertEqual(results[0]["structuredContent"], results[1]["structuredContent"])
            self.assertEqual((results[0].get("resultType"), "resultType" in results[1]), ("complete", False))

    def test_a_session_works_from_begin_to_end(self):
        mcp = self.speaker(Legacy)
        self.call("manage_file", mcp, action="mkdir", path="d")
        taken = self.call("lock_file", mcp, action="acquire", path="d/f")[1]
        self.call("lock_file", mcp, action="release", path="d/f", lock_token=taken["lock_token"])
        made = self.call("share", mcp, action="create", path="d")[1]
        self.assertEqual(self.plain(urllib.parse.urlsplit(made["url"]).path)[0], 200)
        self.assertTrue(self.call("audit_log", mcp, event="createShare")[1]["entries"])
