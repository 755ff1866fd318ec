"""`cicada mcp`: messages carried between a client and a server that does what it should, or does not."""
import json
import os
import signal
import subprocess
import time
import unittest

from harness import CICADA, HERE, Case, await_true, reap
from mcp_standin import McpStandIn, start
from served import IS_REAL, Served
from test_server_start import Started

PARSE, INVALID, INTERNAL = -32700, -32600, -32603


class Bridged(Case):
    """Each test has a stand-in for the server, and one client."""

    def setUp(self):
        super().setUp()
        if IS_REAL:
            self.skipTest("needs a server that misbehaves on request")
        self.path = str(self.place / "server.sock")
        self.server = McpStandIn(self.path)
        self.client = start(self, env=self.environment())

    def tearDown(self):
        if not IS_REAL:
            self.server.close()
            self.client.child.stdin and self.client.child.stdin.close()
        super().tearDown()

    def environment(self, **more):
        return super().environment(CICADA_SOCKET=self.path, **more)

    def initialize(self, session="s1"):
        """A session of the era that has them, with its stream open: the request that carries it."""
        self.client.request(0, "initialize", protocolVersion="2025-11-25", capabilities={},
                            clientInfo={"name": "t", "version": "1"})
        first = self.server.take()
        self.assertEqual("initialize", first.message["method"])
        self.assertIsNone(first["mcp-session-id"])
        first.result({"protocolVersion": "2025-11-25", "capabilities": {},
                      "serverInfo": {"name": "s", "version": "1"}}, Mcp_Session_Id=session)
        self.assertEqual("2025-11-25", self.client.receive()["result"]["protocolVersion"])
        self.client.notify("notifications/initialized")
        second = self.server.take()
        self.assertEqual((session, "2025-11-25"), (second["mcp-session-id"], second["mcp-protocol-version"]))
        second.answer(202)
        third = self.server.take()
        self.assertEqual(("GET", session), (third.method, third["mcp-session-id"]))
        self.assertEqual("text/event-stream", third["accept"])
        return third

    def ends(self, session=None):
        """The client goes; the exit code is 0 and nothing more is printed."""
        self.client.child.stdin.close()
        self.client.child.stdin = None
        if session:
            last = self.server.take()
            self.assertEqual(("DELETE", session), (last.method, last["mcp-session-id"]))
            last.answer(204)
        self.assertEqual(0, self.client.child.wait(30))
        self.assertIsNone(self.client.receive())


class Lines(Bridged):
    def test_what_is_no_json_is_answered_and_the_next_is_carried(self):
        self.client.raw(b"hello\n")
        answer = self.client.receive()
        self.assertEqual((None, PARSE), (answer["id"], answer["error"]["code"]))
        self.client.raw(b"[]\n\n  \n")
        self.assertEqual(INVALID, self.client.receive()["error"]["code"])
        self.client.raw(b'{"jsonrpc":"2.0","id":{},"method":"x"}\n')
        self.assertEqual(INVALID, self.client.receive()["error"]["code"])
        self.client.raw(b"\xff\xfe\n" + b"[" * 5000 + b"\n")
        self.assertEqual(PARSE, self.client.receive()["error"]["code"])
        self.assertEqual(INVALID, self.client.receive()["error"]["code"])
        self.client.request(1, "tools/list", modern=True)
        self.server.take().result({"tools": []})
        self.assertEqual({"tools": []}, self.client.receive()["result"])
        self.ends()

    def test_a_line_that_is_too_long_does_not_spoil_the_next(self):
        long = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"' + b"a" * (16 << 20) + b'"}}\n'
        self.client.raw(long)
        answer = self.client.receive()
        self.assertEqual((None, INVALID), (answer["id"], answer["error"]["code"]))
        self.assertIn("16 MiB", answer["error"]["message"])
        self.client.request(2, "tools/list", modern=True)
        self.server.take().result()
        self.assertEqual(2, self.client.receive()["id"])
        self.ends()

    def test_a_large_message_arrives_whole(self):
        text = "é" * (2 << 20)
        self.client.request(1, "tools/call", modern=True, name="write_file", arguments={"content": text})
        request = self.server.take()
        self.assertEqual(text, request.message["params"]["arguments"]["content"])
        request.stream()
        request.event_result({"text": text})
        request.end()
        self.assertEqual(text, self.client.receive()["result"]["text"])
        self.ends()

    def test_a_line_without_its_end_counts(self):
        self.client.raw(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "a"}).encode())
        self.client.child.stdin.close()
        self.client.child.stdin = None
        self.server.take().result()
        self.assertEqual(1, self.client.receive()["id"])
        self.assertEqual(0, self.client.child.wait(30))

    def test_too_much_at_once_is_refused_and_not_lost(self):
        for number in range(260):
            self.client.request(number, "tools/list", modern=True)
        refused = [self.client.receive() for _ in range(4)]
        self.assertEqual([256, 257, 258, 259], [r["id"] for r in refused])
        self.assertIn("try again", refused[0]["error"]["message"])
        for _ in range(256):
            self.server.take().result()
        self.assertEqual(list(range(256)), sorted(self.client.receive()["id"] for _ in range(256)))
        self.ends()


