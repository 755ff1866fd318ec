"""A small client of /v1 for the tests, and nothing of the official SDKs (tests/openai has those).

    c = OpenAI(server)                                   OpenAI(server, key, prefix="/openai/v1")
    c.ok("POST", "/containers", {"name": "a"})           the object; every answer's shape is checked
    c.request("GET", "/files/x")                         an Answer, whatever its status
    c.upload("/files", [("file", "a.csv", b"1,2"), ("purpose", None, "user_data")])
    c.pages("/containers?limit=20")                      all items, page by page
"""
import http.client
import json

from base import KEY, Answer

INT, STR, NULL = int, str, type(None)
SHAPES = {
    "container": {"id": STR, "object": STR, "name": STR, "created_at": INT, "status": STR, "last_active_at": INT,
                  "expires_after": dict, "memory_limit": STR, "network_policy": dict, "workspace_id": STR,
                  "session_id": (STR, NULL), "memory_mb": INT},
    "container.file": {"id": STR, "object": STR, "created_at": INT, "bytes": INT, "container_id": STR, "path": STR, "source": STR},
    "file": {"id": STR, "object": STR, "bytes": INT, "created_at": INT, "expires_at": (INT, NULL), "filename": STR,
             "purpose": STR, "status": STR, "status_details": NULL},
    "upload": {"id": STR, "object": STR, "bytes": INT, "created_at": INT, "filename": STR, "purpose": STR, "status": STR,
               "expires_at": INT, "file": (dict, NULL)},
    "upload.part": {"id": STR, "object": STR, "created_at": INT, "upload_id": STR},
    "list": {"object": STR, "data": list, "first_id": (STR, NULL), "last_id": (STR, NULL), "has_more": bool},
}


def check_shape(value):
    """Objects that have one of those names have exactly those members."""
    shape = SHAPES.get(value.get("object"))
    if shape is None or "deleted" in value:
        return
    assert set(value) == set(shape), (sorted(value), sorted(shape))
    for name, kind in shape.items():
        assert isinstance(value[name], kind), (name, value[name])
    for item in value.get("data", []):
        check_shape(item)


def check_error(answer):
    error = answer.json["error"]
    assert set(answer.json) == {"error"} and set(error) == {"message", "type", "param", "code"}, answer.body
    assert isinstance(error["message"], str) and error["message"], answer.body
    assert isinstance(error["type"], str), answer.body
    for name in ("param", "code"):
        assert error[name] is None or isinstance(error[name], str), answer.body


def form(parts, boundary="openai-test-boundary"):
    """multipart/form-data: (name, filename or None, bytes or text)."""
    out = []
    for name, filename, value in parts:
        value = value.encode() if isinstance(value, str) else value
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'
        if filename is not None:
            head += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'
        out += [head.encode() + b"\r\n\r\n", value, b"\r\n"]
    out.append(f"--{boundary}--\r\n".encode())
    return b"".join(out), f"multipart/form-data; boundary={boundary}"


def chunks(data, size=7001):
    """In pieces without a Content-Length: http.client sends an iterator chunked."""
    for at in range(0, len(data), size):
        yield data[at:at + size]


class OpenAI:
    """One keep-alive connection."""

    def __init__(self, server, key=KEY, prefix="/v1", headers=None):
        self.server, self.key, self.prefix, self.headers = server, key, prefix, headers or {}
        self.connection = None
        self.connections = 0

    def request(self, method, path, body=None, headers=None, raw=None):
        sent = {"Accept": "application/json", **self.headers, **(headers or {})}
        if self.key and "Authorization" not in sent:
            sent["Authorization"] = "Bearer " + self.key
        if body is not None:
            raw = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        if self.connection is None:
            self.connection = http.client.HTTPConnection(*self.server.address, timeout=120)
            self.connections += 1
        streamed = raw is not None and not isinstance(raw, bytes)
        self.connection.request(method, self.prefix + path, raw, sent, encode_chunked=streamed)
        response = self.connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        if response.will_close:
            self.close()
        self.check(method, answer)
        return answer

    def check(self, method, answer):
        assert answer.headers["X-Request-Id"].startswith("req_"), answer.headers
        if method != "HEAD" and answer.status not in (204, 304):
            assert answer.headers["openai-version"] == "2020-10-01", answer.headers
        if method == "HEAD" or not answer.body:
            return
        if answer.status >= 400:
            assert answer.headers["Content-Type"].startswith("application/json"), answer.headers
            check_error(answer)
        elif answer.headers["Content-Type"] == "application/json" and "Content-Disposition" not in answer.headers:
            check_shape(answer.json)

    def ok(self, method, path, body=None, **more):
        answer = self.request(method, path, body, **more)
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json

    def upload(self, path, parts, chunked=False, **more):
        data, kind = form(parts)
        headers = {"Content-Type": kind, **more.pop("headers", {})}
        return self.request("POST", path, raw=chunks(data) if chunked else data, headers=headers, **more)

    def file(self, data, name="a.csv", purpose="user_data", **more):
        answer = self.upload("/files", [("file", name, data), ("purpose", None, purpose)], **more)
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json

    def container(self, name="test", **more):
        return self.ok("POST", "/containers", {"name": name, **more})

    def put(self, container, data, name="a.csv", **more):
        answer = self.upload(f"/containers/{container}/files", [("file", name, data)], **more)
        assert answer.status == 200, (answer.status, answer.body)
        return answer.json

    def content(self, path, **more):
        answer = self.request("GET", path, headers={"Accept": "application/binary", **more.pop("headers", {})}, **more)
        assert answer.status in (200, 206), (answer.status, answer.body)
        return answer.body

    def pages(self, path):
        """As the clients do it: `after` is the id of the last item."""
        path, _, after = path.partition("&after=")
        after, items = after and "&after=" + after, []
        while True:
            page = self.ok("GET", path + after)
            items += page["data"]
            assert page["first_id"] == (page["data"][0]["id"] if page["data"] else None)
            assert page["last_id"] == (page["data"][-1]["id"] if page["data"] else None)
            if not page["has_more"]:
                return items
            after = ("&" if "?" in path else "?") + "after=" + page["data"][-1]["id"]

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None
