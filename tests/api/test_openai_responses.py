"""Responses at /v1: code_interpreter with a scripted model, streams, what is kept, conversations, and what goes wrong."""
import base64
import http.client
import json
import re
import signal
import socket
import sqlite3
import struct
import threading
import time
import zlib

from base import KEY, ApiTest, eventually
from oa import OpenAI
from upstream import KEY as UPSTREAM_KEY
from upstream import Upstream

AUTO = {"type": "code_interpreter", "container": {"type": "auto"}}
FUNCTION = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
KEYS = {"id", "object", "created_at", "status", "background", "completed_at", "error", "incomplete_details", "instructions",
        "max_output_tokens", "max_tool_calls", "model", "output", "parallel_tool_calls", "previous_response_id", "conversation",
        "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store", "temperature",
        "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "usage", "user", "metadata", "access_programs",
        "moderation", "prompt"}
CALL_KEYS = {"id", "type", "status", "code", "container_id", "outputs", "x_exec", "x_files"}


def script(*steps, words="Do it."):
    return f"{words}\n#script\n{json.dumps(steps)}"


def png(width, height):
    """A black one."""
    raw = b"".join(b"\0" + bytes(width * 3) for _ in range(height))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


class Stream:
    """The events of a request, as they come: (name, data). `comments` are counted."""

    def __init__(self, server, method, path, body=None, key=KEY):
        self.comments, self.events = 0, []
        self.connection = http.client.HTTPConnection(*server.address, timeout=120)
        headers = {"Authorization": "Bearer " + key, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, "/v1" + path, body and json.dumps(body), headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, (self.response.status, self.response.read())
        assert self.response.headers["Content-Type"].startswith("text/event-stream"), self.response.headers

    def __iter__(self):
        event = {}
        for line in self.response:
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                event[name] = value
            elif event:
                data = json.loads(event["data"])
                assert set(event) == {"event", "data"} and data["type"] == event["event"], event
                self.events.append(data)
                yield data
                event = {}

    def until(self, kind):
        for data in self:
            if data["type"] == kind:
                return data
        raise AssertionError(f"no {kind}: {[e['type'] for e in self.events]}")

    def close(self):
        self.connection.close()


class ResponsesTest(ApiTest):
    more = {}

    @classmethod
    def setUpClass(cls):
        cls.up = Upstream(key=UPSTREAM_KEY)
        cls.settings = {"model.url": cls.up.url, "model.key": UPSTREAM_KEY, "model.name": "scripted-1", "model.retries": 1, **cls.more}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.up.close()
        assert UPSTREAM_KEY not in cls.server.log()

    def setUp(self):
        super().setUp()
        self.oa = OpenAI(self.server)
        self.addCleanup(self.oa.close)

    def create(self, *steps, tools=(AUTO,), words="Do it.", **more):
        body = {"model": "scripted-1", "input": script(*steps, words=words), "tools": list(tools), **more}
        made = self.oa.ok("POST", "/responses", body)
        self.check(made)
        return made

    def check(self, response):
        self.assertEqual(set(response), KEYS)
        self.assertEqual(response["object"], "response")
        for item in response["output"]:
            if item["type"] == "code_interpreter_call":
                self.assertLessEqual(CALL_KEYS - {"x_exec", "x_files"}, set(item))
                self.assertNotIn("x_text", item)

    def stream(self, *steps, tools=(AUTO,), **more):
        body = {"input": script(*steps), "tools": list(tools), "stream": True, **more}
        s = Stream(self.server, "POST", "/responses", body)
        self.addCleanup(s.close)
        return s

    def refuses(self, answer, status, param=None, code=None, text=""):
        error = answer.json["error"]
        self.assertEqual((answer.status, error["param"], error["code"]), (status, param, code), answer.body)
        self.assertIn(text, error["message"])
        self.assertNotIn(self.server.data, answer.body.decode())
        self.assertNotIn(UPSTREAM_KEY, answer.body.decode())
        return error

    def text(self, response):
        return "".join(p["text"] for i in response["output"] if i["type"] == "message" for p in i["content"])

    def calls(self, response):
        return [i for i in response["output"] if i["type"] == "code_interpreter_call"]

    def logs(self, call):
        return "".join(o["logs"] for o in call["outputs"] if o["type"] == "logs")

    def containers(self):
        return self.oa.pages("/containers?limit=100")


class Code(ResponsesTest):
    def test_50_plain_text_makes_no_container(self):
        before = len(self.containers())
        made = self.create({"say": "Hello."})
        self.assertEqual((made["status"], self.text(made), len(made["output"])), ("completed", "Hello.", 1))
        self.assertEqual(len(self.containers()), before)
        self.assertIsInstance(made["completed_at"], int)
        self.assertEqual(made["tools"], [AUTO])
        usage = made["usage"]
        self.assertEqual(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
        self.assertGreater(usage["input_tokens"], 0)

    def test_51_code_is_run_and_shown(self):
        made = self.create({"code": "print(6 * 7)"}, {"say": "It is {{last}}."})
        (call,) = self.calls(made)
        self.assertEqual(set(call), CALL_KEYS)
        self.assertEqual((call["status"], call["code"]), ("completed", "print(6 * 7)"))
        self.assertEqual(call["outputs"], [{"type": "logs", "logs": "42\n"}])
        self.assertTrue(call["container_id"].startswith("cntr_"))
        self.assertTrue(call["x_exec"]["run_id"].startswith("run_"))
        self.assertEqual((call["x_exec"]["end"], call["x_exec"]["error"], call["x_files"]), ("ok", None, []))
        self.assertIn("42", self.text(made))
        self.assertEqual(self.oa.ok("GET", "/containers/" + call["container_id"])["status"], "running")

    def test_53_an_image_is_a_data_url(self):
        made = self.create({"code": "from IPython.display import Image, display\n"
                                    f"import base64\ndisplay(Image(data=base64.b64decode('{base64.b64encode(png(4, 4)).decode()}')))"},
                           {"say": "There."})
        (call,) = self.calls(made)
        images = [o for o in call["outputs"] if o["type"] == "image"]
        if not images:
            self.fail(call)
        self.assertTrue(images[0]["url"].startswith("data:image/png;base64,"))
        self.assertTrue(base64.b64decode(images[0]["url"].partition(",")[2]).startswith(b"\x89PNG"))

    def test_54_citations_count_code_points(self):
        link = "sandbox:/mnt/data/out/größe 1.csv"
        text = "👩‍🚀 表を作りました。 [Download](sandbox:/mnt/data/out/gr%C3%B6%C3%9Fe%201.csv) and " + link + " — done."
        made = self.create({"code": "import os\nos.makedirs('out', exist_ok=True)\nopen('out/größe 1.csv','w').write('1')"},
                           {"say": text})
        notes = made["output"][-1]["content"][0]["annotations"]
        said = self.text(made)
        self.assertEqual(said, text)
        self.assertEqual([said[n["start_index"]:n["end_index"]] for n in notes],
                         ["sandbox:/mnt/data/out/gr%C3%B6%C3%9Fe%201.csv", link])
        call = self.calls(made)[0]
        for note in notes:
            self.assertEqual((note["type"], note["container_id"]), ("container_file_citation", call["container_id"]))
            self.assertEqual(note["file_id"], call["x_files"][0]["file_id"])
            self.assertEqual(note["filename"], "größe 1.csv")
        path = f"/containers/{call['container_id']}/files/{notes[0]['file_id']}"
        self.assertEqual(self.oa.ok("GET", path)["path"], "/mnt/data/out/größe 1.csv")
        self.assertEqual(self.oa.content(path + "/content"), b"1")

    def test_55_a_file_that_nobody_speaks_of_is_cited_too(self):
        made = self.create({"code": "open('a.txt','w').write('1')\nopen('b.txt','w').write('2')"}, {"say": "Done."})
        notes = made["output"][-1]["content"][0]["annotations"]
        self.assertEqual(sorted((n["start_index"], n["end_index"]) for n in notes), [(0, 0), (0, 0)])
        (call,) = self.calls(made)
        self.assertEqual({n["file_id"] for n in notes}, {f["file_id"] for f in call["x_files"]})
        self.assertEqual(sorted(f["path"] for f in call["x_files"]), ["a.txt", "b.txt"])
        self.assertEqual({f["bytes"] for f in call["x_files"]}, {1})

    def test_56_tracebacks_are_in_the_logs_and_the_loop_goes_on(self):
        made = self.create({"code": "print('before')\n1/0"}, {"code": "print(undefined)"}, {"code": "print(3)"}, {"say": "It is {{last}}."})
        first, second, third = self.calls(made)
        self.assertIn("before", self.logs(first))
        self.assertIn("ZeroDivisionError", self.logs(first))
        self.assertIn("Traceback", self.logs(first))
        self.assertEqual((first["status"], first["x_exec"]["end"], first["x_exec"]["error"]["name"]),
                         ("completed", "error", "ZeroDivisionError"))
        self.assertIn("NameError", self.logs(second))
        self.assertEqual(self.logs(third), "3\n")
        self.assertEqual(made["status"], "completed")

    def test_57_max_tool_calls_stops_it(self):
        steps = [{"code": f"print({i})"} for i in range(6)]
        made = self.create(*steps, {"say": "never"}, max_tool_calls=2)
        self.assertEqual(len(self.calls(made)), 2)
        self.assertIn(made["status"], ("completed", "incomplete"))
        self.assertEqual(made["max_tool_calls"], 2)

    def test_58_the_choice_is_passed_on(self):
        for choice, sent in (("required", "required"), ("none", "none"), ({"type": "code_interpreter"}, "python")):
            self.create({"say": "fine"}, tool_choice=choice, words=f"choice {choice}")
            body = [b for b in self.up.bodies if f"choice {choice}" in json.dumps(b)][0]
            if choice == "none":
                self.assertTrue(not body.get("tools") or body["tool_choice"] == "none", body.get("tool_choice"))
            else:
                self.assertIn(sent, json.dumps(body["tool_choice"]))

    def test_59_a_container_by_its_id_keeps_variables(self):
        container = self.oa.container("mine")["id"]
        tool = {"type": "code_interpreter", "container": container}
        self.create({"code": "x = 41"}, {"say": "ok"}, tools=[tool])
        made = self.create({"code": "print(x + 1)"}, {"say": "{{last}}"}, tools=[tool])
        self.assertEqual(self.logs(self.calls(made)[0]), "42\n")
        self.assertEqual(self.calls(made)[0]["container_id"], container)
        self.assertEqual(self.calls(made)[0]["x_exec"]["state"], "kept")
        self.assertEqual(made["tools"], [tool])

    def test_60_auto_goes_on_in_the_container_of_the_conversation(self):
        first = self.create({"code": "x = 41"}, {"say": "ok"})
        second = self.create({"say": "no code now"}, previous_response_id=first["id"])
        third = self.create({"code": "print(x + 1)"}, {"say": "{{last}}"}, previous_response_id=second["id"])
        self.assertEqual(self.logs(self.calls(third)[0]), "42\n")
        self.assertEqual(self.calls(third)[0]["container_id"], self.calls(first)[0]["container_id"])
        self.assertEqual(third["previous_response_id"], second["id"])
        asked = json.dumps(self.up.bodies[-1])
        self.assertIn("x = 41", asked)
        self.assertIn("no code now", asked)

    def test_61_items_can_be_sent_in_again(self):
        first = self.create({"code": "x = 41\nprint(x)"}, {"say": "ok"}, store=False)
        items = [{"role": "user", "content": "begin"}, *first["output"],
                 {"role": "user", "content": script({"code": "print(x + 1)"}, {"say": "{{last}}"})}]
        second = self.oa.ok("POST", "/responses", {"input": items, "tools": [AUTO], "store": False})
        self.assertEqual(self.logs(self.calls(second)[0]), "42\n")
        self.assertEqual(self.calls(second)[0]["container_id"], self.calls(first)[0]["container_id"])
        self.assertIn("x = 41", json.dumps(self.up.bodies[-1]))

    def test_61_items_can_be_referred_to(self):
        first = self.create({"say": "The word is plum."})
        items = [{"type": "item_reference", "id": first["output"][0]["id"]}, {"role": "user", "content": "Again?"}]
        made = self.oa.ok("POST", "/responses", {"input": items})
        self.assertIn("plum", json.dumps(self.up.bodies[-1]))
        listed = self.oa.ok("GET", f"/responses/{made['id']}/input_items?order=asc")["data"]
        self.assertEqual([i["type"] for i in listed], ["message", "message"])
        answer = self.oa.request("POST", "/responses", {"input": [{"type": "item_reference", "id": "msg_none"}]})
        self.refuses(answer, 404, "input", None, "Item with id 'msg_none' not found. Items are not persisted")

    def test_62_files_of_the_input_are_in_the_container(self):
        stored = self.oa.file(b"a,b\n1,2\n", "table.csv")
        picture = "data:image/png;base64," + base64.b64encode(png(2, 2)).decode()
        content = [{"type": "input_text", "text": script(
                       {"code": "import os\nprint(open('table.csv').read(), open('notes.txt').read())\n"
                                "print([n for n in os.listdir('.') if n.endswith('.png')])"}, {"say": "{{last}}"})},
                   {"type": "input_file", "file_id": stored["id"]},
                   {"type": "input_file", "filename": "notes.txt", "file_data": "data:text/plain;base64," + base64.b64encode(b"hello").decode()},
                   {"type": "input_image", "image_url": picture, "detail": "auto"}]
        made = self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": content}], "tools": [AUTO]})
        logs = self.logs(self.calls(made)[0])
        self.assertIn("1,2", logs)
        self.assertIn("hello", logs)
        self.assertRegex(logs, r"image_\w+\.png")
        asked = json.dumps(self.up.bodies[-2])
        self.assertIn("/mnt/data/table.csv", asked)
        self.assertIn("/mnt/data/notes.txt", asked)
        items = self.oa.ok("GET", f"/responses/{made['id']}/input_items")["data"]
        self.assertEqual([p["type"] for p in items[0]["content"]], ["input_text", "input_file", "input_file", "input_image"])
        self.assertEqual(items[0]["content"][1]["file_id"], stored["id"])

    def test_62_files_of_one_name_are_all_there(self):
        def data(bytes_):
            return {"type": "input_file", "filename": "same.csv", "file_data": "data:text/csv;base64," + base64.b64encode(bytes_).decode()}

        ids = [self.oa.file(text, "same.csv")["id"] for text in (b"one", b"two")]
        tool = {"type": "code_interpreter", "container": {"type": "auto", "file_ids": ids}}
        content = [{"type": "input_text", "text": script({"code": "import glob\nfor n in sorted(glob.glob('*')): print(n, open(n).read())"}, {"say": "{{last}}"})},
                   *({"type": "input_file", "file_id": i} for i in ids), data(b"three"), data(b"three")]
        made = self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": content}], "tools": [tool]})
        self.assertEqual(self.logs(self.calls(made)[0]), "same-2.csv two\nsame-3.csv three\nsame.csv one\n")
        asked = json.dumps(self.up.bodies[-2])
        for name in "same", "same-2", "same-3":
            self.assertIn(f"/mnt/data/{name}.csv", asked)
        other = self.oa.ok("POST", "/containers", {"name": "both", "file_ids": [*ids, ids[0]]})
        self.assertEqual(sorted(f["path"] for f in self.oa.ok("GET", f"/containers/{other['id']}/files")["data"]),
                         ["/mnt/data/same-2.csv", "/mnt/data/same.csv"])

    def test_62_without_code_a_text_file_is_told(self):
        stored = self.oa.file("größer\n".encode(), "words.txt")
        content = [{"type": "input_text", "text": "Read it."}, {"type": "input_file", "file_id": stored["id"]}]
        before = len(self.containers())
        self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": content}]})
        self.assertIn("größer", json.dumps(self.up.bodies[-1], ensure_ascii=False))
        self.assertEqual(len(self.containers()), before)

    def test_62_file_ids_of_the_tool(self):
        stored = self.oa.file(b"abc", "three.txt")
        tool = {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [stored["id"]], "memory_limit": "1g"}}
        made = self.create({"code": "print(open('/mnt/data/three.txt').read())"}, {"say": "{{last}}"}, tools=[tool])
        self.assertEqual(self.logs(self.calls(made)[0]), "abc\n")
        self.assertIn("/mnt/data/three.txt (3 bytes)", json.dumps(self.up.bodies[-2]))

    def test_63_functions_of_the_caller(self):
        first = self.create({"code": "city = 'Oslo'\nprint(city)"}, {"calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]},
                            {"code": "print(city, 7)"}, {"say": "It is {{last}}."}, tools=[AUTO, FUNCTION])
        call = first["output"][-1]
        self.assertEqual((call["type"], call["name"], json.loads(call["arguments"]), call["status"], first["status"]),
                         ("function_call", "weather", {"city": "Oslo"}, "completed", "completed"))
        second = self.oa.ok("POST", "/responses", {
            "input": [{"type": "function_call_output", "call_id": call["call_id"], "output": "7 degrees"}],
            "previous_response_id": first["id"], "tools": [AUTO, FUNCTION]})
        self.assertEqual(self.logs(self.calls(second)[0]), "Oslo 7\n")
        self.assertIn("Oslo 7", self.text(second))
        self.assertIn("7 degrees", json.dumps(self.up.bodies[-1]))

    def test_63_long_ids_of_calls_come_back(self):
        """Some endpoints keep notes in them."""
        call = "call_" + "x" * 4000
        made = self.create({"calls": [{"name": "weather", "arguments": {}, "id": call}]}, {"echo": True}, tools=[FUNCTION])
        self.assertEqual(made["output"][0]["call_id"], call)
        output = {"type": "function_call_output", "call_id": call, "output": "7 degrees"}
        again = self.oa.ok("POST", "/responses", {"input": [output], "previous_response_id": made["id"], "tools": [FUNCTION]})
        self.assertEqual(self.text(again), "7 degrees")
        history = [{"role": "user", "content": script({"say": "?"}, {"echo": True})}, made["output"][0], output]
        self.assertEqual(self.text(self.oa.ok("POST", "/responses", {"input": history, "tools": [FUNCTION]})), "7 degrees")

    def test_reasoning_is_an_item(self):
        made = self.create({"think": "Hm, well.", "say": "Yes."})
        self.assertEqual([i["type"] for i in made["output"]], ["reasoning", "message"])
        self.assertEqual(made["output"][0]["content"][0]["text"], "Hm, well.")

    def test_earlier_files_are_cited_where_the_text_speaks_of_them(self):
        first = self.create({"code": "open('old.csv','w').write('1')\nopen('other.csv','w').write('1')"}, {"say": "ok"})
        second = self.create({"say": "See sandbox:/mnt/data/old.csv"}, previous_response_id=first["id"])
        (note,) = second["output"][0]["content"][0]["annotations"]
        self.assertEqual(note["start_index"], 4)
        self.assertIn(note["file_id"], [f["file_id"] for f in self.calls(first)[0]["x_files"]])

    def test_what_is_sent_is_told_back(self):
        sent = {"metadata": {"a": "b"}, "user": "u", "safety_identifier": "s", "prompt_cache_key": "k", "truncation": "auto",
                "temperature": 0.25, "top_p": 0.5, "max_output_tokens": 321, "instructions": "Be brief.",
                "reasoning": {"effort": "low", "summary": None}, "parallel_tool_calls": False}
        made = self.create({"say": "ok"}, service_tier="auto", **sent)
        self.assertEqual({k: made[k] for k in sent}, sent)
        self.assertEqual(made["service_tier"], "default")
        body = self.up.bodies[-1]
        self.assertEqual((body["temperature"], body["top_p"]), (0.25, 0.5))
        self.assertIn(321, (body.get("max_tokens"), body.get("max_completion_tokens")))
        self.assertIn("Be brief.", json.dumps(body))

    def test_a_json_schema_is_passed_on(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
        form = {"type": "json_schema", "name": "number", "schema": schema, "strict": True}
        made = self.create({"say": "{\"n\": 1}"}, tools=[], text={"format": form})
        self.assertEqual(made["text"]["format"], form)
        self.assertEqual(self.up.bodies[-1]["response_format"]["json_schema"]["schema"], schema)

    def test_the_end_for_length_is_incomplete(self):
        made = self.create({"say": "and so on and", "finish": "length"})
        self.assertEqual((made["status"], made["incomplete_details"]), ("incomplete", {"reason": "max_output_tokens"}))
        self.assertEqual(self.text(made), "and so on and")
        made = self.create({"say": "I", "finish": "content_filter"})
        self.assertEqual((made["status"], made["incomplete_details"]), ("incomplete", {"reason": "content_filter"}))

    def test_both_prefixes(self):
        other = OpenAI(self.server, prefix="/openai/v1", headers={"api-key": KEY})
        made = other.ok("POST", "/responses", {"input": "hi"})
        self.assertEqual(self.text(made), "You said: hi")
        self.assertEqual(made["model"], "scripted-1")
        other.close()

    def test_input_tokens(self):
        few = self.oa.ok("POST", "/responses/input_tokens", {"model": "m", "input": "hi"})
        many = self.oa.ok("POST", "/responses/input_tokens", {"model": "m", "input": "hello " * 100})
        self.assertEqual(set(few), {"object", "input_tokens"})
        self.assertEqual(few["object"], "response.input_tokens")
        self.assertGreater(many["input_tokens"], 100)
        self.assertGreater(many["input_tokens"], few["input_tokens"])


class Kept(ResponsesTest):
    def test_64_what_is_not_stored_is_not_there(self):
        made = self.create({"say": "ok"}, store=False)
        self.assertFalse(made["store"])
        self.refuses(self.oa.request("GET", "/responses/" + made["id"]), 404, None, None, f"Response with id '{made['id']}' not found.")
        answer = self.oa.request("POST", "/responses", {"input": "x", "previous_response_id": made["id"]})
        self.refuses(answer, 400, "previous_response_id", "previous_response_not_found",
                     f"Previous response with id '{made['id']}' not found.")

    def test_65_retrieve_input_items_delete(self):
        made = self.create({"code": "print(1)"}, {"say": "ok"})
        self.assertEqual(self.oa.ok("GET", "/responses/" + made["id"]), made)
        (item,) = self.oa.ok("GET", f"/responses/{made['id']}/input_items")["data"]
        self.assertEqual((item["type"], item["role"], item["status"]), ("message", "user", "completed"))
        self.assertTrue(item["id"].startswith("msg_"))
        gone = self.oa.ok("DELETE", "/responses/" + made["id"])
        self.assertEqual(gone, {"id": made["id"], "object": "response", "deleted": True})
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/input_items"), ("POST", "/cancel")):
            self.assertEqual(self.oa.request(method, f"/responses/{made['id']}{path}").status, 404)

    def test_input_items_have_pages(self):
        items = [{"role": "user", "content": str(n)} for n in range(45)]
        made = self.oa.ok("POST", "/responses", {"input": items})
        path = f"/responses/{made['id']}/input_items"
        down = [i["content"][0]["text"] for i in self.oa.pages(path)]
        up = [i["content"][0]["text"] for i in self.oa.pages(path + "?order=asc&limit=7")]
        self.assertEqual(up, [str(n) for n in range(45)])
        self.assertEqual(down, up[::-1])
        self.assertEqual(len(self.oa.ok("GET", path)["data"]), 20)
        self.refuses(self.oa.request("GET", path + "?after=msg_none"), 400, "after", "invalid_value")

    def test_pages_of_items_that_came_with_one_id_end(self):
        said = self.create({"say": "ok"})["output"][0]
        items = [{"type": "message", "id": "msg_1", "role": "user", "content": f"{n}"} for n in range(30)]
        items += [{"type": "item_reference", "id": said["id"]}] * 3
        made = self.oa.ok("POST", "/responses", {"input": items})
        for order in ("asc", "desc"):
            listed, after = [], ""
            while not listed or (page["has_more"] and len(listed) < 100):
                page = self.oa.ok("GET", f"/responses/{made['id']}/input_items?limit=7&order={order}{after}")
                listed, after = listed + page["data"], "&after=" + page["last_id"]
            self.assertEqual(len({i["id"] for i in listed}), 33)
            texts = [i["content"][0]["text"] for i in listed]
            self.assertEqual(texts[::1 if order == "asc" else -1], [str(n) for n in range(30)] + ["ok"] * 3)
        path = f"/conversations/{self.oa.ok('POST', '/conversations', {})['id']}/items"
        self.oa.ok("POST", path, {"items": items[:5]})
        self.assertEqual(len(self.oa.ok("GET", path)["data"]), 5)

    def test_what_belongs_to_others_is_not_there(self):
        made = self.create({"say": "ok"})
        person = self.client.ok("POST", "/api/v1/principals", {"name": "other"}, 201)
        key = self.client.ok("POST", "/api/v1/keys", {"principal": person["id"], "name": "k", "scopes": ["run", "files:read", "files:write"]}, 201)
        other = OpenAI(self.server, key["secret"])
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/input_items"), ("POST", "/cancel")):
            self.assertEqual(other.request(method, f"/responses/{made['id']}{path}").status, 404)
        answer = other.request("POST", "/responses", {"input": "x", "previous_response_id": made["id"]})
        self.refuses(answer, 400, "previous_response_id", "previous_response_not_found")
        other.close()

    def test_a_chain_ends_where_a_link_was_deleted(self):
        first = self.create({"say": "The word is plum."})
        second = self.create({"say": "The word is pear."}, previous_response_id=first["id"])
        self.oa.ok("DELETE", "/responses/" + first["id"])
        self.create({"say": "ok"}, previous_response_id=second["id"])
        asked = json.dumps(self.up.bodies[-1])
        self.assertIn("pear", asked)
        self.assertNotIn("plum", asked)

    def test_only_background_ones_can_be_cancelled(self):
        made = self.create({"say": "ok"})
        self.refuses(self.oa.request("POST", f"/responses/{made['id']}/cancel"), 400, None, None, "Cannot cancel a synchronous response.")

    def test_a_stream_of_what_is_over(self):
        made = self.create({"code": "print(1)"}, {"say": "ok"})
        events = list(Stream(self.server, "GET", f"/responses/{made['id']}?stream=true"))
        self.assertEqual((events[0]["type"], events[-1]["type"]), ("response.created", "response.completed"))
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        self.assertEqual(events[-1]["response"], made)
        tail = list(Stream(self.server, "GET", f"/responses/{made['id']}?stream=true&starting_after=3"))
        self.assertEqual(tail, events[4:])


class Refused(ResponsesTest):
    def refused(self, body, param, code, text="", status=400):
        return self.refuses(self.oa.request("POST", "/responses", body), status, param, code, text)

    def test_fields(self):
        self.refused({"input": "x", "tools": [{"type": "code_interpreter", "container": {"type": "auto", "files": []}}]},
                     "tools[0].container.files", "unknown_parameter", "Unknown parameter: 'tools[0].container.files'.")
        self.refused({"input": "x", "modle": "m"}, "modle", "unknown_parameter")
        self.refused({"input": "x", "temperature": 9}, "temperature", "decimal_above_max_value")
        self.refused({"input": {}}, "input", "invalid_type")
        self.refused({}, "input", "missing_required_parameter")
        self.refused({"input": "x", "include": ["everything"]}, "include[0]", "invalid_value")
        self.refused({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0].type", "invalid_value")
        self.refused({"input": [{"role": "user", "content": [{"type": "input_file", "filename": "a", "file_data": "not base64!"}]}]},
                     "input[0].content[0].file_data", "invalid_value")
        self.refused({"input": "x", "metadata": {str(i): "v" for i in range(17)}}, "metadata", "object_above_max_properties")

    def test_what_is_not_there(self):
        self.refused({"input": "x", "tools": [{"type": "code_interpreter", "container": "cntr_none"}]}, None, None,
                     "Container with id 'cntr_none' not found.", 404)
        self.refused({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-none"}]}]},
                     "input[0].content[0].file_id", None, "file-none", 404)
        self.refused({"input": "x", "conversation": "conv_none"}, "conversation", None, "conv_none", 404)
        self.refused({"input": "x", "previous_response_id": "resp_none"}, "previous_response_id", "previous_response_not_found")
        answer = self.oa.request("POST", "/responses", {
            "input": "x", "tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-none"]}}]})
        self.assertIn(answer.status, (400, 404))

    def test_a_key_that_may_not_run_code(self):
        person = self.client.ok("POST", "/api/v1/principals", {"name": "reader"}, 201)
        key = self.client.ok("POST", "/api/v1/keys", {"principal": person["id"], "name": "k", "scopes": ["files:read"]}, 201)
        other = OpenAI(self.server, key["secret"])
        self.assertEqual(other.request("POST", "/responses", {"input": "x"}).status, 403)
        other.close()


class Streams(ResponsesTest):
    def test_68_the_order_of_events(self):
        s = self.stream({"think": "Let me see. ", "code": "open('a.txt','w').write('1')\nprint(1)"},
                        {"say": "See sandbox:/mnt/data/a.txt 👍 end", "delta": 5})
        events = list(s)
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        kinds = [e["type"].removeprefix("response.") for e in events]
        short = [k for i, k in enumerate(kinds) if i == 0 or k != kinds[i - 1]]
        self.assertEqual(short, [
            "created", "in_progress",
            "output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done", "content_part.done",
            "output_item.done",
            "output_item.added", "code_interpreter_call.in_progress", "code_interpreter_call_code.delta",
            "code_interpreter_call_code.done", "code_interpreter_call.interpreting", "code_interpreter_call.completed",
            "output_item.done",
            "output_item.added", "content_part.added", "output_text.delta", "output_text.annotation.added", "output_text.done",
            "content_part.done", "output_item.done", "completed"])
        self.assertEqual((events[0]["response"]["status"], events[0]["response"]["output"], events[0]["response"]["usage"]),
                         ("in_progress", [], None))
        added = {e["output_index"]: e["item"] for e in events if e["type"].endswith("output_item.added")}
        done = {e["output_index"]: e["item"] for e in events if e["type"].endswith("output_item.done")}
        self.assertEqual(sorted(added), [0, 1, 2])
        self.assertTrue(added[1]["container_id"].startswith("cntr_"))
        self.assertEqual((added[1]["code"], added[1]["outputs"], added[1]["status"]), ("", [], "in_progress"))
        for e in events:
            if "item_id" in e:
                self.assertEqual(e["item_id"], added[e["output_index"]]["id"])
        final = events[-1]["response"]
        self.check(final)
        self.assertEqual(final["output"], [done[0], done[1], done[2]])
        self.assertEqual("".join(e["delta"] for e in events if e["type"] == "response.output_text.delta"), self.text(final))
        self.assertEqual("".join(e["delta"] for e in events if e["type"].endswith("code.delta")), done[1]["code"])
        self.assertGreater(sum(e["type"] == "response.output_text.delta" for e in events), 1)
        self.assertEqual(self.oa.ok("GET", "/responses/" + final["id"]), final)

    def test_functions_and_several_calls_at_once(self):
        events = list(self.stream({"calls": [{"name": "python", "arguments": {"code": "print(1)"}},
                                             {"name": "python", "arguments": {"code": "print(2)"}},
                                             {"name": "weather", "arguments": {"city": "Oslo"}}]}, tools=[AUTO, FUNCTION]))
        final = events[-1]["response"]
        self.assertEqual([i["type"] for i in final["output"]], ["code_interpreter_call", "code_interpreter_call", "function_call"])
        self.assertEqual([self.logs(c) for c in self.calls(final)], ["1\n", "2\n"])
        kinds = [e["type"] for e in events]
        self.assertLess(kinds.index("response.function_call_arguments.delta"), kinds.index("response.function_call_arguments.done"))
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))

    def test_parts_of_a_message_stand_where_they_were_told(self):
        for order in ([{"refusal": "No."}, {"content": "Well,"}, {"refusal": " Never."}], [{"content": "Well,"}, {"refusal": "No."}]):
            said = [{"choices": [{"index": 0, "delta": delta}]} for delta in order]
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            raw = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in [*said, end])
            events = list(self.stream({"raw": raw + "data: [DONE]\n\n"}))
            parts = events[-1]["response"]["output"][0]["content"]
            for event in events:
                if event["type"] in ("response.content_part.added", "response.content_part.done"):
                    self.assertEqual(event["part"]["type"], parts[event["content_index"]]["type"])
                elif event["type"] == "response.refusal.done":
                    self.assertEqual(event["refusal"], parts[event["content_index"]]["refusal"])

    def test_only_known_events_and_no_error_key(self):
        known = re.compile(r"response\.(created|queued|in_progress|completed|failed|incomplete|output_item\.(added|done)|content_part\.(added|done)|"
                           r"output_text\.(delta|done|annotation\.added)|refusal\.(delta|done)|function_call_arguments\.(delta|done)|"
                           r"reasoning_text\.(delta|done)|code_interpreter_call\.(in_progress|interpreting|completed)|"
                           r"code_interpreter_call_code\.(delta|done))$")
        for e in self.stream({"think": "x", "code": "1/0"}, {"code": "print(1)"}, {"say": "ok"}):
            self.assertRegex(e["type"], known)
            self.assertNotIn("error", e)

    def test_71_an_error_of_the_model(self):
        s = self.stream({"status": 500})
        events = list(s)
        self.assertEqual([e["type"] for e in events], ["response.created", "response.in_progress", "error", "response.failed"])
        self.assertEqual(events[2]["error"]["code"], "server_error")
        self.assertEqual(events[2]["message"], events[2]["error"]["message"])
        failed = events[3]["response"]
        self.assertEqual((failed["status"], failed["error"]["code"]), ("failed", "server_error"))
        self.assertEqual(self.oa.ok("GET", "/responses/" + failed["id"])["error"], failed["error"])

    def test_72_a_large_image_in_one_event(self):
        code = ("import os, base64\nfrom IPython.display import Image, display\n"
                "display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom((8 << 20) - 8), format='png'))")
        events = list(self.stream({"code": code}, {"say": "There."}))
        final = events[-1]["response"]
        images = [o for o in self.calls(final)[0]["outputs"] if o["type"] == "image"]
        self.assertEqual(len(images), 1, self.logs(self.calls(final)[0]))
        self.assertEqual(len(base64.b64decode(images[0]["url"].partition(",")[2])), 8 << 20)
        self.assertEqual(final["status"], "completed")

    def test_72_of_too_many_large_images_the_last_are_left_out(self):
        code = ("import os\nfrom IPython.display import Image, display\n"
                "display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom(7 << 20), format='png'))")
        events = list(self.stream({"code": code}, {"code": code}, {"code": code}, {"say": "There."}))
        final = events[-1]["response"]
        self.assertEqual(final["status"], "completed")
        self.assertEqual([[o["type"] for o in c["outputs"] if o["type"] == "image"] for c in self.calls(final)], [["image"], ["image"], []])
        self.assertIn("left out", self.logs(self.calls(final)[2]))
        self.assertEqual(self.oa.ok("GET", "/responses/" + final["id"]), final)

    def test_70_a_client_that_leaves_ends_it(self):
        s = self.stream({"code": "import time\nprint('begun', flush=True)\ntime.sleep(120)"}, {"say": "never"})
        s.until("response.code_interpreter_call.interpreting")
        response = s.events[0]["response"]["id"]
        container = next(e["item"]["container_id"] for e in s.events if e["type"] == "response.output_item.added")
        session = eventually(lambda: self.oa.ok("GET", "/containers/" + container)["session_id"])
        eventually(lambda: self.client.ok("GET", "/api/v1/sessions/" + session)["status"] == "running")
        began = time.monotonic()
        s.connection.sock.shutdown(socket.SHUT_RDWR)
        s.close()
        eventually(lambda: self.client.ok("GET", "/api/v1/sessions/" + session)["status"] != "running", 10)
        self.assertLess(time.monotonic() - began, 5)
        kept = eventually(lambda: (a := self.oa.request("GET", "/responses/" + response)).status == 200
                          and a.json["status"] != "in_progress" and a.json)
        self.assertIn(kept["status"], ("cancelled", "incomplete"))

    def test_70_a_client_that_leaves_while_the_model_thinks(self):
        s = self.stream({"hang": 60})
        s.until("response.in_progress")
        eventually(lambda: self.up.active > 0)
        before = self.up.hangups
        s.connection.sock.shutdown(socket.SHUT_RDWR)
        s.close()
        eventually(lambda: self.up.hangups > before, 5)


