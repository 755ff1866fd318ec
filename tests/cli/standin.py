"""A stand-in for the server: the wire of the native API, with an interpreter of a few lines behind it.

It speaks HTTP/1.1 with keep-alive and server-sent events on a unix socket or on TCP, keeps sessions,
runs, keys, principals and files in memory, and misbehaves on request: `faults` is a list of functions, each
called with (handler, method, path) before a request is answered; one that returns True has dealt
with it and is taken off the list.
"""
import ast
import base64
import contextlib
import copy
import datetime
import hashlib
import http.server
import json
import os
import random
import socket
import socketserver
import threading
import time
import traceback
import types
import urllib.parse

from standin_ask import Asks
from standin_files import Files, Refusal, Trouble, Workspace, make_id, now

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
LIMITS = {"memory_mb": 1024, "cpu": 1, "wall_s": 60, "pids": 128, "output_bytes": 1 << 20, "disk_mb": 256}
SCOPES = {"run", "files:read", "files:write", "share", "audit", "admin"}


class Run:
    """One piece of code: its events, and who waits for them."""

    def __init__(self, session, request):
        self.id, self.session, self.request = make_id("run_"), session, request
        self.changed = threading.Condition()
        self.events = []
        self.object = {
            "id": self.id, "session_id": session["id"], "workspace_id": session["workspace_id"],
            "status": "running", "end": None, "state": "kept" if session["runs"] else "fresh", "lost": [],
            "language": request.get("language", "python"), "name": request.get("name"), "code": request["code"],
            "stdout": "", "stderr": "", "result": None, "displays": [], "error": None, "files": [],
            "not_saved": [], "truncated": {"stdout": 0, "stderr": 0, "displays": 0, "not_saved": 0},
            "started_at": now(), "ended_at": None, "duration_ms": 0, "cpu_ms": 0, "peak_memory_bytes": 1 << 20,
            "limits": session["limits"], "tier": "full"}

    def tell(self, name, data):
        with self.changed:
            self.events.append((len(self.events) + 1, name, data))
            self.changed.notify_all()

    def interrupt(self):
        """Noticed where code here spends its time: when it prints and when it sleeps."""
        self.is_interrupted = True

    def notice(self):
        if self.is_interrupted:
            self.is_interrupted = False
            raise KeyboardInterrupt

    def cancel(self):
        self.is_cancelled = True
        self.interrupt()

    is_cancelled = is_interrupted = False

    def nap(self, seconds):
        """time.sleep that an interrupt ends."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.notice()
            time.sleep(0.005)

    def write(self, stream, text):
        self.object[stream] += text
        self.tell(stream, {"text": text})

    def show(self, bundle):
        self.object["displays"].append(bundle)
        self.tell("display", {"data": bundle})

    def names(self):
        """What code here may use: a little of what Python has."""
        clock = types.SimpleNamespace(sleep=self.nap, monotonic=time.monotonic)
        real_import = __import__
        lines = (self.request.get("stdin") or "").splitlines()
        environment = self.request.get("env") or {}

        def printer(*values, sep=" ", end="\n", file=None, flush=False):
            self.notice()
            self.write("stderr" if file == "stderr" else "stdout", sep.join(map(str, values)) + end)

        def importer(name, *rest):
            if name == "time":
                return clock
            if name == "os":
                return types.SimpleNamespace(environ=environment)
            if name == "sys":
                return types.SimpleNamespace(stderr="stderr")
            return real_import(name, *rest)

        def opener(name, mode="r"):
            return FakeFile(self, name, mode)

        def read_line():
            if not lines:
                raise EOFError("input() was called and there is no input")
            return lines.pop(0)

        builtins = dict(vars(__import__("builtins")), print=printer, input=read_line, open=opener)
        builtins["__import__"] = importer
        png = base64.b64encode(PNG).decode()
        return {"__builtins__": builtins,
                "plot": lambda: self.show({"image/png": png, "text/plain": "<Figure>"})}

    def execute(self):
        begun = time.monotonic()
        self.tell("run.started", {"run": dict(self.object)})
        space = self.session["space"]
        space.update(self.names())
        try:
            self.evaluate(space)
            end = "ok"
        except KeyboardInterrupt:
            end = "cancelled" if self.is_cancelled else "error"
            self.fail("KeyboardInterrupt", "", "KeyboardInterrupt")
        except SystemExit as error:
            end = str(error.code) if isinstance(error.code, str) else "ok"
        except Exception as error:
            end = "error"
            text = "".join(traceback.format_exception_only(error)).rstrip("\n")
            self.fail(type(error).__name__, str(error), "Traceback (most recent call last):\n" + text)
        self.commit()
        with self.changed:
            self.object.update(status="done", end=end, ended_at=now(),
                               duration_ms=round((time.monotonic() - begun) * 1000, 3))
        self.session["runs"] += 1
        self.session["status"] = "idle"
        self.session["last_used_at"] = now()
        self.tell("run.done", {"run": self.object})

    def commit(self):
        """What was written becomes versions of the workspace."""
        author = {"principal_id": "prn_1", "session_id": self.session["id"], "run_id": self.id}
        for entry in self.object["files"]:
            raw = self.session["files"][entry["path"]]
            file, _ = self.session["workspace"].put(entry["path"], raw, entry["change"], author)
            entry.update(version=len(file.versions), sha256=hashlib.sha256(raw).hexdigest(),
                         url=file.address(len(file.versions)))

    def evaluate(self, space):
        tree = ast.parse(self.request["code"])
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)
            if value is not None:
                self.object["result"] = {"text/plain": repr(value)}
                self.tell("result", {"data": self.object["result"]})

    def fail(self, name, message, text):
        self.object["error"] = {"name": name, "message": message, "line": 1, "traceback": text}
        self.tell("error", self.object["error"])


class FakeFile:
    """A file of the session's /mnt/data."""

    def __init__(self, run, name, mode):
        self.run, self.name, self.files = run, name, run.session["files"]
        if "w" in mode:
            change = "modified" if name in self.files else "created"
            self.files[name] = b""
            run.object["files"].append({"path": name, "size": 0, "sha256": hashlib.sha256(b"").hexdigest(),
                                        "mime": "application/octet-stream", "change": change})
        elif name not in self.files:
            kept = run.session["workspace"].files.get(name)
            if not kept:
                raise FileNotFoundError(name)
            self.files[name] = kept.versions[-1]["raw"]

    def read(self):
        return self.files[self.name].decode()

    def write(self, text):
        self.files[self.name] += text.encode()
        for entry in self.run.object["files"]:
            if entry["path"] == self.name:
                entry["size"] = len(self.files[self.name])


