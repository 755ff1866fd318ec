"""What happens in a workspace, for those who follow it: pages, long polls, streams."""
import http.client
import json
import os
import queue
import socket
import threading
import time

from base import ApiTest, Client, Server, eventually
from files import WORKSPACES

EVENTS = WORKSPACES + "/default/events"


class Stream:
    """A stream of events on a connection of its own; each lands in a queue as it comes."""

    def __init__(self, client, path, **headers):
        self.seen = queue.Queue()
        self.comments = queue.Queue()
        self.connection = client.connect()
        sent = {"Accept": "text/event-stream", "Authorization": "Bearer " + client.key, **headers}
        self.connection.request("GET", path, headers=sent)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.headers["Content-Type"] == "text/event-stream"
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        event = {}
        try:
            for line in self.response:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if not name and not value and event:
                    data = json.loads(event["data"])
                    assert (int(event["id"]), event["event"]) == (data["seq"], data["type"]), event
                    self.seen.put(data)
                    event = {}
                elif line.startswith(b":"):
                    self.comments.put(value)
                elif value:
                    event[name] = value
        except (OSError, ValueError, http.client.HTTPException):
            pass
        self.seen.put(None)

    def next(self, seconds=20):
        return self.seen.get(timeout=seconds)

    def close(self):
        try:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        except (OSError, AttributeError):
            pass
        self.thread.join(10)
        self.connection.close()


class Base(ApiTest):
    def put(self, path, data=b"x", client=None, workspace="default"):
        answer = (client or self.client).request("PUT", f"{WORKSPACES}/{workspace}/files/{path}", raw=data)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def page(self, query="", client=None, workspace="default"):
        return (client or self.client).ok("GET", f"{WORKSPACES}/{workspace}/events{query}")

    def newest(self, workspace="default"):
        at = 0
        while True:
            page = self.page(f"?since={at}&limit=1000", workspace=workspace)
            at = page["next"]
            if not page["has_more"]:
                return at

    def stream(self, query="", client=None, workspace="default", **headers):
        stream = Stream(client or self.client, f"{WORKSPACES}/{workspace}/events{query}", **headers)
        self.addCleanup(stream.close)
        return stream

    def person(self, scopes=("files:read", "files:write", "run", "share")):
        """(principal, key, client) of somebody new."""
        who = self.client.ok("POST", "/api/v1/principals", {"name": "somebody", "kind": "human"}, 201)
        key = self.client.ok("POST", "/api/v1/keys", {"principal": who["id"], "scopes": list(scopes)}, 201)
        client = Client(self.server, key["secret"])
        self.addCleanup(client.close)
        return who, key, client

    def workspace(self, name):
        return self.client.ok("POST", WORKSPACES, {"name": name}, 201)["id"]


