"""A server of its own for a test class, a client for it, and answers held against /openapi.json."""
import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CICADA = os.environ.get("CICADA", str(ROOT / "build" / "cicada"))
KEY = "cik_" + "t" * 36  # the admin's, fixed by the environment
USER = 190000  # what a server becomes that is started as root
IMAGES = os.environ.get("CICADA_IMAGE_DIR", "off")


class Server:
    """`cicada serve` with a data directory and a port of its own."""

    def __init__(self, data=None, settings=None, wait=True, arguments=()):
        self.arguments = arguments
        self.own_data = data is None
        self.data = data or tempfile.mkdtemp(prefix="cicada-api-", dir="/var/tmp")
        os.chmod(self.data, 0o755)
        self.settings = settings or {}
        self.lines = []
        self.start(wait)

    def start(self, wait=True):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CICADA_")}
        env.update(CICADA_API_KEY=KEY, CICADA_IMAGE_DIR=IMAGES)
        if os.geteuid() == 0:
            env["CICADA_SERVER_USER"] = str(USER)
        for key, value in {"server.socket": self.data + "/s/api.sock", "search.index": "off", **self.settings}.items():
            env["CICADA_" + key.replace("server.api_key", "api_key").replace(".", "_").upper()] = str(value)
        os.makedirs(self.data + "/s", exist_ok=True)
        os.chmod(self.data + "/s", 0o777)
        self.ready = threading.Event()
        self.address = None
        self.process = subprocess.Popen(
            [CICADA, "serve", "--listen", "127.0.0.1:0", "--data", self.data + "/data", *self.arguments],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace", start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if wait and not self.ready.wait(60):
            raise AssertionError("the server did not start:\n" + "".join(self.lines))

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"msg=listening on=(?:http://)?(127\.0\.0\.1:\d+)", line)
            if found:
                host, port = found[1].split(":")
                self.address = host, int(port)
                self.ready.set()
        self.ready.set()

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(60)
        self.reader.join(10)
        self.process.stderr.close()
        return status

    def close(self):
        self.stop()
        if self.own_data:
            shutil.rmtree(self.data, ignore_errors=True)
        found = [at for at, line in enumerate(self.lines) if "Sanitizer" in line or "runtime error" in line]
        if found:
            raise AssertionError("".join(line for line in self.lines[max(found[0] - 1, 0):found[0] + 400] if "level=info" not in line))

    def log(self):
        return "".join(self.lines)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]


class Schemas:
    """What /openapi.json says an operation answers with."""

    def __init__(self, document):
        self.document = document
        self.paths = [(re.compile("^" + re.sub(r"\{[^}]+\}", "[^/]+", path.replace("{path}", "(?s:.+)")) + "$"), item)
                      for path, item in document["paths"].items()]

    def operation(self, method, path):
        for pattern, item in self.paths:
            if pattern.match(path) and method.lower() in item:
                return item[method.lower()]
        return None

    def check(self, method, path, answer):
        operation = self.operation(method, path)
        if operation is None:
            schema = {"$ref": "#/components/schemas/Error"}
        else:
            responses = operation["responses"]
            response = responses.get(str(answer.status))
            if response is None:
                assert answer.status >= 400, f"{method} {path}: {answer.status} is not described"
                response = responses["default"]
            content = response.get("content", {})
            kind = answer.headers.get("Content-Type", "").split(";")[0]
            if not content:
                assert not answer.body, f"{method} {path}: a body that is not described"
                return
            assert kind in content or "*/*" in content, f"{method} {path}: {kind} is not described"
            if kind != "application/json" or kind not in content:
                return
            schema = content[kind]["schema"]
        validator = jsonschema.Draft202012Validator(
            {**schema, "components": self.document["components"]})
        validator.validate(answer.json)


class Client:
    """One keep-alive connection. Every answer is checked."""

    schemas = {}

    def __init__(self, server, key=KEY, unix=None):
        self.server, self.key, self.unix = server, key, unix
        self.connection = None

    def connect(self):
        if self.unix:
            connection = http.client.HTTPConnection("localhost", timeout=120)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(120)
            connection.sock.connect(self.unix)
        else:
            connection = http.client.HTTPConnection(*self.server.address, timeout=120)
        return connection

    def request(self, method, path, body=None, headers=None, raw=None):
        sent = dict(headers or {})
        if self.key and "Authorization" not in sent:
            sent["Authorization"] = "Bearer " + self.key
        data = raw
        if body is not None:
            data = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        for again in (True, False):
            if self.connection is None:
                self.connection = self.connect()
            try:
                self.connection.request(method, path, data, sent)
                response = self.connection.getresponse()
                break
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.connection = None
                if not again:
                    raise
        answer = Answer(response.status, response.headers, response.read())
        if response.will_close:
            self.close()
        self.check(method, path.split("?")[0], answer)
        return answer

    def check(self, method, path, answer):
        if answer.status == 400 and "X-Request-Id" not in answer.headers:
            assert answer.json["error"]["request_id"] is None  # refused before it was a request
            return
        assert answer.headers["X-Request-Id"].startswith("req_"), answer.headers
        if method == "HEAD" or "Access-Control-Allow-Methods" in answer.headers:
            return
        if self.server.address not in self.schemas:
            if path == "/openapi.json":
                return
            document = Client(self.server, None).request("GET", "/openapi.json").json
            self.schemas[self.server.address] = Schemas(document)
        self.schemas[self.server.address].check(method, path, answer)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def ok(self, method, path, body=None, status=200, **more):
        answer = self.request(method, path, body, **more)
        assert answer.status == status, (answer.status, answer.body)
        return answer.json if answer.body else None

    def session(self, **wishes):
        return self.ok("POST", "/api/v1/sessions", wishes, 201)["id"]

    def run(self, session, code, status=200, **more):
        return self.ok("POST", f"/api/v1/sessions/{session}/runs", {"code": code, **more}, status)

    def events(self, method, path, body=None, headers=None):
        """(name, data, id) of each event, as they come."""
        connection = self.connect()
        sent = {"Accept": "text/event-stream", **(headers or {})}
        if self.key:
            sent["Authorization"] = "Bearer " + self.key
        data = None
        if body is not None:
            data = json.dumps(body)
            sent["Content-Type"] = "application/json"
        connection.request(method, path, data, sent)
        response = connection.getresponse()
        assert response.status == 200, (response.status, response.read())
        assert response.headers["Content-Type"] == "text/event-stream"
        event = {}
        try:
            for line in response:
                line = line.decode().rstrip("\n")
                if not line:
                    if event:
                        yield event.get("event"), json.loads(event["data"]), int(event["id"])
                    event = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    event[name] = value
        finally:
            connection.close()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class ApiTest(unittest.TestCase):
    """A server for the class; `self.client` is the admin's."""

    settings = {}

    @classmethod
    def setUpClass(cls):
        cls.server = Server(settings=cls.settings)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.client = Client(self.server)
        self.addCleanup(self.client.close)

    def fails(self, answer, status, code):
        self.assertEqual((answer.status, answer.code), (status, code), answer.body)
        self.assertTrue(answer.json["error"]["message"])
        self.assertNotIn(self.server.data, answer.body.decode())
        return answer


def eventually(question, seconds=30):
    """Asks until the answer is yes: for what nobody can be told of."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError("it did not happen")
        time.sleep(0.02)


def b64(data):
    return base64.b64encode(data).decode()
