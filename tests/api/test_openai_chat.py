"""Models and Chat Completions of the OpenAI door: passed on to the model's endpoint, or answered by the agent."""
import json
import pathlib
import socket
import threading
import time
import unittest

from base import KEY, ApiTest, Client, Server, eventually
from upstream import KEY as UPSTREAM_KEY, Upstream

def script(*steps, text="Do it."):
    return {"role": "user", "content": text + "\n#script\n" + json.dumps(steps)}


class ChatTest(ApiTest):
    """A server with a model."""

    upstream_wishes = {}
    more = {}

    @classmethod
    def setUpClass(cls):
        cls.up = Upstream(key=UPSTREAM_KEY, **cls.upstream_wishes)
        cls.settings = {"model.url": cls.up.url, "model.key": UPSTREAM_KEY, "model.name": "scripted-1", **cls.more}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        try:
            super().tearDownClass()
        finally:
            cls.up.close()
        assert UPSTREAM_KEY not in cls.server.log(), "the key is in the log"

    def setUp(self):
        super().setUp()
        self.client.check = lambda *_: None  # this door has no schema of ours

    def chat(self, *messages, status=200, path="/v1/chat/completions", **more):
        answer = self.client.post(path, {"model": "m", "messages": list(messages), **more})
        self.assertEqual(answer.status, status, answer.body)
        self.assertNotIn(UPSTREAM_KEY.encode(), answer.body)
        return answer.json

    def lines(self, *messages, **more):
        """The data of each event."""
        connection = self.client.connect()
        self.addCleanup(connection.close)
        connection.request("POST", "/v1/chat/completions", json.dumps({"model": "m", "messages": list(messages), "stream": True,
                                                                       **more}),
                           {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"})
        response = connection.getresponse()
        self.assertEqual(response.status, 200, response.headers)
        self.assertTrue(response.headers["Content-Type"].startswith("text/event-stream"))
        for line in response:
            self.assertFalse(line.startswith(b"event:"), line)
            if line.startswith(b"data: "):
                yield line[6:].decode().rstrip("\n")

    def chunks(self, *messages, **more):
        lines = list(self.lines(*messages, **more))
        self.assertEqual(lines[-1], "[DONE]")
        return [json.loads(line) for line in lines[:-1]]

    def refused(self, answer, status, code, param=None):
        self.assertEqual(answer.status, status, answer.body)
        error = answer.json["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual((error["code"], error["param"]), (code, param))
        self.assertTrue(error["message"])
        self.assertNotIn(self.server.data, error["message"])
        self.assertNotIn(UPSTREAM_KEY, error["message"])
        return error


def content_of(chunks):
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])


class Models(ChatTest):
    def test_models_of_the_endpoint_are_listed(self):
        for prefix in ("/v1", "/openai/v1"):
            listed = self.client.ok("GET", prefix + "/models")
            self.assertEqual(listed["object"], "list")
            self.assertEqual([m["id"] for m in listed["data"]], ["scripted-1", "lab/scripted-2"])
            self.assertEqual(listed["data"][0], {"id": "scripted-1", "object": "model", "created": 1686935002,
                                                 "owned_by": "tests"})

    def test_one_is_found_also_with_a_slash_in_its_name(self):
        self.assertEqual(self.client.ok("GET", "/v1/models/scripted-1")["id"], "scripted-1")
        self.assertEqual(self.client.ok("GET", "/v1/models/lab%2Fscripted-2")["id"], "lab/scripted-2")
        self.assertEqual(self.client.ok("GET", "/v1/models/lab/scripted-2")["id"], "lab/scripted-2")

    def test_one_that_is_not_there(self):
        error = self.refused(self.client.get("/v1/models/gpt-nope"), 404, "model_not_found", "model")
        self.assertIn("gpt-nope", error["message"])

    def test_a_key_is_needed(self):
        client = Client(self.server, "cik_" + "x" * 36)
        client.check = lambda *_: None
        self.refused(client.get("/v1/models"), 401, "invalid_api_key")
        client.close()


class PassedOn(ChatTest):
    def test_the_answer_is_the_endpoints(self):
        answer = self.chat({"role": "user", "content": "Hi 😀"}, temperature=0.25, unknown_to_us={"a": [1]})
        self.assertEqual(answer["choices"][0]["message"]["content"], "You said: Hi 😀")
        self.assertEqual(answer["object"], "chat.completion")
        sent = self.up.requests[-1]
        self.assertEqual(sent["path"], "/v1/chat/completions")
        self.assertEqual(sent["headers"]["Authorization"], "Bearer " + UPSTREAM_KEY)
        self.assertEqual(sent["body"], {"model": "m", "messages": [{"role": "user", "content": "Hi 😀"}], "temperature": 0.25,
                                        "unknown_to_us": {"a": [1]}})

    def test_our_model_is_filled_in(self):
        for more in ({}, {"model": None}, {"model": ""}, {"code_interpreter": False}):
            body = {"messages": [{"role": "user", "content": "Hi"}], **more}
            answer = self.client.post("/openai/v1/chat/completions", body)
            self.assertEqual(answer.status, 200, answer.body)
            self.assertEqual(self.up.bodies[-1], {"messages": body["messages"], "model": "scripted-1"})

    def test_a_stream_stays_one(self):
        chunks = self.chunks(script({"say": "Grüße, 世界! 😀" * 20, "chunk": 3}), stream_options={"include_usage": True})
        self.assertEqual(content_of(chunks), "Grüße, 世界! 😀" * 20)
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertIn("usage", chunks[-1])

    def test_it_comes_as_it_comes(self):
        """The first event is there while the endpoint still waits."""
        lines = self.lines(script({"say": "ab" * 600, "hang": 60, "at": "middle"}))
        self.assertIn("assistant", next(lines))

    def test_calls_of_functions_are_the_callers(self):
        answer = self.chat(script({"calls": [{"name": "f", "arguments": {"a": 1}}]}),
                           tools=[{"type": "function", "function": {"name": "f"}}])
        call = answer["choices"][0]["message"]["tool_calls"][0]
        self.assertEqual(call["function"], {"name": "f", "arguments": '{"a": 1}'})
        self.assertEqual(answer["choices"][0]["finish_reason"], "tool_calls")

    def test_errors_of_the_endpoint_are_passed_on(self):
        for status in (400, 404, 422, 429, 500, 503):
            before = len(self.up.requests)
            error = self.chat(script({"status": status}), status=status)["error"]
            self.assertIn(f"status {status} by the script", error["message"])
            self.assertEqual(len(self.up.requests), before + 1, "it is the client's to try again")

    def test_a_status_that_http_does_not_know_is_a_failure(self):
        for status in (600, 799, 999):
            error = self.chat(script({"status": status}), status=503)["error"]
            self.assertEqual(error["message"], f"the model's endpoint fails ({status})")
        self.chat({"role": "user", "content": "Still there?"})

    def test_an_error_that_shows_the_key_is_passed_on_without(self):
        error = self.chat(script({"status": 400, "body": {"error": {"message": f"bad {UPSTREAM_KEY}!"}}}), status=400)["error"]
        self.assertEqual(error["message"], "bad ***!")

    def test_an_answer_that_shows_the_key_is_passed_on_without(self):
        answer = self.chat(script({"say": f"<{UPSTREAM_KEY}> {UPSTREAM_KEY[:-1]}", "chunk": 5}))
        self.assertEqual(answer["choices"][0]["message"]["content"], f"<***> {UPSTREAM_KEY[:-1]}")

    def test_bodies_that_are_none(self):
        self.refused(self.client.post("/v1/chat/completions", {"model": "m"}), 400, "missing_required_parameter", "messages")
        self.refused(self.client.request("POST", "/v1/chat/completions", raw="{", headers={"Content-Type": "application/json"}),
                     400, None)
        self.refused(self.client.get("/v1/chat/completions"), 405, "method_not_supported")

    def test_a_key_without_the_scope_is_refused(self):
        made = self.client.ok("POST", "/api/v1/keys", {"name": "reader", "scopes": ["files:read"]}, 201)
        client = Client(self.server, made["secret"])
        client.check = lambda *_: None
        self.assertEqual(client.post("/v1/chat/completions", {"messages": []}).status, 403)
        self.assertEqual(client.get("/v1/models").status, 403)
        client.close()

    def test_a_cut_off_stream_ends_with_an_error(self):
        lines = list(self.lines(script({"say": "x" * 3000, "cut": True})))
        self.assertIn("middle of its answer", json.loads(lines[-1])["error"]["message"])

    def hang_up(self, body):
        """How long the endpoint goes on after a client has left."""
        self.assertEqual(self.up.active, 0)
        before = self.up.hangups
        raw = json.dumps(body).encode()
        client = socket.create_connection(self.server.address)
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
                       b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (KEY.encode(), len(raw), raw))
        eventually(lambda: self.up.active == 1)
        left = time.time()
        client.close()
        eventually(lambda: self.up.hangups == before + 1)
        return self.up.hangup_times[-1] - left

    def test_a_client_that_leaves_ends_the_call(self):
        for more in ({"stream": True}, {}):
            body = {"messages": [script({"hang": 60, "say": "late"})], **more}
            self.assertLess(self.hang_up(body), 1)
        body = {"messages": [script({"say": "x" * 5000, "hang": 60, "at": "middle"})], "stream": True}
        self.assertLess(self.hang_up(body), 1)

    def test_a_hundred_at_once(self):
        message = script({"say": "Grüße " * 200})
        problems = []

        def one(number):
            client = Client(self.server)
            try:
                connection = client.connect()
                connection.request("POST", "/v1/chat/completions", json.dumps({"messages": [message], "stream": True}),
                                   {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"})
                text = connection.getresponse().read().decode()
                lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
                if lines[-1] != "[DONE]" or content_of(json.loads(line) for line in lines[:-1]) != "Grüße " * 200:
                    problems.append(text[-300:])
                connection.close()
            except Exception as problem:  # pylint: disable=broad-except
                problems.append(repr(problem))

        threads = [threading.Thread(target=one, args=(n,)) for n in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


class WrongKey(ChatTest):
    """The endpoint does not take our key, and shows it in its answer."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.up.key = "another"

    def test_nobody_is_shown_it(self):
        for answer in (self.client.get("/v1/models"),
                       self.client.post("/v1/chat/completions", {"messages": []}),
                       self.client.post("/v1/chat/completions", {"messages": [], "stream": True}),
                       self.client.post("/v1/chat/completions", {"messages": [script({"say": "x"})], "code_interpreter": True})):
            error = self.refused(answer, 503, answer.json["error"]["code"])
            self.assertIn("model.key", error["message"])


class NoModel(ApiTest):
    def test_it_is_said_what_to_set(self):
        self.client.check = lambda *_: None
        for answer in (self.client.get("/v1/models"), self.client.get("/v1/models/x"),
                       self.client.post("/v1/chat/completions", {"messages": []})):
            self.assertEqual((answer.status, answer.code), (503, "model_not_configured"))
            for words in ("[model]", "url", "name", "http://127.0.0.1:11434/v1"):
                self.assertIn(words, answer.json["error"]["message"])


class NobodyThere(ApiTest):
    settings = {"model.url": "http://127.0.0.1:1/v1", "model.name": "m", "model.retries": "0"}

    def test_it_says_where_to_look(self):
        self.client.check = lambda *_: None
        for answer in (self.client.get("/v1/models"), self.client.post("/v1/chat/completions", {"messages": []})):
            self.assertEqual(answer.status, 503)
            self.assertIn("model.url", answer.json["error"]["message"])


class Interpreter(ChatTest):
    """With the extension `code_interpreter`."""

    def test_code_is_run_and_the_answer_is_a_completion(self):
        answer = self.chat(script({"say": "Let me see.", "code": "x = 6 * 7\nprint(x)"}, {"say": "It is {{last}}."}),
                           code_interpreter=True)
        self.assertEqual(answer["object"], "chat.completion")
        self.assertTrue(answer["id"].startswith("chatcmpl-"))
        choice = answer["choices"][0]
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertTrue(choice["message"]["content"].startswith("Let me see.\n\nIt is "), choice)
        self.assertIn("42", choice["message"]["content"])
        self.assertGreater(answer["usage"]["total_tokens"], 0)
        used = answer["code_interpreter"]
        self.assertTrue(used["container_id"].startswith("cntr_"))
        self.assertEqual(used["calls"][0]["code"], "x = 6 * 7\nprint(x)")
        self.assertIn("42", used["calls"][0]["outputs"][0]["logs"])
        again = self.chat(script({"code": "print(x + 1)"}, {"echo": True}), code_interpreter={"container": used["container_id"]})
        self.assertIn("43", again["choices"][0]["message"]["content"])
        self.assertEqual(again["code_interpreter"]["container_id"], used["container_id"])

    def test_chunks(self):
        chunks = self.chunks(script({"think": "hm", "say": "Wait.", "code": "print('é' * 3)"}, {"say": "So: {{last}}"}),
                             code_interpreter=True, stream_options={"include_usage": True})
        self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertTrue(content_of(chunks).startswith("Wait.\n\nSo: "))
        self.assertIn("ééé", content_of(chunks))
        self.assertEqual("".join(c["choices"][0]["delta"].get("reasoning_content", "") for c in chunks if c["choices"]), "hm")
        calls = [c["code_interpreter"]["call"] for c in chunks if "code_interpreter" in c]
        self.assertEqual([c["code"] for c in calls], ["print('é' * 3)"])
        self.assertEqual(chunks[-2]["choices"][0]["finish_reason"], "stop")
        self.assertEqual(chunks[-1]["choices"], [])
        self.assertGreater(chunks[-1]["usage"]["completion_tokens"], 0)
        self.assertEqual({c["object"] for c in chunks}, {"chat.completion.chunk"})
        self.assertEqual(len({c["id"] for c in chunks}), 1)

    def test_without_code_there_is_no_container(self):
        answer = self.chat(script({"say": "Hello."}), code_interpreter=True)
        self.assertEqual(answer["choices"][0]["message"]["content"], "Hello.")
        self.assertEqual(answer["code_interpreter"], {"container_id": None, "calls": [], "annotations": []})

    def test_a_file_is_cited_where_it_stands_in_the_whole_text(self):
        code = "open('a.txt', 'w').write('1')"
        answer = self.chat(script({"say": "😀", "code": code}, {"say": "世界: [a](sandbox:/mnt/data/a.txt)"}), code_interpreter=True)
        message = answer["choices"][0]["message"]
        cited = answer["code_interpreter"]["annotations"][0]
        self.assertEqual(message["content"][cited["start_index"]:cited["end_index"]], "sandbox:/mnt/data/a.txt")
        self.assertEqual(cited["container_id"], answer["code_interpreter"]["container_id"])

    def test_a_function_of_the_caller_in_between(self):
        tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
        first = script({"code": "print(1)"}, {"calls": [{"name": "f", "arguments": {"a": 1}}]}, {"echo": True})
        answer = self.chat(first, tools=tools, code_interpreter=True)
        message = answer["choices"][0]["message"]
        self.assertEqual(answer["choices"][0]["finish_reason"], "tool_calls")
        self.assertEqual(message["tool_calls"][0]["function"], {"name": "f", "arguments": '{"a": 1}'})
        chunks = self.chunks(first, tools=tools, code_interpreter=True)
        pieces = [c["choices"][0]["delta"]["tool_calls"][0] for c in chunks if "tool_calls" in c["choices"][0]["delta"]]
        self.assertEqual(pieces[0]["function"]["name"], "f")
        self.assertEqual("".join(p["function"]["arguments"] for p in pieces), '{"a": 1}')
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "tool_calls")

    def test_a_long_id_of_a_call_comes_back(self):
        call = {"id": "call_" + "x" * 4000, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        answer = self.chat(script({"say": "?"}, {"echo": True}), {"role": "assistant", "tool_calls": [call]},
                           {"role": "tool", "tool_call_id": call["id"], "content": "7 degrees"}, code_interpreter=True)
        self.assertEqual(answer["choices"][0]["message"]["content"], "7 degrees")

    def test_what_is_wrong_is_refused(self):
        for more, param in (({"n": 2}, "n"), ({"code_interpreter": "yes"}, "code_interpreter"),
                            ({"code_interpreter": {"box": 1}}, "code_interpreter.box")):
            answer = self.client.post("/v1/chat/completions", {"messages": [], "code_interpreter": True, **more})
            self.assertEqual((answer.status, answer.json["error"]["param"]), (400, param), answer.body)

    def test_a_container_that_is_not_there(self):
        answer = self.client.post("/v1/chat/completions", {"messages": [script({"say": "x"})],
                                                           "code_interpreter": {"container": "cntr_nope"}})
        self.assertIn(answer.status, (400, 404), answer.body)

    def test_failures_of_the_endpoint(self):
        answer = self.chat(script({"status": 400}), code_interpreter=True, status=400)
        self.assertIn("status 400 by the script", answer["error"]["message"])
        lines = list(self.lines(script({"status": 400}), code_interpreter=True))
        self.assertIn("status 400 by the script", json.loads(lines[-1])["error"]["message"])

    def test_the_key_is_not_in_the_sandbox(self):
        code = "import os\nprint([k for k in os.environ if 'CICADA' in k or 'secret' in os.environ[k]])"
        answer = self.chat(script({"code": code}, {"echo": True}), code_interpreter=True)
        self.assertIn("[]", answer["choices"][0]["message"]["content"])

    def test_the_key_is_in_no_file_of_the_server(self):
        self.chat(script({"code": "print(1)"}, {"say": "{{last}}"}), code_interpreter=True)
        self.chat(script({"status": 400, "body": {"error": {"message": f"bad {UPSTREAM_KEY[:4]}"}}}), code_interpreter=True,
                  status=400)
        read = 0
        for path in pathlib.Path(self.server.data).rglob("*"):
            if path.is_file() and not path.is_symlink():
                read += 1
                self.assertNotIn(UPSTREAM_KEY.encode(), path.read_bytes(), path)
        self.assertGreater(read, 0)

    def test_calls_of_one_turn_are_shown_as_one(self):
        calls = [{"name": "python", "arguments": {"code": f"print({n})"}} for n in (11, 22)]
        answer = self.chat(script({"calls": calls}, {"say": "Last: {{last}}"}), code_interpreter=True)
        self.assertEqual(answer["choices"][0]["message"]["content"], "Last: 22")
        self.assertEqual(len(answer["code_interpreter"]["calls"]), 2)
        roles = [m["role"] for m in self.up.bodies[-1]["messages"]]
        self.assertEqual(roles[-4:], ["user", "assistant", "tool", "tool"])

    def test_arguments_that_are_no_json_are_the_code(self):
        answer = self.chat(script({"calls": [{"name": "python", "arguments": "print(40 + 2)"}]}, {"echo": True}),
                           code_interpreter=True)
        self.assertEqual(answer["choices"][0]["message"]["content"], "42")

    def test_endpoints_that_are_almost_alike(self):
        for quirk in ("no_index", "no_id", "whole", "object", "crlf", "comments", "no_done", "plain"):
            answer = self.chat(script({"code": "print(6 * 7)", quirk: True}, {"echo": True, quirk: True, "usage": None}, text=quirk),
                               code_interpreter=True)
            self.assertEqual(answer["choices"][0]["message"]["content"], "42", quirk)

    def test_a_client_that_leaves_ends_the_call(self):
        for more in ({"stream": True}, {}):
            body = {"messages": [script({"hang": 60, "say": "late"})], "code_interpreter": True, **more}
            self.assertLess(PassedOn.hang_up(self, body), 1)


class WithoutTools(ChatTest):
    """The endpoint takes no tools: code comes in fenced blocks."""

    upstream_wishes = {"no_tools": True}

    def test_it_is_found_out(self):
        answer = self.chat(script({"code": "print(6 * 7)"}, {"say": "It is 42."}), code_interpreter=True)
        self.assertIn("It is 42.", answer["choices"][0]["message"]["content"])
        self.assertEqual(answer["code_interpreter"]["calls"][0]["outputs"], [{"type": "logs", "logs": "42\n"}])


class Refuses(ChatTest):
    """The endpoint does not know some parameters."""

    upstream_wishes = {"refuse": ("stream_options", "parallel_tool_calls")}

    def test_they_are_left_out(self):
        answer = self.chat(script({"code": "print(6 * 7)"}, {"echo": True}), code_interpreter=True, parallel_tool_calls=False)
        self.assertEqual(answer["choices"][0]["message"]["content"], "42")
        self.assertNotIn("stream_options", self.up.bodies[-1])


class Retries(ChatTest):
    """The agent's questions are asked again; those passed on are not (PassedOn)."""

    more = {"model.retries": "2"}

    def test_what_passes(self):
        for fails in ({"status": 429, "headers": {"retry-after-ms": "1"}}, {"status": 503, "headers": {"retry-after-ms": "1"}},
                      {"raw": "", "type": "text/event-stream"}):
            answer = self.chat(script({**fails, "times": 1, "then": {"say": "Here."}}, text=repr(fails)), code_interpreter=True)
            self.assertEqual(answer["choices"][0]["message"]["content"], "Here.")

    def test_what_does_not(self):
        step = {"status": 429, "headers": {"retry-after-ms": "1"}}
        before = len(self.up.requests)
        self.chat(script(step), code_interpreter=True, status=429)
        self.assertEqual(len(self.up.requests), before + 3)


class ResponsesWire(ChatTest):
    """The endpoint is asked by the Responses API; who asks does not notice."""

    more = {"model.api": "responses"}

    def test_code_is_run(self):
        chunks = self.chunks(script({"think": "hm", "code": "print(6 * 7)", "chunk": 7}, {"say": "It is {{last}}. 😀", "delta": 1}),
                             code_interpreter=True)
        self.assertIn("42", content_of(chunks))
        self.assertIn("😀", content_of(chunks))
        self.assertEqual(self.up.requests[-1]["path"], "/v1/responses")
        self.assertFalse(self.up.bodies[-1]["store"])


if __name__ == "__main__":
    unittest.main()