class Stateless(Bridged):
    def test_headers_repeat_the_message(self):
        self.client.request("a", "tools/call", modern=True, name="run_code", arguments={})
        request = self.server.take()
        self.assertEqual("/mcp", request.path)
        self.assertEqual(("2026-07-28", "tools/call", "run_code"),
                         (request["mcp-protocol-version"], request["mcp-method"], request["mcp-name"]))
        self.assertEqual("application/json, text/event-stream", request["accept"])
        self.assertEqual("application/json", request["content-type"])
        self.assertIsNone(request["mcp-session-id"])
        self.assertIsNone(request["authorization"])
        request.result()
        self.assertEqual("a", self.client.receive()["id"])
        self.client.request(2, "resources/read", modern=True, uri="workspace://ä b")
        request = self.server.take()
        self.assertEqual("=?base64?d29ya3NwYWNlOi8vw6QgYg==?=", request["mcp-name"])
        request.result()
        self.client.receive()
        self.ends()

    def test_a_stream_becomes_lines_as_it_comes(self):
        self.client.request(1, "tools/call", modern=True, name="run_code", arguments={})
        request = self.server.take()
        request.stream()
        request.raw(":\n\n")
        for progress in (1, 2):
            request.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": progress}})
            self.assertEqual(progress, self.client.receive()["params"]["progress"])
        request.event('{"jsonrpc": "2.0",\n"id": 1,\n"result": {"a": "b\\nc"}}')
        self.assertEqual({"a": "b\nc"}, self.client.receive()["result"])
        request.end()
        self.ends()

    def test_several_are_under_way_at_a_time(self):
        for number in (1, 2, 3):
            self.client.request(number, "tools/list", modern=True)
        waiting = {r.message["id"]: r for r in (self.server.take() for _ in range(3))}
        for number in (3, 1, 2):
            waiting[number].result()
            self.assertEqual(number, self.client.receive()["id"])
        self.ends()

    def test_a_cancelled_request_is_closed_and_not_answered(self):
        self.client.request(1, "tools/call", modern=True, name="run_code", arguments={})
        first = self.server.take()
        self.client.request("1", "tools/call", modern=True, name="run_code", arguments={})
        second = self.server.take()
        self.client.notify("notifications/cancelled", requestId=1, reason="enough")
        first.await_close()
        first.end()
        self.assertFalse(self.server.has_more(), "the cancellation was sent as a message, too")
        second.result()
        self.assertEqual("1", self.client.receive()["id"])
        self.ends()

    def test_one_whose_stream_has_begun_is_closed_as_well(self):
        self.client.request(1, "tools/call", modern=True, name="run_code", arguments={})
        request = self.server.take()
        request.stream()
        request.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})
        self.client.receive()
        self.client.notify("notifications/cancelled", requestId=1)
        request.await_close()
        request.end()
        self.ends()

    def test_a_broken_answer_is_an_error_that_says_so(self):
        self.client.request(1, "tools/call", modern=True, name="run_code", arguments={})
        request = self.server.take()
        request.stream()
        request.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}, event_id="e1")
        request.end()
        self.client.receive()
        answer = self.client.receive()
        self.assertEqual((1, INTERNAL), (answer["id"], answer["error"]["code"]))
        self.assertIn("before doing it again", answer["error"]["message"])
        self.ends()

    def test_errors_of_the_server_keep_their_code_and_get_the_id(self):
        self.client.request(7, "nothing", modern=True)
        self.server.take().error(404, -32601, "no such method")
        answer = self.client.receive()
        self.assertEqual((7, -32601, "no such method"),
                         (answer["id"], answer["error"]["code"], answer["error"]["message"]))
        self.ends()

    def test_an_answer_that_is_no_message_is_an_error(self):
        for body, kind in ((b"<html>", "text/html"), (b"{}", "application/json"), (b"", "application/json")):
            self.client.request(1, "tools/list", modern=True)
            self.server.take().answer(200, body, kind)
            answer = self.client.receive()
            self.assertEqual((1, INTERNAL), (answer["id"], answer["error"]["code"]))
        self.client.request(1, "tools/list", modern=True)
        request = self.server.take()
        request.stream()
        request.event("nonsense")
        answer = self.client.receive()
        self.assertEqual((1, INTERNAL), (answer["id"], answer["error"]["code"]))
        request.end()
        self.ends()

    def test_a_full_server_is_asked_again(self):
        self.client.request(1, "tools/list", modern=True)
        self.server.take().answer(429, {"error": {"code": "rate_limited", "message": "slow"}}, Retry_After=1)
        self.server.take().result()
        self.assertEqual({}, self.client.receive()["result"])
        self.ends()

    def test_a_refusal_says_what_to_do(self):
        self.client.request(1, "tools/list", modern=True)
        body = {"error": {"code": "unauthorized", "message": "this needs a key", "hint": "make one"}}
        self.server.take().answer(401, body)
        answer = self.client.receive()
        self.assertEqual(1, answer["id"])
        self.assertIn("this needs a key", answer["error"]["message"])
        self.assertIn("make one", answer["error"]["message"])
        self.ends()


