"""What the tests of files have in common: a workspace of its own for each test."""
import hashlib
import random
import urllib.parse

import jsonschema
from base import ApiTest, Client

WORKSPACES = "/api/v1/workspaces"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


def quoted(path):
    return urllib.parse.quote(path, safe="/")


class FilesTest(ApiTest):
    def setUp(self):
        super().setUp()
        made = self.client.ok("POST", WORKSPACES, {"name": "w" + self.id().rpartition(".")[2]}, 201)
        self.ws = f"{WORKSPACES}/{made['id']}"
        self.addCleanup(lambda: Client(self.server).request("DELETE", self.ws))

    def at(self, path, query=""):
        return f"{self.ws}/files/{quoted(path)}{query}"

    def put(self, path, data=b"x", client=None, **headers):
        """The answer; headers as If_Match=..."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return (client or self.client).request("PUT", self.at(path), raw=data, headers=sent)

    def make(self, path, data=b"x", **headers):
        answer = self.put(path, data, **headers)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def get(self, path, query="", **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.get(self.at(path, query), headers=sent)

    def data(self, path, query=""):
        answer = self.get(path, query)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body

    def stat(self, path, query=""):
        answer = self.get(path, "?stat" + query)
        self.assertEqual(answer.status, 200, answer.body)
        return self.valid("File", answer.json)

    def valid(self, schema, thing):
        document = self.client.get("/openapi.json").json
        jsonschema.Draft202012Validator({"$ref": "#/components/schemas/" + schema,
                                         "components": document["components"]}).validate(thing)
        return thing

    def versions(self, path, query=""):
        return self.valid("FileVersionList", self.get(path, "?versions" + query).json)["data"]

    def list(self, **query):
        return self.client.ok("GET", f"{self.ws}/files?{urllib.parse.urlencode(query)}")

    def paths(self, **query):
        return [f["path"] for f in self.list(**query)["data"]]

    def do(self, what, status=200, **body):
        return self.client.ok("POST", f"{self.ws}/{what}", body, status)

    def refused(self, what, status, code, **body):
        return self.fails(self.client.post(f"{self.ws}/{what}", body), status, code)

    def trash(self):
        return self.client.ok("GET", self.ws + "/trash")["data"]

    def key(self, **wishes):
        """A client with a key like that, of a principal of its own unless it says whose."""
        if "principal" not in wishes:
            wishes["principal"] = self.client.ok("POST", "/api/v1/principals", {"name": "p"}, 201)["id"]
        secret = self.client.ok("POST", "/api/v1/keys", wishes, 201)["secret"]
        client = Client(self.server, secret)
        self.addCleanup(client.close)
        return client


