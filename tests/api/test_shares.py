"""Links for people without a key: what they give, what they refuse, and what they do not tell."""
import html
import http.client
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse
import zipfile

from base import CICADA, Client, eventually
from files import FilesTest, noise

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
                    "0000000d49444154789c626001000000050001a5f645400000000049454e44ae426082")
ASK_JSON = {"Accept": "application/json"}


class Got:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


class SharesTest(FilesTest):
    def ask(self, method, path, body=None, **headers):
        """A request of somebody who has nothing but an address."""
        connection = http.client.HTTPConnection(*self.server.address, timeout=120)
        self.addCleanup(connection.close)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        got = Got(connection.getresponse())
        self.assertEqual(got.headers["X-Content-Type-Options"], "nosniff")
        if not path.startswith("/s/static/"):
            self.assertIn("no-store", got.headers["Cache-Control"])
            self.assertIn("sandbox", got.headers["Content-Security-Policy"])
            self.assertNotIn("allow-scripts", got.headers["Content-Security-Policy"])
            self.assertIn(got.headers["Referrer-Policy"], ("same-origin", "no-referrer"))
        return got

    def shares(self, path="", query=""):
        return f"{self.ws}/shares{path}{query}"

    def share(self, path, client=None, **wishes):
        made = (client or self.client).ok("POST", self.shares(), {"path": path, **wishes}, 201)
        self.assertRegex(made["url"], r"^http://127\.0\.0\.1:\d+/s/[0-9a-z]{32}$")
        return made["id"], urllib.parse.urlsplit(made["url"]).path

    def row(self, share):
        return self.client.ok("GET", self.shares("/" + share))

    def form(self, link, *files, **headers):
        """multipart/form-data with (name, bytes) of each file."""
        body = b""
        for name, data in files:
            name = name.replace("%", "%25").replace('"', "%22")
            body += (f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                     "Content-Type: application/octet-stream\r\n\r\n").encode() + data + b"\r\n"
        return self.ask("POST", link + "/upload", body + b"--XX--\r\n",
                        Content_Type="multipart/form-data; boundary=XX", **headers)

    def guess(self, link, password, **headers):
        return self.ask("POST", link, urllib.parse.urlencode({"password": password}),
                        Content_Type="application/x-www-form-urlencoded", **headers)

    def is_gone(self, got):
        self.assertEqual(got.status, 404, got.body)
        self.assertIn("does not work", got.text)