class Pages(Base):
    def test_a_change_is_an_event_with_what_it_changed(self):
        since = self.newest()
        made = self.put("a/one.csv", b"1,2\n")
        page = self.page(f"?since={since}")
        self.assertEqual(len(page["data"]), 1, page)
        event = page["data"][0]
        self.assertEqual((event["type"], event["path"], event["version"], event["file_id"]),
                         ("putFile", "a/one.csv", made["version"], made["id"]))
        self.assertEqual((event["workspace_id"], event["object_id"]), (made["workspace_id"], made["id"]))
        self.assertEqual(event["detail"]["changes"][0]["path"], "a/one.csv")
        self.assertEqual((page["next"], page["has_more"]), (event["seq"], False))
        self.assertTrue(event["principal"].startswith("prn_") and event["at"] and event["via"])

    def test_reads_and_refusals_are_none_and_secrets_are_nowhere(self):
        since = self.newest()
        self.client.get(f"{WORKSPACES}/default/files")
        self.client.get(f"{WORKSPACES}/default/files/not-there")
        self.client.request("PUT", f"{WORKSPACES}/default/files/..", raw=b"x")
        self.assertEqual(self.page(f"?since={since}")["data"], [])
        self.put("b.txt")
        text = json.dumps(self.page(f"?since={since}"))
        self.assertNotIn("127.0.0.1", text)
        self.assertNotIn("cik_", text)
        self.assertNotIn("key_", text)

    def test_in_order_once_each_in_pages_of_any_size(self):
        workspace = self.workspace("pages")
        for i in range(25):
            self.put(f"f{i}", workspace=workspace)
        whole = self.page("?types=putFile&limit=1000", workspace=workspace)["data"]
        self.assertEqual([e["path"] for e in whole], [f"f{i}" for i in range(25)])
        self.assertEqual(sorted({e["seq"] for e in whole}), [e["seq"] for e in whole])
        for limit in 1, 7, 25:
            since, seen, more = 0, [], True
            while more:
                page = self.page(f"?types=putFile&limit={limit}&since={since}", workspace=workspace)
                self.assertLessEqual(len(page["data"]), limit)
                seen += page["data"]
                since, more = page["next"], page["has_more"]
            self.assertEqual(seen, whole, limit)

    def test_only_some_types(self):
        since = self.newest()
        self.put("t1")
        self.client.request("DELETE", f"{WORKSPACES}/default/files/t1")
        kinds = [e["type"] for e in self.page(f"?since={since}")["data"]]
        self.assertEqual(kinds, ["putFile", "deleteFile"])
        for types, expected in (("deleteFile", kinds[1:]), ("put*", kinds[:1]), ("*File", kinds), ("nothing", []),
                                ("nothing,deleteFile", kinds[1:])):
            page = self.page(f"?since={since}&types={types}")
            self.assertEqual([e["type"] for e in page["data"]], expected, types)
            self.assertGreater(page["next"], since + 1)  # what was passed over is not looked at again
        for wrong in "a,,b", "a%20b", "a" * 65, ",".join("a" * 33):
            self.fails(self.client.get(f"{EVENTS}?types={wrong}"), 400, "invalid_request")

    def test_limits_of_the_question(self):
        for query, is_right in (("limit=1000", True), ("limit=1001", False), ("limit=0", False), ("wait_s=61", False),
                                ("since=-1", False), ("since=x", False), ("wait_s=-1", False), ("since=9223372036854775807", True)):
            self.assertEqual(self.client.get(f"{EVENTS}?{query}").status, 200 if is_right else 400, query)

    def test_files_of_a_run(self):
        since = self.newest()
        session = self.client.session()
        self.addCleanup(self.client.request, "DELETE", "/api/v1/sessions/" + session)
        run = self.client.run(session, "open('made-by-a-run.txt', 'w').write('x')\nopen('and-another', 'w').write('y')")
        event, = self.page(f"?since={since}&types=saveFiles")["data"]
        self.assertEqual((event["run_id"], event["session_id"], event["via"]), (run["id"], session, "sandbox"))
        self.assertEqual({c["path"] for c in event["detail"]["changes"]}, {"made-by-a-run.txt", "and-another"})


class Waiting(Base):
    def test_a_poll_is_answered_at_once_when_something_happens(self):
        since = self.newest()
        answers, asked = queue.Queue(), self.asked()

        def poll():
            client = Client(self.server)
            answer = client.ok("GET", f"{EVENTS}?since={since}&wait_s=60")
            answers.put((time.monotonic(), answer))
            client.close()

        threading.Thread(target=poll, daemon=True).start()
        eventually(lambda: self.asked() > asked)
        begun = time.monotonic()
        self.put("wakes")
        ended, answer = answers.get(timeout=30)
        self.assertLess(ended - begun, 1)
        self.assertEqual([e["path"] for e in answer["data"]], ["wakes"])
        self.assertEqual((answer["next"], answer["has_more"]), (answer["data"][0]["seq"], False))

    def test_a_poll_ends_in_time_and_says_where_to_go_on(self):
        since = self.newest()
        begun = time.monotonic()
        answer = self.page(f"?since={since}&wait_s=0.5")
        self.assertTrue(0.4 < time.monotonic() - begun < 10)
        self.assertEqual((answer["data"], answer["has_more"]), ([], False))
        self.assertGreaterEqual(answer["next"], since)

    def test_a_poll_sleeps_through_what_it_did_not_ask_for(self):
        since = self.newest()
        stream = self.stream(f"?since={since}&types=deleteFile")
        self.put("not-this")
        self.client.request("DELETE", f"{WORKSPACES}/default/files/not-this")
        self.assertEqual(stream.next()["type"], "deleteFile")

    def test_what_is_there_is_not_waited_for(self):
        since = self.newest()
        self.put("there")
        begun = time.monotonic()
        self.assertEqual(len(self.page(f"?since={since}&wait_s=60")["data"]), 1)
        self.assertLess(time.monotonic() - begun, 5)

    def test_many_polls_at_once(self):
        since = self.newest()
        asked = self.asked()
        connections = []
        for _ in range(50):
            connection = self.client.connect()
            connection.request("GET", f"{EVENTS}?since={since}&wait_s=60", headers={"Authorization": "Bearer " + self.client.key})
            connections.append(connection)
        eventually(lambda: self.asked() >= asked + 50)
        self.put("for-all")
        for connection in connections:
            self.assertEqual([e["path"] for e in json.loads(connection.getresponse().read())["data"]], ["for-all"])
            connection.close()

    def asked(self):
        """How many were asked so far; one that waits is parked by then, since its handler has returned."""
        return self.server.log().count("op=listEvents")


