"""What ends while a response goes on: the server, a key, the room for events."""
import signal

from base import eventually
from oa import OpenAI
from test_openai_responses import AUTO, ResponsesTest, Stream, script


class Ends(ResponsesTest):
    more = {"server.drain_s": 20}

    def test_a_stream_hears_that_the_server_stops_and_the_response_is_finished(self):
        body = {"model": "m", "stream": True, "tools": [AUTO],
                "input": script({"code": "import time\ntime.sleep(2)\nprint(6 * 7)"}, {"say": "It is {{last}}."})}
        stream = Stream(self.server, "POST", "/responses", body)
        first = stream.until("response.created")["response"]["id"]
        stream.until("response.code_interpreter_call.interpreting")
        self.server.process.send_signal(signal.SIGTERM)
        told = stream.until("error")
        self.assertEqual((told["code"], told["error"]["code"]), ("server_error", "server_error"))
        self.assertIn("stopping", told["message"])
        self.server.process.wait(60)
        self.server.start()
        self.oa = OpenAI(self.server)
        kept = self.oa.ok("GET", f"/responses/{first}")
        self.assertEqual(kept["status"], "completed")
        self.assertEqual(kept["output"][-1]["content"][0]["text"], "It is 42.")

    def test_a_key_that_is_revoked_runs_nothing_more(self):
        made = self.client.ok("POST", "/api/v1/keys", {"name": "short", "scopes": ["run", "files:read", "files:write"]}, 201)
        oa = OpenAI(self.server, made["secret"])
        self.addCleanup(oa.close)
        body = {"model": "m", "background": True, "tools": [AUTO], "input": script(
            {"code": "import time\ntime.sleep(3)\nprint(1)"}, {"code": "open('late.txt', 'w').write('x')"}, {"say": "Done."})}
        response = oa.ok("POST", "/responses", body)["id"]
        eventually(lambda: [r for r in self.client.ok("GET", "/api/v1/runs?status=running&limit=5")["data"]])
        self.client.ok("DELETE", "/api/v1/keys/" + made["id"], status=204)
        ended = eventually(lambda: (lambda r: r if r["status"] not in ("queued", "in_progress") else None)(
            self.oa.ok("GET", f"/responses/{response}")), 60)
        logs = [o["logs"] for item in ended["output"] if item["type"] == "code_interpreter_call" for o in item["outputs"] or []]
        self.assertEqual(logs[0], "1\n")
        self.assertTrue(all("not let in any more" in text for text in logs[1:]), logs)
        self.assertGreater(len(logs), 1)
