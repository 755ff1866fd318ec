"""run_code, get_execution, manage_session and tasks, in both eras of MCP."""
import base64
import json
import re
import signal
import struct
import unittest

import jsonschema

from base import IMAGES, ApiTest, eventually
from mcp import META, Legacy, Modern, RpcError

TASKS = {"extensions": {META + "tasks": {}}}
TEXT_MAX, STRUCTURED_MAX, IMAGES_MAX, IMAGE_BYTES, IMAGE_EDGE = 48 << 10, 12 << 10, 4, 150 << 10, 1024


def png_size(data):
    return struct.unpack(">II", data[16:24])


class McpTest(ApiTest):
    """Every result of a tool is held against its outputSchema and the limits of a reply."""

    def setUp(self):
        super().setUp()
        self.modern = Modern(self.server)
        if not hasattr(type(self), "outputs"):
            type(self).outputs = {t["name"]: t["outputSchema"] for t in self.modern.rpc("tools/list")["tools"]}

    def key(self, scopes, principal=None):
        wishes = {"name": "k", "scopes": scopes}
        if principal:
            wishes["principal"] = principal
        return self.client.ok("POST", "/api/v1/keys", wishes, 201)["secret"]

    def check(self, tool, result):
        text = Modern.text(result)
        self.assertLessEqual(len(text.encode()), TEXT_MAX + 100)
        images = Modern.blocks(result, "image")
        self.assertLessEqual(len(images), IMAGES_MAX)
        for image in images:
            self.assertLessEqual(len(base64.b64decode(image["data"])), IMAGE_BYTES)
        if "structuredContent" in result:
            self.assertLessEqual(len(json.dumps(result["structuredContent"], ensure_ascii=False).encode()), STRUCTURED_MAX + 1024)
            jsonschema.Draft202012Validator(self.outputs[tool]).validate(result["structuredContent"])
        else:
            self.assertTrue(result.get("isError"), result)
        return result

    def call(self, mcp, tool, _meta=None, **arguments):
        return self.check(tool, mcp.call(tool, _meta, **arguments))

    def run_code(self, mcp, code, **more):
        return self.call(mcp, "run_code", code=code, **more)

    def session(self, mcp):
        return self.run_code(mcp, "pass")["structuredContent"]["session_id"]

    def runs(self, session):
        return self.client.ok("GET", "/api/v1/runs?session=" + session)["data"]