class WithSessions(Bridged):
    def test_the_session_is_kept_and_ended(self):
        listening = self.initialize()
        listening.stream()
        self.client.request(1, "tools/list")
        request = self.server.take()
        self.assertEqual(("s1", "2025-11-25"), (request["mcp-session-id"], request["mcp-protocol-version"]))
        self.assertIsNone(request["mcp-method"])
        request.result({"tools": []})
        self.assertEqual(1, self.client.receive()["id"])
        listening.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, "1")
        self.assertEqual("notifications/tools/list_changed", self.client.receive()["method"])
        self.ends("s1")
        listening.end()

    def test_the_stream_of_the_unasked_goes_on_where_it_was(self):
        listening = self.initialize()
        listening.stream()
        listening.raw("retry: 10\n\n")
        listening.event({"jsonrpc": "2.0", "method": "notifications/a"}, "e7")
        self.assertEqual("notifications/a", self.client.receive()["method"])
        listening.end()
        again = self.server.take()
        self.assertEqual(("GET", "e7"), (again.method, again["last-event-id"]))
        again.stream()
        again.event({"jsonrpc": "2.0", "method": "notifications/b"}, "e8")
        self.assertEqual("notifications/b", self.client.receive()["method"])
        self.ends("s1")
        again.end()

    def test_a_server_without_such_a_stream_is_fine(self):
        self.initialize().answer(405)
        self.client.request(1, "ping")
        self.server.take().result()
        self.assertEqual(1, self.client.receive()["id"])
        self.ends("s1")

    def test_a_stream_that_breaks_is_resumed(self):
        self.initialize().answer(405)
        self.client.request(1, "tools/call", name="run_code", arguments={})
        request = self.server.take()
        request.stream()
        request.raw("id: p0\nretry: 10\ndata:\n\n")
        request.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}, "p1")
        self.assertEqual(1, self.client.receive()["params"]["progress"])
        request.end()
        rest = self.server.take()
        self.assertEqual(("GET", "s1", "p1"), (rest.method, rest["mcp-session-id"], rest["last-event-id"]))
        rest.stream()
        rest.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 2}}, "p2")
        self.assertEqual(2, self.client.receive()["params"]["progress"])
        rest.end()
        rest = self.server.take()
        self.assertEqual("p2", rest["last-event-id"])
        rest.stream()
        rest.event({"jsonrpc": "2.0", "id": 1, "result": {"ok": True}}, "p3")
        rest.end()
        self.assertEqual({"ok": True}, self.client.receive()["result"])
        self.ends("s1")

    def test_a_stream_that_cannot_be_resumed_is_an_error(self):
        self.initialize().answer(405)
        self.client.request(1, "tools/call", name="run_code", arguments={})
        request = self.server.take()
        request.stream()
        request.raw("id: p0\nretry: 10\ndata:\n\n")
        request.end()
        self.server.take().answer(404)
        answer = self.client.receive()
        self.assertEqual((1, INTERNAL), (answer["id"], answer["error"]["code"]))
        self.assertIn("started anew", answer["error"]["message"])
        self.ends("s1")

    def reopen(self, session):
        """The bridge makes another session by itself."""
        again = self.server.take()
        self.assertEqual(("initialize", None), (again.message["method"], again["mcp-session-id"]))
        self.assertEqual("t", again.message["params"]["clientInfo"]["name"])
        again.result({"protocolVersion": "2025-11-25", "capabilities": {}}, Mcp_Session_Id=session)
        told = self.server.take()
        self.assertEqual(("notifications/initialized", session), (told.message["method"], told["mcp-session-id"]))
        told.answer(202)

    def test_a_forgotten_session_is_made_anew_and_the_requests_repeated(self):
        self.initialize().answer(405)
        self.client.request(1, "tools/list")
        self.client.request(2, "tools/list")
        waiting = [self.server.take(), self.server.take()]
        for request in waiting:
            request.error(404, INVALID, "no such session")
        self.reopen("s2")
        rest = [self.server.take() for _ in range(3)]
        for request in rest:
            self.assertEqual("s2", request["mcp-session-id"])
            if request.method == "GET":
                request.answer(405)
            else:
                request.result()
        self.assertEqual([1, 2], sorted(self.client.receive()["id"] for _ in range(2)))
        self.ends("s2")

    def test_it_is_repeated_only_once(self):
        self.initialize().answer(405)
        self.client.request(1, "tools/list")
        self.server.take().answer(404)
        self.reopen("s2")
        for _ in range(2):
            self.server.take().answer(404)
        answer = self.client.receive()
        self.assertEqual((1, INTERNAL), (answer["id"], answer["error"]["code"]))
        self.ends("s2")

    def test_a_new_session_that_is_refused_is_told(self):
        self.initialize().answer(405)
        self.client.request(1, "tools/list")
        self.server.take().answer(404)
        self.server.take().answer(401, {"error": {"code": "unauthorized", "message": "this needs a key"}})
        answer = self.client.receive()
        self.assertEqual((1, INTERNAL), (answer["id"], answer["error"]["code"]))
        self.assertIn("this needs a key", answer["error"]["message"])
        self.ends("s1")

    def test_an_unknown_method_is_not_a_forgotten_session(self):
        self.initialize().answer(405)
        self.client.request(1, "nothing")
        self.server.take().error(404, -32601, "no such method")
        self.assertEqual(-32601, self.client.receive()["error"]["code"])
        self.ends("s1")

    def test_the_server_asks_and_the_client_answers(self):
        self.initialize().answer(405)
        self.client.request(1, "tools/call", name="purge", arguments={})
        request = self.server.take()
        request.stream()
        request.event({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}}, "1")
        self.assertEqual("elicitation/create", self.client.receive()["method"])
        self.client.send(id="q", result={"action": "accept"})
        answer = self.server.take()
        self.assertEqual(("q", "s1"), (answer.message["id"], answer["mcp-session-id"]))
        answer.answer(202)
        request.event_result({"done": True}, "2")
        request.end()
        self.assertEqual({"done": True}, self.client.receive()["result"])
        self.ends("s1")

    def test_a_cancellation_is_sent_and_no_answer_is_owed(self):
        self.initialize().answer(405)
        self.client.request(1, "tools/call", name="run_code", arguments={})
        first = self.server.take()
        self.client.notify("notifications/cancelled", requestId=1)
        second = self.server.take()
        self.assertEqual(("notifications/cancelled", "s1"), (second.message["method"], second["mcp-session-id"]))
        second.answer(202)
        first.stream()
        first.event_result()  # too late
        first.end()
        self.client.request(2, "ping")
        self.server.take().result()
        self.assertEqual(2, self.client.receive()["id"])
        self.ends("s1")


