"""Workspaces and files of the stand-in: versions, trash, uploads and ranges, all in memory.

`Slow` and `Cut` say how transfers misbehave: held at a byte until they are let go, or broken there once.
"""
import datetime
import difflib
import fnmatch
import hashlib
import mimetypes
import random
import re
import socket
import threading
import time
import urllib.parse

PIECE = 64 << 10


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def make_id(prefix):
    return prefix + "".join(random.choices("0123456789abcdefghjkmnpqrstvwxyz", k=24))


class Refusal(Exception):
    def __init__(self, status, code, message, hint="", headers=None):
        super().__init__(message)
        self.status, self.headers = status, headers or {}
        self.body = {"error": {"code": code, "message": message, "hint": hint, "request_id": "req_1"}}


def fits(pattern, path):
    """* and ? within a component, ** across them."""
    regex = "".join({"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part)
                    or (fnmatch.translate(part)[4:-3] if part[0] == "[" and len(part) > 1 else re.escape(part))
                    for part in re.findall(r"\*\*/|\*\*|\*|\?|\[[^]]*\]|.", pattern))
    return re.fullmatch(regex, path) is not None


class File:
    def __init__(self, workspace, path):
        self.id, self.workspace, self.path = make_id("file_"), workspace, path
        self.versions, self.deleted_at = [], None

    def add(self, raw, change, author):
        self.versions.append({"version": len(self.versions) + 1, "raw": raw, "change": change, "at": now(),
                              "author": author, "pinned": False})

    def at(self, number):
        for one in self.versions:
            if one["version"] == number:
                return one
        raise Refusal(404, "not_found", f"there is no version {number} of {self.path}")

    def address(self, number):
        quoted = "/".join(urllib.parse.quote(part, safe="") for part in self.path.split("/"))
        return f"/api/v1/workspaces/{self.workspace.id}/files/{quoted}?version={number}"

    def etag(self, number):
        return f'"{self.id}:{number}"'

    def shown(self, one=None):
        one = one or self.versions[-1]
        seen = {"id": self.id, "workspace_id": self.workspace.id, "path": self.path, "kind": "file",
                "version": one["version"], "size": len(one["raw"]), "sha256": hashlib.sha256(one["raw"]).hexdigest(),
                "mime": mimetypes.guess_type(self.path)[0] or "application/octet-stream", "change": one["change"],
                "created_at": self.versions[0]["at"], "modified_at": one["at"], "author": one["author"],
                "etag": self.etag(one["version"]), "url": self.address(one["version"])}
        if self.deleted_at:
            seen["deleted_at"] = self.deleted_at
        return seen

    def version(self, one):
        return {"version": one["version"], "path": self.path, "size": len(one["raw"]),
                "sha256": hashlib.sha256(one["raw"]).hexdigest(), "change": one["change"], "created_at": one["at"],
                "author": one["author"], "pinned": one["pinned"], "etag": self.etag(one["version"]),
                "url": self.address(one["version"])}


class Workspace:
    def __init__(self, name, owner, is_default=False):
        self.id, self.name, self.owner, self.is_default = make_id("ws_"), name, owner, is_default
        self.files, self.dirs, self.trash, self.uploads, self.rev = {}, set(), [], {}, 0
        self.created_at = now()

    def shown(self):
        size = sum(len(f.versions[-1]["raw"]) for f in self.files.values())
        kept = sum(len(v["raw"]) for f in self.files.values() for v in f.versions)
        return {"id": self.id, "name": self.name, "owner_id": self.owner, "role": "owner", "is_default": self.is_default,
                "created_at": self.created_at, "rev": self.rev, "files": len(self.files), "bytes": size,
                "kept_bytes": kept, "quota": {"files": None, "bytes": None}}

    def has_dir(self, path):
        return path in self.dirs or any(name.startswith(path + "/") for name in self.files)

    def get(self, path):
        if path not in self.files:
            raise Refusal(404, "not_found", f"there is no file {path}")
        return self.files[path]

    def put(self, path, raw, change=None, author=None):
        self.rev += 1
        file = self.files.get(path)
        is_new = file is None
        if is_new:  # one that was deleted there goes on
            file = next((f for f in self.trash if f.path == path), None) or File(self, path)
            if file in self.trash:
                self.trash.remove(file)
            file.deleted_at, self.files[path] = None, file
        file.add(raw, change or ("created" if is_new else "modified"), author or {"principal_id": self.owner})
        return file, is_new

    def delete(self, path):
        file = self.files.pop(path)
        file.add(b"", "deleted", {"principal_id": self.owner})
        file.deleted_at = now()
        self.trash.insert(0, file)

    def directory(self, path):
        return {"id": None, "workspace_id": self.id, "path": path, "kind": "directory", "version": None, "size": None,
                "sha256": None, "mime": None, "change": None, "created_at": None, "modified_at": None, "author": None,
                "etag": None, "url": None}

    def rows(self, prefix, glob, is_deep):
        files = [f for path, f in sorted(self.files.items()) if path.startswith(prefix)]
        if glob:
            return [f.shown() for f in files if fits(glob, f.path)]
        if is_deep:
            return [f.shown() for f in files]
        flat = {}
        for path in sorted(self.dirs):
            if path.startswith(prefix):
                name = prefix + path[len(prefix):].split("/")[0]
                flat.setdefault(name, self.directory(name))
        for file in files:
            name = prefix + file.path[len(prefix):].split("/")[0]
            flat.setdefault(name, file.shown() if name == file.path else self.directory(name))
        return [flat[name] for name in sorted(flat)]


class Trouble:
    """At which byte of raw transfers something happens, once each."""

    def __init__(self):
        self.cut_upload = self.cut_download = None  # hangs up there, keeping what came
        self.hold = None                            # waits there, in either direction, until it is let go
        self.is_held, self.let_go = threading.Event(), threading.Event()
        self.pause_s = 0                            # after each piece of a download

    def pass_by(self, done):
        if self.hold is not None and done >= self.hold:
            self.hold = None
            self.is_held.set()
            self.let_go.wait(30)


class Files:
    """The routes, for the Handler."""

    def pieces(self):
        """The body as it comes."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            while (size := int(self.rfile.readline().split(b";")[0], 16)):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length") or 0)
        while left and (piece := self.rfile.read(min(left, PIECE))):
            left -= len(piece)
            yield piece

    def take_raw(self, keep):
        """Feeds the body to `keep`; False if the connection was cut on the way."""
        trouble, done = self.world.trouble, 0
        for piece in self.pieces():
            keep(piece)
            done += len(piece)
            trouble.pass_by(done)
            if trouble.cut_upload is not None and done >= trouble.cut_upload:
                trouble.cut_upload = None
                self.hang_up()
                return False
        return True

    def hang_up(self):
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def workspace(self, word):
        for one in self.world.workspaces.values():
            if word in (one.id, one.name) or (word == "default" and one.is_default):
                return one
        raise Refusal(404, "not_found", f"there is no workspace {word}")

    def get_workspaces(self, rest, query, _):
        if not rest:
            return self.page([w.shown() for w in self.world.workspaces.values()], query)
        workspace = self.workspace(rest[0])
        if len(rest) == 1:
            return 200, workspace.shown()
        if rest[1:] == ["files"]:
            return self.page(workspace.rows(query.get("prefix", ""), query.get("glob"),
                                            query.get("recursive") == "true"), query)
        if rest[1] == "files":
            return self.get_file(workspace, "/".join(rest[2:]), query)
        if rest[1:] == ["trash"]:
            return self.page([f.shown() for f in workspace.trash], query)
        if rest[1] == "uploads":
            return 200, self.shown_upload(workspace, rest[2])
        raise Refusal(404, "not_found", "nothing here")

    def get_file(self, workspace, path, query):
        if "stat" in query and path not in workspace.files and workspace.has_dir(path):
            return 200, workspace.directory(path)
        file = workspace.get(path)
        one = file.at(int(query["version"])) if "version" in query else file.versions[-1]
        if "stat" in query:
            return 200, file.shown(one)
        if "versions" in query:
            return self.page([file.version(v) for v in reversed(file.versions)], query)
        if "diff" in query:
            new = file.at(int(query["to"])) if "to" in query else file.versions[-1]
            return self.send_diff(file, file.at(int(query["diff"])), new)
        self.send_file(file, one)
        return None

    def send_diff(self, file, old, new):
        if b"\0" in old["raw"] + new["raw"]:
            raise Refusal(415, "unsupported_media_type", "the versions differ, but they are not text")
        text = "".join(difflib.unified_diff(old["raw"].decode().splitlines(True), new["raw"].decode().splitlines(True),
                                            f"a/{file.path}", f"b/{file.path}")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/x-diff; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def send_file(self, file, one):
        trouble, raw, start = self.world.trouble, one["raw"], 0
        ranged = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if ranged and self.headers.get("If-Range") in (None, file.etag(one["version"])):
            start = int(ranged[1])
        self.send_response(206 if start else 200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(raw) - start))
        self.send_header("ETag", file.etag(one["version"]))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(raw) - 1}/{len(raw)}")
        self.end_headers()
        for at in range(start, len(raw), PIECE):
            if trouble.cut_download is not None and at >= trouble.cut_download:
                trouble.cut_download = None
                return self.hang_up()
            trouble.pass_by(at)
            self.wfile.write(raw[at:at + PIECE])
            time.sleep(trouble.pause_s)

    def put_workspaces(self, rest, query, _):
        workspace = self.workspace(rest[0])
        if rest[1] == "uploads":
            return self.put_piece(workspace, rest[2], int(query["offset"]))
        path, got = "/".join(rest[2:]), bytearray()
        if not self.take_raw(got.extend):
            return None
        raw = bytes(got)
        wanted = self.headers.get("X-Content-SHA256")
        if wanted and wanted != hashlib.sha256(raw).hexdigest():
            raise Refusal(400, "invalid_request", "the content is not what X-Content-SHA256 says")
        if workspace.has_dir(path):
            raise Refusal(409, "conflict", f"{path} is a directory")
        file, is_new = workspace.put(path, raw)
        return 201 if is_new else 200, file.shown()

    def delete_workspaces(self, rest, query, _):
        workspace = self.workspace(rest[0])
        if len(rest) == 1:
            del self.world.workspaces[workspace.id]
            return 204, None
        path = "/".join(rest[2:])
        below = [name for name in workspace.files if name.startswith(path + "/")]
        if path not in workspace.files and not workspace.has_dir(path):
            raise Refusal(404, "not_found", f"there is no file {path}")
        if path not in workspace.files and below and "recursive" not in query:
            raise Refusal(409, "conflict", f"{path} is a directory")
        for name in [path] if path in workspace.files else below:
            workspace.delete(name)
        workspace.dirs = {d for d in workspace.dirs if d != path and not d.startswith(path + "/")}
        return 204, None

    def patch_workspaces(self, rest, _, request):
        workspace = self.workspace(rest[0])
        workspace.name = request.get("name", workspace.name)
        return 200, workspace.shown()

    def post_workspaces(self, rest, _, request):
        if not rest:
            if any(w.name == request["name"] for w in self.world.workspaces.values()):
                raise Refusal(409, "conflict", f"there is a workspace '{request['name']}' already")
            return 201, self.world.add_workspace(request["name"]).shown()
        workspace = self.workspace(rest[0])
        if rest[1] == "uploads" and len(rest) == 4:
            return self.complete_upload(workspace, rest[2], request)
        return getattr(self, f"workspace_{rest[1]}")(workspace, request)

    # ---- doors

    def workspace_mkdir(self, workspace, request):
        workspace.dirs.add(request["path"])
        return 201, workspace.directory(request["path"])

    def free_place(self, workspace, request):
        if request["to"] in workspace.files and not request.get("overwrite"):
            raise Refusal(409, "conflict", f"there is a file {request['to']} already")

    def workspace_move(self, workspace, request):
        file = workspace.get(request["from"])
        self.free_place(workspace, request)
        if request["to"] in workspace.files:
            workspace.delete(request["to"])
        workspace.files[request["to"]] = workspace.files.pop(file.path)
        file.path = request["to"]
        file.add(file.versions[-1]["raw"], "moved", {"principal_id": workspace.owner})
        return 200, file.shown()

    def workspace_copy(self, workspace, request):
        file = workspace.get(request["from"])
        self.free_place(workspace, request)
        one = file.at(request["version"]) if "version" in request else file.versions[-1]
        return 201, workspace.put(request["to"], one["raw"])[0].shown()

    def workspace_restore(self, workspace, request):
        if "file_id" in request:
            for file in workspace.trash:
                if file.id == request["file_id"]:
                    path = request.get("path", file.path)
                    if path in workspace.files:
                        raise Refusal(409, "conflict", f"there is a file {path} already")
                    workspace.trash.remove(file)
                    file.path, file.deleted_at, workspace.files[path] = path, None, file
                    kept = next(v for v in reversed(file.versions) if v["change"] != "deleted")
                    file.add(kept["raw"], "restored", {"principal_id": workspace.owner})
                    return 200, file.shown()
            raise Refusal(404, "not_found", "nothing of that id is in the trash")
        file = workspace.get(request["path"])
        file.add(file.at(request["version"])["raw"], "restored", {"principal_id": workspace.owner})
        return 200, file.shown()

    def workspace_purge(self, workspace, request):
        count = len(workspace.trash)
        workspace.trash.clear()
        return 200, {"purged": count}

    # ---- uploads

    def upload(self, workspace, id):
        if id not in workspace.uploads:
            raise Refusal(404, "not_found", f"there is no upload {id}")
        return workspace.uploads[id]

    def shown_upload(self, workspace, id):
        one = self.upload(workspace, id)
        return {"id": id, "path": one["path"], "size": one["size"], "received": len(one["raw"]),
                "expires_at": now(), "url": f"/api/v1/workspaces/{workspace.id}/uploads/{id}"}

    def workspace_uploads(self, workspace, request):
        id = make_id("upl_")
        workspace.uploads[id] = {"path": request["path"], "size": request.get("size"), "raw": bytearray()}
        return 201, self.shown_upload(workspace, id)

    def put_piece(self, workspace, id, offset):
        one = self.upload(workspace, id)
        if offset != len(one["raw"]):
            for _ in self.pieces():
                pass
            raise Refusal(409, "conflict", "that is not where it goes on", f"go on at {len(one['raw'])}")
        if not self.take_raw(one["raw"].extend):
            return None
        return 200, self.shown_upload(workspace, id)

    def complete_upload(self, workspace, id, request):
        one = self.upload(workspace, id)
        raw = bytes(one["raw"])
        if request.get("sha256") not in (None, hashlib.sha256(raw).hexdigest()):
            raise Refusal(400, "invalid_request", "the content is not what sha256 says")
        del workspace.uploads[id]
        file, is_new = workspace.put(one["path"], raw)
        return 201 if is_new else 200, file.shown()