class Runs(McpTest):
    def test_variables_are_kept_where_the_session_is_named(self):
        first = self.run_code(self.modern, "x = 41\nprint('hello')\nx + 1")
        data = first["structuredContent"]
        self.assertEqual(Modern.text(first).splitlines(),
                         ["session_id: %s (pass it to keep variables)" % data["session_id"], "stdout: hello", "result: 42"])
        self.assertEqual((data["status"], data["stdout"], data["result"]), ("ok", "hello\n", "42"))
        self.assertNotIn("isError", first)
        again = self.run_code(self.modern, "x", session_id=data["session_id"])
        self.assertEqual(again["structuredContent"]["result"], "41")
        other = self.run_code(self.modern, "x")
        self.assertNotEqual(other["structuredContent"]["session_id"], data["session_id"])
        self.assertEqual(other["structuredContent"]["error"], {"type": "NameError", "message": "name 'x' is not defined", "line": 1})

    def test_a_legacy_client_goes_on_in_its_session(self):
        legacy, other = Legacy(self.server), Legacy(self.server)
        first = self.run_code(legacy, "x = 1")["structuredContent"]["session_id"]
        again = self.run_code(legacy, "x")["structuredContent"]
        self.assertEqual((again["session_id"], again["result"]), (first, "1"))
        self.assertTrue(self.run_code(other, "x")["isError"])
        named = self.run_code(other, "x", session_id=first)["structuredContent"]
        self.assertEqual(named["result"], "1")
        self.call(legacy, "manage_session", action="close")
        fresh = self.run_code(legacy, "x")
        self.assertNotEqual(fresh["structuredContent"]["session_id"], first)
        self.assertTrue(fresh["isError"])

    def test_a_session_that_went_away_behind_a_legacy_client_is_replaced(self):
        legacy = Legacy(self.server)
        first = self.session(legacy)
        self.client.ok("DELETE", "/api/v1/sessions/" + first, status=204)
        again = self.run_code(legacy, "2 + 2")
        self.assertEqual(again["structuredContent"]["result"], "4")
        self.assertNotEqual(again["structuredContent"]["session_id"], first)
        self.assertIn("this is a new one", Modern.text(again))

    def test_calls_of_a_legacy_client_that_come_at_once_share_a_session(self):
        legacy = Legacy(self.server)
        pending = [legacy.start_call("run_code", code="shared = globals().get('shared', 0) + 1") for _ in range(4)]
        sessions = {self.check("run_code", p.wait())["structuredContent"]["session_id"] for p in pending}
        last = self.run_code(legacy, "shared")["structuredContent"]
        self.assertIn(last["session_id"], sessions)
        if len(sessions) == 1:
            self.assertEqual(last["result"], "4")

    def test_a_session_that_is_not_there_says_what_to_do(self):
        session = self.session(self.modern)
        self.call(self.modern, "manage_session", action="close", session_id=session)
        for name in (session, "ses_nobodysnobodysnobodysno", "../../x?y", "no such"):
            for mcp in (self.modern, Legacy(self.server)):
                result = self.run_code(mcp, "1", session_id=name)
                self.assertTrue(result["isError"])
                self.assertIn("run_code without session_id", Modern.text(result))
        others = Modern(self.server, self.key(["run"], self.client.ok("POST", "/api/v1/principals", {"name": "other"}, 201)["id"]))
        mine = self.session(self.modern)
        result = self.run_code(others, "1", session_id=mine)
        self.assertTrue(result["isError"])
        self.assertIn("is not yours", Modern.text(result))

    def test_an_error_shows_the_frames_of_the_cell(self):
        result = self.run_code(self.modern, "def f(x):\n    return 1 / x\n\nprint('before')\nf(0)")
        text = Modern.text(result)
        self.assertTrue(result["isError"])
        self.assertIn("Traceback (most recent call last):\n", text)
        self.assertIn("line 2, in f\n    return 1 / x", text)
        self.assertIn("ZeroDivisionError: division by zero\n", text)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("/usr/", text)
        self.assertLess(text.index("stdout: before"), text.index("Traceback"))
        self.assertIn("next: Fix the code", text)
        self.assertEqual(result["structuredContent"]["error"]["line"], 2)
        self.assertNotIn("Traceback", json.dumps(result["structuredContent"]))

    def test_a_timeout_says_so_and_keeps_variables(self):
        session = self.run_code(self.modern, "x = 5")["structuredContent"]["session_id"]
        result = self.run_code(self.modern, "print('begun', flush=True)\nwhile True: pass", session_id=session, timeout_s=1)
        text = Modern.text(result)
        self.assertTrue(result["isError"])
        self.assertEqual(result["structuredContent"]["status"], "timeout")
        self.assertRegex(text, r"\nstatus: timeout after 1(\.\d+)? s\n")
        self.assertIn("stdout: begun", text)
        self.assertIn("timeout_s", result["structuredContent"]["next"])
        self.assertEqual(self.run_code(self.modern, "x", session_id=session)["structuredContent"]["result"], "5")

    def test_a_dead_interpreter_says_that_variables_are_gone(self):
        result = self.run_code(self.modern, "import os\nos.kill(os.getpid(), 11)")
        self.assertEqual(result["structuredContent"]["status"], "crashed")
        self.assertIn("SIGSEGV", Modern.text(result))
        self.assertIn("Variables are lost", Modern.text(result))
        self.assertIn("Variables are lost", result["structuredContent"]["note"])

    def test_stateless_runs_leave_nothing_but_files(self):
        result = self.run_code(self.modern, "open('left.txt', 'w').write('abc')\ny = 1", stateless=True)
        data = result["structuredContent"]
        self.assertNotIn("session_id", data)
        self.assertTrue(Modern.text(result).startswith("execution_id: " + data["execution_id"]))
        self.assertEqual([(f["path"], f["change"], f["size"]) for f in data["files"]], [("left.txt", "created", 3)])
        run = self.client.ok("GET", "/api/v1/runs/" + data["execution_id"])
        eventually(lambda: self.client.ok("GET", "/api/v1/sessions/" + run["session_id"])["status"] == "closed")
        again = self.call(self.modern, "get_execution", execution_id=data["execution_id"])
        self.assertNotIn("session_id", again["structuredContent"])
        both = self.run_code(self.modern, "1", stateless=True, session_id=self.session(self.modern))
        self.assertTrue(both["isError"])
        self.assertIn("leave out session_id", Modern.text(both))

    def test_other_languages(self):
        result = self.run_code(self.modern, "echo $((6 * 7)) | tee n.txt", language="bash")
        self.assertEqual(result["structuredContent"]["stdout"], "42\n")
        session = result["structuredContent"]["session_id"]
        self.assertEqual(self.run_code(self.modern, "open('n.txt').read()", session_id=session)["structuredContent"]["result"], "'42\\n'")

    def test_files_are_told_with_version_and_change(self):
        session = self.session(self.modern)
        for code, line in (("open('data.csv', 'w').write('a,b\\n1,2\\n')", r"- created data\.csv \(8 bytes, version 1\)"),
                           ("open('data.csv', 'a').write('3,4\\n')", r"- modified data\.csv \(12 bytes, version 2\)"),
                           ("import os; os.remove('data.csv')", r"- deleted data\.csv \(in the trash")):
            result = self.run_code(self.modern, code, session_id=session)
            self.assertRegex(Modern.text(result), line)
            file = result["structuredContent"]["files"][0]
            if file["change"] != "deleted":
                self.assertRegex(file["uri"], r"^workspace://ws_[^/]+/data\.csv$")
                self.assertEqual([b["uri"] for b in Modern.blocks(result, "resource_link")], [file["uri"]])

    def test_a_workspace_that_is_not_the_sessions_is_refused(self):
        ws = self.client.ok("POST", "/api/v1/workspaces", {"name": "elsewhere"}, 201)["id"]
        session = self.session(self.modern)
        result = self.run_code(self.modern, "1", session_id=session, workspace_id=ws)
        self.assertTrue(result["isError"])
        self.assertIn("another workspace", Modern.text(result))
        unknown = self.run_code(self.modern, "1", session_id=session, workspace_id="ws_nobodysnobodysnobodysno")
        self.assertTrue(unknown["isError"])
        self.assertIn("workspace", Modern.text(unknown))
        there = self.run_code(self.modern, "open('x', 'w').write('1')", workspace_id=ws)["structuredContent"]
        self.assertIn(ws, there["files"][0]["uri"])
        self.assertFalse(self.run_code(self.modern, "1", session_id=there["session_id"], workspace_id=ws).get("isError"))
        legacy = Legacy(self.server)
        home = self.session(legacy)
        self.assertNotEqual(self.run_code(legacy, "1", workspace_id=ws)["structuredContent"]["session_id"], home)

    def test_what_a_terminal_would_overwrite_is_left_out(self):
        code = "import sys\nfor i in range(50): print(f'\\r{i}%', end='')\nprint()\nprint('\\x1b[31mred\\x1b[0m')"
        result = self.run_code(self.modern, code)
        self.assertEqual(result["structuredContent"]["stdout"], "49%\nred\n")

    def test_tables_are_text(self):
        result = self.run_code(self.modern, "import pandas as pd\nd = pd.DataFrame({'a': [1, 2]})\ndisplay(d)\nd * 2")
        self.assertIn("displayed:\n   a\n0  1\n1  2\n", Modern.text(result))
        self.assertIn("result:\n   a\n0  2\n1  4\n", Modern.text(result))
        self.assertEqual(result["structuredContent"]["displayed"], "   a\n0  1\n1  2\n")
        self.assertNotIn("<table", json.dumps(result))

    def test_arguments_are_checked(self):
        for bad in ({}, {"code": 1}, {"code": "1", "timeout_s": 601}, {"code": "1", "images": "big"}, {"code": "1", "cod": "2"}):
            with self.subTest(bad):
                try:
                    result = self.modern.call("run_code", **bad)
                except RpcError as error:
                    self.assertEqual(error.code, -32602)
                else:
                    self.assertTrue(result["isError"])


