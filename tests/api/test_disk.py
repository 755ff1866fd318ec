"""What lies in the data directory beside the store: images, sleeping sessions, working copies, and what becomes of them."""
import datetime
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from base import IMAGES, USER, ApiTest, Client, Server, eventually


def bytes_of(*trees):
    """That all of them together take on the disk, each inode once: what `du` says."""
    seen = {}
    for tree in trees:
        for folder, _, names in os.walk(tree):
            for name in [".", *names]:
                st = os.lstat(os.path.join(folder, name))
                seen[st.st_dev, st.st_ino] = st.st_blocks * 512
    return sum(seen.values())


def fresh(client):
    """What the server says that its directories take, measured from now on."""
    asked = datetime.datetime.now(datetime.timezone.utc)

    def measured():
        places = client.ok("GET", "/api/v1/store")["places"]
        at = places["measured_at"]
        return at and datetime.datetime.fromisoformat(at) > asked and places
    return eventually(measured)


class Figures(ApiTest):
    def test_what_lies_beside_the_store_is_told(self):
        data = pathlib.Path(self.server.data, "data")
        before = fresh(self.client)
        session = self.client.session()
        self.client.run(session, "open('big', 'wb').write(b'z' * 3_000_000)")
        places = fresh(self.client)
        self.assertEqual(set(places), {"images", "sleepers", "checkouts", "live", "uploads", "tmp", "measured_at"})
        self.assertGreaterEqual(places["live"], before["live"] + 3_000_000)
        for place in ("live", "checkouts", "uploads", "tmp"):
            self.assertLess(abs(places[place] - bytes_of(data / place)), 100_000, place)
        text = self.client.get("/metrics").body.decode()
        self.assertIn(f'\ncicada_place_bytes{{place="live"}} {places["live"]}\n', text)
        self.client.ok("DELETE", "/api/v1/sessions/" + session, status=204)
        self.assertLess(fresh(self.client)["live"], places["live"] - 3_000_000 + 100_000)

    def test_what_may_not_be_looked_into_hides_nothing_else(self):
        session = self.client.session()
        self.client.run(session, "import os; os.mkdir('shut'); os.chmod('shut', 0); open('big', 'wb').write(b'z' * 3_000_000)")
        self.assertGreater(fresh(self.client)["live"], 3_000_000)


class Damage(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.client = Client(self.server)
        self.sleepers = pathlib.Path(self.server.data, "data", "sleepers")

    def test_a_damaged_sleeper_is_told_to_the_operator(self):
        hurt, well = self.client.session(), self.client.session()
        for session in (hurt, well):
            self.client.run(session, "x = list(range(1000))")
        self.client.close()
        self.server.stop()
        with open(self.sleepers / (hurt + ".sleep"), "r+b") as file:
            file.seek(-1, os.SEEK_END)
            byte = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([byte[0] ^ 1]))
        self.server.lines.clear()
        Client.schemas.clear()
        self.server.start()
        self.client = Client(self.server)
        self.assertIn("\ncicada_sessions_not_woken_total 0\n", self.client.get("/metrics").body.decode())
        run = self.client.run(hurt, "print('x' in globals())")
        self.assertEqual((run["state"], run["stdout"]), ("lost", "False\n"))
        self.assertIn("damaged", run["hint"])
        self.assertEqual(self.client.run(well, "len(x)")["state"], "woken")
        self.assertIn("\ncicada_sessions_not_woken_total 1\n", self.client.get("/metrics").body.decode())
        (line,) = [line for line in self.server.lines if "what was kept of a session cannot be used" in line]
        self.assertIn("level=warn", line)
        self.assertIn(hurt, line)
        self.assertIn("hash is wrong", line)
        self.assertTrue((self.sleepers / (hurt + ".bad")).exists())
        self.client.ok("DELETE", "/api/v1/sessions/" + hurt, status=204)
        self.assertFalse((self.sleepers / (hurt + ".bad")).exists())


@unittest.skipIf(IMAGES == "off", "needs an image")
class Images(unittest.TestCase):
    """With a directory of images of their own, in the data directory, where the server has it by itself."""

    def setUp(self):
        self.server = Server(settings={"image.dir": "off"})
        self.addCleanup(self.server.close)
        self.server.stop()
        self.server.settings["image.dir"] = ""
        self.data = pathlib.Path(self.server.data, "data")
        self.images, self.beside = self.data / "images", self.data / "sleepers" / "images"
        shutil.rmtree(self.images, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", IMAGES, self.images], check=True)
        for path in [self.images, *self.images.iterdir()]:
            os.chown(path, *(2 * [USER] if os.geteuid() == 0 else [-1, -1]))
        self.start()

    def start(self):
        self.server.lines.clear()
        Client.schemas.clear()
        self.server.start()
        self.client = Client(self.server)
        eventually(self.starts_from_the_image, 120)

    def starts_from_the_image(self):
        session = self.client.session()
        is_baked = self.client.ok("GET", "/api/v1/sessions/" + session)["baked"]
        self.client.ok("DELETE", "/api/v1/sessions/" + session, status=204)
        return is_baked

    def asleep(self, code):
        session = self.client.session()
        self.client.run(session, code)
        self.client.ok("POST", f"/api/v1/sessions/{session}/sleep")
        return session

    def wakes(self, session, code, result):
        run = self.client.run(session, code)
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", result), run)

    def test_removing_the_images_keeps_sessions_that_sleep(self):
        session, other = self.asleep("x = 7"), self.asleep("x = 8")
        (image,) = self.images.glob("*.img")
        eventually(lambda: (self.beside / image.name).exists())
        self.assertEqual(os.stat(self.beside / image.name).st_ino, os.stat(image).st_ino)
        self.assertEqual(len(list(self.beside.glob("*.img"))), 1)
        self.assertLess(bytes_of(self.images, self.beside), bytes_of(self.images) + 200_000)
        whole = bytes_of(self.images, self.data / "sleepers")
        places = fresh(self.client)
        self.assertLess(abs(places["images"] + places["sleepers"] - whole), 100_000)
        self.assertLess(places["sleepers"], 20 << 20)
        shutil.rmtree(self.images)
        self.assertGreater(fresh(self.client)["sleepers"], 200 << 20)
        self.wakes(session, "x", "7")
        self.server.stop()
        self.start()
        self.wakes(other, "x", "8")
        self.assertIn("msg=ready", self.server.log())
        self.assertNotIn("msg=baked", self.server.log())  # the one that is there is used again
        self.assertEqual([path.name for path in self.images.glob("*.img")], [image.name])


@unittest.skipIf(IMAGES == "off", "needs a host that can use images")
class Baking(unittest.TestCase):
    def test_a_server_that_is_told_to_end_does_not_wait_for_its_image(self):
        server = Server(settings={"image.dir": ""})
        self.addCleanup(server.close)
        images = pathlib.Path(server.data, "data", "images")
        eventually(lambda: "msg=baking" in server.log() and (images / "image.tmp").exists())
        begun = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begun, 2)
        self.assertEqual(list(images.iterdir()), [])
        self.assertNotIn("no image", server.log())


if __name__ == "__main__":
    unittest.main()
