"""A small OAuth issuer for the tests: real keys, real HTTP, and it can be told to misbehave. Signs with the openssl command."""
import base64
import http.server
import json
import subprocess
import tempfile
import threading
import time


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def der_numbers(der):
    """The two numbers of an ECDSA signature."""
    at, numbers = 2, []
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big"))
        at += 2 + length
    return numbers


class Key:
    """ES256 or RS256."""

    def __init__(self, kid, alg="ES256"):
        self.kid, self.alg = kid, alg
        kind = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"] if alg == "ES256" else ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        self.file = tempfile.NamedTemporaryFile(suffix=".pem")
        self.file.write(openssl("genpkey", "-algorithm", *kind))
        self.file.flush()

    def jwk(self):
        if self.alg == "ES256":
            point = openssl("pkey", "-in", self.file.name, "-pubout", "-outform", "DER")[-64:]
            public = {"kty": "EC", "crv": "P-256", "x": b64url(point[:32]), "y": b64url(point[32:])}
        else:
            modulus = openssl("rsa", "-in", self.file.name, "-noout", "-modulus").decode().strip().partition("=")[2]
            public = {"kty": "RSA", "n": b64url(bytes.fromhex(modulus)), "e": "AQAB"}
        return {**public, "kid": self.kid, "use": "sig", "alg": self.alg}

    def sign(self, text):
        signature = openssl("dgst", "-sha256", "-sign", self.file.name, data=text)
        if self.alg == "RS256":
            return signature
        return b"".join(n.to_bytes(32, "big") for n in der_numbers(signature))


class Issuer:
    """`way` is where it describes itself: openid-configuration or oauth-authorization-server."""

    def __init__(self, way="openid-configuration", path="", port=0):
        self.way, self.path = way, path
        self.keys = [Key("first")]
        self.asked = []  # paths
        self.lies = {}  # members of the description that are otherwise
        self.start(port)

    def start(self, port=0):
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked.append(self.path)
                answer = issuer.answer(self.path)
                body = json.dumps(answer).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}{self.path}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, path):
        where = {"openid-configuration": f"{self.path}/.well-known/openid-configuration",
                 "oauth-authorization-server": f"/.well-known/oauth-authorization-server{self.path}"}[self.way]
        if path == where:
            return {"issuer": self.url, "jwks_uri": f"http://127.0.0.1:{self.port}/keys", **self.lies}
        return {"keys": [key.jwk() for key in self.keys]} if path == "/keys" else None

    def fetches(self):
        return self.asked.count("/keys")

    def rotate(self, kid, alg="ES256"):
        """Only this key from now on; gives the one before."""
        before = self.keys[0]
        self.keys = [Key(kid, alg)]
        return before

    def token(self, sub, scope="run files:read files:write share", key=None, header=None, aud="https://cicada.example.org/mcp", **claims):
        """`None` as a claim leaves it out."""
        key = key or self.keys[0]
        now = int(time.time())
        claims = {"iss": self.url, "sub": sub, "aud": aud, "iat": now, "exp": now + 600, "scope": scope, **claims}
        header = {"alg": key.alg, "kid": key.kid, "typ": "at+jwt", **(header or {})}
        text = ".".join(b64url(json.dumps({k: v for k, v in part.items() if v is not None}).encode()) for part in (header, claims))
        return text + "." + b64url(key.sign(text.encode()))

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