class Ends(Bridged):
    def test_what_is_under_way_ends_with_the_input(self):
        self.client.request(1, "tools/call", modern=True, name="run_code", arguments={})
        request = self.server.take()
        begun = time.monotonic()
        self.ends()
        self.assertLess(time.monotonic() - begun, 5)
        request.await_close()
        request.end()

    def test_a_signal_is_an_end(self):
        self.initialize().answer(405)
        self.client.child.send_signal(signal.SIGTERM)
        last = self.server.take()
        self.assertEqual("DELETE", last.method)
        last.answer(204)
        self.assertEqual(0, self.client.child.wait(30))

    def test_nobody_who_reads_is_an_end(self):
        reading, writing = os.pipe()
        child = self.start("mcp", stdin=subprocess.PIPE, stdout=writing)
        self.addCleanup(child.stdin.close)
        os.close(writing)
        os.close(reading)
        child.stdin.write(b"hello\n")
        child.stdin.flush()
        self.assertEqual(0, child.wait(30))


class Elsewhere(Case):
    def test_a_server_that_is_not_there_is_told_in_the_answer(self):
        client = start(self, env=self.environment(CICADA_SOCKET=str(self.place / "none.sock")))
        client.request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
        answer = client.receive()
        self.assertEqual((1, INTERNAL), (answer["id"], answer["error"]["code"]))
        self.assertIn("cicada serve", answer["error"]["message"])
        client.request("b", "server/discover", modern=True)
        self.assertEqual("b", client.receive()["id"])
        code, rest, _ = client.end()
        self.assertEqual((0, []), (code, rest))

    def test_a_variable_that_makes_no_sense_is_told_in_the_answer(self):
        client = start(self, env=self.environment(CICADA_URL="ftp://x"))
        client.request(1, "server/discover", modern=True)
        self.assertIn("CICADA_URL", client.receive()["error"]["message"])
        self.assertEqual(0, client.end()[0])

    def test_without_a_server_being_wanted_it_says_so(self):
        client = start(self, env=self.environment())  # CICADA_SOCKET=off
        client.request(1, "server/discover", modern=True)
        self.assertIn("CICADA_SOCKET is off", client.receive()["error"]["message"])
        self.assertEqual(0, client.end()[0])

    def test_the_key_and_what_was_asked_for_are_sent(self):
        path = str(self.place / "server.sock")
        server = McpStandIn(path)
        self.addCleanup(server.close)
        client = start(self, "--profile", "core", "--workspace", "ws_abc",
                       env=self.environment(CICADA_SOCKET=path, CICADA_API_KEY="cik_secret"))
        client.request(1, "tools/list", modern=True)
        request = server.take()
        self.assertEqual("/mcp?workspace=ws_abc&profile=core", request.path)
        self.assertEqual("Bearer cik_secret", request["authorization"])
        request.result()
        client.receive()
        code, _, notes = client.end()
        self.assertEqual(0, code)
        self.assertNotIn("cik_secret", notes)

    def test_words_that_are_wrong(self):
        for words in (["--profile", "all"], ["installs"], ["--url", "http://x"], ["install", "a", "b"]):
            ran = self.cicada("mcp", *words)
            self.assertEqual((2, ""), (ran.code, ran.out), ran)


