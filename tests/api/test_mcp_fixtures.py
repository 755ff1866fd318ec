"""The fixtures of the conformance suite: only with the switch, only on this machine, instead of the product. And what the
suite does not look at, which they are good for: questions, streams and tasks whose client leaves, changes its mind or comes back."""
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import base
from mcp import Legacy, META, Modern, RpcError

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ASKED = {"elicitation": {}, "sampling": {}}
FOREVER = 600  # seconds that a test never waits for


def names(client):
    return {tool["name"] for tool in client.rpc("tools/list")["tools"]}


class Fixtures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = base.Server(arguments=["--conformance-fixtures"])
        cls.addClassCleanup(cls.server.close)

    def modern(self, **capabilities):
        return Modern(self.server, None, capabilities)

    def legacy(self, **capabilities):
        return Legacy(self.server, None, capabilities)

    def idle(self):
        """Until only the request that asks is being worked on."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            figures = base.Client(self.server).request("GET", "/metrics").body.decode()
            if int(re.search(r"^cicada_workers_busy (\d+)", figures, re.M)[1]) <= 1:
                return
        self.fail("a request goes on that nobody waits for")


class WithTheSwitch(Fixtures):
    def test_only_fixtures_are_listed_and_no_key_is_needed(self):
        listed = names(self.modern())
        self.assertIn("test_simple_text", listed)
        self.assertNotIn("run_code", listed)
        self.assertEqual(names(Modern(self.server, base.KEY)), listed)
        self.assertEqual(names(self.legacy()), listed)

    def test_a_tool_of_the_product_cannot_be_called(self):
        for key in (None, base.KEY):
            with self.assertRaises(RpcError) as caught:
                Modern(self.server, key).call("run_code", code="1")
            self.assertEqual(caught.exception.code, -32602)

    def test_a_fixture_answers(self):
        for client in (self.modern(), self.legacy()):
            self.assertEqual(client.call("greet", name="you")["content"], [{"type": "text", "text": "Hello, you!"}])

    def test_prompts_and_resources_are_those_of_the_fixtures(self):
        client = self.modern()
        self.assertTrue(all(item["name"].startswith("test_") for item in client.rpc("prompts/list")["prompts"]))
        self.assertTrue(all(item["uri"].startswith("test://") for item in client.rpc("resources/list")["resources"]))

    def test_there_is_nothing_to_get_without_a_session(self):
        for method in ("GET", "DELETE"):
            connection = self.modern().connect()
            connection.request(method, "/mcp")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))
            connection.close()

    def test_everything_else_still_needs_a_key(self):
        self.assertEqual(base.Client(self.server, None).get("/api/v1/sessions").status, 401)


class WithoutTheSwitch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = base.Server()
        cls.addClassCleanup(cls.server.close)

    def test_there_are_no_fixtures(self):
        listed = names(Modern(self.server))
        self.assertIn("run_code", listed)
        self.assertFalse([name for name in listed if name.startswith("test_") or name in ("greet", "slow_compute")])

    def test_a_fixture_cannot_be_called(self):
        with self.assertRaises(RpcError) as caught:
            Modern(self.server).call("greet", name="you")
        self.assertEqual(caught.exception.code, -32602)

    def test_a_key_is_needed(self):
        connection = Modern(self.server, None).connect()
        connection.request("POST", "/mcp", "{}", {"Content-Type": "application/json"})
        self.assertEqual(connection.getresponse().status, 401)
        connection.close()


class WhereItMayListen(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="cicada-api-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        os.chmod(self.dir, 0o755)

    def start(self, address, **settings):
        """(status, stderr) of a server that is expected to end by itself."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("CICADA_")}
        env.update(CICADA_API_KEY=base.KEY, CICADA_IMAGE_DIR="off", CICADA_SERVER_SOCKET="off", **settings)
        if os.geteuid() == 0:
            env["CICADA_SERVER_USER"] = str(base.USER)
        done = subprocess.run([base.CICADA, "serve", "--conformance-fixtures", *(["--listen", address] if address else []),
                               "--data", self.dir + "/data"],
                              env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    def test_an_address_that_others_reach_is_refused(self):
        status, said = self.start("0.0.0.0:0")
        self.assertEqual(status, 125, said)
        self.assertIn("--conformance-fixtures", said)
        self.assertNotIn("msg=ready", said)

    def test_one_of_several_is_enough_to_be_refused(self):
        status, said = self.start(None, CICADA_SERVER_LISTEN="127.0.0.1:0 0.0.0.0:0")
        self.assertEqual(status, 125, said)
        self.assertIn("0.0.0.0", said)

    def test_it_is_no_setting(self):
        with open(self.dir + "/cicada.conf", "w") as f:
            f.write("[server]\nconformance_fixtures = true\n")
        done = subprocess.run([base.CICADA, "serve", "--config", self.dir + "/cicada.conf"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)


class Questions(Fixtures):
    """In the era with sessions: the server asks, and its thread waits."""

    def asked(self):
        client = self.legacy(**ASKED)
        pending = client.start_call("test_elicitation", message="Who are you?")
        self.addCleanup(pending.close)
        question = pending.note("elicitation/create")
        self.assertEqual(question["params"]["message"], "Who are you?")
        return client, pending, question

    def test_the_answer_reaches_the_tool(self):
        client, pending, question = self.asked()
        client.respond(question, {"action": "accept", "content": {"username": "zoë", "email": "z@example.org"}})
        self.assertIn("zoë", client.text(pending.wait()))

    def test_another_session_cannot_answer(self):
        client, pending, question = self.asked()
        self.legacy(**ASKED).respond(question, {"action": "accept", "content": {"username": "eve"}})
        client.respond(question, {"action": "decline"})
        said = client.text(pending.wait())
        self.assertIn("decline", said)
        self.assertNotIn("eve", said)

    def test_a_refused_question_is_an_error_of_the_tool(self):
        client, pending, question = self.asked()
        status, _, _ = client.plain("POST", '{"jsonrpc":"2.0","id":"%s","error":{"code":-1,"message":"no"}}' % question["id"])
        self.assertEqual(status, 202)
        self.assertTrue(pending.wait()["isError"])

    def test_who_cancels_is_not_waited_for(self):
        client, pending, _ = self.asked()
        client.tell("notifications/cancelled", {"requestId": pending.message["id"]})
        self.idle()

    def test_the_end_of_the_session_ends_the_question(self):
        client, _, _ = self.asked()
        self.assertIn(client.close(), (200, 204))
        self.idle()

    def test_a_client_that_cannot_be_asked_is_told_so(self):
        for client in (self.modern(), self.legacy()):
            with self.assertRaises(RpcError) as caught:
                client.call("test_elicitation", message="Who are you?")
            self.assertEqual(caught.exception.data, {"requiredCapabilities": {"elicitation": {}}})

    def test_a_state_is_good_for_its_own_request_only(self):
        client = self.modern(**ASKED)
        state = client.rpc("tools/call", {"name": "test_input_required_result_request_state"})["requestState"]
        answers = {"inputResponses": {"confirm": {"action": "accept", "content": {"ok": True}}}, "requestState": state}
        with self.assertRaises(RpcError) as caught:
            client.rpc("tools/call", {"name": "test_input_required_result_tampered_state", **answers})
        self.assertEqual(caught.exception.code, -32602)
        done = client.rpc("tools/call", {"name": "test_input_required_result_request_state", **answers})
        self.assertEqual(client.text(done), "state-ok")


class Levels(Fixtures):
    """Of what is logged: as the client wants, in the era without sessions request by request."""

    def logged(self, level):
        meta = {META + "logLevel": level} if level else {}
        pending = self.modern().start("tools/call", {"name": "test_logging_tool", "_meta": meta})
        pending.wait()
        return [note["params"]["data"] for note in pending.notes if note["method"] == "notifications/message"]

    def test_what_is_below_the_level_is_not_told(self):
        self.assertEqual(self.logged(None), [])
        self.assertEqual(self.logged("warning"), [])
        self.assertEqual(len(self.logged("info")), 3)
        self.assertEqual(len(self.logged("debug")), 3)

    def test_a_level_that_is_none_is_refused(self):
        for level in ("loud", "", 3):
            with self.assertRaises(RpcError) as caught:
                self.modern().rpc("tools/list", {"_meta": {META + "logLevel": level}})
            self.assertEqual(caught.exception.code, -32602)

    def test_a_session_keeps_its_level(self):
        client = self.legacy()
        for level, count in (("error", 0), ("debug", 3)):
            client.rpc("logging/setLevel", {"level": level})
            pending = client.start_call("test_tool_with_logging")
            pending.wait()
            self.assertEqual(len([n for n in pending.notes if n["method"] == "notifications/message"]), count)


class Streams(Fixtures):
    def left(self):
        """A call whose stream has ended without the answer."""
        client = self.legacy()
        pending = client.start_call("test_reconnection")
        pending.thread.join(60)
        self.assertIsNone(pending.answer)
        return client, pending.message["id"], pending.last_id

    def test_the_answer_waits_for_whoever_comes_back(self):
        client, number, last = self.left()
        for _ in range(2):  # a connection may break again
            again = client.listen(last)
            self.assertEqual(client.text(again.wait()), "You came back.")
            self.assertEqual(again.answer["id"], number)

    def test_it_is_not_given_to_another_session(self):
        client, _, last = self.left()
        again = self.legacy().listen(last)
        again.thread.join(60)
        self.assertEqual(again.status, 404)
        self.assertEqual(client.text(client.listen(last).wait()), "You came back.")

    def test_an_id_that_is_none_is_refused(self):
        client, _, last = self.left()
        for wrong in ("x", "0", str(int(last) + (1 << 40)), "9" * 30, "-1"):
            again = client.listen(wrong)
            again.thread.join(60)
            self.assertIn(again.status, (400, 404), wrong)

    def begun(self, client):
        """A call that goes on and on, and a client that has heard of it."""
        pending = client.start_call("slow_compute", seconds=FOREVER, _meta={"progressToken": "p"})
        self.addCleanup(pending.close)
        pending.note("notifications/progress")
        return pending

    def test_who_hangs_up_without_a_session_cancels(self):
        self.begun(self.modern()).close()
        self.idle()

    def test_who_hangs_up_in_a_session_does_not_cancel_but_may_say_so(self):
        client = self.legacy()
        pending = self.begun(client)
        pending.close()
        again = client.listen(pending.last_id)
        self.addCleanup(again.close)
        client.tell("notifications/cancelled", {"requestId": pending.message["id"]})
        self.idle()
        again.thread.join(60)
        self.assertFalse(again.thread.is_alive())

    def test_a_server_that_stops_waits_for_none_of_them(self):
        server = base.Server(arguments=["--conformance-fixtures"], settings={"server.drain_s": 1})
        legacy, modern = Legacy(server, None, ASKED), Modern(server, None, TASKS)
        modern.call("slow_compute", seconds=FOREVER)
        going = [legacy.start_call("test_elicitation", message="?"), legacy.start_call("slow_compute", seconds=FOREVER),
                 Modern(server, None).start_call("slow_compute", seconds=FOREVER),
                 modern.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}}),
                 legacy.listen(), legacy.start_call("test_reconnection")]
        going[0].note("elicitation/create")
        going[3].note("notifications/subscriptions/acknowledged")
        going[5].thread.join(60)
        begun = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begun, 30)
        for pending in going:
            pending.close()
        server.close()


