"""/mcp as a stranger may use it: messages, headers, sessions, streams. What tools do is in the other test_mcp files."""
import concurrent.futures
import http.client
import json
import socket
import struct
import unittest

from base import KEY, Server
from mcp import LEGACY, META, MODERN, Legacy, Modern, RpcError

CLAIM = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}


def setUpModule():
    global server
    server = Server()


def tearDownModule():
    server.close()


def post(body, headers=None, key=KEY, path="/mcp"):
    """(status, headers, body) of one POST, as it is."""
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if key:
        sent["Authorization"] = "Bearer " + key
    sent.update(headers or {})
    connection.request("POST", path, body if isinstance(body, (bytes, str)) else json.dumps(body), sent)
    response = connection.getresponse()
    result = response.status, response.headers, response.read()
    connection.close()
    return result


def modern(method, params=None, headers=None, meta=CLAIM, **more):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}, **more}
    return post(message, {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, **(headers or {})})


class Messages(unittest.TestCase):
    def refused(self, body, status, code, headers=None):
        got, _, text = post(body, headers)
        self.assertEqual(got, status, text)
        self.assertEqual(json.loads(text)["error"]["code"], code, text)
        return json.loads(text)

    def test_what_is_not_a_message(self):
        for body in (b"", b"{", b"\xff\xfe", b'{"a":1}}', b'{"jsonrpc":"2.0","jsonrpc":"2.0"}', b"[" * 100000, b'{"a":' * 5000):
            with self.subTest(body=body[:20]):
                self.refused(body, 400, -32700)
        for body in (b"[]", b"1", b"null", b'"x"', b"{}", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","id":1}'):
            with self.subTest(body=body):
                self.refused(body, 400, -32600)

    def test_batches_are_refused(self):
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        self.refused([ping, ping], 400, -32600)

    def test_a_message_may_be_large_but_not_too_large(self):
        m = Modern(server)
        text = "x" * (8 << 20)
        self.assertNotIn("isError", m.call("write_file", path="large.txt", content=text))
        status, _, _ = post(b"[" + b" " * (17 << 20) + b"]")
        self.assertEqual(status, 413)

    def test_a_message_of_very_many_values(self):
        before = self.memory()
        self.refused(b"[" + b"[]," * (4 << 20) + b"[]]", 400, -32700)
        self.assertLess(self.memory() - before, 200 << 10)

    def memory(self):
        """The most that the server has used, in KiB."""
        with open("/proc/%d/status" % server.process.pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))

    def test_only_json_is_read(self):
        status, _, _ = post(b"{}", {"Content-Type": "text/plain"})
        self.assertEqual(status, 415)

    def test_the_id_comes_back_as_it_came(self):
        for number in (0, -5, 2**53 + 1, "", "a\"b", "1", "\u00fc"):
            _, _, body = modern("server/discover", id=number)
            self.assertEqual(json.loads(body)["id"], number)
            self.assertIs(type(json.loads(body)["id"]), type(number))

    def test_a_notification_is_accepted_and_not_answered(self):
        status, _, body = post({"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": CLAIM}}, {"MCP-Protocol-Version": MODERN})
        self.assertEqual((status, body), (202, b""))

    def test_the_same_id_twice_at_once_is_two_answers(self):
        message = {"jsonrpc": "2.0", "id": 7, "method": "server/discover", "params": {"_meta": CLAIM}}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for status, _, body in pool.map(lambda _: post(message, headers), range(32)):
                self.assertEqual((status, json.loads(body)["id"]), (200, 7))