class Install(Case):
    def environment(self, **more):
        home = self.place / "home"
        home.mkdir(exist_ok=True)
        env = super().environment(HOME=str(home), **more)
        env.pop("XDG_CONFIG_HOME", None)
        env.pop("CODEX_HOME", None)
        return env

    def install(self, *words, code=0, **more):
        ran = self.cicada("mcp", "install", *words, **more)
        self.assertEqual(code, ran.code, ran)
        return ran

    def snippet(self, *words):
        return json.loads(self.install(*words).out)

    def clients(self):
        return [line.split()[0] for line in self.install().out.splitlines()]

    def test_all_are_listed_and_printed(self):
        self.assertEqual(["claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "goose",
                          "openai-agents", "langchain"], self.clients())
        for client in self.clients():
            here, there = self.install(client), self.install(client, "--url", "https://host:8700/")
            self.assertIn('"mcp"', here.out.replace("\n", ""), client)
            self.assertIn("https://host:8700", there.out, client)
            self.assertNotIn("https://host:8700//", there.out, client)

    def test_entries_are_as_the_clients_want_them(self):
        entry = self.snippet("claude-desktop")["mcpServers"]["cicada"]
        self.assertEqual(["mcp"], entry["args"])
        self.assertTrue(os.path.isabs(entry["command"]))
        entry = self.snippet("claude-desktop", "--url", "https://h/mcp")["mcpServers"]["cicada"]
        self.assertEqual({"CICADA_URL": "https://h", "CICADA_API_KEY": "YOUR_KEY"}, entry["env"])
        entry = self.snippet("claude-code", "--url", "https://h")["mcpServers"]["cicada"]
        self.assertEqual({"type": "http", "url": "https://h/mcp",
                          "headers": {"Authorization": "Bearer ${CICADA_API_KEY}"}}, entry)
        entry = self.snippet("cursor", "--url", "https://h", "--profile", "core")["mcpServers"]["cicada"]
        self.assertEqual("https://h/mcp?profile=core", entry["url"])
        self.assertEqual(["mcp", "--workspace", "a b", "--profile", "full"],
                         self.snippet("cursor", "-w", "a b", "--profile", "full")["mcpServers"]["cicada"]["args"])
        config = self.snippet("vscode", "--url", "https://h")
        self.assertEqual("Bearer ${input:cicada-key}", config["servers"]["cicada"]["headers"]["Authorization"])
        self.assertEqual("cicada-key", config["inputs"][0]["id"])
        self.assertEqual("stdio", self.snippet("vscode")["servers"]["cicada"]["type"])
        self.assertEqual("https://h/mcp", self.snippet("windsurf", "--url", "https://h")["mcpServers"]["cicada"]["serverUrl"])

    def test_the_manual_has_exactly_these(self):
        manual = (HERE.parent.parent / "docs/mcp.md").read_text()
        for client in self.clients():
            for words in ([], ["--url", "https://cicada.example.org"]):
                printed = self.install(client, *words).out.replace(os.path.realpath(CICADA), "/usr/local/bin/cicada")
                for part in printed.split("\n\n// JavaScript"):
                    self.assertIn(part.strip(), manual, client)

    def test_nothing_is_written_unless_asked_for(self):
        for client in self.clients():
            self.install(client)
        self.assertEqual([], os.listdir(self.here))
        self.assertEqual([], os.listdir(self.place / "home"))

    def test_what_is_there_stays(self):
        path = self.place / "home/.cursor/mcp.json"
        path.parent.mkdir(parents=True)
        before = '{"zeta": 1, "mcpServers": {"other": {"url": "https://x"}}, "alpha": [1.5, null]}'
        path.write_text(before)
        path.chmod(0o640)
        self.assertIn("added", self.install("cursor", "--write").err)
        config = json.loads(path.read_text())
        self.assertEqual(["zeta", "mcpServers", "alpha"], list(config))
        self.assertEqual(["other", "cicada"], list(config["mcpServers"]))
        self.assertEqual(before, (path.parent / "mcp.json.bak").read_text())
        self.assertEqual(0o640, path.stat().st_mode & 0o777)
        written = path.read_bytes()
        self.assertIn("already", self.install("cursor", "--write").err)
        self.assertEqual(written, path.read_bytes())
        self.assertEqual(before, (path.parent / "mcp.json.bak").read_text())
        self.assertEqual({"mcp.json", "mcp.json.bak"}, set(os.listdir(path.parent)))

    def test_a_new_file_is_made_where_the_client_looks(self):
        for client, path in (("claude-desktop", "home/.config/Claude/claude_desktop_config.json"),
                             ("windsurf", "home/.codeium/windsurf/mcp_config.json"),
                             ("claude-code", "here/.mcp.json"), ("vscode", "here/.vscode/mcp.json"),
                             ("codex", "home/.codex/config.toml")):
            self.install(client, "--write")
            self.assertIn("cicada", (self.place / path).read_text())
            self.assertFalse((self.place / (path + ".bak")).exists())

    def test_what_is_not_json_is_left_alone(self):
        path = self.file(".mcp.json", '{"mcpServers": {}, // mine\n}')
        before = path.read_bytes()
        ran = self.install("claude-code", "--write", code=1)
        self.assertIn("not plain JSON (line 1", ran.err)
        self.assertEqual(before, path.read_bytes())
        self.assertEqual([".mcp.json"], os.listdir(self.here))

    def test_a_link_stays_a_link(self):
        target = self.file("dotfiles/mcp.json", "{}")
        (self.here / ".mcp.json").symlink_to(target)
        self.install("claude-code", "--write")
        self.assertTrue((self.here / ".mcp.json").is_symlink())
        self.assertIn("cicada", target.read_text())

    def test_a_table_is_appended_once(self):
        path = self.place / "home/.codex/config.toml"
        path.parent.mkdir(parents=True)
        path.write_text('model = "x"\n')
        self.install("codex", "--write")
        self.assertTrue(path.read_text().startswith('model = "x"\n\n[mcp_servers.cicada]\n'))
        self.assertIn("already", self.install("codex", "--write").err)
        ran = self.install("codex", "--write", "--url", "https://h", code=1)
        self.assertIn("another [mcp_servers.cicada]", ran.err)

    def test_a_key_is_written_but_never_printed(self):
        env = self.environment(CICADA_API_KEY="cik_secret")
        ran = self.install("claude-desktop", "--url", "https://h", env=env)
        self.assertNotIn("cik_secret", ran.out + ran.err)
        ran = self.install("claude-desktop", "--url", "https://h", "--write", env=env)
        self.assertNotIn("cik_secret", ran.out + ran.err)
        path = self.place / "home/.config/Claude/claude_desktop_config.json"
        self.assertIn("cik_secret", path.read_text())
        self.assertEqual(0o600, path.stat().st_mode & 0o777)

    def test_what_cannot_be_done_says_why(self):
        self.assertIn("did you mean cursor?", self.install("curser", code=2).err)
        self.assertIn("by hand", self.install("goose", "--write", code=1).err)
        self.assertIn("https://host:8700", self.install("cursor", "--url", "host", code=1).err)
        self.assertIn("CICADA_API_KEY", self.install("cursor", "--url", "https://k@h", code=1).err)


