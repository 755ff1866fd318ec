"""What is large, through /mcp in both eras: the reply stays small, and nothing is lost."""
import base64
import hashlib
import http.client
import json
import re
import struct
import unittest
from urllib.parse import quote, urlsplit

from base import Client, Server
from mcp import Legacy, Modern, RpcError

TEXT_MAX = 64 << 10  # of all text in a reply, links and structured content included
IMAGES_MAX, IMAGE_BYTES, IMAGE_EDGE = 4, 150 << 10, 1024
FILE_LINES, LINE = 1_050_000, "%08d,the quick brown fox jumps over a lazy dog\n"  # 50 MB
WORKSPACE = "/api/v1/workspaces/default"


def image_size(data):
    """Of a PNG by its header, of a JPEG by its first frame."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack(">II", data[16:24])
    assert data.startswith(b"\xff\xd8"), data[:16]
    at = 2
    while True:
        marker, length = struct.unpack(">xBH", data[at:at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return width, height
        at += 2 + length


class Large:
    """The tests; an era makes the client."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = Client(cls.server)
        cls.mcp = cls.era(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.close()

    def within(self, result):
        """The budget of a reply. Gives back its images, decoded from base64."""
        self.assertFalse(result.get("isError"), self.mcp.text(result)[:2000])
        images = self.mcp.blocks(result, "image")
        rest = [block for block in result["content"] if block["type"] != "image"]
        size = len(json.dumps([rest, result.get("structuredContent")], ensure_ascii=False).encode())
        self.assertLess(size, TEXT_MAX)
        self.assertIsNone(re.search(r"[A-Za-z0-9+/]{400}", json.dumps([rest, result.get("structuredContent")])))
        self.assertLessEqual(len(images), IMAGES_MAX)
        found = []
        for block in images:
            data = base64.b64decode(block["data"], validate=True)
            self.assertLessEqual(len(data), IMAGE_BYTES)
            self.assertLessEqual(max(image_size(data)), IMAGE_EDGE)
            self.assertEqual(block["mimeType"], "image/png" if data[:1] == b"\x89" else "image/jpeg")
            found.append(data)
        return found

    def run_code(self, code, **more):
        result = self.mcp.call("run_code", code=code, **more)
        self.assertEqual(result["structuredContent"]["status"], "ok", self.mcp.text(result)[:2000])
        return result, result["structuredContent"]["execution_id"]

    def resource(self, uri):
        (content,) = self.mcp.rpc("resources/read", {"uri": uri})["contents"]
        return base64.b64decode(content["blob"], validate=True) if "blob" in content else content["text"].encode()

    def original(self, run, index):
        answer = self.client.get(f"/api/v1/runs/{run}/displays/{index}")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "image/png"))
        return answer.body

    def content(self, path):
        answer = self.client.get(f"{WORKSPACE}/files/{quote(path)}")
        self.assertEqual(answer.status, 200, answer.body[:500])
        return answer.body

    def transfer(self, path, direction, body=None):
        """By the address that the tool gives, without a key. What came."""
        result = self.mcp.call("transfer_url", path=path, direction=direction)
        self.within(result)
        url = urlsplit(result["structuredContent"]["url"])
        connection = http.client.HTTPConnection(*self.server.address, timeout=120)
        connection.request(result["structuredContent"]["method"], f"{url.path}?{url.query}", body)
        answer = connection.getresponse()
        came = answer.read()
        self.assertIn(answer.status, (200, 201), came[:500])
        connection.close()
        return came

    def download(self, path):
        return self.transfer(path, "download")

    # ---- a file of 50 MB

    def test_a_file_of_50_mb(self):
        self.run_code(f"with open('/mnt/data/large.txt', 'w') as f:\n"
                      f"    for i in range({FILE_LINES}): f.write({LINE!r} % i)")
        whole = "".join(LINE % i for i in range(FILE_LINES)).encode()
        self.assertGreaterEqual(len(whole), 50 << 20)

        with self.subTest("read_file shows the beginning and says how to go on"):
            result = self.mcp.call("read_file", path="/mnt/data/large.txt")
            self.within(result)
            self.assertIn(LINE % 0, self.mcp.text(result))
            self.assertEqual(result["structuredContent"]["size"], len(whole))
            next_offset = result["structuredContent"]["next_offset"]
            self.assertIn(LINE % (next_offset - 1), self.mcp.text(result))
            self.assertNotIn(LINE % next_offset, self.mcp.text(result))

        with self.subTest("read_file goes on anywhere"):
            for offset in next_offset, FILE_LINES // 2, FILE_LINES - 3:
                result = self.mcp.call("read_file", path="large.txt", offset=offset)
                self.within(result)
                self.assertIn(LINE % offset, self.mcp.text(result))
                self.assertNotIn(LINE % (offset - 1), self.mcp.text(result))
            self.assertIn(LINE % (FILE_LINES - 1), self.mcp.text(result))
            self.assertIsNone(result["structuredContent"].get("next_offset"))

        with self.subTest("as a table"):
            result = self.mcp.call("read_file", path="large.txt", **{"as": "table"})
            self.within(result)

        with self.subTest("list_files knows its size"):
            result = self.mcp.call("list_files")
            self.within(result)
            sizes = {f["path"].rpartition("/")[2]: f.get("size") for f in result["structuredContent"]["files"]}
            self.assertEqual(sizes["large.txt"], len(whole))

        with self.subTest("transfer_url gives all of it"):
            self.assertEqual(hashlib.sha256(self.download("large.txt")).digest(), hashlib.sha256(whole).digest())

        with self.subTest("and takes as much"):
            self.transfer("again.txt", "upload", whole)
            result, _ = self.run_code("import hashlib; hashlib.sha256(open('/mnt/data/again.txt','rb').read()).hexdigest()")
            self.assertIn(hashlib.sha256(whole).hexdigest(), self.mcp.text(result))

    # ---- an output of 100,000 lines

    def test_an_output_of_100000_lines(self):
        result, run = self.run_code("for i in range(100_000): print(f'line {i:06d} of the output')")
        whole = "".join(f"line {i:06d} of the output\n" for i in range(100_000))
        self.within(result)
        text = self.mcp.text(result)
        self.assertTrue(result["structuredContent"]["truncated"]["stdout"])
        self.assertIn("line 000000 of the output", text)
        self.assertIn("line 099999 of the output", text)
        self.assertNotIn("line 050000 of the output", text)

        path = result["structuredContent"]["full_output_path"]
        self.assertIn(path, text)
        relative = path.removeprefix("/mnt/data/")
        self.assertEqual(self.content(relative).decode(), whole)
        links = [link for link in self.mcp.blocks(result, "resource_link") if link["uri"].endswith(relative.rpartition("/")[2])]
        self.assertEqual(len(links), 1, self.mcp.blocks(result, "resource_link"))
        self.assertEqual(self.resource(links[0]["uri"]).decode(), whole)
        middle = self.mcp.call("read_file", path=path, offset=50_000, limit=10)
        self.within(middle)
        self.assertIn("line 050000 of the output", self.mcp.text(middle))

        seen = self.mcp.call("get_execution", execution_id=run)
        self.within(seen)

    def test_lines_that_never_end(self):
        result, _ = self.run_code("print('x' * 3_000_000, end=''); print('y' * 10)")
        self.within_long_words(result)
        path = result["structuredContent"]["full_output_path"].removeprefix("/mnt/data/")
        self.assertEqual(self.content(path), b"x" * 3_000_000 + b"y" * 10 + b"\n")

    def within_long_words(self, result):
        size = len(json.dumps([result["content"], result["structuredContent"]]).encode())
        self.assertLess(size, TEXT_MAX)

    # ---- a figure of 20 megapixels

    def test_a_figure_of_20_megapixels(self):
        result, run = self.run_code("import matplotlib.pyplot as plt\n"
                                    "plt.figure(figsize=(66, 54), dpi=100)\nplt.plot([1, 4, 9])\nplt.show()")
        (small,) = self.within(result)
        self.assertEqual(max(image_size(small)), IMAGE_EDGE)
        (link,) = self.mcp.blocks(result, "resource_link")
        original = self.original(run, 0)
        width, height = image_size(original)
        self.assertGreater(width * height, 20_000_000)
        self.assertEqual(self.resource(link["uri"]), original)
        self.assertEqual(link["size"], len(original))

        with self.subTest("and as a file"):
            self.run_code("from PIL import Image\nImage.effect_noise((5000, 4000), 90).save('/mnt/data/noise.png')")
            result = self.mcp.call("read_file", path="noise.png")
            (small,) = self.within(result)
            self.assertEqual(image_size(small), (1024, 819))
            self.assertEqual((result["structuredContent"]["width"], result["structuredContent"]["height"]), (5000, 4000))
            (link,) = self.mcp.blocks(result, "resource_link")
            with self.assertRaises(RpcError) as refused:  # 19 MB in one message is too much, and it says what to do
                self.resource(link["uri"])
            self.assertIn("transfer_url", refused.exception.message)
            self.assertEqual(self.download("noise.png"), self.content("noise.png"))

    def test_a_figure_that_does_not_get_small(self):
        """Its PNG has more bytes than a run may show: that is said, and the reply is as small as ever."""
        result, _ = self.run_code("from PIL import Image\nImage.effect_noise((5000, 4000), 90)")
        self.assertEqual(self.within(result), [])
        self.assertIn("MiB left out: too large", self.mcp.text(result))

    def test_an_image_that_is_none_does_no_harm(self):
        result, run = self.run_code(
            "from IPython.display import display\n"
            "import struct, zlib\n"
            "def chunk(name, body): return struct.pack('>I', len(body)) + name + body + struct.pack('>I', zlib.crc32(name + body))\n"
            "head = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 60000, 60000, 8, 2, 0, 0, 0))\n"
            "display({'image/png': head + chunk(b'IDAT', zlib.compress(bytes(1000)))}, raw=True)\n"
            "display({'image/png': head[:16] + struct.pack('>II', 2000, 2000) + head[24:]}, raw=True)\n"
            "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
        (shown,) = self.within(result)  # the last, which is one
        self.assertEqual(len(self.mcp.blocks(result, "resource_link")), 3)
        self.assertEqual(self.original(run, 2), self.resource(f"run://{run}/displays/2"))
        self.assertTrue(self.original(run, 0).startswith(b"\x89PNG"))

    # ---- 50 figures

    def test_50_figures_in_one_run(self):
        result, run = self.run_code("import matplotlib.pyplot as plt\n"
                                    "for i in range(50):\n"
                                    "    plt.figure(figsize=(16, 12)); plt.plot(range(i + 2)); plt.title(f'figure {i}'); plt.show()",
                                    timeout_s=300)
        self.assertEqual(len(self.within(result)), IMAGES_MAX)
        self.assertEqual(result["structuredContent"]["image_count"], 50)
        links = self.mcp.blocks(result, "resource_link")
        self.assertEqual(len({link["uri"] for link in links}), 50)
        originals = [self.original(run, index) for index in range(50)]
        self.assertGreater(min(max(image_size(data)) for data in originals), IMAGE_EDGE)
        self.assertEqual(len(set(originals)), 50)
        self.assertEqual([self.resource(link["uri"]) for link in links], originals)

        seen = self.mcp.call("get_execution", execution_id=run)
        self.assertEqual(len(self.within(seen)), IMAGES_MAX)
        only = self.mcp.call("get_execution", execution_id=run, images="link")
        self.assertEqual((self.within(only), len(self.mcp.blocks(only, "resource_link"))), ([], 50))


class LargeModern(Large, unittest.TestCase):
    era = Modern


class LargeLegacy(Large, unittest.TestCase):
    era = Legacy


if __name__ == "__main__":
    unittest.main()