class World:
    """Everything the server knows, and the operations on it."""

    def __init__(self):
        self.lock = threading.RLock()
        self.sessions, self.runs, self.keys, self.principals = {}, {}, {}, {}
        self.secrets, self.replays, self.faults, self.requests = {}, {}, [], []
        self.admin = self.add_principal("admin", "human")
        self.needs_key = False
        self.trouble = Trouble()
        self.model, self.answers, self.asked, self.answer_extra, self.hangups = "scripted-1", {}, [], {}, 0
        self.workspaces = {}
        self.workspace = self.add_workspace("default", is_default=True)

    def add_workspace(self, name, is_default=False):
        one = Workspace(name, self.admin["id"], is_default)
        self.workspaces[one.id] = one
        return one

    def workspace_of(self, word):
        for one in self.workspaces.values():
            if word in (one.id, one.name):
                return one
        raise Refusal(404, "not_found", f"there is no workspace {word}")

    def add_principal(self, name, kind):
        if kind not in ("human", "agent"):
            raise Refusal(400, "invalid_request", f"kind is '{kind}'; it is human or agent")
        one = {"id": make_id("prn_"), "name": name, "kind": kind, "created_at": now()}
        self.principals[one["id"]] = one
        return one

    def add_session(self, request):
        name = request.get("name")
        if name and any(s["name"] == name for s in self.sessions.values()):
            raise Refusal(409, "conflict", f"there is a session '{name}' already")
        workspace = self.workspace_of(request["workspace"]) if request.get("workspace") else self.workspace
        one = {"id": make_id("ses_"), "name": name, "status": "idle", "workspace_id": workspace.id,
               "principal_id": self.admin["id"], "limits": {**LIMITS, **(request.get("limits") or {})},
               "idle_s": request.get("idle_s", 60), "snapshots": request.get("snapshots", 0),
               "tz": request.get("tz", "UTC"), "created_at": now(), "last_used_at": now(), "expires_at": None,
               "memory_bytes": 3 << 20, "sleep_bytes": 0, "runs": 0, "rollback_to": [], "baked": True,
               "space": {}, "files": {}, "past": [], "workspace": workspace}
        self.sessions[one["id"]] = one
        return one

    def session(self, id):
        if id not in self.sessions:
            raise Refusal(404, "not_found", f"there is no session {id}", "list them with GET /api/v1/sessions")
        return self.sessions[id]

    def run(self, id):
        if id not in self.runs:
            raise Refusal(404, "not_found", f"there is no run {id}")
        return self.runs[id]

    def add_run(self, session, request):
        if session["status"] == "running" and request.get("queue") is False:
            raise Refusal(409, "busy", "a run is going on", "wait for it")
        if session["snapshots"]:
            session["past"].append({k: v for k, v in session["space"].items() if not callable(v)})
        session["status"] = "running"
        run = Run(session, request)
        self.runs[run.id] = run
        threading.Thread(target=run.execute, daemon=True).start()
        return run

    def add_key(self, request):
        unknown = set(request["scopes"]) - SCOPES
        if unknown:
            raise Refusal(400, "invalid_request", f"no such scope: {unknown}")
        secret = make_id("cik_")
        expires = request.get("expires_in_s")
        at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=expires or 0)
        key = {"id": make_id("key_"), "name": request["name"], "scopes": request["scopes"],
               "principal_id": request.get("principal", self.admin["id"]), "created_at": now(),
               "expires_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z") if expires else None,
               "last_used_at": None, "limits": request.get("limits")}
        self.keys[key["id"]] = key
        self.secrets[secret] = key
        return {**key, "secret": secret}