class RealServer(Served):
    """The same against the real server, on a socket, without a key."""

    def setUp(self):
        if not IS_REAL:
            self.skipTest("needs the real server")
        super().setUp()

    def client(self, *words):
        return start(self, *words, env=self.environment())

    def answer(self, client, number):
        """The answer to a request, past whatever else comes."""
        while (message := client.receive()) is not None:
            if message.get("id") == number and "method" not in message:
                return message
        self.fail("no answer")

    def run_code(self, client, number, code, modern=True, **more):
        client.request(number, "tools/call", modern=modern, name="run_code", arguments={"code": code}, **more)

    def initialize(self, client):
        client.request(0, "initialize", protocolVersion="2025-11-25", capabilities={},
                       clientInfo={"name": "t", "version": "1"})
        result = self.answer(client, 0)["result"]
        client.notify("notifications/initialized")
        return result

    def text(self, message):
        return message["result"]["content"][0]["text"]

    def test_the_stateless_era(self):
        client = self.client()
        client.request(1, "server/discover", modern=True)
        self.assertIn("2026-07-28", self.answer(client, 1)["result"]["supportedVersions"])
        self.run_code(client, "b", "6 * 7")
        self.assertIn("result: 42", self.text(self.answer(client, "b")))
        client.request(3, "prompts/get", modern=True, name="näme")
        self.assertIn("error", self.answer(client, 3))
        self.assertEqual((0, []), client.end()[:2])

    def test_a_session_keeps_its_variables(self):
        client = self.client()
        self.assertEqual("2025-11-25", self.initialize(client)["protocolVersion"])
        self.run_code(client, 1, "x = 41", modern=False)
        self.answer(client, 1)
        self.run_code(client, 2, "x + 1", modern=False)
        self.assertIn("result: 42", self.text(self.answer(client, 2)))
        self.assertEqual((0, []), client.end()[:2])

    def test_output_comes_as_progress_while_it_runs(self):
        client = self.client()
        code = "import time\nfor i in range(3):\n    print('line', i, flush=True)\n    time.sleep(0.6)"
        self.run_code(client, 1, code, _meta={"progressToken": "p"})
        first = client.receive()
        self.assertEqual(("notifications/progress", "p"), (first["method"], first["params"]["progressToken"]))
        self.assertIn("line 2", self.text(self.answer(client, 1)))
        self.assertEqual(0, client.end()[0])

    def test_what_is_cancelled_stops(self):
        for modern in (True, False):
            client = self.client()
            if not modern:
                self.initialize(client)
            code = "import time\nprint('begun', flush=True)\ntime.sleep(600)"
            client.request(1, "tools/call", modern=modern, name="run_code",
                           arguments={"code": code, "timeout_s": 600}, _meta={"progressToken": 1})
            self.assertEqual("notifications/progress", client.receive()["method"])
            self.assertEqual(1, len(self.objects("runs", "ls", "--status", "running")))
            client.notify("notifications/cancelled", requestId=1)
            await_true("the run has ended", lambda: not self.objects("runs", "ls", "--status", "running"))
            self.assertEqual((0, []), client.end()[:2])

    def test_the_end_of_the_input_stops_what_runs(self):
        client = self.client()
        self.run_code(client, 1, "import time\nprint('begun', flush=True)\ntime.sleep(600)", _meta={"progressToken": 1})
        self.assertEqual("notifications/progress", client.receive()["method"])
        self.assertEqual(0, client.end()[0])
        await_true("the run has ended", lambda: not self.objects("runs", "ls", "--status", "running"))

    def test_two_clients_share_files_and_see_a_workspace(self):
        self.good("workspaces", "create", "team")
        first, second = self.client("--workspace", "team"), self.client("--workspace", "team")
        first.request(1, "tools/call", modern=True, name="write_file", arguments={"path": "a.txt", "content": "shared"})
        self.assertNotIn("isError", self.answer(first, 1)["result"])
        self.run_code(second, 1, "print(open('/mnt/data/a.txt').read())")
        self.assertIn("shared", self.text(self.answer(second, 1)))
        other = self.client()
        other.request(1, "tools/call", modern=True, name="list_files", arguments={})
        self.assertNotIn("a.txt", self.text(self.answer(other, 1)))
        for client in (first, second, other):
            self.assertEqual(0, client.end()[0])

    def test_a_workspace_that_is_not_there_is_told(self):
        client = self.client("--workspace", "nowhere")
        client.request(1, "server/discover", modern=True)
        self.assertIn("there is no workspace 'nowhere'", self.answer(client, 1)["error"]["message"])
        self.assertEqual(0, client.end()[0])

    def test_the_core_profile_has_nine_tools(self):
        client = self.client("--profile", "core")
        client.request(1, "tools/list", modern=True)
        self.assertEqual(9, len(self.answer(client, 1)["result"]["tools"]))
        self.assertEqual(0, client.end()[0])

    def write(self, client, number, content, modern):
        client.request(number, "tools/call", modern=modern, name="write_file",
                       arguments={"path": "a.txt", "content": content})

    def uri(self, message):
        return next(b["uri"] for b in message["result"]["content"] if b["type"] == "resource_link")

    def updated(self, client):
        """The next word of a changed resource."""
        while (message := client.receive()).get("method") != "notifications/resources/updated":
            pass
        return message["params"]

    def test_changes_are_told_to_a_session(self):
        client = self.client()
        self.initialize(client)
        self.write(client, 1, "one", modern=False)
        uri = self.uri(self.answer(client, 1))
        client.request(2, "resources/subscribe", uri=uri)
        self.assertEqual({}, self.answer(client, 2)["result"])
        self.write(client, 3, "two", modern=False)
        self.assertEqual(uri, self.updated(client)["uri"])
        self.assertEqual(0, client.end()[0])

    def test_changes_are_told_to_who_listens(self):
        client = self.client()
        self.write(client, 1, "one", modern=True)
        uri = self.uri(self.answer(client, 1))
        client.request("l", "subscriptions/listen", modern=True, notifications={"resourceSubscriptions": [uri]})
        self.assertEqual("notifications/subscriptions/acknowledged", client.receive()["method"])
        self.write(client, 2, "two", modern=True)
        told = self.updated(client)
        self.assertEqual((uri, "l"), (told["uri"], told["_meta"]["io.modelcontextprotocol/subscriptionId"]))
        client.notify("notifications/cancelled", requestId="l")
        self.assertEqual(0, client.end()[0])

    def test_a_server_that_was_started_anew_is_not_noticed(self):
        client = self.client()
        self.initialize(client)
        client.request(1, "tools/list")
        self.assertIn("result", self.answer(client, 1))
        self.real.terminate()
        self.real.wait(30)
        self.start_real()
        client.request(2, "tools/list")
        self.assertIn("result", self.answer(client, 2))
        code, _, notes = client.end()
        self.assertEqual(0, code)
        self.assertIn("started anew", notes)