class Long(McpTest):
    def test_a_hundred_thousand_lines(self):
        for mcp in (self.modern, Legacy(self.server)):
            result = self.run_code(mcp, "for i in range(100000): print('line', i)")
            text, data = Modern.text(result), result["structuredContent"]
            self.assertLess(len(json.dumps(result)), 64 << 10)
            self.assertIn("stdout:\nline 0\nline 1\n", text)
            self.assertIn("\nline 99999\n", text)
            notice = re.search(r"\n\[\.\.\. (\d+) bytes \((\d+) lines\) left out; all of it is in (\S+) \(read_file\) \.\.\.\]\n", text)
            self.assertTrue(notice, text[-500:])
            self.assertTrue(data["truncated"]["stdout"])
            self.assertEqual(notice[3], data["full_output_path"])
            self.assertEqual(data["full_output_path"], ".outputs/%s.txt" % data["execution_id"])
            ws = self.client.ok("GET", "/api/v1/runs/" + data["execution_id"])["workspace_id"]
            links = [b["uri"] for b in Modern.blocks(result, "resource_link")]
            self.assertEqual(links, ["workspace://%s/%s" % (ws, data["full_output_path"])])
            kept = self.client.get("/api/v1/workspaces/%s/files/%s" % (ws, data["full_output_path"])).body.decode()
            self.assertEqual(kept, "".join("line %d\n" % i for i in range(100000)))
            again = self.run_code(mcp, "1", session_id=data["session_id"])
            self.assertNotIn("changed by others", Modern.text(again))

    def test_every_kind_of_output_is_cut_by_itself(self):
        code = ("import sys\nprint('o' * 30000)\nprint('e' * 30000, file=sys.stderr)\n"
                "class R:\n    def __repr__(self): return 'r' * 30000\ndisplay(R())\nR()")
        result = self.run_code(self.modern, code)
        text, data = Modern.text(result), result["structuredContent"]
        self.assertEqual([len(re.findall(letter * 100, text)) for letter in "oer"], [199, 49, 99])  # a line end is one of them
        self.assertEqual(data["truncated"], {"stdout": True, "stderr": True, "result": True})
        ws = self.client.ok("GET", "/api/v1/runs/" + data["execution_id"])["workspace_id"]
        kept = self.client.get("/api/v1/workspaces/%s/files/%s" % (ws, data["full_output_path"])).body.decode()
        self.assertEqual([kept.count(letter * 30000) for letter in "oer"], [1, 1, 2])

    def test_a_long_traceback_keeps_its_ends(self):
        result = self.run_code(self.modern, "raise ValueError('v' * 60000)")
        text = Modern.text(result)
        self.assertIn("Traceback", text)
        self.assertIn("left out", text)
        self.assertLess(len(text), 10000)

    def test_hostile_output_stays_within_the_limits(self):
        for piece in ("'\\x01'", "'\"'", "'\\u2028'", "'中'", "'\\x00'", "'\\ud800'"):
            with self.subTest(piece):
                result = self.run_code(self.modern, f"import sys\nsys.stdout.reconfigure(errors='replace')\nprint({piece} * 50000)\n{piece} * 50000")
                self.assertLess(len(json.dumps(result["structuredContent"])), 40 << 10)

    def test_many_files_are_counted(self):
        result = self.run_code(self.modern, "for i in range(300): open(f'{i:03d}' + 'n' * 150, 'w').write('x')")
        data = result["structuredContent"]
        self.assertEqual(len(data["files"]) + data["files_left_out"], 300)
        self.assertRegex(Modern.text(result), r"- and \d+ more: list_files shows them")

    def test_who_may_not_write_files_reads_on_with_get_execution(self):
        who = self.client.ok("POST", "/api/v1/principals", {"name": "runner"}, 201)["id"]
        mcp = Modern(self.server, self.key(["run"], who))
        result = self.run_code(mcp, "for i in range(20000): print('zeile ä', i)")
        data = result["structuredContent"]
        self.assertNotIn("full_output_path", data)
        self.assertIn("get_execution with execution_id %s and offset" % data["execution_id"], Modern.text(result))
        text, offset = "", 0
        while offset is not None:
            piece = self.call(mcp, "get_execution", execution_id=data["execution_id"], offset=offset, tail=20000)
            text += Modern.text(piece).split("\n", 1)[1].rsplit("next: ", 1)[0]
            offset = piece["structuredContent"].get("next_offset")
        self.assertEqual(re.sub(r"\s", "", text), "".join("zeileä%d" % i for i in range(20000)))