class Streams(Base):
    def test_events_come_as_they_happen_from_now_on(self):
        self.put("before")
        stream = self.stream()
        begun = time.monotonic()
        self.put("after")
        event = stream.next()
        self.assertLess(time.monotonic() - begun, 1)
        self.assertEqual(event["path"], "after")
        self.assertEqual(event["detail"]["changes"][0]["change"], "created")

    def test_everything_once_and_in_order_while_many_write(self):
        workspace = self.workspace("busy")
        stream = self.stream("?types=putFile", workspace=workspace)

        def write(who):
            client = Client(self.server)
            for i in range(20):
                self.put(f"{who}-{i}", client=client, workspace=workspace)
            client.close()

        writers = [threading.Thread(target=write, args=(w,)) for w in range(4)]
        for writer in writers:
            writer.start()
        seen = [stream.next() for _ in range(80)]
        for writer in writers:
            writer.join()
        numbers = [e["seq"] for e in seen]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertEqual({e["path"] for e in seen}, {f"{w}-{i}" for w in range(4) for i in range(20)})
        self.assertEqual(seen, self.page("?types=putFile&limit=1000", workspace=workspace)["data"])

    def test_resumes_after_the_last_one_seen(self):
        workspace = self.workspace("resume")
        for i in range(5):
            self.put(f"r{i}", workspace=workspace)
        first = self.stream("?since=0&types=putFile", workspace=workspace)
        seen = [first.next() for _ in range(3)]
        first.close()
        again = self.stream("?types=putFile", workspace=workspace, **{"Last-Event-ID": str(seen[2]["seq"])})
        self.put("r5", workspace=workspace)
        seen += [again.next() for _ in range(3)]
        self.assertEqual([e["path"] for e in seen], [f"r{i}" for i in range(6)])
        self.fails(self.client.get(EVENTS, headers={"Accept": "text/event-stream", "Last-Event-ID": "x"}), 400, "invalid_request")

    def test_a_long_past_comes_whole(self):
        workspace = self.workspace("long")
        body = [{"path": f"p{i}"} for i in range(300)]
        for entry in body:
            self.put(entry["path"], workspace=workspace)
        stream = self.stream("?since=0&types=putFile", workspace=workspace)
        self.assertEqual([stream.next()["path"] for _ in body], [entry["path"] for entry in body])

    def test_of_its_own_workspace_only(self):
        one, other = self.workspace("one"), self.workspace("other")
        stream = self.stream(workspace=one)
        self.put("there", workspace=other)
        self.put("here", workspace=one)
        self.assertEqual(stream.next()["path"], "here")

    def test_who_may_not_read_the_workspace(self):
        workspace = self.workspace("closed")
        _, _, stranger = self.person()
        for accept in "application/json", "text/event-stream":
            self.fails(stranger.get(f"{WORKSPACES}/{workspace}/events", headers={"Accept": accept}), 404, "not_found")
        self.fails(Client(self.server, None).get(EVENTS), 401, "unauthorized")
        _, _, runner = self.person(scopes=("run",))
        self.fails(runner.get(EVENTS), 403, "permission_denied")

    def test_200_idle_streams_cost_no_threads(self):
        self.put("warm")
        eventually(lambda: self.threads() is not None)
        before = self.threads()
        since = self.newest()
        streams = [self.stream(f"?since={since}") for _ in range(200)]
        self.assertLess(self.threads(), before + 20)
        self.put("for-200")
        for stream in streams:
            self.assertEqual(stream.next(30)["path"], "for-200")
        self.assertLess(self.threads(), before + 20)

    def threads(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/task"))


class Losing(Base):
    def test_a_revoked_key_loses_its_stream_and_its_poll(self):
        _, key, client = self.person()
        client.ok("GET", f"{WORKSPACES}/default")
        stream = self.stream(client=client)
        self.put("mine", client=client)
        self.assertEqual(stream.next()["path"], "mine")
        since = self.page(client=client)["next"]
        poll = client.connect()
        poll.request("GET", f"{EVENTS}?since={since}&wait_s=60", headers={"Authorization": "Bearer " + client.key})
        begun = time.monotonic()
        self.assertEqual(self.client.request("DELETE", "/api/v1/keys/" + key["id"]).status, 204)
        self.assertIsNone(stream.next())
        self.assertEqual(json.loads(poll.getresponse().read())["data"], [])
        self.assertLess(time.monotonic() - begun, 8)
        poll.close()

    def test_a_key_that_expires_loses_its_stream(self):
        who, _, _ = self.person()
        key = self.client.ok("POST", "/api/v1/keys", {"principal": who["id"], "scopes": ["files:read"], "expires_in_s": 2}, 201)
        stream = self.stream(client=Client(self.server, key["secret"]))
        self.assertIsNone(stream.next(10))

    def test_a_member_who_is_removed_loses_the_stream(self):
        workspace = self.workspace("members")
        who, _, client = self.person()
        self.client.ok("PUT", f"{WORKSPACES}/{workspace}/members/{who['id']}", {"role": "viewer"})
        stream = self.stream(client=client, workspace=workspace)
        self.put("seen", workspace=workspace)
        self.assertEqual(stream.next()["path"], "seen")
        self.assertEqual(self.client.request("DELETE", f"{WORKSPACES}/{workspace}/members/{who['id']}").status, 204)
        self.put("unseen", workspace=workspace)
        self.assertIsNone(stream.next())

    def test_a_viewer_sees_files_and_not_what_is_for_admins(self):
        workspace = self.workspace("eyes")
        who, _, client = self.person()
        self.client.ok("PUT", f"{WORKSPACES}/{workspace}/members/{who['id']}", {"role": "viewer"})
        self.client.ok("POST", f"{WORKSPACES}/{workspace}/webhooks", {"url": "https://example.org/"}, 201)
        self.put("f", workspace=workspace)
        seen = [e["type"] for e in self.page(client=client, workspace=workspace)["data"]]
        self.assertIn("putFile", seen)
        self.assertNotIn("createWebhook", seen)
        everything = [e["type"] for e in self.page(workspace=workspace)["data"]]
        self.assertIn("createWebhook", everything)

    def test_a_deleted_workspace_ends_its_streams(self):
        workspace = self.workspace("goes")
        stream = self.stream(workspace=workspace)
        self.assertEqual(self.client.request("DELETE", f"{WORKSPACES}/{workspace}").status, 204)
        last = stream.next()
        if last is not None:  # whoever is quick hears of it
            self.assertEqual(last["type"], "deleteWorkspace")
            last = stream.next()
        self.assertIsNone(last)


class Restarting(ApiTest):
    def test_numbers_go_on_after_a_restart_and_streams_end_with_the_server(self):
        server = Server()
        self.addCleanup(server.close)
        client = Client(server)
        client.request("PUT", f"{WORKSPACES}/default/files/one", raw=b"1")
        stream = Stream(client, f"{EVENTS}?since=0&types=putFile")
        first = stream.next()
        poll = client.connect()
        poll.request("GET", f"{EVENTS}?since={first['seq'] + 1000}&wait_s=60", headers={"Authorization": "Bearer " + client.key})
        eventually(lambda: server.log().count("op=listEvents") >= 2)
        server.stop()
        self.assertIsNone(stream.next())
        with self.assertRaises((OSError, http.client.HTTPException)):  # half an answer is no answer
            poll.getresponse().read()
        server.start()
        client = Client(server)
        self.addCleanup(client.close)
        client.request("PUT", f"{WORKSPACES}/default/files/two", raw=b"2")
        again = Stream(client, f"{EVENTS}?types=putFile", **{"Last-Event-ID": str(first["seq"])})
        self.addCleanup(again.close)
        second = again.next()
        self.assertEqual(second["path"], "two")
        self.assertGreater(second["seq"], first["seq"])
