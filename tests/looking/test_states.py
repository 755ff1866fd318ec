"""Looking neither wakes a session nor waits behind its runs, unless it is asked to; and what it costs nobody."""
import concurrent.futures
import time
import unittest

from base import IMAGES, Client, eventually
from mcp import Modern
from objects import CODE, Looking

ONE = "/api/v1/sessions/"
MOMENT_S = 2  # what is answered at once takes some milliseconds; a run that is waited for, longer than this


sleeps = unittest.skipIf(IMAGES == "off", "without an image no session sleeps")


class States(Looking):
    def session(self, **wishes):
        """Gone when the test is: a server that stops would save what these hold."""
        session = self.client.session(**wishes)
        self.addCleanup(lambda: self.client.ok("DELETE", ONE + session, status=204))
        return session

    def variables(self, session, query="", status=200):
        return self.client.ok("GET", ONE + session + "/variables" + query, status=status)

    def listed(self, session, query=""):
        return {v["name"]: v for v in self.variables(session, query)["variables"]}

    def complete(self, session, code="app", **more):
        return self.client.ok("POST", ONE + session + "/complete", {"code": code, **more})

    def status(self, session):
        return self.client.ok("GET", ONE + session)["status"]

    @sleeps
    def test_a_sleeper_is_not_woken(self):
        session = self.session()
        self.client.run(session, "apples = 3")
        self.client.ok("POST", ONE + session + "/sleep")
        told = self.variables(session)
        self.assertEqual((told["status"], told["is_current"], told["count"]), ("asleep", False, 1))
        self.assertEqual(told["variables"][0]["repr"], "3")
        self.assertTrue(told["as_of"])
        told = self.complete(session)
        self.assertEqual((told["status"], told["is_current"], told["matches"]), ("asleep", False, []))
        self.assertEqual((told["cursor_start"], told["cursor_end"]), (3, 3))
        told = self.client.ok("POST", ONE + session + "/inspect", {"code": "apples"})
        self.assertEqual((told["status"], told["found"]), ("asleep", False))
        tool = Modern(self.server).call("manage_session", action="variables", session_id=session)
        self.assertIn("asleep", tool["structuredContent"]["status"])
        self.assertEqual(self.status(session), "asleep")

    @sleeps
    def test_a_sleeper_is_woken_when_asked_to(self):
        session = self.session()
        self.client.run(session, "apples = 3")
        self.client.ok("POST", ONE + session + "/sleep")
        self.assertEqual(self.complete(session, wake=True)["matches"], ["apples"])
        self.client.ok("POST", ONE + session + "/sleep")
        told = self.variables(session, "?wake=true")
        self.assertEqual((told["status"], told["is_current"]), ("idle", True))
        self.client.ok("POST", ONE + session + "/sleep")
        tool = Modern(self.server).call("manage_session", action="variables", session_id=session, wake=True)
        self.assertEqual(tool["structuredContent"]["status"], "idle")
        self.assertEqual(self.client.run(session, "apples")["result"]["text/plain"], "3")

    def test_one_that_has_nothing_is_not_started(self):
        session = self.session()
        self.client.run(session, "apples = 3")
        self.client.ok("POST", ONE + session + "/restart")
        told = self.variables(session)
        self.assertEqual((told["variables"], told["is_current"]), ([], True))
        self.assertEqual(self.complete(session, "pri")["is_current"], False)
        self.assertEqual(self.complete(session, "pri", wake=True)["matches"], ["print"])

    def test_a_run_is_not_waited_for(self):
        session = self.session()
        self.client.run(session, "apples = 3")
        self.variables(session)
        run = self.client.run(session, "import time; pears = 4; time.sleep(60)", 202, background=True)
        eventually(lambda: self.status(session) == "running")
        began = time.monotonic()
        told = self.variables(session)
        self.assertEqual((told["status"], told["is_current"]), ("running", False))
        self.assertEqual([v["name"] for v in told["variables"]], ["apples"])
        self.assertEqual(self.complete(session)["status"], "running")
        self.assertLess(time.monotonic() - began, MOMENT_S)
        self.client.ok("POST", f"/api/v1/runs/{run['id']}/cancel")

    def test_a_run_is_waited_for_when_asked_to(self):
        session = self.session()
        run = self.client.run(session, "import time; time.sleep(1); pears = 4", 202, background=True)
        eventually(lambda: self.status(session) == "running")
        self.assertEqual(self.listed(session, "?wait=true")["pears"]["repr"], "4")
        self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{run['id']}?wait_s=9")["end"], "ok")

    @sleeps
    def test_being_looked_at_is_no_use(self):
        session = self.session(idle_s=2)
        self.client.run(session, "apples = 3")

        def falls_asleep():
            self.variables(session)
            return self.status(session) == "asleep"

        eventually(falls_asleep, 20)
        self.assertEqual(self.listed(session)["apples"]["repr"], "3")

    def test_many_look_at_once(self):
        session = self.session()
        self.client.run(session, CODE + "\nnice = Nice()")
        clients = [Client(self.server) for _ in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda c: c.ok("GET", ONE + session + "/variables"), clients))
        for answer in answers:
            self.assertTrue(answer["is_current"])
            self.assertEqual([v["repr"] for v in answer["variables"] if v["name"] == "nice"], ["nice"])

    def test_a_thread_that_keeps_python_to_itself(self):
        session = self.session()
        self.client.run(session, CODE + "\nlibc = ctypes.PyDLL(None)\nthreading.Thread(target=lambda: time.sleep(0.2) or libc.sleep(7)).start()")
        time.sleep(0.5)
        began = time.monotonic()
        self.fails(self.client.get(ONE + session + "/variables"), 409, "busy")
        self.fails(self.client.get(ONE + session + "/variables"), 409, "busy")
        self.assertLess(time.monotonic() - began, 7)
        run = self.client.run(session, "born == os.getpid()")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("kept", "True"))
        self.assertIn("born", self.listed(session))

    def test_threads_of_the_session_and_of_libraries(self):
        session = self.session()
        self.client.run(session, CODE + "\nimport numpy as np\na = np.ones((700, 700)); b = a @ a\nover = threading.Event()\n"
                        "t = threading.Thread(target=over.wait); t.start()\nnice = Nice()\nh = hostile(spin)")
        for _ in range(2):
            listed = self.listed(session)
            self.assertEqual(listed["nice"]["repr"], "nice")
            self.assertEqual(listed["b"]["shape"], [700, 700])
            self.assertIn("gave_up", listed["h"])
            self.client.run(session, "over.set(); t.join(); b = a @ a")

    def test_one_that_has_used_up_its_memory_is_told_by_what_is_known(self):
        session = self.session(limits={"memory_mb": 300})
        self.client.run(session, CODE + "\nimport pandas as pd, numpy as np\nframe = pd.DataFrame({'x': np.ones(10), 'y': 1})\n"
                        "full = bytearray(b'x') * (150 << 20)\nnice = Nice()\nh = hostile(grow)\nnumbers = [1, 2, 3]")
        listed = self.listed(session)
        self.assertEqual((listed["frame"]["shape"], listed["frame"]["repr"]), ([10, 2], "10 rows x 2 columns"))
        self.assertEqual(listed["numbers"]["repr"], "[1, 2, 3]")
        self.assertEqual((listed["nice"]["type"], listed["nice"]["repr"]), ("Nice", "<Nice>"))
        self.assertIn("memory", listed["nice"]["gave_up"])
        self.assertIn("x", self.complete(session, "frame['")["matches"])
        self.assertEqual(self.client.run(session, "born == os.getpid(), len(full)")["state"], "kept")

    def test_one_that_may_start_no_process(self):
        session = self.session(limits={"pids": 12})
        self.client.run(session, CODE + "\nnice = Nice()\nchildren = []\ntry:\n    while True: children.append(subprocess.Popen(['sleep', '60']))\n"
                        "except OSError: pass")
        listed = self.listed(session)
        self.assertIn("gave_up", listed["nice"])
        self.assertEqual(listed["nice"]["type"], "Nice")
        self.assertEqual(self.client.run(session, "[c.kill() or c.wait() for c in children]; born == os.getpid()")["state"], "kept")
        self.assertEqual(self.listed(session)["nice"]["repr"], "nice")

    @sleeps
    def test_snapshots_and_sleep_are_as_before(self):
        session = self.session(snapshots=2)
        self.client.run(session, CODE + "\nwide.close()  # what is shared cannot be in a snapshot\nx = 1\nnice = Nice()")
        self.listed(session)
        self.client.run(session, "x = 2")
        self.listed(session)
        self.client.ok("POST", ONE + session + "/rollback", {"steps": 1})
        listed = self.listed(session)
        self.assertEqual((listed["x"]["repr"], listed["nice"]["repr"]), ("1", "nice"))
        self.client.ok("POST", ONE + session + "/sleep")
        run = self.client.run(session, "x")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "1"))
        self.assertEqual(self.listed(session)["nice"]["repr"], "nice")