class Tasks(Fixtures):
    """That whoever listens is told what becomes of a task."""

    def begin(self, tool, **arguments):
        self.client = Modern(self.server, None, TASKS)
        result = self.client.call(tool, **arguments)
        self.assertEqual(result["resultType"], "task", result)
        return result["taskId"]

    def listen(self, task):
        listening = Modern(self.server, None, TASKS).start("subscriptions/listen", {"notifications": {"taskIds": [task]}})
        self.addCleanup(listening.close)
        first = listening.note("notifications/subscriptions/acknowledged")
        self.assertEqual(first["params"]["notifications"]["taskIds"], [task])
        return listening

    def told(self, listening, is_it):
        """The first task told of that is it."""
        def find():
            return next((n["params"] for n in listening.notes if n["method"] == "notifications/tasks" and is_it(n["params"])), None)
        with listening.changed:
            listening.changed.wait_for(lambda: find() or not listening.thread.is_alive(), 60)
            self.assertTrue(find(), listening.notes)
            self.assertEqual(find()["_meta"][META + "subscriptionId"], listening.message["id"])
            return find()

    def test_a_cancelled_task_is_told_of(self):
        task = self.begin("slow_compute", seconds=FOREVER)
        listening = self.listen(task)
        self.assertEqual(self.client.rpc("tasks/cancel", {"taskId": task})["resultType"], "complete")
        self.assertEqual(self.told(listening, lambda t: t["status"] == "cancelled")["taskId"], task)

    def test_questions_and_the_result_are_told_of(self):
        task = self.begin("multi_input")
        listening = self.listen(task)
        while self.client.rpc("tasks/get", {"taskId": task})["status"] == "working":
            pass
        yes = {"action": "accept", "content": {"confirm": True}}
        self.client.rpc("tasks/update", {"taskId": task, "inputResponses": {"first": yes}})
        self.told(listening, lambda t: t["status"] == "input_required" and list(t["inputRequests"]) == ["second"])
        self.client.rpc("tasks/update", {"taskId": task, "inputResponses": {"second": yes}})
        done = self.told(listening, lambda t: t["status"] == "completed")
        self.assertEqual(done["result"]["content"][0]["text"], "both questions were answered")

    def test_the_task_of_another_is_not_told_of(self):
        other, mine = self.begin("slow_compute", seconds=FOREVER), self.begin("slow_compute", seconds=FOREVER)
        listening = self.listen(mine)
        for task in (other, mine):
            self.client.rpc("tasks/cancel", {"taskId": task})
        self.told(listening, lambda t: t["taskId"] == mine)
        self.assertFalse([n for n in listening.notes if n["params"].get("taskId") == other])


if __name__ == "__main__":
    unittest.main()
