"""A server of the user's own is started when there is none. Only with CICADA_TEST_SERVER=real."""
import os
import signal
import socket
import struct
import unittest

from harness import Case
from served import IS_REAL


@unittest.skipUnless(IS_REAL, "starts the real server")
@unittest.skipIf(os.path.exists("/run/cicada/cicada.sock"), "this machine has a server of its own")
class Started(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.place, 0o711)
        (self.place / "run").mkdir(mode=0o700)
        self.socket = self.place / "run/cicada/cicada.sock"

    def tearDown(self):
        pid = self.server()
        if pid:
            os.kill(pid, signal.SIGTERM)
        super().tearDown()

    def environment(self, **more):
        env = super().environment(CICADA_SERVER_DATA=str(self.place / "data"), **more)
        del env["CICADA_SOCKET"]
        return env

    def server(self):
        """The process that listens; 0: nobody does."""
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(str(self.socket))
            except OSError:
                return 0
            return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def test_one_is_started_and_used_again(self):
        ran = self.cicada("run", "--server", "-s", "work", "-c", "x = 7")
        self.assertEqual(0, ran.code, ran)
        self.assertIn("starting a server", ran.err)
        first = self.server()
        ran = self.cicada("run", "-s", "work", "-c", "x")
        self.assertEqual((0, "7\n", ""), (ran.code, ran.out, ran.err))
        self.assertEqual(first, self.server())
        self.assertEqual(0o700, os.stat(self.socket.parent).st_mode & 0o777)

    def test_run_alone_starts_none(self):
        ran = self.cicada("run", "-c", "6 * 7")
        self.assertEqual((0, "42\n", ""), (ran.code, ran.out, ran.err))
        self.assertEqual(0, self.server())

    def test_many_at_once_end_up_with_one(self):
        many = [self.start("sessions", "create") for _ in range(5)]
        for child in many:
            ran = self.finish(child)
            self.assertEqual(0, ran.code, ran)
        ran = self.cicada("sessions", "ls")
        self.assertEqual(5, len(ran.out.splitlines()), ran)

    def test_it_does_not_die_with_its_terminal(self):
        child = self.start("sessions", "ls", start_new_session=True)
        self.assertEqual(0, self.finish(child).code)
        self.assertTrue(self.server())
        self.assertNotEqual(child.pid, os.getsid(self.server()))

    def test_one_that_cannot_start_is_told_with_its_reason(self):
        (self.place / "data").write_text("a file where the directory should be")
        ran = self.cicada("sessions", "ls")
        self.assertEqual(125, ran.code, ran)
        self.assertIn("the server that was started ended at once", ran.err)
        self.assertIn("server.log", ran.err)