class TestFile(SharesTest):
    def test_page_and_bytes(self):
        self.make("reports/q3.txt", b"hello <world>\n")
        share, link = self.share("reports/q3.txt", note="for Ann")
        page = self.ask("GET", link)
        self.assertEqual((page.status, page.headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("<bdi>q3.txt</bdi>", page.text)
        self.assertIn("hello &lt;world&gt;", page.text)
        self.assertNotIn("reports", page.text)  # where it lies is nobody's business
        self.assertNotIn("for Ann", page.text)
        got = self.ask("GET", f"{link}/files/q3.txt")
        self.assertEqual((got.status, got.body), (200, b"hello <world>\n"))
        self.assertEqual(got.headers["Content-Disposition"], 'attachment; filename="q3.txt"')
        self.assertEqual(got.headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(got.headers["Content-Security-Policy"], "sandbox; default-src 'none'; frame-ancestors 'none'")
        row = self.row(share)
        self.assertEqual((row["views"], row["downloads"], row["state"]), (1, 1, "works"))
        self.assertIsNotNone(row["last_used_at"])
        self.assertNotIn("url", row)

    def test_json_for_programs(self):
        self.make("a.csv", b"a,b\n")
        _, link = self.share("a.csv", expires_s=60)
        got = Client(self.server, None).get(link, headers=ASK_JSON).json
        self.assertEqual((got["name"], got["kind"], got["size"], got["type"], got["rights"]),
                         ("a.csv", "file", 4, "text/csv", ["view", "download"]))
        self.assertIsNotNone(got["expires_at"])

    def test_latest_or_pinned(self):
        self.make("v.txt", b"one")
        self.make("v.txt", b"two")
        _, pinned = self.share("v.txt", version=1)
        _, latest = self.share("v.txt")
        self.make("v.txt", b"three")
        self.assertEqual(self.ask("GET", f"{pinned}/files/v.txt").body, b"one")
        self.assertEqual(self.ask("GET", f"{latest}/files/v.txt").body, b"three")
        self.assertIn("one", self.ask("GET", pinned).text)
        # A pinned one goes on when the file is deleted or moved; the other has nothing to show.
        self.do("move", **{"from": "v.txt", "to": "w.txt"})
        self.assertEqual(self.ask("GET", f"{pinned}/files/v.txt").body, b"one")
        self.is_gone(self.ask("GET", latest))
        self.client.ok("DELETE", self.at("w.txt"), status=204)
        self.assertEqual(self.ask("GET", f"{pinned}/files/v.txt").body, b"one")

    def test_ranges(self):
        data = noise(300000)
        self.make("big.bin", data)
        share, link = self.share("big.bin")
        got = self.ask("GET", f"{link}/files/big.bin", Range="bytes=1000-1999")
        self.assertEqual((got.status, got.body), (206, data[1000:2000]))
        self.assertEqual(got.headers["Content-Range"], "bytes 1000-1999/300000")
        got = self.ask("GET", f"{link}/files/big.bin", Range="bytes=0-9")
        self.assertEqual((got.status, got.body), (206, data[:10]))
        self.assertEqual(self.ask("GET", f"{link}/files/big.bin", Range="bytes=300000-").status, 416)
        self.assertEqual(self.ask("HEAD", f"{link}/files/big.bin").headers["Content-Length"], "300000")
        etag = got.headers["ETag"]
        self.assertEqual(self.ask("GET", f"{link}/files/big.bin", If_None_Match=etag).status, 304)
        # What goes on from the middle is part of what was begun; a look is no download.
        self.assertEqual(self.row(share)["downloads"], 1)

    def test_only_what_is_shared(self):
        self.make("a.txt", b"a")
        self.make("b.txt", b"secret")
        self.make("d/c.txt", b"secret")
        _, link = self.share("a.txt")
        for path in ("b.txt", "d/c.txt", "a.txt/..%2fb.txt", "..%2fb.txt", "%2fb.txt", "a.txt%2f", "%2fmnt%2fdata%2fa.txt"):
            self.is_gone(self.ask("GET", f"{link}/files/{path}"))
            self.is_gone(self.ask("GET", f"{link}?path={path}"))
        self.is_gone(self.ask("GET", f"{link}/zip"))
        _, link = self.share("d")
        for path in ("a.txt", "../b.txt", "..%2fb.txt", "c.txt/../../b.txt", "d/c.txt", "%2fmnt%2fdata%2fb.txt"):
            self.is_gone(self.ask("GET", f"{link}/files/{urllib.parse.quote(path, safe='%')}"))
            self.is_gone(self.ask("GET", f"{link}/zip?path={urllib.parse.quote(path, safe='%')}"))

    def test_view_alone_gives_no_bytes(self):
        self.make("t.txt", b"look")
        self.make("p.png", PNG)
        _, link = self.share("t.txt", rights=["view"])
        page = self.ask("GET", link)
        self.assertIn("look", page.text)
        self.assertNotIn("Download", page.text)
        self.assertEqual(self.ask("GET", f"{link}/files/t.txt").status, 403)
        self.assertEqual(self.ask("GET", f"{link}/files/t.txt?inline=true").body, b"look")
        _, link = self.share("p.png", rights=["view"])
        self.assertIn("/files/p.png?inline=true", self.ask("GET", link).text)
        got = self.ask("GET", f"{link}/files/p.png?inline=true")
        self.assertEqual((got.headers["Content-Type"], got.body), ("image/png", PNG))


class TestFolder(SharesTest):
    def test_list_and_go_down(self):
        for path in ("f/a.txt", "f/b.csv", "f/sub/deep/c.txt", "g/other.txt"):
            self.make(path, b"x,y\n1,2\n")
        _, link = self.share("f")
        page = self.ask("GET", link).text
        for name in ("a.txt", "b.csv", "sub"):
            self.assertIn(f"<bdi>{name}</bdi>", page)
        self.assertNotIn("other", page)
        self.assertIn(f'href="{link}?path=sub"', page)
        page = self.ask("GET", f"{link}?path=sub/deep").text
        self.assertIn(f'href="{link}?path=sub/deep/c.txt"', page)
        self.assertIn(f'href="{link}?path=sub"', page)  # the way back
        page = self.ask("GET", f"{link}?path=b.csv").text
        self.assertIn("<th scope=\"col\">x</th>", page)
        self.assertIn("<td>2</td>", page)
        self.is_gone(self.ask("GET", f"{link}?path=nothing"))
        got = Client(self.server, None).get(link, headers=ASK_JSON).json
        self.assertEqual([(one["name"], one["kind"]) for one in got["entries"]],
                         [("a.txt", "file"), ("b.csv", "file"), ("sub", "folder")])

    def test_whole_workspace(self):
        self.make("x.txt", b"1")
        _, link = self.share("/")
        self.assertIn("x.txt", self.ask("GET", link).text)
        self.assertEqual(self.ask("GET", f"{link}/files/x.txt").body, b"1")

    def test_long_lists_come_in_pages(self):
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w") as archive:
            for i in range(450):
                archive.writestr(f"many/f{i:04}.txt", "x")
                if i % 50 == 0:
                    archive.writestr(f"many/s{i:04}/x.txt", "x")
        self.client.ok("POST", self.ws + "/import", raw=body.getvalue())
        _, link = self.share("many")
        names, after = [], ""
        for _ in range(10):
            got = self.ask("GET", link + (f"?after={urllib.parse.quote(after)}" if after else ""), **ASK_JSON).json
            names += [one["name"] for one in got["entries"]]
            after = got["next_cursor"]
            if not after:
                break
            self.assertFalse(after.startswith("many"))
        self.assertEqual(len(names), 459)
        self.assertEqual(len(set(names)), 459)
        more = re.search(r'<a href="([^"]+)">More files', self.ask("GET", link).text)
        self.assertIn("f0200.txt", self.ask("GET", html.unescape(more[1])).text)

    def test_zip(self):
        self.make("z/a.txt", b"a" * 1000)
        self.make("z/s/b.txt", b"b")
        self.make("y.txt", b"not this")
        share, link = self.share("z")
        got = self.ask("GET", f"{link}/zip")
        self.assertEqual(got.headers["Content-Disposition"], 'attachment; filename="z.zip"')
        archive = zipfile.ZipFile(io.BytesIO(got.body))
        self.assertEqual(sorted(archive.namelist()), ["a.txt", "s/b.txt"])
        self.assertEqual(archive.read("a.txt"), b"a" * 1000)
        archive = zipfile.ZipFile(io.BytesIO(self.ask("GET", f"{link}/zip?path=s").body))
        self.assertEqual(archive.namelist(), ["b.txt"])
        self.is_gone(self.ask("GET", f"{link}/zip?path=nothing"))
        self.assertEqual(self.row(share)["downloads"], 2)

    def test_zip_streams(self):
        """The first bytes come before the last are read, and memory stays small."""
        for i in range(12):
            self.make(f"huge/{i}.bin", noise(8 << 20, seed=i))
        _, link = self.share("huge")

        def memory():
            status = open(f"/proc/{self.server.process.pid}/status", encoding="ascii").read()
            return int(re.search(r"VmRSS:\s+(\d+)", status)[1])
        before = memory()
        connection = http.client.HTTPConnection(*self.server.address, timeout=120)
        self.addCleanup(connection.close)
        connection.request("GET", f"{link}/zip")
        response = connection.getresponse()
        self.assertIsNone(response.headers["Content-Length"])
        most = total = 0
        while piece := response.read(1 << 20):
            total += len(piece)
            most = max(most, memory())
        self.assertGreater(total, 96 << 20)
        if b"__asan_init" not in open(CICADA, "rb").read():  # which keeps what was freed for a while
            self.assertLess(most - before, 48 << 10)  # KiB


class TestEnds(SharesTest):
    def all_doors(self, link):
        yield self.ask("GET", link)
        yield self.ask("GET", f"{link}?path=a.txt")
        yield self.ask("GET", f"{link}/files/a.txt")
        yield self.ask("GET", f"{link}/zip")
        yield self.form(link, ("x.txt", b"x"))

    def test_no_oracle(self):
        """Unknown, revoked, expired, used up, and what led to nothing: one answer."""
        self.make("o/a.txt", b"a")
        links = {"unknown": "/s/" + "0" * 32, "short": "/s/abc", "odd": "/s/%E2%80%AE"}
        share, links["revoked"] = self.share("o", rights=["download", "upload"])
        self.client.ok("DELETE", self.shares("/" + share), status=204)
        share, links["revoked, with a password"] = self.share("o", password="x")
        self.client.ok("DELETE", self.shares("/" + share), status=204)
        expired, links["expired"] = self.share("o", expires_s=1)
        used, links["used up"] = self.share("o", max_downloads=1)
        self.assertEqual(self.ask("GET", links["used up"] + "/files/a.txt").status, 200)
        self.make("gone.txt", b"x")
        _, links["file gone"] = self.share("gone.txt")
        self.client.ok("DELETE", self.at("gone.txt"), status=204)
        eventually(lambda: self.row(expired)["state"] == "expired")
        self.assertEqual(self.row(used)["state"], "used_up")
        seen = set()
        for name, link in links.items():
            for got in self.all_doors(link):
                if name == "file gone" and got.status in (403, 416):
                    continue  # the link works, and says what it is not for
                headers = sorted((k, v) for k, v in got.headers.items() if k not in ("Date", "X-Request-Id", "Connection"))
                seen.add((got.status, got.body, tuple(headers)))
            got = self.ask("GET", link, **ASK_JSON).json["error"]
            del got["request_id"]
            seen.add(json.dumps(got))
        self.assertEqual(len(seen), 2, seen)  # as a page, and as JSON

    def test_takes_as_long(self):
        self.make("t/a.txt", b"a")
        share, revoked = self.share("t")
        self.client.ok("DELETE", self.shares("/" + share), status=204)
        spent = {}
        for name, link in (("unknown", "/s/" + "1" * 32), ("revoked", revoked)) * 20:
            begun = time.monotonic()
            self.is_gone(self.ask("GET", link))
            spent.setdefault(name, []).append(time.monotonic() - begun)
        unknown, known = (sorted(times)[len(times) // 2] for times in spent.values())
        self.assertLess(abs(unknown - known), 0.02, spent)

    def test_max_downloads_is_exact(self):
        """Never one more, however many come at once."""
        self.make("m/a.bin", noise(100000))
        for door in ("/files/a.bin", "/zip"):
            share, link = self.share("m", max_downloads=5)
            statuses, lock = [], threading.Lock()

            def load():
                got = self.ask("GET", link + door)
                with lock:
                    statuses.append(got.status)
            threads = [threading.Thread(target=load) for _ in range(24)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((statuses.count(200), statuses.count(404)), (5, 19), statuses)
            self.assertEqual(self.row(share)["downloads"], 5)

    def test_max_downloads_leaves_no_way_around(self):
        self.make("n.txt", b"precious")
        share, link = self.share("n.txt", max_downloads=2)
        self.assertNotIn("precious", self.ask("GET", link).text)
        got = self.ask("GET", f"{link}/files/n.txt?inline=true", Range="bytes=1-")
        self.assertEqual((got.status, got.body, got.headers["Accept-Ranges"]), (200, b"precious", "none"))
        self.assertEqual(self.row(share)["downloads"], 1)
        for _ in range(3):
            self.assertEqual(self.ask("HEAD", f"{link}/files/n.txt").status, 200)
        self.assertEqual(self.ask("GET", f"{link}/files/n.txt").status, 200)
        self.is_gone(self.ask("GET", f"{link}/files/n.txt"))

    def test_change(self):
        self.make("c.txt", b"c")
        share, link = self.share("c.txt", max_downloads=1)
        self.ask("GET", f"{link}/files/c.txt")
        self.is_gone(self.ask("GET", link))
        one = self.shares("/" + share)
        self.client.ok("PATCH", one, {"max_downloads": None, "note": "more"})
        self.assertEqual(self.ask("GET", link).status, 200)
        row = self.client.ok("PATCH", one, {"expires_s": 3600})
        self.assertEqual((row["note"], row["max_downloads"]), ("more", None))
        self.assertIsNotNone(row["expires_at"])
        self.assertIsNone(self.client.ok("PATCH", one, {"expires_s": None})["expires_at"])
        self.assertTrue(self.client.ok("PATCH", one, {"password": "p"})["has_password"])
        self.assertEqual(self.ask("GET", link).status, 401)
        self.assertFalse(self.client.ok("PATCH", one, {"password": None})["has_password"])
        self.assertEqual(self.ask("GET", link).status, 200)
        self.client.ok("DELETE", one, status=204)
        self.client.ok("DELETE", one, status=204)
        self.fails(self.client.request("PATCH", one, {"note": "x"}), 404, "not_found")

    def test_ends_with_the_workspace(self):
        ws = self.client.ok("POST", "/api/v1/workspaces", {"name": "short-lived"}, 201)["id"]
        self.client.request("PUT", f"/api/v1/workspaces/{ws}/files/a.txt", raw=b"x")
        made = self.client.ok("POST", f"/api/v1/workspaces/{ws}/shares", {"path": "a.txt"}, 201)
        link = urllib.parse.urlsplit(made["url"]).path
        self.assertEqual(self.ask("GET", link).status, 200)
        self.client.ok("DELETE", f"/api/v1/workspaces/{ws}", status=204)
        self.is_gone(self.ask("GET", link))

    def test_survives_a_restart(self):
        self.make("r.txt", b"r")
        share, link = self.share("r.txt", password="open", max_downloads=9)
        self.assertEqual(self.ask("GET", f"{link}/files/r.txt", X_Share_Password="open").status, 200)
        self.server.stop()
        self.server.start()
        Client.schemas.clear()
        self.assertEqual(self.ask("GET", f"{link}/files/r.txt", X_Share_Password="open").body, b"r")
        self.assertEqual(self.row(share)["downloads"], 2)


class TestPassword(SharesTest):
    def test_form_and_cookie(self):
        self.make("s.txt", b"secret")
        _, link = self.share("s.txt", password="träum & weiter")
        page = self.ask("GET", link)
        self.assertEqual(page.status, 401)
        self.assertIn('type="password"', page.text)
        self.assertNotIn("s.txt", page.text)  # not even its name
        self.assertNotIn("WWW-Authenticate", page.headers)
        wrong = self.guess(link, "traum")
        self.assertEqual(wrong.status, 401)
        self.assertIn("not the password", wrong.text)
        right = self.guess(link, "träum & weiter")
        self.assertEqual((right.status, right.headers["Location"]), (303, link))
        cookie = right.headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Strict", f"Path={link}", "Max-Age=3600"):
            self.assertIn(part, cookie)
        self.assertNotIn("Secure", cookie)
        self.assertIn("Secure", self.guess(link, "träum & weiter", X_Forwarded_Proto="https").headers["Set-Cookie"])
        pair = cookie.split(";")[0]
        self.assertIn("secret", self.ask("GET", link, Cookie="other=1; " + pair).text)
        self.assertEqual(self.ask("GET", f"{link}/files/s.txt", Cookie=pair).body, b"secret")
        # Changed, of another link, or with another password it opens nothing.
        bad = pair[:-1] + ("0" if pair[-1] != "0" else "1")
        later = re.sub(r"=(\d+)", lambda m: f"={int(m[1]) + 10}", pair)
        share, other = self.share("s.txt", password="träum & weiter")
        for link_, pair_ in ((link, bad), (link, later), (other, pair), (link, "cicada_share="), (link, "cicada_share=x.y")):
            self.assertEqual(self.ask("GET", link_, Cookie=pair_).status, 401)
        mine = self.guess(other, "träum & weiter").headers["Set-Cookie"].split(";")[0]
        self.assertEqual(self.ask("GET", other, Cookie=mine).status, 200)
        self.client.ok("PATCH", self.shares("/" + share), {"password": "new"})
        self.assertEqual(self.ask("GET", other, Cookie=mine).status, 401)

    def test_header(self):
        self.make("h.txt", b"h")
        _, link = self.share("h.txt", password="p w")
        self.assertEqual(self.ask("GET", f"{link}/files/h.txt", X_Share_Password="p w").body, b"h")
        got = self.ask("GET", f"{link}/files/h.txt", X_Share_Password="no", **ASK_JSON)
        self.assertEqual((got.status, got.json["error"]["code"]), (401, "unauthorized"))
        # In the address it does nothing: there it would be logged.
        self.assertGreaterEqual(self.ask("GET", f"{link}?password=p%20w").status, 400)

    def test_guessing_is_slowed(self):
        self.make("g.txt", b"g")
        _, link = self.share("g.txt", password="right")
        statuses = [self.guess(link, f"wrong{i}").status for i in range(5)]
        self.assertEqual(statuses, [401] * 5)
        begun = time.monotonic()
        slow = self.guess(link, "right")
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(slow.status, 429)  # nobody looked at it
        wait = int(slow.headers["Retry-After"])
        self.assertGreaterEqual(wait, 1)
        self.assertEqual(self.ask("GET", link, X_Share_Password="right").status, 429)
        # A link that is not there behaves alike.
        nowhere = "/s/" + "z" * 32
        for i in range(5):
            self.is_gone(self.guess(nowhere, f"wrong{i}"))
        self.assertEqual(self.guess(nowhere, "x").status, 429)
        time.sleep(wait)
        self.assertEqual(self.guess(link, "right").status, 303)

    def test_many_guesses_at_once(self):
        self.make("g2.txt", b"g")
        _, link = self.share("g2.txt", password="right")
        statuses, lock = [], threading.Lock()

        def try_one(i):
            got = self.guess(link, f"wrong{i}").status
            with lock:
                statuses.append(got)
        threads = [threading.Thread(target=try_one, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLessEqual(statuses.count(401), 5, statuses)
        self.assertEqual(set(statuses) - {401, 429, 503}, set())

    def test_nothing_secret_is_logged_or_stored(self):
        self.make("l.txt", b"l")
        _, link = self.share("l.txt", password="hush-hush-hush")
        self.ask("GET", link, X_Share_Password="hush-hush-hush")
        self.client.get(link + "/nonsense")
        self.guess(link, "hush-hush-hush")
        token = link.rsplit("/", 1)[1]
        self.assertNotIn(token, self.server.log())
        self.assertNotIn("hush-hush", self.server.log())
        for folder, _, files in os.walk(self.server.data):
            for file in files:
                data = open(os.path.join(folder, file), "rb").read() if os.path.isfile(os.path.join(folder, file)) else b""
                self.assertNotIn(token.encode(), data, file)
                self.assertNotIn(b"hush-hush", data, file)


class TestUpload(SharesTest):
    def test_drop_box(self):
        self.make("in/there.txt", b"private")
        share, link = self.share("in", rights=["upload"])
        page = self.ask("GET", link)
        self.assertIn('enctype="multipart/form-data"', page.text)
        self.assertNotIn("there.txt", page.text)
        self.assertEqual(self.ask("GET", f"{link}?path=there.txt").status, 403)
        self.assertEqual(self.ask("GET", f"{link}/files/there.txt").status, 403)
        self.assertEqual(self.ask("GET", f"{link}/zip").status, 403)
        done = self.form(link, ("new.txt", b"new"), ("two.txt", b"2"))
        self.assertEqual((done.status, done.headers["Location"]), (303, f"{link}?uploaded=2"))
        self.assertIn("2 files were uploaded", self.ask("GET", f"{link}?uploaded=2").text)
        self.assertEqual(self.data("in/new.txt"), b"new")
        self.assertEqual(self.stat("in/new.txt")["author"], {"share_id": share})
        self.assertEqual(self.row(share)["uploads"], 2)

    def test_never_over_what_is_there(self):
        self.make("box/a.txt", b"mine")
        _, link = self.share("box", rights=["view", "upload"])
        got = self.form(link, ("a.txt", b"theirs"), ("a.txt", b"again"), **ASK_JSON)
        self.assertEqual(got.status, 201)
        self.assertEqual([one["name"] for one in got.json["files"]], ["a (2).txt", "a (3).txt"])
        self.assertEqual(self.data("box/a.txt"), b"mine")
        self.assertEqual(self.data("box/a (2).txt"), b"theirs")
        _, blind = self.share("box", rights=["upload"])
        self.assertEqual(self.form(blind, ("a.txt", b"x"), **ASK_JSON).json, {"count": 1, "files": []})

    def test_many_at_once_lose_nothing(self):
        self.make("race/seed.txt", b"s")
        _, link = self.share("race", rights=["upload"])
        statuses = []
        threads = [threading.Thread(target=lambda i=i: statuses.append(
            self.form(link, ("same.txt", f"from {i}".encode())).status)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [303] * 12)
        contents = {self.data(path) for path in self.paths(prefix="race/same")}
        self.assertEqual(contents, {f"from {i}".encode() for i in range(12)})

    def test_only_into_the_folder(self):
        self.make("fold/x.txt", b"x")
        _, link = self.share("fold", rights=["view", "upload"])
        for name, lands in (("../up.txt", "fold/up.txt"), ("/etc/passwd", "fold/passwd"), ("..\\win.txt", "fold/win.txt"),
                            ("a/b/c.txt", "fold/c.txt")):
            self.assertEqual(self.form(link, (name, b"1")).status, 303, name)
            self.assertEqual(self.data(lands), b"1")
        for name in ("..", ".", "a\x01b", "x" * 256):
            self.assertEqual(self.form(link, (name, b"1")).status, 400, name)
        self.assertEqual(self.form(link, ("", b"")).status, 400)
        _, reader = self.share("fold")
        self.assertEqual(self.form(reader, ("n.txt", b"1")).status, 403)

    def test_limits(self):
        self.make("lim/x.txt", b"x")
        _, link = self.share("lim", rights=["view", "upload"])
        files = [(f"{i}.txt", b"x") for i in range(101)]
        self.assertEqual(self.form(link, *files[:100]).status, 303)
        before = self.paths(prefix="lim/")
        self.assertEqual(self.form(link, *files).status, 413)
        self.assertEqual(self.paths(prefix="lim/"), before)  # all or nothing
        ws = self.client.ok("POST", "/api/v1/workspaces", {"name": "small"}, 201)["id"]
        self.client.ok("PATCH", f"/api/v1/workspaces/{ws}", {"quota": {"bytes": 1000}})
        made = self.client.ok("POST", f"/api/v1/workspaces/{ws}/shares", {"path": "", "rights": ["upload"]}, 201)
        link = urllib.parse.urlsplit(made["url"]).path
        self.assertEqual(self.form(link, ("fits.bin", noise(900))).status, 303)
        self.assertEqual(self.form(link, ("not.bin", noise(900, 2))).status, 507)


    def test_locks_are_honoured(self):
        self.make("held/x.txt", b"x")
        _, link = self.share("held", rights=["view", "upload"])
        lock = self.client.ok("POST", self.ws + "/locks", {"path": "held", "tree": True, "holder": "an agent"}, 201)
        got = self.form(link, ("new.txt", b"1"))
        self.assertEqual(got.status, 423)
        self.assertNotIn("an agent", got.text)
        self.assertEqual(self.form(link, ("new.txt", b"1"), **ASK_JSON).status, 423)
        self.client.ok("DELETE", f"{self.ws}/locks/{lock['id']}", status=204, headers={"Lock-Token": lock["token"]})
        self.assertEqual(self.form(link, ("new.txt", b"1")).status, 303)


class TestHostile(SharesTest):
    def test_nothing_runs_on_our_origin(self):
        page = b"<html><script>document.title='owned';fetch('/api/v1/keys')</script></html>"
        drawing = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'
        kinds = {"x.html": page, "x.htm": page, "x.xhtml": page, "x.svg": drawing, "x.xml": drawing, "x.js": b"alert(1)",
                 "x.pdf": b"%PDF-1.4", "x": page, "x.png": page, "x.md": b"<script>alert(1)</script>", "x.mhtml": page,
                 "x.xht": page, "x.shtml": page}
        for name, data in kinds.items():
            self.make("h/" + name, data)
        _, link = self.share("h")
        for name in kinds:
            for query in ("", "?inline=true", "?inline=1"):
                got = self.ask("GET", f"{link}/files/{name}{query}")
                self.assertEqual(got.status, 200)
                self.assertEqual(got.headers["Content-Security-Policy"], "sandbox; default-src 'none'; frame-ancestors 'none'")
                if not got.headers["Content-Disposition"].startswith("attachment"):
                    self.assertIn(got.headers["Content-Type"], ("image/png", "text/plain; charset=utf-8"), name)
            shown = self.ask("GET", f"{link}?path={name}").text
            self.assertNotIn("<script", shown, name)
            self.assertNotIn("<svg", shown, name)
        self.assertTrue(self.ask("GET", f"{link}/files/x.html").headers["Content-Disposition"].startswith("attachment"))
        self.assertTrue(self.ask("GET", f"{link}/files/x.svg").headers["Content-Disposition"].startswith("attachment"))

    NAMES = ['"><script src=x>.txt', "' onmouseover='alert(1).txt", "<img src=x onerror=alert(1)>.png",
             "{{name}}.txt", "<!--[foot]-->.txt", "a&amp;b.txt", "100%25.txt", "a?b#c.txt", "\u202egpj.exe",
             "javascript:alert(1)", "a b+c.csv", "\u00fc\u4e16.txt", "\\..\\x.txt", "-->.txt", "q\u2028r.txt", "%2e%2e"]

    def test_names(self):
        for name in self.NAMES:
            self.make("n/" + name, b"<b>1</b>")
        _, link = self.share("n")
        page = self.ask("GET", link).text
        self.assertNotIn("<script", page)
        self.assertNotIn("<img", page)
        self.assertNotIn("\u202e", page)
        self.assertEqual(page.count("<td class=\"name\">"), len(self.NAMES))
        links = [html.unescape(found) for found in re.findall(r'<a href="([^"]*)"', page)]
        self.assertTrue(all(found.startswith(link) for found in links), links)
        gets = [found for found in links if "/files/" in found]
        self.assertEqual(len(gets), len(self.NAMES))
        for address in gets:
            got = self.ask("GET", address)
            self.assertEqual((got.status, got.body), (200, b"<b>1</b>"), address)
            self.assertTrue(got.headers["Content-Disposition"].startswith("attachment; filename"))
        for address in links:
            if "?path=" in address:
                self.assertEqual(self.ask("GET", address).status, 200, address)
        for name in self.NAMES:
            _, own = self.share("n/" + name)
            shown = self.ask("GET", own).text
            self.assertNotIn("<script", shown)
            self.assertNotIn("onerror=alert(1)>", shown.replace("&gt;", ""))

    def test_hostile_contents_in_previews(self):
        self.make("p/bomb.csv", b"a" + b"," * 60000 + b"\n" + b'"' * 5000)
        self.make("p/rows.csv", b"a,b\n" + b"1,<script>\n" * 100000)
        self.make("p/nul.txt", b"a\0b\xff\xfe<script>\x1b[31m")
        self.make("p/empty.csv", b"")
        self.make("p/long.txt", b"<" * 500000)
        _, link = self.share("p")
        for name in ("bomb.csv", "rows.csv", "nul.txt", "empty.csv", "long.txt"):
            got = self.ask("GET", f"{link}?path={name}")
            self.assertEqual(got.status, 200, name)
            self.assertNotIn("<script>", got.text)
            self.assertNotIn("\0", got.text)
            self.assertLess(len(got.body), 1 << 20)
        self.assertIn("Only the beginning", self.ask("GET", f"{link}?path=rows.csv").text)

    def test_other_origins_cannot_use_it(self):
        self.make("cs/x.txt", b"x")
        _, link = self.share("cs", rights=["view", "upload"])
        connection = http.client.HTTPConnection(*self.server.address, timeout=60)
        self.addCleanup(connection.close)
        connection.request("POST", link + "/upload", b"--XX--\r\n", {
            "Content-Type": "multipart/form-data; boundary=XX", "Origin": "http://evil.example"})
        self.assertEqual(connection.getresponse().status, 403)

    def test_style(self):
        got = self.ask("GET", "/s/static/share.css")
        self.assertEqual((got.status, got.headers["Content-Type"]), (200, "text/css; charset=utf-8"))
        self.assertIn("prefers-color-scheme: dark", got.text)

    def test_methods(self):
        self.make("me.txt", b"x")
        _, link = self.share("me.txt")
        for method in ("PUT", "DELETE", "PATCH"):
            connection = http.client.HTTPConnection(*self.server.address, timeout=60)
            self.addCleanup(connection.close)
            connection.request(method, link)
            self.assertEqual(connection.getresponse().status, 405)


class TestManaging(SharesTest):
    def test_what_does_not_fit_is_refused(self):
        self.make("w/x.txt", b"x")
        for wishes, status, code in (
                ({"path": "nothing.txt"}, 404, "not_found"),
                ({"path": "w/x.txt", "version": 9}, 404, "not_found"),
                ({"path": "w/x.txt", "rights": ["upload"]}, 400, "invalid_request"),
                ({"path": "w", "rights": []}, 400, "invalid_request"),
                ({"path": "w", "version": 1}, 404, "not_found"),
                ({"path": "", "version": 1}, 400, "invalid_request"),
                ({"path": "w", "rights": ["upload"], "max_downloads": 1}, 400, "invalid_request"),
                ({"path": "w", "password": ""}, 400, "invalid_request"),
                ({"path": "w", "password": "p" * 1025}, 400, "invalid_request"),
                ({"path": "w", "note": "n" * 1001}, 400, "invalid_request"),
                ({"path": "w", "expires_s": 0}, 400, "invalid_request"),
                ({"path": "w", "rights": ["own"]}, 400, "invalid_request"),
                ({"path": "../w"}, 400, "invalid_request")):
            got = self.client.request("POST", self.shares(), wishes)
            self.assertEqual((got.status, got.code), (status, code), (wishes, got.body))

    def test_list(self):
        self.make("li.txt", b"x")
        made = [self.share("li.txt", note=str(i))[0] for i in range(5)]
        seen, cursor = [], ""
        while True:
            page = self.client.ok("GET", self.shares(query=f"?limit=2{cursor}"))
            seen += [one["id"] for one in page["data"]]
            if not page["has_more"]:
                break
            cursor = "&cursor=" + page["next_cursor"]
        self.assertEqual([one for one in seen if one in made], made[::-1])

    def test_scope_and_strangers(self):
        self.make("sc.txt", b"x")
        share, link = self.share("sc.txt")
        without = self.key(scopes=["files:read", "files:write"])
        self.fails(without.request("POST", self.shares(), {"path": "sc.txt"}), 403, "permission_denied")
        who = self.client.ok("POST", "/api/v1/principals", {"name": "stranger"}, 201)["id"]
        stranger = self.key(scopes=["share", "files:read"], principal=who)
        ws = self.row(share)["workspace_id"]
        for method, path, body in (("GET", "", None), ("POST", "", {"path": "sc.txt"}), ("GET", "/" + share, None),
                                   ("PATCH", "/" + share, {"note": "x"}), ("DELETE", "/" + share, None)):
            got = stranger.request(method, f"/api/v1/workspaces/{ws}/shares{path}", body)
            self.fails(got, 404, "not_found")
        self.assertEqual(self.ask("GET", link).status, 200)

    def test_members(self):
        """Editors make links and change their own; admins change all; a maker who goes takes theirs along."""
        self.make("mem/x.txt", b"x")
        ws = self.client.ok("GET", self.ws)["id"]
        keys = {}
        for role in ("viewer", "editor", "admin"):
            who = self.client.ok("POST", "/api/v1/principals", {"name": role}, 201)["id"]
            got = self.client.request("PUT", f"/api/v1/workspaces/{ws}/members/{who}", {"role": role})
            self.assertIn(got.status, (200, 201), got.body)
            keys[role] = self.key(scopes=["share", "files:read", "files:write"], principal=who), who
        shares = f"/api/v1/workspaces/{ws}/shares"
        self.fails(keys["viewer"][0].request("POST", shares, {"path": "mem"}), 403, "permission_denied")
        made = keys["editor"][0].ok("POST", shares, {"path": "mem"}, 201)
        link = urllib.parse.urlsplit(made["url"]).path
        own, _ = self.share("mem")
        self.fails(keys["editor"][0].request("DELETE", f"{shares}/{own}"), 403, "permission_denied")
        keys["editor"][0].ok("PATCH", f"{shares}/{made['id']}", {"note": "mine"})
        keys["admin"][0].ok("PATCH", f"{shares}/{made['id']}", {"note": "ours"})
        keys["admin"][0].ok("DELETE", f"{shares}/{own}", status=204)
        self.assertEqual(self.ask("GET", link).status, 200)
        self.client.request("PUT", f"/api/v1/workspaces/{ws}/members/{keys['editor'][1]}", {"role": "viewer"})
        self.is_gone(self.ask("GET", link))
        self.client.request("PUT", f"/api/v1/workspaces/{ws}/members/{keys['editor'][1]}", {"role": "editor"})
        self.assertEqual(self.ask("GET", link).status, 200)
        self.client.request("DELETE", f"/api/v1/workspaces/{ws}/members/{keys['editor'][1]}")
        self.is_gone(self.ask("GET", link))


class TestPublicUrl(FilesTest):
    settings = {"server.public_url": "https://cicada.example.org"}

    def test_links_begin_with_it(self):
        self.make("a.txt", b"a")
        made = self.client.ok("POST", self.ws + "/shares", {"path": "a.txt"}, 201)
        self.assertRegex(made["url"], r"^https://cicada\.example\.org/s/[0-9a-z]{32}$")


CHROMIUM = shutil.which("chromium")


class TestBrowser(SharesTest):
    """With a real browser, where there is one: nothing of what others wrote runs."""

    def browse(self, address, *more):
        home = tempfile.mkdtemp(prefix="cicada-browser-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        return subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home}", "--virtual-time-budget=3000",
             *more, "--dump-dom", f"http://{self.server.address[0]}:{self.server.address[1]}{address}"],
            capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "HOME": home}).stdout

    def test_nothing_runs(self):
        if not CHROMIUM:
            self.skipTest("there is no chromium here")
        code = "document.documentElement.setAttribute('data-owned', 'yes')"
        names = ["<img src=x onerror=\"" + code + "\">.txt", "a.html", "a.svg", "a.md"]
        for name in names:
            self.make("br/" + name, f"<script>{code}</script><svg onload=\"{code}\">".encode())
        _, link = self.share("br")
        dom = self.browse(link)
        self.assertIn("Download all as zip", dom)
        self.assertNotIn("data-owned=", dom)
        for name in names:
            dom = self.browse(f"{link}?path={urllib.parse.quote(name)}")
            self.assertIn("<h1>", dom)
            self.assertNotIn("data-owned=", dom)
            dom = self.browse(f"{link}/files/{urllib.parse.quote(name)}?inline=true")
            self.assertNotIn("data-owned=", dom)

    def test_forms_work_without_scripts(self):
        """The password is typed, and the pages behind it open: origin, cookie and policy fit together."""
        if not CHROMIUM:
            self.skipTest("there is no chromium here")
        self.make("fo/inside.txt", b"found it")
        _, link = self.share("fo", password="sesame")
        home = tempfile.mkdtemp(prefix="cicada-browser-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        with Browser(home) as browser:
            browser.open(f"http://{self.server.address[0]}:{self.server.address[1]}{link}")
            browser.until("This link has a password")
            browser.type("#password", "sesame")
            self.assertIn("<bdi>inside.txt</bdi>", browser.until("inside.txt"))


class Browser:
    """Chromium over its debugging pipe: as much of it as is needed to type into a page."""

    def __init__(self, home):
        ours, theirs = os.pipe(), os.pipe()
        script = 'exec 3<&%d 4>&%d; exec "$@"' % (theirs[0], ours[1])
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={home}", "about:blank"], pass_fds=(theirs[0], ours[1]), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": home})
        os.close(theirs[0])
        os.close(ours[1])
        self.read, self.write = os.fdopen(ours[0], "rb"), os.fdopen(theirs[1], "wb", buffering=0)
        self.number, self.rest, self.session = 0, b"", None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.read.close()
        self.write.close()

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.write.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                piece = self.read.read1(1 << 16)
                assert piece, "the browser ended"
                self.rest += piece
            one, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(one)
            if answer.get("id") == self.number:
                return answer.get("result", {})

    def open(self, address):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.navigate", url=address)

    def until(self, text):
        def look():
            root = self.call("DOM.getDocument").get("root")
            page = self.call("DOM.getOuterHTML", nodeId=root["nodeId"]).get("outerHTML", "") if root else ""
            return page if text in page else None
        return eventually(look)

    def type(self, where, text):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        self.call("DOM.focus", nodeId=self.call("DOM.querySelector", nodeId=root, selector=where)["nodeId"])
        self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
