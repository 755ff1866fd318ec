"""A stand-in for /mcp of the server, which does what a test tells it, and a client of `cicada mcp`.

Requests wait until the test takes them (`take`) and answers them, from its own thread; so a test says in
order what happens, and nothing depends on time.
"""
import contextlib
import http.server
import json
import os
import queue
import socket
import socketserver
import subprocess
import threading

from harness import PATIENCE_S

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}


class Request:
    """A request that waits for its answer; `message` is its JSON."""

    def __init__(self, handler, method):
        self.handler, self.method = handler, method
        self.headers = {k.lower(): v for k, v in handler.headers.items()}
        raw = handler.rfile.read(int(self.headers.get("content-length", 0)))
        self.message = json.loads(raw) if raw else None
        self.path = handler.path
        self.over = threading.Event()
        self.is_closing = False

    def __getitem__(self, header):
        return self.headers.get(header)

    # ---- whole answers

    def answer(self, status, body=b"", kind="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), str(value))
        if body:
            self.handler.send_header("Content-Type", kind)
        self.handler.send_header("Content-Length", str(len(body)))
        self.handler.end_headers()
        with contextlib.suppress(OSError):
            self.handler.wfile.write(body)
            self.handler.wfile.flush()
        self.over.set()

    def result(self, result=None, **headers):
        self.answer(200, {"jsonrpc": "2.0", "id": self.message["id"], "result": result or {}}, **headers)

    def error(self, status, code, message, **headers):
        self.answer(status, {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}, **headers)

    # ---- streams

    def stream(self, **headers):
        self.handler.send_response(200)
        self.handler.send_header("Content-Type", "text/event-stream")
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), str(value))
        self.handler.send_header("Connection", "close")
        self.handler.end_headers()
        self.handler.wfile.flush()
        self.is_closing = True

    def raw(self, text):
        self.handler.wfile.write(text.encode() if isinstance(text, str) else text)
        self.handler.wfile.flush()

    def event(self, data, event_id=None):
        text = data if isinstance(data, str) else json.dumps(data)
        lines = "".join(f"data: {line}\n" for line in text.split("\n"))
        self.raw((f"id: {event_id}\n" if event_id else "") + lines + "\n")

    def event_result(self, result=None, event_id=None):
        self.event({"jsonrpc": "2.0", "id": self.message["id"], "result": result or {}}, event_id)

    def end(self):
        """The end of a stream; also a connection that breaks."""
        self.is_closing = True
        self.over.set()

    def await_close(self):
        """Until the client has closed the connection."""
        self.handler.connection.settimeout(PATIENCE_S)
        with contextlib.suppress(ConnectionResetError):
            assert self.handler.connection.recv(1) == b"", "the client sends more instead of closing"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def serve(self, method):
        request = Request(self, method)
        self.server.requests.put(request)
        request.over.wait()
        self.close_connection = self.close_connection or request.is_closing
        if request.is_closing:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    def do_POST(self):
        self.serve("POST")

    def do_GET(self):
        self.serve("GET")

    def do_DELETE(self):
        self.serve("DELETE")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def handle_error(self, request, client_address):
        """Clients that hang up are nothing to talk about."""


class McpStandIn:
    def __init__(self, path):
        self.path = path
        self.server = Server(path, Handler)
        self.server.requests = self.requests = queue.Queue()
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def take(self):
        """The next request."""
        return self.requests.get(timeout=PATIENCE_S)

    def has_more(self):
        return not self.requests.empty()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        while not self.requests.empty():
            self.requests.get().over.set()
        os.unlink(self.path)


class Client:
    """Speaks lines of JSON with a program; whatever else it prints fails the test."""

    def __init__(self, child):
        self.child = child
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def raw(self, data):
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def send(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def request(self, number, method, modern=False, **params):
        if modern:
            params = {**params, "_meta": {**META, **params.get("_meta", {})}}
        self.send(id=number, method=method, **({"params": params} if params else {}))

    def notify(self, method, **params):
        self.send(method=method, **({"params": params} if params else {}))

    def receive(self):
        """The next message; None at the end."""
        line = self.lines.get(timeout=PATIENCE_S)
        if line is None:
            return None
        assert line.endswith(b"\n"), line
        return json.loads(line)

    def end(self):
        """Closes the input; the exit code, what was still printed, and the notes."""
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()
        self.child.stdin = None
        code = self.child.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        rest = []
        while (line := self.lines.get()) is not None:
            rest.append(json.loads(line))
        return code, rest, self.child.stderr.read().decode()


def start(case, *words, **more):
    """`cicada mcp`, with a client."""
    return Client(case.start("mcp", *words, stdin=subprocess.PIPE, **more))