class Images(McpTest):
    chart = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()"

    def original(self, uri):
        """What the link names, by the native operation."""
        run, place = re.fullmatch(r"run://([^/]+)/(?:displays/)?(\w+)", uri).groups()
        return self.client.get(f"/api/v1/runs/{run}/displays/{place}")

    def test_a_chart_is_shown_and_its_original_linked(self):
        for mcp in (self.modern, Legacy(self.server)):
            result = self.run_code(mcp, self.chart)
            (image,), (link,) = Modern.blocks(result, "image"), Modern.blocks(result, "resource_link")
            self.assertEqual(image["mimeType"], "image/png")
            self.assertEqual(link["mimeType"], "image/png")
            self.assertEqual(result["structuredContent"]["image_count"], 1)
            self.assertEqual(link["uri"], "run://%s/displays/0" % result["structuredContent"]["execution_id"])
            self.assertNotIn("iVBOR", Modern.text(result) + json.dumps(result["structuredContent"]))
            answer = self.original(link["uri"])
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "image/png"))
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
            self.assertTrue(answer.headers["Content-Disposition"].startswith("inline"))
            self.assertEqual(len(answer.body), link["size"])
            self.assertEqual(answer.body[:4], b"\x89PNG")

    def test_images_as_links_or_not_at_all(self):
        linked = self.run_code(self.modern, self.chart, images="link")
        self.assertEqual([len(Modern.blocks(linked, kind)) for kind in ("image", "resource_link")], [0, 1])
        none = self.run_code(self.modern, self.chart, images="none")
        self.assertEqual([len(Modern.blocks(none, kind)) for kind in ("image", "resource_link")], [0, 0])
        self.assertEqual(none["structuredContent"]["image_count"], 1)
        shown = self.call(self.modern, "get_execution", execution_id=none["structuredContent"]["execution_id"])
        self.assertEqual(len(Modern.blocks(shown, "image")), 1)

    def test_fifty_figures_are_four_and_fifty_links(self):
        result = self.run_code(self.modern, "import matplotlib.pyplot as plt\nfor i in range(50):\n    plt.figure(figsize=(2, 2)); plt.plot([i]); plt.show()",
                               timeout_s=300)
        self.assertEqual(len(Modern.blocks(result, "image")), IMAGES_MAX)
        links = Modern.blocks(result, "resource_link")
        self.assertEqual(len(links), 50)
        self.assertEqual(len({self.original(link["uri"]).body for link in links}), 50)

    def test_a_large_figure_is_made_small(self):
        code = ("import numpy, io\nfrom PIL import Image\nfrom IPython.display import Image as Show\n"
                "b = io.BytesIO()\nImage.fromarray((numpy.indices((4000, 5000)).sum(0) % 251).astype('uint8')).save(b, 'png')\n"
                "Show(b.getvalue())")
        result = self.run_code(self.modern, code, timeout_s=300)
        (link,) = Modern.blocks(result, "resource_link")
        self.assertTrue(link["uri"].endswith("/result"))
        self.assertEqual(png_size(self.original(link["uri"]).body), (5000, 4000))
        (image,) = Modern.blocks(result, "image")
        small = base64.b64decode(image["data"])
        if image["mimeType"] == "image/png":
            self.assertLessEqual(max(png_size(small)), IMAGE_EDGE)

    def test_vector_graphics_are_links_and_sent_as_attachments(self):
        result = self.run_code(self.modern, "from IPython.display import SVG\ndisplay(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"><rect/></svg>'))")
        self.assertEqual(len(Modern.blocks(result, "image")), 0)
        (link,) = Modern.blocks(result, "resource_link")
        answer = self.original(link["uri"])
        self.assertEqual(answer.headers["Content-Type"], "image/svg+xml")
        self.assertTrue(answer.headers["Content-Disposition"].startswith("attachment"))
        self.assertIn(b"<rect", answer.body)

    def test_displays_by_the_native_operation(self):
        session = self.client.session()
        run = self.client.run(session, "import pandas as pd\nd = pd.DataFrame({'a': [1]})\ndisplay(d)\ndisplay({'application/json': {'k': [1]}}, raw=True)\nd")["id"]
        at = f"/api/v1/runs/{run}/displays/"
        self.assertEqual(self.client.get(at + "0").headers["Content-Type"], "text/html")
        self.assertIn(b"<table", self.client.get(at + "0").body)
        self.assertTrue(self.client.get(at + "0").headers["Content-Disposition"].startswith("attachment"))
        self.assertEqual(self.client.get(at + "result?mime=text/plain").body, b"   a\n0  1")
        self.assertEqual(json.loads(self.client.get(at + "1?mime=application/json").body), {"k": [1]})
        for bad in ("2", "-1", "x", "99999999999999999999", "result?mime=image/png"):
            self.fails(self.client.get(at + bad), 404, "not_found")


class Going(McpTest):
    slow = "import time\nprint('begun', flush=True)\nfor i in range(600): time.sleep(0.1)"

    def begun(self, session):
        """The run that goes on in the session, when its code has printed something."""
        def look():
            run = next((r for r in self.runs(session) if r["status"] == "running"), None)
            shown = run and self.call(self.modern, "get_execution", execution_id=run["id"])["structuredContent"]
            return run if shown and shown.get("stdout") else None
        return eventually(look)

    def end(self, run):
        return eventually(lambda: (lambda r: r["status"] == "done" and r["end"])(self.client.ok("GET", "/api/v1/runs/" + run["id"])))

    def test_hanging_up_ends_the_run(self):
        session = self.session(self.modern)
        pending = self.modern.start_call("run_code", code=self.slow, session_id=session)
        run = self.begun(session)
        pending.close()
        self.assertEqual(self.end(run), "cancelled")
        self.assertEqual(self.run_code(self.modern, "i >= 0", session_id=session)["structuredContent"]["result"], "True")

    def test_a_legacy_client_cancels_by_notification(self):
        legacy = Legacy(self.server)
        session = self.session(legacy)
        pending = legacy.start_call("run_code", code=self.slow)
        run = self.begun(session)
        legacy.tell("notifications/cancelled", {"requestId": pending.message["id"], "reason": "enough"})
        self.assertEqual(self.end(run), "cancelled")
        pending.thread.join(60)
        self.assertEqual((pending.status, pending.answer), (202, None))  # nobody waits for a response any more

    def test_a_legacy_client_that_hangs_up_ends_nothing(self):
        legacy = Legacy(self.server)
        session = self.session(legacy)
        pending = legacy.start_call("run_code", code=self.slow)
        run = self.begun(session)
        pending.close()
        self.assertEqual(self.client.ok("GET", f"/api/v1/runs/{run['id']}?wait_s=1")["status"], "running")
        self.client.ok("POST", f"/api/v1/runs/{run['id']}/cancel")

    def test_a_run_that_waits_its_turn_can_be_cancelled(self):
        session = self.session(self.modern)
        first = self.modern.start_call("run_code", code=self.slow, session_id=session)
        run = self.begun(session)
        second = self.modern.start_call("run_code", code="z = 1", session_id=session)
        queued = eventually(lambda: next((r for r in self.runs(session) if r["status"] == "queued"), None))
        second.close()
        self.assertEqual(self.end(queued), "cancelled")
        self.assertEqual(self.client.ok("GET", "/api/v1/runs/" + run["id"])["status"], "running")
        self.call(self.modern, "manage_session", action="interrupt", session_id=session)
        result = self.check("run_code", first.wait())
        self.assertEqual(result["structuredContent"]["status"], "cancelled")
        self.assertIn("begun", Modern.text(result))

    def test_output_comes_as_progress(self):
        code = "import time\nfor i in range(4):\n    print('step', i, flush=True)\n    time.sleep(0.3)"
        for mcp in (self.modern, Legacy(self.server)):
            pending = mcp.start_call("run_code", {"progressToken": "p1"}, code=code)
            result = self.check("run_code", pending.wait())
            notes = [n["params"] for n in pending.notes if n["method"] == "notifications/progress"]
            self.assertEqual({n["progressToken"] for n in notes}, {"p1"})
            lines = "\n".join(n["message"] for n in notes).splitlines()
            self.assertEqual(lines[:3], ["step 0", "step 1", "step 2"])
            numbers = [n["progress"] for n in notes]
            self.assertEqual(numbers, sorted(set(numbers)))
            self.assertEqual(result["structuredContent"]["stdout"], "".join("step %d\n" % i for i in range(4)))

    def test_a_flood_of_output_is_a_few_messages(self):
        code = "import time\nend = time.time() + 1\nn = 0\nwhile time.time() < end:\n    print('line', n, flush=True); n += 1\nprint('last')"
        pending = self.modern.start_call("run_code", {"progressToken": 7}, code=code)
        self.check("run_code", pending.wait())
        notes = [n["params"]["message"] for n in pending.notes]
        self.assertTrue(1 <= len(notes) <= 60, len(notes))
        self.assertLessEqual(max(len(n) for n in notes), 2000)

    def test_nothing_is_sent_to_who_did_not_ask(self):
        pending = self.modern.start_call("run_code", code="import time\nprint('a', flush=True)\ntime.sleep(0.5)")
        pending.wait()
        self.assertEqual(pending.notes, [])
        self.assertEqual(pending.headers["Content-Type"], "application/json")

    def test_silence_is_filled(self):
        pending = self.modern.start_call("run_code", {"progressToken": 7}, code="import time\ntime.sleep(5.6)")
        pending.wait()
        self.assertEqual([n["params"]["message"] for n in pending.notes], ["running for 5 s"])

    def test_who_hears_nothing_is_answered_before_giving_up(self):
        """Clients wait for a minute, if they are not told that it goes on."""
        code = "import time\nprint('begun', flush=True)\ntime.sleep(53)\n'end'"
        both = [(mcp, mcp.start_call("run_code", code=code, timeout_s=120)) for mcp in (self.modern, Legacy(self.server))]
        patient = self.modern.start_call("run_code", {"progressToken": 1}, code=code, timeout_s=120)
        for mcp, pending in both:
            open_yet = self.check("run_code", pending.wait())
            self.assertEqual((open_yet["structuredContent"]["status"], open_yet["structuredContent"]["stdout"]), ("running", "begun\n"))
            self.assertIn("next: Call get_execution", mcp.text(open_yet))
            done = self.call(mcp, "get_execution", execution_id=open_yet["structuredContent"]["execution_id"], wait_s=50)
            self.assertEqual((done["structuredContent"]["status"], done["structuredContent"]["result"]), ("ok", "'end'"))
        self.assertEqual(self.check("run_code", patient.wait())["structuredContent"]["result"], "'end'")

    def test_get_execution_shows_what_goes_on_and_waits(self):
        session = self.session(self.modern)
        pending = self.modern.start_call("run_code", code="import time\nprint('one', flush=True)\ntime.sleep(2)\nprint('two')\n'end'", session_id=session)
        run = self.begun(session)
        now = self.call(self.modern, "get_execution", execution_id=run["id"])
        self.assertEqual((now["structuredContent"]["status"], now["structuredContent"]["stdout"]), ("running", "one\n"))
        self.assertIn("output so far:\none\nnext: ", Modern.text(now))
        done = self.call(self.modern, "get_execution", execution_id=run["id"], wait_s=50)
        result = self.check("run_code", pending.wait())
        self.assertEqual(Modern.text(done), Modern.text(result))
        self.assertEqual(done["structuredContent"], result["structuredContent"])
        self.assertEqual(done["structuredContent"]["result"], "'end'")

    def test_get_execution_of_what_is_not_there(self):
        for name in ("run_nobodysnobodysnobodysno", "x", "../sessions"):
            result = self.call(self.modern, "get_execution", execution_id=name)
            self.assertTrue(result["isError"])
            self.assertIn("run_code", Modern.text(result))


class Sessions(McpTest):
    def test_variables(self):
        session = self.run_code(self.modern, "import math\nnumber = 7\nwords = ['a'] * 1000\ndef f(): pass")["structuredContent"]["session_id"]
        result = self.call(self.modern, "manage_session", action="variables", session_id=session)
        self.assertIn("\nnumber: int = 7\n", Modern.text(result))
        names = [v["name"] for v in result["structuredContent"]["variables"]]
        self.assertLessEqual({"number", "words", "f"}, set(names))
        self.assertLess(max(len(v["repr"]) for v in result["structuredContent"]["variables"]), 200)
        names = "sorted(n for n in globals() if n[0] != '_')"
        fresh = self.run_code(self.modern, names)["structuredContent"]["result"]
        after = self.run_code(self.modern, names, session_id=session)["structuredContent"]["result"]
        self.assertEqual(set(eval(after)) - set(eval(fresh)), {"f", "math", "number", "words"})

    def test_a_branch(self):
        def new():
            """A session from an image, where there are any."""
            session = self.run_code(self.modern, "x = 1")["structuredContent"]["session_id"]
            return session if IMAGES == "off" or self.client.ok("GET", "/api/v1/sessions/" + session)["baked"] else None
        session = eventually(new, 120)
        result = self.call(self.modern, "manage_session", action="fork", session_id=session)
        if IMAGES == "off":  # only what was started from an image can be branched
            self.assertTrue(result["isError"])
            self.assertIn("run_code without session_id", Modern.text(result))
            return
        fork = result["structuredContent"]["session_id"]
        self.assertNotEqual(fork, session)
        self.assertEqual(self.run_code(self.modern, "x", session_id=fork)["structuredContent"]["result"], "1")
        listed = self.call(self.modern, "manage_session", action="list")
        parents = {s["session_id"]: s.get("parent_session_id") for s in listed["structuredContent"]["sessions"]}
        self.assertEqual((parents[fork], parents[session]), (session, None))
        self.assertIn(f"forked from {session}", Modern.text(listed))

    def test_restart_close_list(self):
        session, fork = (self.run_code(self.modern, "x = 1")["structuredContent"]["session_id"] for _ in range(2))
        self.call(self.modern, "manage_session", action="restart", session_id=session)
        self.assertTrue(self.run_code(self.modern, "x", session_id=session)["isError"])
        listed = self.call(self.modern, "manage_session", action="list")
        self.assertLessEqual({session, fork}, {s["session_id"] for s in listed["structuredContent"]["sessions"]})
        self.call(self.modern, "manage_session", action="close", session_id=fork)
        listed = self.call(self.modern, "manage_session", action="list")
        self.assertNotIn(fork, Modern.text(listed))
        for action in ("close", "restart", "interrupt", "variables", "fork"):
            gone = self.call(self.modern, "manage_session", action=action, session_id=fork)
            self.assertTrue(gone["isError"])
            self.assertIn("run_code without session_id", Modern.text(gone))

    def test_a_session_has_to_be_named(self):
        result = self.call(self.modern, "manage_session", action="restart")
        self.assertTrue(result["isError"])
        self.assertIn("session_id is needed", Modern.text(result))
        legacy = Legacy(self.server)
        session = self.session(legacy)
        self.assertEqual(self.call(legacy, "manage_session", action="restart")["structuredContent"]["session_id"], session)


class Tasks(McpTest):
    def setUp(self):
        super().setUp()
        self.tasking = Modern(self.server, capabilities=TASKS)

    def get(self, task):
        return self.tasking.rpc("tasks/get", {"taskId": task})

    def finish(self, task):
        """Polls to the end; what came before it has to fit."""
        order, seen = ["working", "completed", "failed", "cancelled"], []
        def look():
            state = self.get(task)
            self.assertEqual(state["resultType"], "complete")
            self.assertEqual(state["taskId"], task)
            self.assertEqual("result" in state, state["status"] == "completed")
            seen.append(state)
            return state if state["status"] != "working" else None
        state = eventually(look, 60)
        self.assertEqual(len({s["createdAt"] for s in seen}), 1)
        self.assertEqual([order.index(s["status"]) for s in seen], sorted(order.index(s["status"]) for s in seen))
        self.assertEqual([s["lastUpdatedAt"] for s in seen], sorted(s["lastUpdatedAt"] for s in seen))
        return seen

    def test_a_long_run_becomes_a_task(self):
        made = self.tasking.rpc("tools/call", {"name": "run_code", "arguments": {"code": "import time\nprint('a')\ntime.sleep(12)\nprint('b')\n42"}})
        self.assertEqual((made["resultType"], made["status"], made["ttlMs"]), ("task", "working", None))
        self.assertNotIn("content", made)
        self.assertTrue(made["taskId"].startswith("run_"))
        seen = self.finish(made["taskId"])
        self.assertEqual({s["createdAt"] for s in seen}, {made["createdAt"]})
        result = self.check("run_code", seen[-1]["result"])
        self.assertEqual(seen[-1]["status"], "completed")
        self.assertEqual((result["structuredContent"]["stdout"], result["structuredContent"]["result"]), ("a\nb\n", "42"))
        session = result["structuredContent"]["session_id"]
        self.assertEqual(self.run_code(self.tasking, "_", session_id=session)["structuredContent"]["result"], "42")

    def test_a_short_run_is_none(self):
        self.assertEqual(self.run_code(self.tasking, "1 + 1")["resultType"], "complete")

    def test_a_task_is_cancelled_and_outlives_its_connection(self):
        pending = self.tasking.start_call("run_code", code="import time\ntime.sleep(100)", timeout_s=120)
        made = pending.wait()
        pending.close()
        task = made["taskId"]
        self.assertEqual(self.get(task)["status"], "working")
        other = Modern(self.server, self.key(["run"], self.client.ok("POST", "/api/v1/principals", {"name": "curious"}, 201)["id"]), TASKS)
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            self.refused(other, method, {"taskId": task, "inputResponses": {}}, -32602)
        self.assertEqual(self.get(task)["status"], "working")
        self.assertEqual(self.tasking.rpc("tasks/update", {"taskId": task, "inputResponses": {}})["resultType"], "complete")
        for _ in range(2):
            answer = self.tasking.rpc("tasks/cancel", {"taskId": task})
            self.assertEqual(set(answer) - {"_meta"}, {"resultType"})
        self.assertEqual(self.finish(task)[-1]["status"], "cancelled")

    def refused(self, mcp, method, params, code):
        with self.assertRaises(RpcError) as caught:
            mcp.rpc(method, params)
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_what_is_no_task(self):
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            for params in ({"taskId": "run_nobodysnobodysnobodysno"}, {"taskId": "x"}, {"taskId": ""}, {}):
                self.refused(self.tasking, method, params, -32602)
            error = self.refused(self.modern, method, {"taskId": "run_x"}, -32021)
            self.assertEqual(error.data["requiredCapabilities"]["extensions"], {META + "tasks": {}})
            self.refused(Legacy(self.server), method, {"taskId": "run_x"}, -32601)

    def test_a_failing_run_is_a_completed_task(self):
        run = self.run_code(self.tasking, "1/0")["structuredContent"]["execution_id"]
        state = self.finish(run)[-1]
        self.assertEqual(state["status"], "completed")
        self.assertTrue(state["result"]["isError"])


class Restarted(McpTest):
    def test_runs_and_their_images_survive_the_server(self):
        result = self.run_code(self.modern, Images.chart + "\nprint('kept')\nx = 3")
        data = result["structuredContent"]
        at = "/api/v1/runs/%s/displays/0" % data["execution_id"]
        before = self.client.get(at).body
        self.server.stop()
        self.server.start()
        self.client.close()
        self.assertEqual(self.client.get(at).body, before)
        again = self.call(Modern(self.server), "get_execution", execution_id=data["execution_id"])
        self.assertEqual(again["structuredContent"], data)
        self.assertEqual(len(Modern.blocks(again, "image")), 1)
        state = Modern(self.server, capabilities=TASKS).rpc("tasks/get", {"taskId": data["execution_id"]})
        self.assertEqual(state["result"]["structuredContent"], data)
        after = self.run_code(Modern(self.server), "x", session_id=data["session_id"])
        self.assertIn(after["structuredContent"]["status"], ("ok", "error"))

    def test_a_task_is_known_to_the_server_after_a_crash(self):
        made = Modern(self.server, capabilities=TASKS).call("run_code", code="import time\ntime.sleep(100)", timeout_s=120)
        self.server.stop(signal.SIGKILL)
        self.server.start()
        self.client.close()
        state = Modern(self.server, capabilities=TASKS).rpc("tasks/get", {"taskId": made["taskId"]})
        self.assertEqual((state["status"], state["createdAt"]), ("completed", made["createdAt"]))
        self.assertTrue(state["result"]["isError"])
        self.assertEqual(state["result"]["structuredContent"]["status"], "killed")
        self.check("run_code", state["result"])


if __name__ == "__main__":
    unittest.main()
