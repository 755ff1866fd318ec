"""MCP: resources, completion, prompts, and hearing of changes, in both eras."""
import base64
import http.client
import json
import os
import queue
import signal
import socket
import threading
import time
import urllib.parse

from base import KEY, Client, Server, eventually
from files import WORKSPACES, FilesTest, noise, quoted
from mcp import META, MODERN, Legacy, Modern, RpcError

TASKS = {"extensions": {META + "tasks": {}}}


class Ear:
    """A stream of messages on a connection of its own; each lands in a queue as it comes, None at its end."""

    def __init__(self, server, method, headers, body=None):
        self.seen = queue.Queue()
        self.connection = http.client.HTTPConnection(*server.address, timeout=120)
        self.connection.request(method, "/mcp", body, headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status
        if self.response.headers["Content-Type"] != "text/event-stream":
            self.answer = json.loads(self.response.read() or b"null")
            self.connection.close()
            return
        self.answer = None
        self.sock = self.connection.sock or self.response.fp.raw._sock
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            for line in self.response:
                assert not line.startswith(b"id:"), line
                if line.startswith(b"data: "):
                    self.seen.put(json.loads(line[6:]))
        except (OSError, ValueError, http.client.HTTPException) as e:
            self.seen.put(e)
        self.seen.put(None)

    def next(self, seconds=20):
        return self.seen.get(timeout=seconds)

    def silent(self):
        """Nothing has come; to be asked after something else has shown that it would have."""
        return self.seen.empty()

    def close(self):
        if self.answer is None:
            try:
                self.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.thread.join(10)
        self.connection.close()


def listen(server, wanted, key=KEY, id="listen-1", capabilities=None):
    body = {"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": {
        "notifications": wanted,
        "_meta": {META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {}}}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen", "Authorization": "Bearer " + key}
    return Ear(server, "POST", headers, json.dumps(body))


class Base(FilesTest):
    def setUp(self):
        super().setUp()
        self.id_ = self.ws.rpartition("/")[2]
        self.modern, self.legacy = Modern(self.server, KEY), Legacy(self.server, KEY)
        self.addCleanup(self.legacy.close)
        self.both = self.modern, self.legacy

    def uri(self, path, version=None, workspace=None):
        end = f"?version={version}" if version else ""
        return f"workspace://{workspace or self.id_}/{urllib.parse.quote(path, safe='/')}{end}"

    def person(self, *scopes):
        """(principal's id, key's id, secret) of somebody new."""
        who = self.client.ok("POST", "/api/v1/principals", {"name": "somebody", "kind": "human"}, 201)
        wishes = {"principal": who["id"], "scopes": list(scopes) or ["files:read", "files:write", "run"]}
        key = self.client.ok("POST", "/api/v1/keys", wishes, 201)
        return who["id"], key["id"], key["secret"]

    def member(self, role="viewer"):
        who, key, secret = self.person()
        self.client.ok("PUT", f"{self.ws}/members/{who}", {"role": role})
        return who, key, secret

    def wrong(self, client, code, method, **params):
        with self.assertRaises(RpcError) as caught:
            client.rpc(method, params)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        self.assertNotIn(self.server.data, caught.exception.message)
        return caught.exception

    def unknown(self, client, uri, method="resources/read"):
        error = self.wrong(client, -32602 if client is self.modern else -32002, method, uri=uri)
        self.assertEqual(error.data, {"uri": uri})

    def read(self, client, uri):
        contents, = client.rpc("resources/read", {"uri": uri})["contents"]
        self.assertEqual(contents["uri"], uri)
        return contents


class Reading(Base):
    def test_text_is_text_and_bytes_are_a_blob(self):
        self.make("data/a b.csv", b"x,y\n1,\xc3\xa4\n")
        self.make("noise.bin", noise(3000))
        self.make("nul.txt", b"a\0b")
        self.make("p.png", b"plain text in a png")
        self.make("empty.txt", b"")
        self.make("broken.json", b"{\"a\":")
        for client in self.both:
            got = self.read(client, self.uri("data/a b.csv"))
            self.assertEqual((got["mimeType"], got["text"]), ("text/csv", "x,y\n1,ä\n"))
            self.assertNotIn("blob", got)
            got = self.read(client, self.uri("noise.bin"))
            self.assertEqual(base64.b64decode(got["blob"]), noise(3000))
            self.assertNotIn("text", got)
            self.assertEqual(base64.b64decode(self.read(client, self.uri("nul.txt"))["blob"]), b"a\0b")
            self.assertEqual(base64.b64decode(self.read(client, self.uri("p.png"))["blob"]), b"plain text in a png")
            self.assertEqual(self.read(client, self.uri("empty.txt"))["text"], "")
            self.assertEqual(self.read(client, self.uri("broken.json"))["text"], "{\"a\":")

    def test_a_version_is_as_it_was_and_may_be_kept(self):
        self.make("a.txt", b"one")
        self.make("a.txt", b"two")
        for client in self.both:
            self.assertEqual(self.read(client, self.uri("a.txt"))["text"], "two")
            self.assertEqual(self.read(client, self.uri("a.txt", 1))["text"], "one")
            self.unknown(client, self.uri("a.txt", 3))
        newest = self.modern.rpc("resources/read", {"uri": self.uri("a.txt")})
        pinned = self.modern.rpc("resources/read", {"uri": self.uri("a.txt", 1)})
        self.assertEqual((newest["cacheScope"], pinned["cacheScope"]), ("private", "private"))
        self.assertLess(newest["ttlMs"], 60000)
        self.assertGreater(pinned["ttlMs"], 3600000)
        self.assertNotIn("ttlMs", self.legacy.rpc("resources/read", {"uri": self.uri("a.txt", 1)}))

    def test_a_directory_lists_what_is_in_it(self):
        self.make("d/one.txt", b"123")
        self.make("d/e/two.txt")
        self.client.ok("POST", self.ws + "/mkdir", {"path": "nothing"}, 201)
        for client in self.both:
            for uri in self.uri("d"), self.uri("d/"):
                got = self.read(client, uri)
                self.assertEqual(got["mimeType"], "inode/directory")
                self.assertEqual(got["text"].splitlines()[0], "e/")
                self.assertIn("one.txt\t3 bytes\ttext/plain\tversion 1\t", got["text"])
                self.assertNotIn("two", got["text"])
            root = self.read(client, self.uri(""))
            self.assertEqual((root["mimeType"], root["text"].splitlines()), ("inode/directory", ["d/", "nothing/"]))
            self.assertEqual(self.read(client, self.uri("nothing"))["text"], "(nothing is in it)\n")

    def test_what_there_is_not(self):
        self.make("gone.txt")
        self.client.request("DELETE", self.at("gone.txt"))
        for client in self.both:
            for uri in (self.uri("gone.txt"), self.uri("never"), self.uri("../x"), self.uri("a", workspace="ws_none"),
                        "file:///etc/passwd", "workspace://", "", self.uri("a") + "#b", "run://run_none/displays/0",
                        "run://run_none/result"):
                self.unknown(client, uri)
            self.wrong(client, -32602, "resources/read")
            self.wrong(client, -32602, "resources/read", uri=7)

    def test_somebody_elses_workspace_is_none(self):
        self.make("secret.txt", b"secret")
        _, _, secret = self.person()
        stranger, other = Modern(self.server, secret), Legacy(self.server, secret)
        self.addCleanup(other.close)
        for uri in self.uri("secret.txt"), self.uri("never.txt"), self.uri(""):
            error = self.wrong(stranger, -32602, "resources/read", uri=uri)
            self.assertEqual(error.data, {"uri": uri})
            self.wrong(other, -32002, "resources/read", uri=uri)
            self.wrong(other, -32002, "resources/subscribe", uri=uri)
        _, _, secret = self.person("run")
        runner = Modern(self.server, secret)
        self.wrong(runner, -32602, "resources/read", uri=self.uri("secret.txt"))
        self.assertEqual(runner.rpc("resources/list")["resources"], [])

    def test_one_that_is_too_large_says_what_to_do(self):
        self.make("large.bin", b"x" * (16 << 20))
        self.make("larger.bin", b"x" * ((16 << 20) + 1))
        self.assertEqual(len(self.read(self.modern, self.uri("large.bin"))["text"]), 16 << 20)
        for client in self.both:
            error = self.wrong(client, -32602, "resources/read", uri=self.uri("larger.bin"))
            self.assertIn("transfer_url", error.message)
            self.assertEqual(error.data, {"uri": self.uri("larger.bin")})

    def test_what_a_run_showed(self):
        session = self.client.session()
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        run = self.client.run(session, "from IPython.display import HTML, display\ndisplay(HTML('<b>hi</b>'))\n6 * 7")
        for client in self.both:
            got = self.read(client, f"run://{run['id']}/displays/0")
            self.assertEqual((got["mimeType"], got["text"]), ("text/html", "<b>hi</b>"))
            got = self.read(client, f"run://{run['id']}/result")
            self.assertEqual((got["mimeType"], got["text"]), ("text/plain", "42"))
            self.unknown(client, f"run://{run['id']}/displays/1")
        _, _, secret = self.person()
        stranger = Modern(self.server, secret)
        self.wrong(stranger, -32602, "resources/read", uri=f"run://{run['id']}/result")

    def test_templates(self):
        for client in self.both:
            templates = client.rpc("resources/templates/list")["resourceTemplates"]
            self.assertEqual([t["uriTemplate"] for t in templates],
                             ["workspace://{workspace_id}/{+path}", "workspace://{workspace_id}/{+path}{?version}",
                              "run://{execution_id}/displays/{index}"])
            self.assertTrue(all(t["name"] and t["title"] and t["description"] for t in templates))
        self.assertEqual(self.modern.rpc("resources/templates/list")["cacheScope"], "public")


class Listing(Base):
    def all(self, client, **params):
        found, pages = [], 0
        while True:
            page = client.rpc("resources/list", params)
            self.assertLessEqual(len(page["resources"]), 100)
            found += page["resources"]
            pages += 1
            if "nextCursor" not in page:
                return found, pages
            params = {"cursor": page["nextCursor"]}
            self.assertLess(pages, 100)

    def test_many_files_in_pages_without_loss_or_repetition(self):
        who, _, secret = self.person()
        one = Client(self.server, secret)
        self.addCleanup(one.close)
        own = one.ok("GET", WORKSPACES + "/default")["id"]
        for i in range(250):
            answer = one.request("PUT", f"{WORKSPACES}/default/files/d{i % 7}/f%20{i}.txt", raw=b"x" * i)
            self.assertEqual(answer.status, 201)
        self.make("shared.txt")
        self.client.ok("PUT", f"{self.ws}/members/{who}", {"role": "viewer"})
        expected = {self.uri(f"d{i % 7}/f {i}.txt", workspace=own) for i in range(250)} | {self.uri("shared.txt")}
        for client in Modern(self.server, secret), Legacy(self.server, secret):
            found, pages = self.all(client)
            self.assertEqual(len(found), 251)
            self.assertEqual({r["uri"] for r in found}, expected)
            self.assertGreaterEqual(pages, 3)
            self.assertEqual(found[-1]["uri"], self.uri("shared.txt"))  # their own come first
            by_name = {r["name"]: r for r in found}
            seven = by_name["d0/f 7.txt"]
            self.assertEqual((seven["size"], seven["mimeType"]), (7, "text/plain"))
            self.assertRegex(seven["annotations"]["lastModified"], r"^\d{4}-\d\d-\d\dT")
            self.assertEqual(self.read(client, seven["uri"])["text"], "x" * 7)

    def test_files_that_come_and_go_meanwhile_cost_no_others(self):
        _, _, secret = self.person()
        one, client = Client(self.server, secret), Modern(self.server, secret)
        self.addCleanup(one.close)
        for i in range(150):
            one.request("PUT", f"{WORKSPACES}/default/files/f{i:03}", raw=b"x")
        page = client.rpc("resources/list")
        one.request("DELETE", f"{WORKSPACES}/default/files/f000")
        one.request("PUT", f"{WORKSPACES}/default/files/a", raw=b"x")
        rest = client.rpc("resources/list", {"cursor": page["nextCursor"]})
        names = [r["name"] for r in page["resources"] + rest["resources"]]
        self.assertEqual(names, [f"f{i:03}" for i in range(150)])

    def test_the_workspace_that_the_address_names_comes_first(self):
        self.make("named.txt", b"named")
        name = self.client.ok("GET", self.ws)["name"]
        for workspace in self.id_, name:
            path = "/mcp?workspace=" + workspace
            for client in Modern(self.server, path=path), Legacy(self.server, path=path):
                found, _ = self.all(client)
                self.assertEqual(found[0]["uri"], self.uri("named.txt"))
                self.assertEqual(len({r["uri"] for r in found}), len(found))
                got = client.rpc("prompts/get", {"name": "analyze_file", "arguments": {"path": "named.txt"}})
                self.assertEqual(got["messages"][1]["content"]["resource"]["text"], "named")

    def test_cursors_that_are_none(self):
        for client in self.both:
            for cursor in "x", "bm90IGl0", "AAAA", base64.b64encode(b"ws_none\n\xff\n").decode(), \
                    base64.b64encode(b"a\nb").decode(), base64.b64encode(b"\nnonsense\n").decode(), \
                    base64.b64encode(b"a" * 100 + b"\n\n").decode(), 7:
                self.wrong(client, -32602, "resources/list", cursor=cursor)
            self.assertIn("resources", client.rpc("resources/list", {"cursor": ""}))
        # One of our own, changed to somebody else's workspace, shows nothing of it.
        _, _, secret = self.person()
        self.make("secret.txt")
        stranger = Modern(self.server, secret)
        cursor = base64.b64encode(f"{self.id_}\n.\n".encode()).decode()
        self.assertEqual(stranger.rpc("resources/list", {"cursor": cursor})["resources"], [])


class Completing(Base):
    FILE = "workspace://{workspace_id}/{+path}"
    VERSIONED = "workspace://{workspace_id}/{+path}{?version}"

    def complete(self, client, ref, name, value, **known):
        ref = {"type": "ref/resource", "uri": ref} if "://" in ref else {"type": "ref/prompt", "name": ref}
        params = {"ref": ref, "argument": {"name": name, "value": value}}
        if known:
            params["context"] = {"arguments": known}
        found = client.rpc("completion/complete", params)["completion"]
        self.assertLessEqual(len(found["values"]), 100)
        return found

    def test_paths_go_on_where_the_typing_ends(self):
        for path in "plots/a.png", "plots/b.png", "plan.md", "other.txt":
            self.make(path)
        for client in self.both:
            found = self.complete(client, self.FILE, "path", "pl", workspace_id=self.id_)
            self.assertEqual(found, {"values": ["plan.md", "plots/"], "total": 2, "hasMore": False})
            found = self.complete(client, self.FILE, "path", "plots/", workspace_id=self.id_)
            self.assertEqual(found["values"], ["plots/a.png", "plots/b.png"])
            found = self.complete(client, self.FILE, "path", "/mnt/data/plots/b", workspace_id=self.id_)
            self.assertEqual(found["values"], ["plots/b.png"])
            self.assertEqual(self.complete(client, self.FILE, "path", "x", workspace_id=self.id_)["values"], [])
            self.assertEqual(self.complete(client, self.FILE, "path", "", workspace_id="ws_none")["values"], [])

    def test_more_than_fit(self):
        for i in range(101):
            self.make(f"f{i:03}")
        found = self.complete(self.modern, self.FILE, "path", "f", workspace_id=self.id_)
        self.assertEqual((len(found["values"]), found["hasMore"]), (100, True))
        self.assertNotIn("total", found)
        found = self.complete(self.modern, self.FILE, "path", "f00", workspace_id=self.id_)
        self.assertEqual((found["total"], found["hasMore"]), (10, False))

    def test_workspaces_versions_and_runs(self):
        for text in b"1", b"2", b"3":
            self.make("a.txt", text)
        session = self.client.session()
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        good = self.client.run(session, "from IPython.display import HTML, display\ndisplay(HTML('x'))")["id"]
        bad = self.client.run(session, "1/0")["id"]
        for client in self.both:
            self.assertIn(self.id_, self.complete(client, self.FILE, "workspace_id", "ws_")["values"])
            self.assertEqual(self.complete(client, self.FILE, "workspace_id", self.id_)["values"], [self.id_])
            found = self.complete(client, self.VERSIONED, "version", "", workspace_id=self.id_, path="a.txt")
            self.assertEqual(found["values"], ["3", "2", "1"])
            found = self.complete(client, self.VERSIONED, "version", "2", workspace_id=self.id_, path="a.txt")
            self.assertEqual(found["values"], ["2"])
            self.assertEqual(self.complete(client, self.VERSIONED, "version", "")["values"], [])
            found = self.complete(client, "run://{execution_id}/displays/{index}", "execution_id", good[:8])
            self.assertIn(good, found["values"])
            found = self.complete(client, "run://{execution_id}/displays/{index}", "index", "", execution_id=good)
            self.assertEqual(found["values"], ["0"])
            self.assertEqual(self.complete(client, "fix_error", "execution_id", "run_")["values"][0], bad)
            found = self.complete(client, "make_report", "paths", "x.csv, a")
            self.assertTrue(all(v.startswith("x.csv, a") for v in found["values"]), found)

    def test_strangers_complete_nothing_of_it(self):
        self.make("secret.txt")
        _, _, secret = self.person()
        stranger = Modern(self.server, secret)
        self.assertEqual(self.complete(stranger, self.FILE, "path", "s", workspace_id=self.id_)["values"], [])
        self.assertNotIn(self.id_, self.complete(stranger, self.FILE, "workspace_id", "ws_")["values"])

    def test_what_cannot_be_completed(self):
        for client in self.both:
            for ref, argument in (({"type": "ref/prompt", "name": "none"}, {"name": "path", "value": ""}),
                                  ({"type": "ref/prompt", "name": "analyze_file"}, {"name": "version", "value": ""}),
                                  ({"type": "ref/resource", "uri": "test://{x}"}, {"name": "x", "value": ""}),
                                  ({"type": "ref/resource", "uri": self.FILE}, {"name": "version", "value": ""}),
                                  ({"type": "ref/resource", "uri": self.FILE}, {"name": "path"}),
                                  ({"type": "ref/tool"}, {"name": "path", "value": ""}), (None, None), ([], 7)):
                self.wrong(client, -32602, "completion/complete", ref=ref, argument=argument)


class Prompts(Base):
    def get(self, client, name, **arguments):
        got = client.rpc("prompts/get", {"name": name, "arguments": arguments})
        self.assertTrue(got["description"])
        self.assertTrue(all(m["role"] == "user" for m in got["messages"]))
        return [m["content"] for m in got["messages"]]

    def default(self, path, data=b"x"):
        answer = self.client.request("PUT", f"{WORKSPACES}/default/files/{quoted(path)}", raw=data)
        self.assertIn(answer.status, (200, 201))
        return answer.json

    def test_they_are_described(self):
        for client in self.both:
            prompts = client.rpc("prompts/list")["prompts"]
            self.assertEqual([p["name"] for p in prompts], ["analyze_file", "fix_error", "make_report", "summarize_workspace"])
            for p in prompts:
                self.assertTrue(p["title"] and p["description"])
                self.assertTrue(all(a["description"] and "required" in a for a in p["arguments"]))

    def test_a_short_file_is_given_along_and_a_large_one_named(self):
        made = self.default("short.csv", b"a,b\n1,2\n")
        self.default("long.csv", b"a,b\n" + b"1,2\n" * 10000)
        self.default("image.png", b"\x89PNG")
        for client in self.both:
            text, file = self.get(client, "analyze_file", path="/mnt/data/short.csv", question="How many?")
            self.assertIn("How many?", text["text"])
            self.assertIn("`short.csv`", text["text"])
            uri = self.uri("short.csv", workspace=made["workspace_id"])
            self.assertEqual(file, {"type": "resource", "resource": {"uri": uri, "mimeType": "text/csv", "text": "a,b\n1,2\n"}})
            self.assertEqual(self.read(client, uri)["text"], "a,b\n1,2\n")
            _, file = self.get(client, "analyze_file", path="long.csv")
            self.assertEqual((file["type"], file["name"], file["size"]), ("resource_link", "long.csv", 40004))
            self.assertEqual(self.get(client, "analyze_file", path="image.png")[1]["type"], "resource_link")
        old = Legacy(self.server, KEY, version="2025-03-26")
        self.addCleanup(old.close)
        _, file = self.get(old, "analyze_file", path="long.csv")
        self.assertEqual(file["type"], "text")
        self.assertIn("workspace://", file["text"])

    def test_a_failed_run_comes_with_its_code_and_traceback(self):
        session = self.client.session()
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        run = self.client.run(session, "wages = {}\nwages['nobody']")["id"]
        for client in self.both:
            text, = self.get(client, "fix_error", execution_id=run)
            for part in "wages['nobody']", "KeyError", "Traceback", session, run:
                self.assertIn(part, text["text"])
            self.wrong(client, -32602, "prompts/get", name="fix_error", arguments={"execution_id": "run_none"})

    def test_reports_and_summaries(self):
        self.default("r1.csv")
        self.default("r 2.csv")
        self.make("only here.txt")
        for client in self.both:
            found = self.get(client, "make_report", paths="r1.csv, /mnt/data/r 2.csv", title="Sales")
            self.assertIn('"Sales"', found[0]["text"])
            self.assertEqual(len(found), 3)
            text, = self.get(client, "summarize_workspace", workspace_id=self.id_)
            self.assertIn("only here.txt", text["text"])
            text, = self.get(client, "summarize_workspace")
            self.assertIn("r1.csv", text["text"])
            for paths in "", " , ", "r1.csv,none.csv", ",".join(["r1.csv"] * 21):
                self.wrong(client, -32602, "prompts/get", name="make_report", arguments={"paths": paths})

    def test_mistakes(self):
        for client in self.both:
            self.wrong(client, -32602, "prompts/get", name="none")
            self.wrong(client, -32602, "prompts/get")
            self.wrong(client, -32602, "prompts/get", name="analyze_file")
            self.wrong(client, -32602, "prompts/get", name="analyze_file", arguments={"path": 7})
            self.wrong(client, -32602, "prompts/get", name="analyze_file", arguments={"path": "none.csv"})
            self.wrong(client, -32602, "prompts/get", name="summarize_workspace", arguments={"workspace_id": "ws_none"})


class Hearing(Base):
    """subscriptions/listen, of the stateless era."""

    def ear(self, wanted, key=KEY, **more):
        ear = listen(self.server, wanted, key, **more)
        self.addCleanup(ear.close)
        return ear

    def agreed(self, ear, id="listen-1"):
        first = ear.next()
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(first["params"]["_meta"], {META + "subscriptionId": id})
        return first["params"]["notifications"]

    def heard(self, ear, id="listen-1"):
        message = ear.next()
        self.assertNotIsInstance(message, (Exception, type(None)))
        self.assertEqual(message["params"].pop("_meta"), {META + "subscriptionId": id})
        return message["method"], message["params"]

    def updated(self, ear, *paths, **more):
        got = [self.heard(ear, **more) for _ in paths]
        self.assertEqual(sorted(g[1]["uri"] for g in got), sorted(self.uri(p) for p in paths))
        self.assertEqual({g[0] for g in got}, {"notifications/resources/updated"})

    def ended(self, ear, id="listen-1"):
        message = ear.next()
        self.assertEqual((message["id"], message["result"]["resultType"]), (id, "complete"))
        self.assertEqual(message["result"]["_meta"][META + "subscriptionId"], id)
        self.assertIsNone(ear.next())

    def test_what_can_be_heard_is_agreed_on_first(self):
        wishes = [self.uri("a.txt"), self.uri("not there yet"), self.uri("a.txt", 1), self.uri("a", workspace="ws_none"),
                  "run://run_x/result", "nonsense", self.uri("a.txt")]
        ear = self.ear({"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": wishes}, id=7)
        self.assertEqual(self.agreed(ear, id=7), {"toolsListChanged": True, "resourceSubscriptions": wishes[:2]})
        self.assertEqual(self.agreed(self.ear({})), {})

    def test_questions_that_are_none(self):
        for wanted in None, [], {"toolsListChanged": 1}, {"resourceSubscriptions": "x"}, {"resourceSubscriptions": [1]}, \
                {"resourceSubscriptions": ["x"] * 257}, {"taskIds": {}}:
            ear = self.ear(wanted, capabilities=TASKS)
            self.assertEqual(ear.answer["error"]["code"], -32602, wanted)
        ear = self.ear({"taskIds": []})
        self.assertEqual((ear.status, ear.answer["error"]["code"]), (400, -32021))
        self.assertEqual(ear.answer["error"]["data"], {"requiredCapabilities": TASKS})

    def test_changes_by_whatever_means(self):
        self.make("a.txt")
        ear = self.ear({"resourceSubscriptions": [self.uri("a.txt"), self.uri("b.txt"), self.uri("d/c.txt"), self.uri("d")]})
        self.agreed(ear)
        for path in "other.txt", "a.txt.old", "a", "dd/c.txt":
            self.make(path)
        self.make("a.txt", b"again")
        self.updated(ear, "a.txt")
        self.make("b.txt")
        self.updated(ear, "b.txt")
        self.do("move", 200, **{"from": "a.txt", "to": "elsewhere.txt"})
        self.updated(ear, "a.txt")
        self.make("d/c.txt")
        self.updated(ear, "d", "d/c.txt")
        self.make("d/e.txt")
        self.updated(ear, "d")
        self.client.request("DELETE", self.at("d", "?recursive"))
        self.updated(ear, "d", "d/c.txt")
        self.client.request("DELETE", self.at("b.txt"))
        self.updated(ear, "b.txt")
        self.assertTrue(ear.silent())

    def test_what_a_run_writes(self):
        session = self.client.session(workspace=self.id_)
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        ear = self.ear({"resourceSubscriptions": [self.uri("made.txt")]})
        self.agreed(ear)
        self.client.run(session, "open('other.txt', 'w').write('x')")
        begun = time.monotonic()
        self.client.run(session, "open('made.txt', 'w').write('x')")
        self.updated(ear, "made.txt")
        self.assertLess(time.monotonic() - begun, 10)
        self.assertTrue(ear.silent())

    def test_one_of_very_many_at_once(self):
        session = self.client.session(workspace=self.id_)
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        ear = self.ear({"resourceSubscriptions": [self.uri("z/last.txt")]})
        self.agreed(ear)
        self.client.run(session, "import os\nos.mkdir('z')\nfor i in range(400): open(f'file-number-{i}', 'w').write('x')\n"
                                 "open('z/last.txt', 'w').write('x')")
        self.updated(ear, "z/last.txt")  # more than an event names

    def test_nothing_that_was_not_asked_for(self):
        ear, all = self.ear({"promptsListChanged": True}), self.ear({"resourceSubscriptions": [self.uri("")]}, id=2)
        self.agreed(ear)
        self.agreed(all, id=2)
        self.make("a.txt")
        self.updated(all, "", id=2)
        self.assertTrue(ear.silent())

    def test_the_list_of_files_once_a_second(self):
        _, _, secret = self.person()
        one = Client(self.server, secret)
        self.addCleanup(one.close)
        ear = self.ear({"resourcesListChanged": True}, secret)
        self.agreed(ear)
        begun = time.monotonic()
        for i in range(20):
            one.request("PUT", f"{WORKSPACES}/default/files/f{i}", raw=b"x")
        took = time.monotonic() - begun
        self.assertEqual(self.heard(ear), ("notifications/resources/list_changed", {}))
        one.request("PUT", f"{WORKSPACES}/default/files/last", raw=b"x")
        self.assertEqual(self.heard(ear)[0], "notifications/resources/list_changed")
        self.assertGreater(time.monotonic() - begun, 0.9)
        one.request("PUT", f"{WORKSPACES}/default/files/last", raw=b"changed")  # is none in the list
        self.make("in a workspace of others")
        one.request("DELETE", f"{WORKSPACES}/default/files/last")
        self.assertEqual(self.heard(ear)[0], "notifications/resources/list_changed")
        self.assertLess(ear.seen.qsize(), 2 + took)

    def test_who_was_removed_hears_nothing_more(self):
        who, _, secret = self.member()
        ear = self.ear({"resourceSubscriptions": [self.uri("a.txt")]}, secret)
        self.assertEqual(self.agreed(ear), {"resourceSubscriptions": [self.uri("a.txt")]})
        self.make("a.txt")
        self.updated(ear, "a.txt")
        self.client.ok("DELETE", f"{self.ws}/members/{who}", status=204)
        self.make("a.txt", b"not for them")
        self.ended(ear)
        self.assertEqual(self.agreed(self.ear({"resourceSubscriptions": [self.uri("a.txt")]}, secret)),
                         {"resourceSubscriptions": []})

    def test_who_has_a_key_no_more_hears_nothing_more(self):
        _, key, secret = self.member()
        ears = [self.ear({"resourceSubscriptions": [self.uri("a.txt")]}, secret), self.ear({"toolsListChanged": True}, secret)]
        for ear in ears:
            self.agreed(ear)
        self.client.ok("DELETE", "/api/v1/keys/" + key, status=204)
        self.make("a.txt")
        for ear in ears:
            self.ended(ear)

    def test_tasks(self):
        session = self.client.session()
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        body = {"code": "import time\nprint('begun')\ntime.sleep(1)\nprint('done')", "background": True}
        run = self.client.ok("POST", f"/api/v1/sessions/{session}/runs", body, 202)["id"]
        ear = self.ear({"taskIds": [run, "run_none"]}, capabilities=TASKS)
        self.assertEqual(self.agreed(ear), {"taskIds": [run]})
        method, task = self.heard(ear)
        self.assertEqual((method, task["taskId"], task["status"]), ("notifications/tasks", run, "completed"))
        self.assertIn("begun", json.dumps(task["result"]["content"]))
        self.assertRegex(task["createdAt"], r"^\d{4}-")
        late = self.ear({"taskIds": [run]}, capabilities=TASKS)  # it is over already
        self.agreed(late)
        self.assertEqual(self.heard(late)[1]["status"], "completed")
        _, _, secret = self.person()
        self.assertEqual(self.agreed(self.ear({"taskIds": [run]}, secret, capabilities=TASKS)), {"taskIds": []})

    def threads(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/task"))

    def test_many_listen_and_cost_no_threads(self):
        self.agreed(self.ear({"resourceSubscriptions": [self.uri("all.txt")]}))
        before = self.threads()
        ears = [self.ear({"resourceSubscriptions": [self.uri("all.txt")]}, id=i) for i in range(200)]
        for i, ear in enumerate(ears):
            self.agreed(ear, id=i)
        self.assertLessEqual(self.threads(), before + 4)  # workers of the listener may have come
        self.make("all.txt")
        for i, ear in enumerate(ears):
            self.updated(ear, "all.txt", id=i)
        self.make("other.txt")
        self.assertTrue(all(ear.silent() for ear in ears))

    def test_one_that_went_is_forgotten(self):
        for _ in range(3):
            ears = [self.ear({"resourceSubscriptions": [self.uri("a.txt")]}) for _ in range(200)]
            for ear in ears:
                ear.close()
        ear = self.ear({"resourceSubscriptions": [self.uri("a.txt")]})  # past what one may have at once
        self.agreed(ear)
        self.make("a.txt")
        self.updated(ear, "a.txt")


class Sessions(Base):
    """resources/subscribe and the stream of a session, of the other era."""

    def stream(self, client=None):
        client = client or self.legacy
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": client.session, "Authorization": "Bearer " + client.key,
                   "MCP-Protocol-Version": "2025-11-25"}
        ear = Ear(self.server, "GET", headers)
        self.assertIsNone(ear.answer, ear.answer)
        self.addCleanup(ear.close)
        return ear

    def subscribe(self, path, client=None, verb="subscribe"):
        return (client or self.legacy).rpc("resources/" + verb, {"uri": self.uri(path)})

    def updated(self, ear):
        """The path of the next resource; what is said of lists is passed over."""
        while True:
            message = ear.next()
            self.assertIsInstance(message, dict)
            self.assertNotIn("id", message)
            self.assertNotIn("_meta", message["params"])
            if message["method"] == "notifications/resources/updated":
                return message["params"]["uri"]
            self.assertEqual(message["method"], "notifications/resources/list_changed")

    def test_what_is_subscribed_to_is_heard_of(self):
        self.make("a.txt")
        ear = self.stream()
        self.assertEqual(self.subscribe("a.txt"), {})
        self.subscribe("b.txt")
        self.make("other.txt")
        self.make("a.txt", b"2")
        self.assertEqual(self.updated(ear), self.uri("a.txt"))
        self.make("b.txt")
        self.assertEqual(self.updated(ear), self.uri("b.txt"))
        self.assertEqual(self.subscribe("a.txt", verb="unsubscribe"), {})
        self.subscribe("a.txt", verb="unsubscribe")
        self.make("a.txt", b"3")
        self.client.request("DELETE", self.at("b.txt"))
        self.assertEqual(self.updated(ear), self.uri("b.txt"))

    def test_what_happens_without_a_stream_is_told_with_the_next(self):
        self.subscribe("a.txt")
        self.make("a.txt", b"1")
        ear = self.stream()
        self.assertEqual(self.updated(ear), self.uri("a.txt"))
        ear.close()
        self.make("a.txt", b"2")
        self.assertEqual(self.updated(self.stream()), self.uri("a.txt"))

    def test_one_message_goes_to_one_stream(self):
        streams = [self.stream() for _ in range(3)]
        self.subscribe("a.txt")
        for i in range(5):
            self.make("a.txt", b"%d" % i)
            eventually(lambda: any(not s.silent() for s in streams))
            heard = [s.next(5) for s in streams if not s.silent()]
            paths = [m for m in heard if m["method"] == "notifications/resources/updated"]
            while not paths:
                eventually(lambda: any(not s.silent() for s in streams))
                heard = [s.next(5) for s in streams if not s.silent()]
                paths = [m for m in heard if m["method"] == "notifications/resources/updated"]
            self.assertEqual(len(paths), 1)

    def test_so_many_streams_and_no_more(self):
        streams = [self.stream() for _ in range(8)]
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": self.legacy.session, "Authorization": "Bearer " + KEY}
        more = Ear(self.server, "GET", headers)
        self.assertEqual((more.status, more.answer["error"]["code"]), (429, "limit_exceeded"))
        streams[0].close()

        def is_let_in():
            again = Ear(self.server, "GET", headers)
            again.close()
            return again.status == 200

        eventually(is_let_in)

    def test_the_end_of_the_session_ends_its_streams(self):
        ear = self.stream()
        self.subscribe("a.txt")
        self.assertEqual(self.legacy.close(), 204)
        self.assertIsNone(ear.next())
        self.make("a.txt")

    def test_fixed_ones_are_accepted_and_unknown_ones_are_not(self):
        self.assertEqual(self.legacy.rpc("resources/subscribe", {"uri": self.uri("a", 1)}), {})
        self.unknown(self.legacy, "nonsense", "resources/subscribe")
        self.unknown(self.legacy, self.uri("a", workspace="ws_none"), "resources/subscribe")
        self.wrong(self.legacy, -32602, "resources/subscribe")
        self.wrong(self.modern, -32601, "resources/subscribe", uri=self.uri("a"))
        for i in range(48):
            self.subscribe(f"f{i}")
        self.wrong(self.legacy, -32602, "resources/subscribe", uri=self.uri("one more"))

    def test_who_was_removed_hears_nothing_more(self):
        who, _, secret = self.member()
        client = Legacy(self.server, secret)
        self.addCleanup(client.close)
        mine, theirs = self.stream(), self.stream(client)
        self.subscribe("a.txt")
        self.subscribe("a.txt", client)
        self.make("a.txt")
        self.assertEqual((self.updated(mine), self.updated(theirs)), (self.uri("a.txt"),) * 2)
        self.client.ok("DELETE", f"{self.ws}/members/{who}", status=204)
        self.make("a.txt", b"not for them")
        self.assertEqual(self.updated(mine), self.uri("a.txt"))
        while not theirs.silent():
            self.assertEqual(theirs.next()["method"], "notifications/resources/list_changed")


class Ends(FilesTest):
    def test_streams_end_with_the_server_and_say_so(self):
        server = Server()
        try:
            legacy = Legacy(server, KEY)
            ears = [listen(server, {"toolsListChanged": True}, id=i) for i in range(20)]
            for ear in ears:
                self.assertIn("acknowledged", ear.next()["method"])
            headers = {"Accept": "text/event-stream", "Mcp-Session-Id": legacy.session, "Authorization": "Bearer " + KEY}
            stream = Ear(server, "GET", headers)
            server.process.send_signal(signal.SIGTERM)
            for i, ear in enumerate(ears):
                message = ear.next()
                self.assertEqual((message["id"], message["result"]["resultType"]), (i, "complete"))
                self.assertIsNone(ear.next())
            self.assertIsNone(stream.next())
            for ear in [*ears, stream]:
                ear.close()
        finally:
            server.close()
