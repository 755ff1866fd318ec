"""What the tests of working copies have in common."""
import hashlib
import os
import pathlib

from base import Client, eventually
from files import FilesTest

MIB = 1 << 20
ONE = "/api/v1/sessions/"


def blocks(path):
    """Bytes on disk below it, each inode once."""
    seen, total = set(), 0
    for top, names, files in os.walk(path):
        for name in names + files:
            st = os.lstat(os.path.join(top, name))
            if (st.st_dev, st.st_ino) not in seen:
                seen.add((st.st_dev, st.st_ino))
                total += st.st_blocks * 512
    return total


def big(size):
    """Bytes that no file system and no store makes smaller, quickly."""
    piece = b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(MIB // 32))
    return b"".join(i.to_bytes(8, "little") + piece[8:] for i in range(size // MIB))


def can_sleep(client):
    """Not before the server has looked whether its image is whole: what began earlier has none."""
    made = client.session()
    client.run(made, "1")
    answer = client.post(f"{ONE}{made}/sleep", {})
    client.ok("DELETE", ONE + made, status=204)
    return answer.status == 200


class CopiesTest(FilesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        eventually(lambda: can_sleep(Client(cls.server)))

    def setUp(self):
        super().setUp()
        self.workspace = self.ws.rpartition("/")[2]
        self.live = pathlib.Path(self.server.data, "data", "live")
        self.checkouts = pathlib.Path(self.server.data, "data", "checkouts", self.workspace)

    def session(self, **wishes):
        made = self.client.session(workspace=self.workspace, idle_s=3600, **wishes)
        self.addCleanup(lambda: Client(self.server).request("DELETE", ONE + made))
        return made

    def run_in(self, session, code, end="ok", **more):
        run = self.client.run(session, code, **more)
        self.assertEqual(run["end"], end, run)
        return run

    def value(self, session, code):
        return eval(self.run_in(session, code)["result"]["text/plain"])

    def sleep(self, session):
        self.client.ok("POST", f"{ONE}{session}/sleep", {})
        self.assertEqual(self.status(session), "asleep")

    def status(self, session):
        return self.client.ok("GET", ONE + session)["status"]

    def cost(self, *sessions):
        return sum(blocks(self.live / s) for s in sessions)

    def all_cost(self, sessions):
        return self.cost(*sessions) + blocks(self.checkouts)

    def layers(self, session):
        return (self.live / session / "work").exists()