@unittest.skipUnless(IS_REAL, "starts the real server")
@unittest.skipIf(os.path.exists("/run/cicada/cicada.sock"), "this machine has a server of its own")
class NoServerYet(Started):
    """One is started when the first message needs it. The tests of the base class are not repeated."""

    def test_clients_at_once_start_one_and_share_it(self):
        clients = [start(self, env=self.environment()) for _ in range(3)]
        for client in clients:
            client.request(1, "server/discover", modern=True)
        for client in clients:
            self.assertIn("2026-07-28", client.receive()["result"]["supportedVersions"])
        self.assertTrue(self.server())
        started = sum("starting a server" in client.end()[2] for client in clients)
        self.assertGreaterEqual(started, 1)

    def test_one_that_went_is_started_again(self):
        client = start(self, env=self.environment())
        client.request(1, "server/discover", modern=True)
        self.assertIn("result", client.receive())
        first = self.server()
        os.kill(first, signal.SIGTERM)
        await_true("it is gone", lambda: (reap(), not os.path.exists(f"/proc/{first}"))[1])
        client.request(2, "server/discover", modern=True)
        self.assertIn("result", client.receive())
        self.assertNotIn(self.server(), (0, first))
        self.assertEqual(0, client.end()[0])

    def test_one_that_cannot_start_is_told_in_the_answer(self):
        (self.place / "data").write_text("a file where the directory should be")
        client = start(self, env=self.environment())
        client.request(1, "server/discover", modern=True)
        self.assertIn("the server that was started ended at once", client.receive()["error"]["message"])
        self.assertEqual(0, client.end()[0])


for _name in [name for name in dir(Started) if name.startswith("test_")]:
    setattr(NoServerYet, _name, None)
del Started  # or its tests would be found here, too