class TheStatelessEra(unittest.TestCase):
    def error(self, answer):
        status, _, body = answer
        return status, json.loads(body)["error"]["code"]

    def test_the_headers_repeat_the_message(self):
        self.assertEqual(modern("tools/list")[0], 200)
        self.assertEqual(self.error(modern("tools/list", headers={"Mcp-Method": "tools/call"})), (400, -32020))
        self.assertEqual(self.error(modern("tools/list", headers={"Mcp-Method": "Tools/list"})), (400, -32020))
        call = {"name": "list_files", "arguments": {}}
        self.assertEqual(self.error(modern("tools/call", call)), (400, -32020))
        self.assertEqual(self.error(modern("tools/call", call, {"Mcp-Name": "run_code"})), (400, -32020))
        self.assertEqual(modern("tools/call", call, {"Mcp-Name": "list_files"})[0], 200)
        self.assertEqual(modern("tools/call", call, {"Mcp-Name": "=?base64?bGlzdF9maWxlcw==?="})[0], 200)
        self.assertEqual(self.error(modern("tools/call", call, {"Mcp-Name": "=?base64?bGlzdF9maWxlcw?="})), (400, -32020))

    def test_versions(self):
        other = {**CLAIM, META + "protocolVersion": "v999.0.0"}
        status, _, body = modern("tools/list", meta=other, headers={"MCP-Protocol-Version": "v999.0.0"})
        data = json.loads(body)["error"]["data"]
        self.assertEqual((status, data["requested"]), (400, "v999.0.0"))
        _, _, body = modern("server/discover")
        self.assertEqual(data["supported"], json.loads(body)["result"]["supportedVersions"])
        self.assertEqual(self.error(modern("tools/list", meta=other)), (400, -32020))
        self.assertEqual(self.error(post({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
                                         {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})), (400, -32602))

    def test_methods_that_are_not_there(self):
        for method in ("nothing/here", "initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list", "tasks/result"):
            with self.subTest(method=method):
                self.assertEqual(self.error(modern(method)), (404, -32601))

    def test_there_is_no_session(self):
        status, headers, _ = modern("server/discover", headers={"Mcp-Session-Id": "mcp_nonsense"})
        self.assertEqual((status, headers["Mcp-Session-Id"]), (200, None))
        for method in ("GET", "DELETE"):
            connection = http.client.HTTPConnection(*server.address)
            connection.request(method, "/mcp", headers={"Authorization": "Bearer " + KEY})
            self.assertEqual(connection.getresponse().status, 405)
            connection.close()

    def test_what_every_result_has(self):
        m = Modern(server)
        for method in ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            with self.subTest(method=method):
                result = m.rpc(method)
                self.assertEqual(result["resultType"], "complete")
                self.assertEqual(result["_meta"][META + "serverInfo"]["name"], "cicada")
                self.assertGreaterEqual(result["ttlMs"], 0)
                self.assertIn(result["cacheScope"], ("public", "private"))
        self.assertEqual(m.rpc("tools/list"), m.rpc("tools/list"))

    def test_unknown_tool_and_bad_arguments(self):
        m = Modern(server)
        with self.assertRaises(RpcError) as caught:
            m.call("no_such_tool")
        self.assertEqual((caught.exception.code, caught.exception.status), (-32602, 200))
        result = m.call("run_code", kode="1")
        self.assertTrue(result["isError"])
        self.assertIn("did you mean code?", m.text(result))
        with self.assertRaises(RpcError) as caught:
            m.rpc("tools/call", {"name": "run_code", "arguments": [1]})
        self.assertEqual(caught.exception.code, -32602)

    def test_a_wrong_cursor(self):
        with self.assertRaises(RpcError) as caught:
            Modern(server).rpc("tools/list", {"cursor": "nonsense"})
        self.assertEqual(caught.exception.code, -32602)

    def test_the_core_profile_is_nine_tools(self):
        core = Modern(server, path="/mcp?profile=core").rpc("tools/list")["tools"]
        full = Modern(server).rpc("tools/list")["tools"]
        self.assertEqual([t["name"] for t in core], ["run_code", "get_execution", "manage_session", "list_files", "read_file",
                                                      "write_file", "edit_file", "search_files", "transfer_url"])
        self.assertEqual(len(full), 15)
        for tool in full:
            self.assertRegex(tool["name"], r"^[a-z][a-z0-9_]{0,63}$")
            self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertEqual(tool["outputSchema"]["type"], "object")
            self.assertIn("title", tool)
            self.assertGreater(len(tool["description"]), 40)

    def test_state_that_was_changed(self):
        m = Modern(server, capabilities={"elicitation": {}})
        for path in ("state.txt", "other.txt"):
            m.call("write_file", path=path, content="x")
            m.call("manage_file", action="delete", path=path)
        asked = m.call("manage_file", action="purge", path="state.txt")
        self.assertEqual(asked["resultType"], "input_required")
        self.assertEqual(list(asked["inputRequests"]), ["confirm"])
        yes = {"confirm": {"action": "accept", "content": {"confirm": True}}}
        call = {"name": "manage_file", "arguments": {"action": "purge", "path": "state.txt"}, "inputResponses": yes}
        state = asked["requestState"]
        for wrong in (state[:-1] + "x", "1" + state, "", "a.b.c", 7):
            with self.subTest(state=wrong), self.assertRaises(RpcError) as caught:
                m.rpc("tools/call", {**call, "requestState": wrong})
            self.assertEqual(caught.exception.code, -32602)
        other = {**call, "arguments": {"action": "purge", "path": "other.txt"}, "requestState": state}
        with self.assertRaises(RpcError) as caught:
            m.rpc("tools/call", other)
        self.assertEqual(caught.exception.code, -32602)
        self.assertEqual(m.rpc("tools/call", call)["resultType"], "input_required")  # without a state it is asked anew
        self.assertNotIn("isError", m.rpc("tools/call", {**call, "requestState": state}))


class TheEraWithSessions(unittest.TestCase):
    def test_versions_are_agreed_on(self):
        for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"):
            self.assertEqual(Legacy(server, version=version).welcome["protocolVersion"], version)
        self.assertEqual(Legacy(server, version="1999-01-01").welcome["protocolVersion"], LEGACY)

    def test_results_are_those_of_the_era(self):
        l = Legacy(server)
        for method in ("tools/list", "prompts/list", "resources/list"):
            result = l.rpc(method)
            for key in ("resultType", "ttlMs", "cacheScope"):
                self.assertNotIn(key, result)
        self.assertEqual(l.rpc("ping"), {})
        with self.assertRaises(RpcError) as caught:
            l.rpc("server/discover")
        self.assertEqual((caught.exception.code, caught.exception.status), (-32601, 200))

    def test_old_clients_get_nothing_they_do_not_know(self):
        l = Legacy(server, version="2025-03-26")
        result = l.call("run_code", code="open('old.txt','w').write('x')\n'y' * 3")
        self.assertEqual({block["type"] for block in result["content"]}, {"text"})
        self.assertNotIn("structuredContent", result)
        self.assertNotIn("outputSchema", l.rpc("tools/list")["tools"][0])

    def test_a_session_ends(self):
        l = Legacy(server)
        self.assertEqual(l.close(), 204)
        with self.assertRaises(RpcError) as caught:
            l.rpc("ping")
        self.assertEqual(caught.exception.status, 404)

    def test_without_and_with_a_foreign_session(self):
        l = Legacy(server)
        with self.assertRaises(RpcError) as caught:
            l.start("ping", headers={"Mcp-Session-Id": None}).wait()
        self.assertEqual(caught.exception.status, 400)
        from base import Client
        admin = Client(server)
        other = admin.post("/api/v1/principals", {"name": "mcp-other"}).json
        key = admin.post("/api/v1/keys", {"name": "k", "principal": other["id"]}).json["secret"]
        thief = Legacy(server, key)
        thief.session = l.session
        with self.assertRaises(RpcError) as caught:
            thief.rpc("ping")
        self.assertEqual(caught.exception.status, 404)

    def test_a_broken_stream_can_be_resumed(self):
        l = Legacy(server)
        code = "import time\nfor i in range(30):\n    print('line', i, flush=True)\n    time.sleep(0.1)"
        pending = l.start_call("run_code", _meta={"progressToken": "p"}, code=code)
        pending.note("notifications/progress")
        pending.close()  # the connection breaks; the run goes on
        last = pending.last_id
        back = l.listen(last)
        result = back.wait()
        self.assertIn("line 29", l.text(result))
        seen = [n["params"]["progress"] for n in pending.notes + back.notes]
        self.assertEqual(seen, sorted(set(seen)))

    def test_an_event_of_nobody(self):
        l = Legacy(server)
        for event in ("x", "99999999999", "18446744073709551616", "-1"):
            status, _, _ = l.plain("GET", headers={"Accept": "text/event-stream", "Last-Event-ID": event})
            self.assertIn(status, (400, 404), event)

    def test_many_sessions_make_room(self):
        first = Legacy(server)
        for _ in range(205):
            Legacy(server)
        with self.assertRaises(RpcError) as caught:
            first.rpc("ping")
        self.assertEqual(caught.exception.status, 404)


class Doors(unittest.TestCase):
    def test_a_key_is_needed(self):
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        for key in (None, "cik_" + "x" * 36):
            status, headers, _ = post(message, key=key)
            self.assertEqual(status, 401)
            self.assertIn("resource_metadata=", headers["WWW-Authenticate"])

    def test_a_key_without_the_scope(self):
        from base import Client
        admin = Client(server)
        key = admin.post("/api/v1/keys", {"name": "reader", "scopes": ["files:read"]}).json["secret"]
        m = Modern(server, key)
        names = [t["name"] for t in m.rpc("tools/list")["tools"]]
        self.assertIn("read_file", names)
        for name in ("run_code", "write_file", "edit_file", "manage_file", "lock_file", "share", "audit_log"):
            self.assertNotIn(name, names)
        with self.assertRaises(RpcError) as caught:
            m.call("run_code", code="1")
        self.assertEqual(caught.exception.status, 403)
        self.assertIn('error="insufficient_scope"', caught.exception.headers["WWW-Authenticate"])
        self.assertIn('scope="run"', caught.exception.headers["WWW-Authenticate"])

    def test_pages_of_others_stay_out(self):
        message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": CLAIM}}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "server/discover"}
        self.assertEqual(post(message, {**headers, "Origin": "http://evil.example"})[0], 403)
        self.assertEqual(post(message, {**headers, "Host": "evil.example", "Origin": "http://evil.example"})[0], 403)
        port = server.address[1]
        self.assertEqual(post(message, {**headers, "Host": "localhost:%d" % port, "Origin": "http://localhost:%d" % port})[0], 200)

    def test_what_a_tool_does_is_in_the_audit_once(self):
        m = Modern(server)
        m.call("write_file", path="audited.txt", content="x")
        entries = json.loads(self.get("/api/v1/audit?limit=50"))["data"]
        mine = [e for e in entries if e.get("path") == "audited.txt"]
        self.assertEqual([(e["event"], e["via"]) for e in mine], [("putFile", "mcp")])
        self.assertNotIn("sendMcp", [e["event"] for e in entries if e["result"] == "ok"])

    def get(self, path):
        connection = http.client.HTTPConnection(*server.address)
        connection.request("GET", path, headers={"Authorization": "Bearer " + KEY})
        return connection.getresponse().read()

    def test_who_leaves_before_the_stream_begins_ends_only_their_own(self):
        message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
                   "params": {"_meta": CLAIM, "notifications": {"resourceSubscriptions": ["workspace://default/f%d" % i for i in range(40)]}}}
        body = json.dumps(message).encode()
        head = ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: %s\r\nMcp-Method: subscriptions/listen\r\n"
                "Content-Length: %d\r\n\r\n" % (KEY, MODERN, len(body))).encode()
        for _ in range(40):
            s = socket.create_connection(server.address)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.sendall(head + body)
            s.close()  # a reset
        self.assertEqual(modern("server/discover")[0], 200)
        self.assertIsNone(server.process.poll())

    def test_no_key_gets_all_threads(self):
        l = Legacy(server, capabilities={"elicitation": {}})
        asked = [l.start_call("manage_file", action="empty_trash") for _ in range(80)]
        refused = [p for p in asked if self.is_refused(p)]
        self.assertEqual(len(refused), 16)
        self.assertEqual(modern("server/discover")[0], 200)
        for p in asked:
            if p not in refused:
                l.respond(p.note("elicitation/create"), {"action": "decline"})
                self.assertTrue(p.wait()["isError"])

    def is_refused(self, pending):
        with pending.changed:
            pending.changed.wait_for(lambda: pending.answer or pending.notes, 60)
        return pending.answer is not None and "go on already" in Legacy.text(pending.answer["result"])

    def test_a_refused_tool_is_in_the_audit(self):
        from base import Client
        key = Client(server).post("/api/v1/keys", {"name": "reader2", "scopes": ["files:read"]}).json
        with self.assertRaises(RpcError):
            Modern(server, key["secret"]).call("run_code", code="1")
        entries = json.loads(self.get("/api/v1/audit?limit=50&result=denied"))["data"]
        self.assertIn(("run_code", "mcp", key["id"]), [(e.get("object"), e["via"], e.get("key")) for e in entries])

    def test_half_a_message_and_a_vanished_client(self):
        for cut in (10, 60):
            with socket.create_connection(server.address) as s:
                s.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + KEY.encode() +
                          b"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n" + b"{" + b" " * cut)
        self.assertEqual(modern("server/discover")[0], 200)


if __name__ == "__main__":
    unittest.main()