class Background(ResponsesTest):
    def wait(self, response, *states):
        return eventually(lambda: (r := self.oa.ok("GET", "/responses/" + response))["status"] in states and r)

    def test_66_queued_then_completed(self):
        made = self.create({"code": "print(6 * 7)"}, {"say": "It is {{last}}."}, background=True)
        self.assertEqual((made["status"], made["output"], made["background"]), ("queued", [], True))
        done = self.wait(made["id"], "completed")
        self.assertIn("42", self.text(done))
        self.check(done)
        self.refuses(self.oa.request("POST", f"/responses/{made['id']}/cancel"), 400, None, None, "Cannot cancel a completed response.")

    def test_66_cancel_ends_the_code(self):
        made = self.create({"code": "import time\ntime.sleep(120)"}, {"say": "never"}, background=True)
        call = eventually(lambda: (r := self.oa.ok("GET", "/responses/" + made["id"]))["output"]
                          and r["output"][0]["status"] == "interpreting" and r["output"][0])
        session = eventually(lambda: self.oa.ok("GET", "/containers/" + call["container_id"])["session_id"])
        eventually(lambda: self.client.ok("GET", "/api/v1/sessions/" + session)["status"] == "running")
        answer = self.oa.request("GET", "/responses/" + made["id"])
        self.assertEqual(answer.json["status"], "in_progress")
        blocked = self.oa.request("POST", "/responses", {"input": "x", "previous_response_id": made["id"]})
        self.refuses(blocked, 400, "previous_response_id", "previous_response_not_completed")
        began = time.monotonic()
        gone = self.oa.ok("POST", f"/responses/{made['id']}/cancel")
        self.assertEqual(gone["status"], "cancelled")
        self.assertLess(time.monotonic() - began, 5)
        eventually(lambda: self.client.ok("GET", "/api/v1/sessions/" + session)["status"] != "running")
        self.assertEqual(self.oa.ok("GET", "/responses/" + made["id"])["status"], "cancelled")
        self.assertEqual(self.oa.ok("POST", f"/responses/{made['id']}/cancel")["status"], "cancelled")

    def test_70_a_stream_resumes_exactly(self):
        s = self.stream({"code": "import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(.3)"},
                        {"say": "Done it is, with many words.", "delta": 3}, background=True)
        s.until("response.code_interpreter_call.interpreting")
        head = list(s.events)
        s.close()
        self.assertEqual([e["type"] for e in head[:3]], ["response.created", "response.queued", "response.in_progress"])
        self.assertEqual(head[0]["response"]["status"], "queued")
        response = head[0]["response"]["id"]
        tail = list(Stream(self.server, "GET", f"/responses/{response}?stream=true&starting_after={len(head) - 1}"))
        whole = list(Stream(self.server, "GET", f"/responses/{response}?stream=true"))
        self.assertEqual(head + tail, whole)
        self.assertEqual([e["sequence_number"] for e in whole], list(range(len(whole))))
        self.assertEqual(whole[-1]["response"], self.oa.ok("GET", "/responses/" + response))

    def test_deleted_while_it_goes_on(self):
        made = self.create({"hang": 60}, background=True)
        self.oa.ok("DELETE", "/responses/" + made["id"])
        eventually(lambda: self.oa.request("GET", "/responses/" + made["id"]).status == 404)