def looked():
    """Of an answer about what is in a session, how it came about."""
    return {"status": "idle", "is_current": True, "as_of": now()}


def shown(session):
    return {k: v for k, v in session.items() if k not in ("space", "files", "past", "workspace")}


def wait_done(run, seconds):
    with run.changed:
        run.changed.wait_for(lambda: run.object["status"] == "done", seconds)


class Handler(Asks, Files, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "local"

    @property
    def world(self):
        return self.server.world

    def body(self):
        length = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding"):
            raise Refusal(400, "invalid_request", "not here")
        raw = self.rfile.read(length)
        return raw, json.loads(raw) if raw else {}

    def answer(self, status, value=None, headers=None):
        raw = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("X-Request-Id", "req_1")
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        if value is not None:
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def stream(self, run, after=0):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk(b": ping\n\n")
        while True:
            with run.changed:
                run.changed.wait_for(lambda: len(run.events) > after, 5)
                ready = run.events[after:]
            for number, name, data in ready:
                text = f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n"
                if self.server.drop_after is not None and number > self.server.drop_after:
                    self.server.drop_after = None
                    self.close_connection = True
                    with contextlib.suppress(OSError):
                        self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.chunk(text.encode())
                after = number
                if name == "run.done":
                    self.chunk(b"")
                    return

    def chunk(self, raw):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def who(self):
        if not self.world.needs_key:
            return SCOPES
        bearer = self.headers.get("Authorization", "")
        key = self.world.secrets.get(bearer.removeprefix("Bearer "))
        if not key:
            raise Refusal(401, "unauthorized", "this needs a key")
        return set(key["scopes"])

    def misbehave(self, method, path):
        with self.world.lock:  # a client that tries again must not meet the same fault twice
            for fault in list(self.world.faults):
                if fault(self, method, path):
                    with contextlib.suppress(ValueError):
                        self.world.faults.remove(fault)
                    return True
        return False

    def handle_one(self, method):
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        path = [urllib.parse.unquote(p) for p in parts.path.strip("/").split("/")]
        self.world.requests.append((method, self.path, dict(self.headers)))
        try:
            if self.misbehave(method, parts.path):
                return
            request = None if method == "PUT" else self.body()[1]
            if path == ["healthz"]:
                return self.answer(200, {"status": "ok"})
            scopes = self.who()
            if path[:2] != ["api", "v1"]:
                raise Refusal(404, "not_found", "nothing here")
            if path[2] in ("keys", "principals") and "admin" not in scopes and path[3:] != ["me"]:
                raise Refusal(403, "permission_denied", "this key may not do that")
            key = self.headers.get("Idempotency-Key")
            if key and (key in self.world.replays):
                return self.answer(*self.world.replays[key], {"Idempotent-Replayed": "true"})
            route = getattr(self, f"{method.lower()}_{path[2]}", None)
            if not route:
                raise Refusal(405, "method_not_allowed", "not so")
            result = route(path[3:], query, request)
            if result is not None:
                if key:
                    self.world.replays[key] = result
                self.answer(*result)
        except Refusal as refusal:
            self.answer(refusal.status, refusal.body, refusal.headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_GET(self):
        self.handle_one("GET")

    def do_POST(self):
        self.handle_one("POST")

    def do_PUT(self):
        self.handle_one("PUT")

    def do_PATCH(self):
        self.handle_one("PATCH")

    def do_DELETE(self):
        self.handle_one("DELETE")

    def page(self, rows, query):
        limit, start = int(query.get("limit", 20)), int(query.get("cursor", 0))
        limit = min(limit, self.server.page_max)
        more = start + limit < len(rows)
        return 200, {"data": rows[start:start + limit], "has_more": more,
                     "next_cursor": str(start + limit) if more else None}

    # ---- sessions

    def get_sessions(self, rest, query, _):
        if not rest:
            members = {"status": "status", "name": "name", "workspace": "workspace_id"}
            wanted = {members[k]: v for k, v in query.items() if k in members and v != "open"}  # as all of them are
            rows = [shown(s) for s in self.world.sessions.values() if all(s[k] == v for k, v in wanted.items())]
            return self.page(rows, query)
        session = self.world.session(rest[0])
        if rest[1:] == ["variables"]:
            names = {k: v for k, v in session["space"].items() if not k.startswith("_") and not callable(v)}
            listed = [{"name": k, "type": type(v).__name__, "repr": repr(v)} for k, v in names.items()]
            return 200, {"variables": listed, "count": len(listed), **looked()}
        return 200, shown(session)

    def patch_sessions(self, rest, _, request):
        session = self.world.session(rest[0])
        session.update(request)
        return 200, shown(session)

    def delete_sessions(self, rest, *_):
        self.world.session(rest[0])
        del self.world.sessions[rest[0]]
        return 204, None

    def post_sessions(self, rest, _, request):
        if not rest:
            return 201, shown(self.world.add_session(request))
        session = self.world.session(rest[0])
        if rest[1] == "runs":
            return self.post_run(self.world.add_run(session, request), request)
        act = getattr(self, f"session_{rest[1]}", None)
        if not act:
            raise Refusal(404, "not_found", "nothing here")
        return act(session, request)

    def session_interrupt(self, session, _):
        for run in self.world.runs.values():
            if run.session is session:
                run.interrupt()
        return 200, shown(session)

    def session_restart(self, session, _):
        session["space"] = {}
        return 200, shown(session)

    def session_sleep(self, session, _):
        session["status"] = "asleep"
        return 200, shown(session)

    def session_fork(self, session, request):
        twin = self.world.add_session({"name": request.get("name")})
        twin["space"] = copy.copy(session["space"])
        return 201, shown(twin)

    def session_rollback(self, session, request):
        mine = [r.object for r in self.world.runs.values()
                if r.object["session_id"] == session["id"] and "undone_at" not in r.object]
        steps = request.get("steps", 1)
        if request.get("run"):
            at = [r["id"] for r in mine].index(request["run"]) if request["run"] in [r["id"] for r in mine] else -1
            if at < 0:
                raise Refusal(404, "not_found", "that run was undone, or is not of this session")
            steps = len(mine) - at
        if len(session["past"]) < steps:
            raise Refusal(409, "conflict", "there is nothing to go back to",
                          "make the session with snapshots")
        for run in mine[len(mine) - steps:]:
            run["undone_at"] = now()
        session["space"] = session["past"][-steps]
        del session["past"][-steps:]
        return 200, shown(session)

    def session_complete(self, session, request):
        text = request["code"][:request["cursor"]]
        prefix = text[len(text.rstrip("abcdefghijklmnopqrstuvwxyz_0123456789äöü")):]
        names = [k for k in session["space"] if not k.startswith("_")] + ["print", "property"]
        return 200, {"matches": sorted(n for n in names if n.startswith(prefix)),
                     "cursor_start": len(text) - len(prefix), "cursor_end": len(text), **looked()}

    def session_inspect(self, session, request):
        name = request["code"]
        if name == "len":
            return 200, {"found": True, "name": "len", "type": "builtin_function_or_method",
                         "repr": "<built-in function len>", "signature": "(obj, /)",
                         "doc": "Return the number of items in a container.", "source": "", **looked()}
        if name not in session["space"]:
            return 200, {"found": False, **looked()}
        value = session["space"][name]
        return 200, {"found": True, "name": name, "type": type(value).__name__, "repr": repr(value),
                     "signature": None, "doc": "", "source": "", **looked()}

    # ---- runs

    def post_run(self, run, request):
        if "text/event-stream" in self.headers.get("Accept", ""):
            self.stream(run)
            return None
        if request.get("background"):
            return 202, run.object
        wait_done(run, 60)
        return 200, run.object

    def post_runs(self, rest, _, request):
        if rest[1:] == ["cancel"]:
            run = self.world.run(rest[0])
            run.cancel()
            wait_done(run, 5)
            return 200, run.object
        session = self.world.add_session({"limits": request.get("limits"), "workspace": request.get("workspace")})
        for file in request.get("files", []):
            session["files"][file["path"]] = base64.b64decode(file["content_base64"])
        run = self.world.add_run(session, request)
        del self.world.sessions[session["id"]]
        return self.post_run(run, request)

    def get_runs(self, rest, query, _):
        if not rest:
            names = {"session": "session_id", "status": "status", "end": "end"}
            rows = [r.object for r in reversed(self.world.runs.values())
                    if all(r.object[names[k]] == v for k, v in query.items() if k in names)]
            return self.page(rows, query)
        run = self.world.run(rest[0])
        if rest[1:] == ["events"]:
            self.stream(run, int(self.headers.get("Last-Event-ID") or 0))
            return None
        wait_done(run, float(query.get("wait_s", 0)))
        return 200, run.object

    # ---- keys and principals

    def get_keys(self, rest, query, _):
        if not rest:
            return self.page(list(self.world.keys.values()), query)
        if rest[0] not in self.world.keys:
            raise Refusal(404, "not_found", f"there is no key {rest[0]}")
        return 200, self.world.keys[rest[0]]

    def post_keys(self, rest, _, request):
        return 201, self.world.add_key(request)

    def delete_keys(self, rest, *_):
        if self.world.keys.pop(rest[0], None) is None:
            raise Refusal(404, "not_found", f"there is no key {rest[0]}")
        return 204, None

    def get_principals(self, rest, query, _):
        if rest == ["me"]:
            return 200, self.world.admin
        return self.page(list(self.world.principals.values()), query)

    def post_principals(self, rest, _, request):
        return 201, self.world.add_principal(request["name"], request.get("kind", "human"))


class Quiet(socketserver.ThreadingMixIn):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        """Clients that hang up are nothing to talk about."""


class UnixServer(Quiet, socketserver.UnixStreamServer):
    pass


class TcpServer(Quiet, http.server.HTTPServer):
    pass


class StandIn:
    """A server that listens; `world` is what it knows."""

    def __init__(self, path=None):
        self.server = UnixServer(path, Handler) if path else TcpServer(("127.0.0.1", 0), Handler)
        self.server.world = self.world = World()
        self.server.drop_after = None   # cuts the next stream after that many events
        self.server.page_max = 100
        self.path = path
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        for run in self.world.runs.values():
            run.cancel()
        self.server.shutdown()
        self.server.server_close()
        if self.path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


# ---- faults


def refuse(method, path, status, code, message, **headers):
    """Refuses the next such request, before its body is looked at."""
    def fault(handler, got_method, got_path):
        if (got_method, got_path) != (method, path):
            return False
        handler.body()
        body = {"error": {"code": code, "message": message, "hint": "", "request_id": "req_1"}}
        handler.answer(status, body, {k.replace("_", "-"): str(v) for k, v in headers.items()})
        return True
    return fault


def drop(method, path):
    """Hangs up instead of answering the next such request."""
    def fault(handler, got_method, got_path):
        if (got_method, got_path) != (method, path):
            return False
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True
    return fault


def raw(text):
    """Answers the next request with these bytes and hangs up."""
    def fault(handler, *_):
        handler.body()
        handler.wfile.write(text)
        handler.close_connection = True
        return True
    return fault
