"""A small client of /mcp for the tests: one class for each era, and nothing of the official SDKs (tests/mcp has those).

    m = Modern(server)                       the stateless era; Modern(server, key, capabilities={...})
    l = Legacy(server)                       initialize is done by the constructor
    m.call("run_code", code="1+1")           the result of a tool, whether isError or not
    m.rpc("tools/list")                      a result; RpcError when there is an error instead
    m.text(result)                           all text blocks of a tool's result
    m.start("tools/call", {...})             a Pending: .notes so far, .wait(), .close() to hang up
"""
import base64
import http.client
import itertools
import json
import threading

from base import KEY

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"


class RpcError(Exception):
    def __init__(self, error, status, headers):
        super().__init__("%s %s (HTTP %s)" % (error.get("code"), error.get("message"), status))
        self.code, self.message, self.data = error.get("code"), error.get("message"), error.get("data")
        self.status, self.headers = status, headers


def header(value):
    """As Mcp-Name and Mcp-Param-... are written."""
    plain = value.isascii() and value.isprintable() and value.strip() == value and value != ""
    return value if plain else "=?base64?" + base64.b64encode(value.encode()).decode() + "?="


def events(stream):
    """(id, data) of every event of a text/event-stream; comments are left out."""
    number, data = None, []
    for raw in stream:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif line.startswith("id:"):
            number = line[3:].strip()
        elif line == "" and (data or number):
            yield number, "\n".join(data)
            data = []


class Pending:
    """A request that goes on. Its notifications and what the server asks are collected as they come."""

    def __init__(self, client, connection, message):
        self.client, self.connection, self.message = client, connection, message
        self.notes, self.last_id, self.status, self.headers = [], None, None, None
        self.answer, self.failure = None, None
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            response = self.connection.getresponse()
            self.status, self.headers = response.status, response.headers
            if response.headers.get("Content-Type", "").startswith("text/event-stream"):
                for number, data in events(response):
                    self.take(number, data)
            else:
                body = response.read()
                self.take(None, body.decode() if body else "")
        except Exception as e:  # closed by the test, or by the server
            self.failure = e
        with self.changed:
            self.changed.notify_all()

    def take(self, number, data):
        with self.changed:
            self.last_id = number or self.last_id
            if data:
                message = json.loads(data)
                if "method" in message:
                    self.notes.append(message)
                else:
                    self.answer = message
            self.changed.notify_all()

    def note(self, method, seconds=60):
        """The first message of that method, waited for."""
        with self.changed:
            found = lambda: next((n for n in self.notes if n["method"] == method), None)
            self.changed.wait_for(lambda: found() or not self.thread.is_alive(), seconds)
            if not found():
                raise AssertionError("no %s came: %r %r" % (method, self.answer, self.notes))
            return found()

    def wait(self, seconds=120):
        self.thread.join(seconds)
        if self.answer is None:
            raise AssertionError("no answer: HTTP %s, %r" % (self.status, self.failure))
        if "error" in self.answer:
            raise RpcError(self.answer["error"], self.status, self.headers)
        return self.answer["result"]

    def close(self):
        """Hangs up."""
        sock = self.connection.sock
        if sock:
            try:
                sock.shutdown(2)
            except OSError:
                pass
        self.thread.join(10)
        self.connection.close()


class Mcp:
    def __init__(self, server, key=KEY, capabilities=None, path="/mcp"):
        self.server, self.key, self.path = server, key, path
        self.capabilities = capabilities or {}
        self.ids = itertools.count(1)

    def connect(self):
        return http.client.HTTPConnection(*self.server.address, timeout=300)

    def common(self):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.key:
            headers["Authorization"] = "Bearer " + self.key
        return headers

    def send(self, message, headers):
        connection = self.connect()
        connection.request("POST", self.path, json.dumps(message), headers)
        return Pending(self, connection, message)

    def rpc(self, method, params=None, **more):
        pending = self.start(method, params, **more)
        try:
            return pending.wait()
        finally:
            pending.connection.close()

    def call(self, tool, _meta=None, **arguments):
        params = {"name": tool, "arguments": arguments}
        if _meta:
            params["_meta"] = _meta
        return self.rpc("tools/call", params)

    def start_call(self, tool, _meta=None, **arguments):
        params = {"name": tool, "arguments": arguments}
        if _meta:
            params["_meta"] = _meta
        return self.start("tools/call", params)

    @staticmethod
    def text(result):
        return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")

    @staticmethod
    def blocks(result, kind):
        return [block for block in result["content"] if block["type"] == kind]


class Modern(Mcp):
    def start(self, method, params=None, headers=None):
        params = dict(params or {})
        meta = dict(params.get("_meta") or {})
        meta.setdefault(META + "protocolVersion", MODERN)
        meta.setdefault(META + "clientCapabilities", self.capabilities)
        meta.setdefault(META + "clientInfo", {"name": "tests", "version": "1"})
        params["_meta"] = meta
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        sent = {**self.common(), "MCP-Protocol-Version": meta[META + "protocolVersion"], "Mcp-Method": method}
        name = params.get({"resources/read": "uri", "tasks/get": "taskId", "tasks/update": "taskId",
                           "tasks/cancel": "taskId"}.get(method, "name"))
        if isinstance(name, str):
            sent["Mcp-Name"] = header(name)
        sent.update(headers or {})
        return self.send(message, {k: v for k, v in sent.items() if v is not None})


class Legacy(Mcp):
    def __init__(self, server, key=KEY, capabilities=None, path="/mcp", version=LEGACY):
        super().__init__(server, key, capabilities, path)
        self.version, self.session = version, None
        pending = self.start("initialize", {"protocolVersion": version, "capabilities": self.capabilities,
                                            "clientInfo": {"name": "tests", "version": "1"}})
        self.welcome = pending.wait()
        self.session = pending.headers["Mcp-Session-Id"]
        pending.connection.close()
        self.tell("notifications/initialized")

    def heads(self):
        headers = self.common()
        if self.session:
            headers.update({"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.version})
        return headers

    def start(self, method, params=None, headers=None):
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method}
        if params is not None:
            message["params"] = params
        return self.send(message, {k: v for k, v in {**self.heads(), **(headers or {})}.items() if v is not None})

    def plain(self, method, body=None, headers=None):
        """One exchange as it is: (status, headers, body)."""
        connection = self.connect()
        connection.request(method, self.path, body, {**self.heads(), **(headers or {})})
        response = connection.getresponse()
        result = response.status, response.headers, response.read()
        connection.close()
        return result

    def tell(self, method, params=None):
        """A notification."""
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        status, _, body = self.plain("POST", json.dumps(message))
        assert status == 202, (status, body)

    def respond(self, request, result):
        """The answer to what the server asked."""
        status, _, body = self.plain("POST", json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}))
        assert status == 202, (status, body)

    def listen(self, last_event_id=None):
        """GET: the stream of what is not an answer, or the rest of one that is."""
        connection = self.connect()
        headers = {**self.heads(), "Accept": "text/event-stream"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        connection.request("GET", self.path, headers=headers)
        return Pending(self, connection, None)

    def close(self):
        return self.plain("DELETE")[0]