class Limits(ResponsesTest):
    def test_code_that_cannot_be_run_says_why(self):
        person = self.client.ok("POST", "/api/v1/principals", {"name": "slow"}, 201)
        key = self.client.ok("POST", "/api/v1/keys", {"principal": person["id"], "name": "k", "scopes": ["run", "files:read", "files:write"],
                                                      "limits": {"runs_per_minute": 2}}, 201)
        other = OpenAI(self.server, key["secret"])
        steps = script(*[{"code": f"print({n})"} for n in range(3)], {"say": "ok"})
        made = other.ok("POST", "/responses", {"input": steps, "tools": [AUTO]})
        failed = [c for c in self.calls(made) if c["status"] == "failed"]
        self.assertTrue(failed, made)
        self.assertTrue(self.logs(failed[0]))
        other.close()


    def test_what_was_made_for_a_request_that_is_refused_is_gone(self):
        good = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="}
        bad = {"type": "input_file", "filename": "b.txt", "file_data": "data:text/plain;base64,?"}
        before = self.containers()
        body = {"input": [{"role": "user", "content": [good, bad]}], "tools": [AUTO]}
        self.assertEqual(self.oa.request("POST", "/responses", body).status, 400)
        self.assertEqual(self.containers(), before)
        self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": [good]}], "tools": [AUTO]})
        self.assertEqual(len(self.containers()), len(before) + 1)

    def test_so_many_files_at_once_and_not_one_more(self):
        part = {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="}
        content = [{"type": "input_text", "text": "Look."}, *[part] * 500]
        self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": content}]})
        answer = self.oa.request("POST", "/responses", {"input": [{"role": "user", "content": content}, {"role": "user", "content": [part]}]})
        self.refuses(answer, 400, "input[1].content[0]", "invalid_value", "at most 500 files")

    def test_references_to_too_much(self):
        first = self.create({"say": "y" * (1 << 20), "chunk": 1 << 16, "delta": 1 << 16}, tools=[])
        reference = {"type": "item_reference", "id": first["output"][0]["id"]}
        other = self.create({"say": "The word is plum."})["output"][0]
        made = self.oa.ok("POST", "/responses", {"input": [{"type": "item_reference", "id": other["id"]}, reference, {"role": "user", "content": "So?"}]})
        items = self.oa.ok("GET", f"/responses/{made['id']}/input_items?order=asc")["data"]
        self.assertEqual([i["id"] for i in items[:2]], [other["id"], reference["id"]])
        answer = self.oa.request("POST", "/responses", {"input": [reference] * 100})
        self.refuses(answer, 413, "input", None, "Refer to fewer")
        answer = self.oa.request("POST", "/responses", {"input": [{"type": "item_reference", "id": f"msg_{n}"} for n in range(20000)]})
        self.refuses(answer, 404, "input", None, "Item with id 'msg_0' not found")

    def test_what_is_too_large_to_be_kept_is_kept_without_its_bytes(self):
        picture = "data:image/png;base64," + "A" * (20 << 20)
        content = [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": picture}]
        first = self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": content}]})
        item = self.oa.ok("GET", f"/responses/{first['id']}/input_items")["data"][0]
        self.assertEqual(item["content"], content)
        items = [{"type": "item_reference", "id": item["id"]}, {"role": "user", "content": content}]
        made = self.oa.ok("POST", "/responses", {"input": items})
        for item in self.oa.ok("GET", f"/responses/{made['id']}/input_items")["data"]:
            self.assertEqual(item["content"][0], content[0])
            self.assertEqual(item["content"][1]["type"], "input_text")
            self.assertIn("not kept", item["content"][1]["text"])
        self.assertEqual(self.oa.ok("GET", "/responses/" + made["id"])["output"], made["output"])


class Large(ResponsesTest):
    more = {"model.context_tokens": 8000000}

    def test_the_last_event_comes_also_when_there_is_no_room_for_it(self):
        code = ("import os\nfrom IPython.display import Image, display\n"
                "display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom(7 << 20), format='png'))")
        events = list(self.stream({"code": code}, {"code": code}, {"say": "x" * (6 << 20), "chunk": 1 << 16, "delta": 1 << 16}))
        self.assertGreater(sum(len(json.dumps(e)) for e in events[:-1]), 40 << 20)
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        self.assertEqual(events[-1]["type"], "response.completed")
        final = events[-1]["response"]
        self.assertEqual([c["outputs"] for c in self.calls(final)], [None, None])
        self.assertEqual(len(self.text(final)), 6 << 20)
        kept = self.oa.ok("GET", "/responses/" + final["id"])
        self.assertEqual([o["type"] for c in self.calls(kept) for o in c["outputs"]], ["image", "image"])


class Images(ResponsesTest):
    more = {"model.images": "on"}

    def told(self):
        """The parts of the last user message, as the model got them."""
        return [m for m in self.up.bodies[-1]["messages"] if m["role"] == "user"][-1]["content"]

    def test_a_file_that_is_named_many_times(self):
        large = self.oa.file(b"\x89PNG\r\n\x1a\n" + bytes(5 << 20), "large.png")
        small = self.oa.file(png(2, 2), "small.png")
        content = [{"type": "input_text", "text": "Look."}, {"type": "input_image", "file_id": small["id"]},
                   *[{"type": "input_image", "file_id": large["id"]}] * 60, {"type": "input_image", "file_id": small["id"]}]
        self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": content}]})
        told = self.told()
        images = [p["image_url"]["url"] for p in told if p["type"] == "image_url"]
        self.assertEqual(len([p for p in told if p["type"] == "text" and "left out" in p["text"]]), 51)
        self.assertEqual(len(images), 11)
        self.assertEqual(images[0], images[-1])
        self.assertEqual(images[0], "data:image/png;base64," + base64.b64encode(png(2, 2)).decode())
        self.assertEqual(len(set(images)), 2)

    def test_of_a_conversation_the_newest_are_shown(self):
        large = self.oa.file(b"\x89PNG\r\n\x1a\n" + bytes(23 << 20), "large.png")
        items = [{"role": "user", "content": [{"type": "input_text", "text": str(n)}, {"type": "input_image", "file_id": large["id"]}]}
                 for n in range(4)]
        self.oa.ok("POST", "/responses", {"input": items})
        has_image = ["image_url" in [p["type"] for p in m["content"]] for m in self.up.bodies[-1]["messages"]
                     if m["role"] == "user" and isinstance(m["content"], list)]
        self.assertEqual(has_image[-2:], [True, True])
        self.assertEqual(sum(has_image), 2)

    def test_two_images_of_a_message_are_two_files(self):
        content = [{"type": "input_text", "text": script({"code": "import glob\nprint(len(glob.glob('/mnt/data/image_*')))"}, {"say": "ok"})},
                   *[{"type": "input_image", "image_url": "data:image/png;base64," + base64.b64encode(png(n, 2)).decode()} for n in (2, 3)]]
        made = self.oa.ok("POST", "/responses", {"input": [{"role": "user", "content": content}], "tools": [AUTO]})
        self.assertEqual(self.logs(self.calls(made)[0]), "2\n")


class Outputs(ResponsesTest):
    more = {"openai.outputs": "off"}

    def test_52_outputs_only_when_they_are_wanted(self):
        made = self.create({"code": "print(1)"}, {"say": "ok"})
        self.assertIsNone(self.calls(made)[0]["outputs"])
        path = "/responses/" + made["id"]
        self.assertIsNone(self.calls(self.oa.ok("GET", path))[0]["outputs"])
        for query in ("include[]=code_interpreter_call.outputs", "include%5B%5D=message.output_text.logprobs&include%5B%5D=code_interpreter_call.outputs",
                      "include=code_interpreter_call.outputs"):
            self.assertEqual(self.calls(self.oa.ok("GET", f"{path}?{query}"))[0]["outputs"], [{"type": "logs", "logs": "1\n"}])
        self.refuses(self.oa.request("GET", path + "?include[]=all"), 400, "include[0]", "invalid_value")
        wanted = self.create({"code": "print(1)"}, {"say": "ok"}, include=["code_interpreter_call.outputs"])
        self.assertEqual(self.logs(self.calls(wanted)[0]), "1\n")
        done = [e for e in self.stream({"code": "print(1)"}, {"say": "ok"}) if e["type"].endswith("output_item.done")]
        self.assertIsNone(done[0]["item"]["outputs"])


class Upstreams(ResponsesTest):
    """What a model's endpoint does wrong."""
    more = {"model.timeout_s": 2}

    def test_67_before_anything_was_made(self):
        for step, status, code in (({"status": 429}, 429, "rate_limit_exceeded"), ({"status": 401}, 503, "server_error"),
                                   ({"hang": 30}, 503, "server_error"), ({"raw": "<html>?", "type": "text/html"}, 502, "server_error")):
            answer = self.oa.request("POST", "/responses", {"input": script(step)})
            self.refuses(answer, status, None, code)
            if status != 429:
                self.assertEqual(answer.headers["x-should-retry"], "false")

    def test_67_what_is_no_model_is_told_as_such(self):
        step = {"raw": '{"message": "Hello."}', "type": "application/json"}
        answer = self.oa.request("POST", "/responses", {"input": script(step)})
        self.refuses(answer, 502, None, "server_error", "no chat completion; check model.url")
        body = {"messages": [{"role": "user", "content": script(step)}], "code_interpreter": True}
        self.refuses(self.oa.request("POST", "/chat/completions", body), 502, None, None, "no chat completion; check model.url")

    def test_67_after_something_was_made(self):
        made = self.create({"code": "print(1)"}, {"status": 429})
        self.assertEqual((made["status"], made["error"]["code"]), ("failed", "rate_limit_exceeded"))
        self.assertEqual(self.logs(self.calls(made)[0]), "1\n")
        made = self.create({"code": "print(1)"}, {"status": 403})
        self.assertEqual((made["status"], made["error"]["code"]), ("failed", "server_error"))
        self.assertIn("CICADA_MODEL_KEY", made["error"]["message"])
        self.assertEqual(self.oa.ok("GET", "/responses/" + made["id"])["error"], made["error"])

    def test_a_failure_that_passes_is_not_noticed(self):
        made = self.create({"status": 500, "times": 1, "then": {"say": "Now."}}, words="once")
        self.assertEqual(self.text(made), "Now.")


class OverResponses(ResponsesTest):
    """A model whose endpoint speaks Responses itself: nobody notices."""
    more = {"model.api": "responses"}

    def test_code_functions_and_what_was_said_before(self):
        first = self.create({"think": "Hm.", "code": "x = 41\nprint(x)"}, {"calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]},
                            {"code": "print(x + 1)"}, {"say": "It is {{last}}."}, tools=[AUTO, FUNCTION])
        self.assertEqual([i["type"] for i in first["output"]], ["reasoning", "code_interpreter_call", "function_call"])
        second = self.oa.ok("POST", "/responses", {
            "input": [{"type": "function_call_output", "call_id": first["output"][-1]["call_id"], "output": "7 degrees"}],
            "previous_response_id": first["id"], "tools": [AUTO, FUNCTION]})
        self.assertEqual(self.logs(self.calls(second)[0]), "42\n")
        self.assertIn("42", self.text(second))
        self.assertIn("/v1/responses", {r["path"] for r in self.up.requests})

    def test_a_stream(self):
        events = list(self.stream({"code": "print(1)"}, {"say": "ok"}))
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        self.assertEqual(events[-1]["type"], "response.completed")


class Lives(ResponsesTest):
    def test_a_container_that_slept(self):
        container = self.oa.container("short", expires_after={"anchor": "last_active_at", "minutes": 1})["id"]
        tool = {"type": "code_interpreter", "container": container}
        self.create({"code": "x = 41\nopen('a.txt','w').write('kept')"}, {"say": "ok"}, tools=[tool])
        session = self.oa.ok("GET", "/containers/" + container)["session_id"]
        self.client.request("POST", f"/api/v1/sessions/{session}/sleep")
        made = self.create({"code": "print(open('a.txt').read())\nprint(x + 1)"}, {"say": "ok"}, tools=[tool])
        call = self.calls(made)[0]
        self.assertIn("kept", self.logs(call))
        self.assertEqual(call["container_id"], container)
        if call["x_exec"]["state"] in ("kept", "woken"):
            self.assertIn("42", self.logs(call))

    def test_a_session_that_was_thrown_away(self):
        first = self.create({"code": "x = 41\nopen('a.txt','w').write('kept')"}, {"say": "ok"})
        container = self.calls(first)[0]["container_id"]
        session = self.oa.ok("GET", "/containers/" + container)["session_id"]
        self.client.ok("DELETE", "/api/v1/sessions/" + session, status=204)
        second = self.create({"code": "print(open('a.txt').read())\nprint('x' in globals())"}, {"say": "ok"}, previous_response_id=first["id"])
        call = self.calls(second)[0]
        self.assertEqual(call["container_id"], container)
        self.assertEqual(call["x_exec"]["state"], "lost")
        first_line, _, rest = self.logs(call).partition("\n")
        self.assertIn("variables", first_line)
        self.assertIn("gone", first_line)
        self.assertIn("files", first_line)
        self.assertEqual(rest, "kept\nFalse\n")
        self.assertNotEqual(self.oa.ok("GET", "/containers/" + container)["session_id"], session)

    def test_a_container_that_was_deleted(self):
        first = self.create({"code": "x = 41"}, {"say": "ok"})
        self.oa.ok("DELETE", "/containers/" + self.calls(first)[0]["container_id"])
        second = self.create({"code": "print('x' in globals())"}, {"say": "ok"}, previous_response_id=first["id"])
        self.assertIn("False", self.logs(self.calls(second)[0]))
        self.assertNotEqual(self.calls(second)[0]["container_id"], self.calls(first)[0]["container_id"])


class Restarts(ResponsesTest):
    more = {"server.drain_s": 1}

    def test_a_conversation_goes_on_after_a_restart(self):
        first = self.create({"code": "x = 41\nopen('a.txt','w').write('kept')"}, {"say": "ok"})
        going = self.create({"hang": 60}, background=True)
        eventually(lambda: self.oa.ok("GET", "/responses/" + going["id"])["status"] == "in_progress")
        self.oa.close()
        self.client.close()
        self.server.stop(signal.SIGKILL)
        self.server.start()
        lost = self.oa.ok("GET", "/responses/" + going["id"])
        self.assertEqual((lost["status"], lost["error"]["code"]), ("failed", "server_error"))
        self.assertIn("server was stopped", lost["error"]["message"])
        self.assertEqual(self.oa.ok("GET", "/responses/" + first["id"]), first)
        second = self.create({"code": "print(open('a.txt').read())"}, {"say": "{{last}}"}, previous_response_id=first["id"])
        call = self.calls(second)[0]
        self.assertEqual(call["container_id"], self.calls(first)[0]["container_id"])
        self.assertIn("kept\n", self.logs(call))
        events = list(Stream(self.server, "GET", f"/responses/{first['id']}?stream=true"))
        self.assertEqual(events[-1]["response"], first)

    def test_one_that_is_stopped_in_order(self):
        going = self.create({"hang": 60}, background=True)
        eventually(lambda: self.up.active > 0)
        self.oa.close()
        self.client.close()
        began = time.monotonic()
        self.server.stop()
        self.assertLess(time.monotonic() - began, 20)
        self.server.start()
        lost = self.oa.ok("GET", "/responses/" + going["id"])
        self.assertEqual((lost["status"], lost["error"]["code"]), ("failed", "server_error"))

    def test_one_whose_client_is_sent_away(self):
        stream = self.stream({"hang": 60})
        going = stream.until("response.in_progress")["response"]
        eventually(lambda: self.up.active > 0)
        self.server.process.send_signal(signal.SIGTERM)
        self.assertIn("stopping", stream.until("error")["message"])
        self.server.stop()
        self.server.start()
        lost = self.oa.ok("GET", "/responses/" + going["id"])
        self.assertEqual((lost["status"], lost["error"] and lost["error"]["code"]), ("failed", "server_error"))
        self.assertIn("server was stopped", lost["error"]["message"])


class Strict(ResponsesTest):
    more = {"openai.strict_expiry": "on"}

    def test_23_an_expired_container_stays_expired(self):
        container = self.oa.container("short", expires_after={"anchor": "last_active_at", "minutes": 1})["id"]
        tool = {"type": "code_interpreter", "container": container}
        first = self.create({"code": "print(1)"}, {"say": "ok"}, tools=[tool])
        self.oa.close()
        self.client.close()
        self.server.stop()
        with sqlite3.connect(self.server.data + "/data/meta.db") as db:
            db.execute("UPDATE cards SET used = used - 61000000 WHERE id = ?", (container,))
        db.close()
        self.server.start()
        answer = self.oa.request("POST", "/responses", {"input": "x", "tools": [tool]})
        self.refuses(answer, 400, None, None, "Container is expired.")
        again = self.create({"code": "print(2)"}, {"say": "ok"}, previous_response_id=first["id"])
        self.assertNotEqual(self.calls(again)[0]["container_id"], container)


class Conversations(ResponsesTest):
    def test_a_conversation_and_its_items(self):
        made = self.oa.ok("POST", "/conversations", {"metadata": {"a": "b"}, "items": [{"role": "user", "content": "My word is plum."}]})
        self.assertEqual((set(made), made["object"], made["metadata"]), ({"id", "object", "created_at", "metadata"}, "conversation", {"a": "b"}))
        path = "/conversations/" + made["id"]
        self.assertEqual(self.oa.ok("GET", path), made)
        self.assertEqual(self.oa.ok("POST", path, {"metadata": {"c": "d"}})["metadata"], {"c": "d"})
        added = self.oa.ok("POST", path + "/items", {"items": [{"role": "user", "content": "two"}, {"role": "assistant", "content": "three"}]})
        self.assertEqual([i["content"][0]["text"] for i in added["data"]], ["two", "three"])
        listed = self.oa.ok("GET", path + "/items?order=asc&limit=2")
        self.assertTrue(listed["has_more"])
        rest = self.oa.ok("GET", f"{path}/items?order=asc&after={listed['last_id']}")
        self.assertEqual([i["content"][0]["text"] for i in listed["data"] + rest["data"]], ["My word is plum.", "two", "three"])
        item = added["data"][0]["id"]
        self.assertEqual(self.oa.ok("GET", f"{path}/items/{item}"), added["data"][0])
        self.assertEqual(self.oa.ok("DELETE", f"{path}/items/{item}")["id"], made["id"])
        self.refuses(self.oa.request("GET", f"{path}/items/{item}"), 404, None, None, item)
        self.assertEqual(self.oa.ok("DELETE", path), {"id": made["id"], "object": "conversation.deleted", "deleted": True})
        self.refuses(self.oa.request("GET", path), 404, None, None, made["id"])

    def test_responses_go_on_in_it(self):
        conversation = self.oa.ok("POST", "/conversations", {})["id"]
        first = self.create({"code": "x = 41"}, {"say": "The word is plum."}, conversation=conversation)
        self.assertEqual(first["conversation"], {"id": conversation})
        second = self.create({"code": "print(x + 1)"}, {"say": "ok"}, conversation={"id": conversation})
        self.assertEqual(self.logs(self.calls(second)[0]), "42\n")
        self.assertIn("plum", json.dumps(self.up.bodies[-1]))
        items = self.oa.pages(f"/conversations/{conversation}/items?order=asc")
        self.assertEqual([i["type"] for i in items], ["message", "code_interpreter_call", "message"] * 2)
        self.assertEqual(items[-1], second["output"][-1])

    def test_what_is_not_stored_is_said_in_it_all_the_same(self):
        conversation = self.oa.ok("POST", "/conversations", {})["id"]
        made = self.create({"say": "The word is plum."}, conversation=conversation, store=False)
        self.assertEqual(self.oa.request("GET", "/responses/" + made["id"]).status, 404)
        self.assertEqual(len(self.oa.ok("GET", f"/conversations/{conversation}/items")["data"]), 2)

    def test_what_is_wrong_is_told(self):
        self.refuses(self.oa.request("POST", "/conversations", {"name": "x"}), 400, "name", "unknown_parameter")
        self.refuses(self.oa.request("POST", "/conversations", {"items": [{"role": "robot", "content": ""}]}), 400, "items[0].role", "invalid_value")
        self.refuses(self.oa.request("POST", "/conversations/conv_none/items", {"items": []}), 404, None, None, "conv_none")
        path = f"/conversations/{self.oa.ok('POST', '/conversations', {})['id']}/items"
        reference = {"items": [{"role": "user", "content": "a"}, {"type": "item_reference", "id": "msg_1"}]}
        self.refuses(self.oa.request("POST", path, reference), 400, "items[1]", "invalid_value")
        self.refuses(self.oa.request("POST", "/conversations", reference), 400, "items[1]", "invalid_value")
        self.refuses(self.oa.request("POST", path, {}), 400, "items", "missing_required_parameter")
        self.refuses(self.oa.request("POST", "/conversations", {"metadata": {"a": 1}}), 400, "metadata.a", "invalid_type")


class NoModel(ApiTest):
    def test_it_says_what_to_set(self):
        oa = OpenAI(self.server)
        answer = oa.request("POST", "/responses", {"input": "hi"})
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.headers["x-should-retry"], "false")
        for word in ("CICADA_MODEL_URL", "CICADA_MODEL_NAME", "Ollama", "CICADA_MODEL_KEY"):
            self.assertIn(word, answer.json["error"]["message"])
        oa.close()


class Many(ResponsesTest):
    def test_streams_at_once(self):
        problems = []

        def one(number):
            try:
                events = list(Stream(self.server, "POST", "/responses", {"input": script({"say": f"number {number}", "delta": 2}), "stream": True}))
                assert events[-1]["type"] == "response.completed", events[-1]
                assert events[-1]["response"]["output"][0]["content"][0]["text"] == f"number {number}"
                assert [e["sequence_number"] for e in events] == list(range(len(events)))
            except Exception as problem:  # whatever it is, the test tells it
                problems.append(repr(problem))

        threads = [threading.Thread(target=one, args=(n,)) for n in range(50)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(problems, [])
