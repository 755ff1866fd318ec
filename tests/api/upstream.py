#!/usr/bin/python3
"""A language model that says what it is told to: the upstream of the tests.

It speaks Chat Completions and Responses at /v1, streamed or not, and keeps nothing between requests: the script stands in the
user's message, so that it works from any client and any number of times at once. A message with a line `#script`, followed by
a JSON array of steps, is answered with step N, where N is how many turns of the assistant follow that message:

    {"say": "text"}                    {{last}} in it is the last output of a tool, stripped
    {"code": "print(1)"}               a call of the function python; a fenced block if no such function was offered
    {"calls": [{"name", "arguments"}]} arguments: an object, or a string that is sent as it is
    {"echo": true}                     says the last output of a tool
    {"think": "..."}                   beside any of these: reasoning comes first
    {"status": 429, "headers": {}, "body": {}}     fails
    {"hang": seconds, "at": "start" or "middle"}   silent for so long, then plays the rest of the step
    {"cut": true}                      closes in the middle of the stream
    {"raw": "bytes", "type": "text/event-stream"}  sends that as its body
    {"error": {...}}                   that error object in the middle of the stream
    "times": 2, "then": {step}         beside status, hang, cut, raw or error: this happens twice, then comes the other step

Beside others: "usage": {...} or null, "finish": "stop", "chunk": bytes of a piece on the wire, "delta": characters of a delta,
"delay": seconds between events, "plain": true answers with JSON although a stream was asked for, "crlf", "comments",
"no_done", "no_index", "no_id", "whole" (a call in one chunk), "object" (arguments as an object): true.

A message without a script is answered "You said: ...". After the last step: "The script is over."

    with Upstream(key="upstream-secret") as up: up.url, up.requests, up.open_connections, up.active, up.hangups, up.hangup_times
    python3 upstream.py --port 0 [--key K] [--no-tools] [--refuse stream_options]     prints its URL

GET /_state says the same as JSON, GET /_requests the last bodies.
"""
import argparse
import hashlib
import http.server
import json
import re
import secrets
import select
import socket
import threading
import time

KEY = "upstream-secret"
MODELS = ("scripted-1", "lab/scripted-2")


class HungUp(Exception):
    pass


class Upstream:
    def __init__(self, key=None, port=0, no_tools=False, refuse=()):
        self.key, self.no_tools, self.refuse = key, no_tools, tuple(refuse)
        self.lock = threading.Lock()
        self.requests = []  # {"method", "path", "headers", "body", "at"}
        self.open_connections = self.active = self.active_most = 0
        self.hangups, self.hangup_times = 0, []
        self.played = {}  # how often a step with "times" has been played
        self.server = Listener(("127.0.0.1", port), Handler)
        self.server.upstream = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def bodies(self):
        """Of the questions."""
        return [r["body"] for r in self.requests if r["method"] == "POST"]

    def state(self):
        with self.lock:
            return {"requests": len(self.requests), "open_connections": self.open_connections, "active": self.active,
                    "active_most": self.active_most, "hangups": self.hangups,
                    "hangup_at": self.hangup_times[-1] if self.hangup_times else None}

    def count(self, **by):
        with self.lock:
            for name, number in by.items():
                setattr(self, name, getattr(self, name) + number)
            self.active_most = max(self.active_most, self.active)

    def fails_now(self, step, where):
        """A step with "times": whether this is one of those times."""
        if "times" not in step:
            return True
        with self.lock:
            count = self.played.get(where, 0) + 1
            self.played[where] = 0 if count > step["times"] else count
        return count <= step["times"]


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    block_on_close = False

    def handle_error(self, request, client_address):
        pass


# ---- what was asked ----

def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(p.get("text") or "" for p in content or [] if isinstance(p, dict))


def talk_of(body):
    """The conversation as (role, text, ids of calls) whatever the wire: user, assistant, tool."""
    if "messages" in body:
        return [(m["role"], text_of(m.get("content")), [c.get("id") for c in m.get("tool_calls") or []])
                for m in body["messages"]]
    items = body.get("input") or []
    if isinstance(items, str):
        return [("user", items, [])]
    talk = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            talk.append(("tool", text_of(item["output"]), []))
        elif kind == "message" and item["role"] != "assistant":
            talk.append((item["role"], text_of(item["content"]), []))
        elif kind != "reasoning":
            said = text_of(item.get("content")) if kind == "message" else ""
            ids = [item.get("call_id")] if kind == "function_call" else []
            if talk and talk[-1][0] == "assistant":  # the same turn
                talk[-1] = ("assistant", talk[-1][1] + said, talk[-1][2] + ids)
            else:
                talk.append(("assistant", said, ids))
    return talk


def turns_of(talk):
    """How many; calls of the same turn are one, also when they stand apart."""
    count, seen = 0, set()
    for role, _, ids in talk:
        if role != "assistant":
            continue
        steps = {m[1] for m in (re.match(r"call_s(\d+)_", i or "") for i in ids) if m}
        if not steps or not steps <= seen:
            count += 1
        seen |= steps
    return count


def find_step(body):
    """(the step, its number, what the script is known by)"""
    talk = talk_of(body)
    users = [i for i, (role, _, _) in enumerate(talk) if role == "user"]
    last = talk[users[-1]][1] if users else ""
    for i in reversed(users):
        found = re.search(r"^#script[ \t]*$", talk[i][1], re.M)
        if not found:
            continue
        steps, _ = json.JSONDecoder().raw_decode(talk[i][1][found.end():].lstrip())
        number = turns_of(talk[i + 1:])
        if number < len(steps):
            return steps[number], number, hashlib.sha256(talk[i][1].encode()).hexdigest() + str(number)
        if i == users[-1]:
            return {"say": "The script is over."}, number, ""
        break
    return {"say": "You said: " + last}, 0, ""


def last_output(body):
    talk = talk_of(body)
    tools = [text for role, text, _ in talk if role == "tool"]
    users = [text for role, text, _ in talk if role == "user" and "#script" not in text]
    return (tools or users or [""])[-1].strip()


def filled(value, last):
    if isinstance(value, str):
        return value.replace("{{last}}", last)
    if isinstance(value, dict):
        return {k: filled(v, last) for k, v in value.items()}
    return [filled(v, last) for v in value] if isinstance(value, list) else value


class Said:
    """A step as an answer: think, text, calls."""

    def __init__(self, step, number, body):
        last = last_output(body)
        self.step = step
        self.think = filled(step.get("think", ""), last)
        self.text = filled(step.get("say", ""), last)
        if step.get("echo"):
            self.text += last
        calls = filled(step.get("calls", []), last)
        if "code" in step:
            code = filled(step["code"], last)
            if "python" in {t.get("name") or t.get("function", {}).get("name") for t in body.get("tools") or []}:
                calls = [{"name": "python", "arguments": {"code": code}}] + calls
            else:
                self.text += ("\n" if self.text else "") + f"```python\n{code}\n```\n"
        self.calls = [{"id": c.get("id", f"call_s{number}_{i}_{secrets.token_hex(4)}"), "name": c["name"],
                       "arguments": c["arguments"] if isinstance(c["arguments"], str) or step.get("object")
                       else json.dumps(c["arguments"], ensure_ascii=False)} for i, c in enumerate(calls)]
        self.finish = step.get("finish", "tool_calls" if self.calls else "stop")
        size = len(json.dumps(body)) // 4
        made = (len(self.text) + len(self.think) + sum(len(str(c["arguments"])) for c in self.calls)) // 4 + 1
        self.usage = step["usage"] if "usage" in step else {
            "prompt_tokens": size, "completion_tokens": made, "total_tokens": size + made,
            "completion_tokens_details": {"reasoning_tokens": len(self.think) // 4}}
        self.model = body.get("model", "?")

    def pieces(self, text):
        size = self.step.get("delta", 12)
        return [text[i:i + size] for i in range(0, len(text), size)]

    # ---- Chat Completions ----

    def chat(self):
        message = {"role": "assistant", "content": self.text or None, "refusal": None}
        if self.think:
            message["reasoning_content"] = self.think
        if self.calls:
            message["tool_calls"] = [self.chat_call(c) for c in self.calls]
        return {"id": "chatcmpl-script", "object": "chat.completion", "created": int(time.time()), "model": self.model,
                "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish}],
                "usage": self.usage}

    def chat_call(self, call):
        made = {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        if self.step.get("no_id"):
            del made["id"], made["type"]
        return made

    def chat_deltas(self):
        yield {"role": "assistant", "content": ""}
        for piece in self.pieces(self.think):
            yield {"reasoning_content": piece}
        for piece in self.pieces(self.text):
            yield {"content": piece}
        for i, call in enumerate(self.calls):
            index = {} if self.step.get("no_index") else {"index": i}
            if self.step.get("whole") or self.step.get("object"):
                yield {"tool_calls": [{**index, **self.chat_call(call)}]}
                continue
            yield {"tool_calls": [{**index, **self.chat_call({**call, "arguments": ""})}]}
            for piece in self.pieces(call["arguments"]):
                yield {"tool_calls": [{**index, "function": {"arguments": piece}}]}

    def chat_events(self, body):
        base = {"id": "chatcmpl-script", "object": "chat.completion.chunk", "created": int(time.time()), "model": self.model}
        for delta in self.chat_deltas():
            yield None, {**base, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]}
        yield None, {**base, "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": self.finish}]}
        if self.usage and (body.get("stream_options") or {}).get("include_usage"):
            yield None, {**base, "choices": [], "usage": self.usage}
        if not self.step.get("no_done"):
            yield None, "[DONE]"

    # ---- Responses ----

    def items(self):
        if self.think:
            yield {"id": "rs_script", "type": "reasoning", "summary": [{"type": "summary_text", "text": self.think}]}
        if self.text:
            yield {"id": "msg_script", "type": "message", "status": "completed", "role": "assistant",
                   "content": [{"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}]}
        for i, call in enumerate(self.calls):
            yield {"id": f"fc_script_{i}", "type": "function_call", "status": "completed", "call_id": call["id"],
                   "name": call["name"], "arguments": call["arguments"]}

    def response(self, is_done=True):
        status, details = "completed", None
        if self.finish in ("length", "content_filter"):
            status = "incomplete"
            details = {"reason": "max_output_tokens" if self.finish == "length" else "content_filter"}
        u = self.usage
        usage = u and {"input_tokens": u["prompt_tokens"], "input_tokens_details": {"cached_tokens": 0},
                       "output_tokens": u["completion_tokens"],
                       "output_tokens_details": u.get("completion_tokens_details", {"reasoning_tokens": 0}),
                       "total_tokens": u["prompt_tokens"] + u["completion_tokens"]}
        return {"id": "resp_script", "object": "response", "created_at": int(time.time()), "error": None,
                "status": status if is_done else "in_progress", "incomplete_details": details if is_done else None,
                "model": self.model, "output": list(self.items()) if is_done else [], "usage": usage if is_done else None,
                "instructions": None, "tools": [], "tool_choice": "auto", "parallel_tool_calls": False, "metadata": {},
                "temperature": 1, "top_p": 1}

    def item_events(self, index, item):
        at = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "reasoning":
            yield "response.output_item.added", {"output_index": index, "item": {**item, "summary": []}}
            yield "response.reasoning_summary_part.added", {**at, "summary_index": 0,
                                                            "part": {"type": "summary_text", "text": ""}}
            for piece in self.pieces(self.think):
                yield "response.reasoning_summary_text.delta", {**at, "summary_index": 0, "delta": piece}
            yield "response.reasoning_summary_text.done", {**at, "summary_index": 0, "text": self.think}
        elif item["type"] == "message":
            part = item["content"][0]
            yield "response.output_item.added", {"output_index": index,
                                                 "item": {**item, "content": [], "status": "in_progress"}}
            yield "response.content_part.added", {**at, "content_index": 0, "part": {**part, "text": ""}}
            for piece in self.pieces(self.text):
                yield "response.output_text.delta", {**at, "content_index": 0, "delta": piece}
            yield "response.output_text.done", {**at, "content_index": 0, "text": self.text}
            yield "response.content_part.done", {**at, "content_index": 0, "part": part}
        else:
            yield "response.output_item.added", {"output_index": index,
                                                 "item": {**item, "arguments": "", "status": "in_progress"}}
            for piece in self.pieces(item["arguments"]):
                yield "response.function_call_arguments.delta", {**at, "delta": piece}
            yield "response.function_call_arguments.done", {**at, "arguments": item["arguments"]}
        yield "response.output_item.done", {"output_index": index, "item": item}

    def response_events(self, body):
        yield "response.created", {"response": self.response(False)}
        yield "response.in_progress", {"response": self.response(False)}
        for index, item in enumerate(self.items()):
            yield from self.item_events(index, item)
        done = self.response()
        yield f"response.{done['status']}", {"response": done}


# ---- the server ----

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def up(self):
        return self.server.upstream

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.up.count(open_connections=1)

    def finish(self):
        self.up.count(open_connections=-1)
        try:
            super().finish()
        except OSError:
            pass

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/_state":
            return self.answer(200, self.up.state())
        if path == "/_requests":
            return self.answer(200, self.up.bodies[-100:])
        self.note(None)
        if self.is_refused():
            return None
        if path == "/v1/models":
            return self.answer(200, {"object": "list", "data": [
                {"id": name, "object": "model", "created": 1686935002, "owned_by": "tests"} for name in MODELS]})
        return self.fail(404, f"no {path} here")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.up.count(active=1)
        try:
            self.ask(raw)
        except (HungUp, BrokenPipeError, ConnectionResetError):
            with self.up.lock:
                self.up.hangups += 1
                self.up.hangup_times.append(time.time())
            self.close_connection = True
        finally:
            self.up.count(active=-1)

    def note(self, body):
        with self.up.lock:
            self.up.requests.append({"method": self.command, "path": self.path, "headers": dict(self.headers),
                                     "body": body, "at": time.time()})

    def is_refused(self):
        if not self.up.key or self.headers.get("Authorization") == "Bearer " + self.up.key:
            return False
        # As hosted endpoints do, it shows the key it got.
        shown = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.fail(401, f"Incorrect API key provided: {shown}", code="invalid_api_key")
        return True

    def ask(self, raw):
        try:
            body = json.loads(raw)
        except ValueError:
            return self.fail(400, "the body is no JSON")
        self.note(body)
        if self.is_refused():
            return None
        if self.path not in ("/v1/chat/completions", "/v1/responses"):
            return self.fail(404, f"no {self.path} here")
        if self.up.no_tools and body.get("tools"):
            return self.fail(400, "scripted-1 does not support tools", param="tools")
        for name in self.up.refuse:
            if name in body:
                return self.fail(400, f"Unrecognized request argument supplied: {name}", param=name)
        try:
            step, number, where = find_step(body)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            return self.fail(400, f"the script is wrong: {problem!r}")
        while "times" in step and not self.up.fails_now(step, where):
            step, where = step.get("then", {"say": "Done."}), where + "+"
        return self.play(step, number, body)

    def play(self, step, number, body):
        if "status" in step:
            return self.fail(step["status"], f"status {step['status']} by the script", headers=step.get("headers"),
                             body=step.get("body"))
        if "hang" in step and step.get("at", "start") == "start":
            self.wait(step["hang"])
        is_streamed = body.get("stream") and not step.get("plain")
        if "raw" in step:
            kind = step.get("type", "text/event-stream" if is_streamed else "application/json")
            return self.stream([step["raw"].encode()], step, kind)
        said = Said(step, number, body)
        is_chat = self.path.endswith("/chat/completions")
        if not is_streamed:
            whole = json.dumps(said.chat() if is_chat else said.response(), ensure_ascii=False).encode()
            return self.stream([whole], step, "application/json")
        events = said.chat_events(body) if is_chat else said.response_events(body)
        return self.stream(self.lines(events, step), step, "text/event-stream; charset=utf-8")

    def lines(self, events, step):
        """Events as they stand on the wire."""
        end = "\r\n" if step.get("crlf") else "\n"
        made = []
        for number, (name, data) in enumerate(events):
            if not isinstance(data, str):
                if name:
                    data = {"type": name, "sequence_number": number, **data}
                data = json.dumps(data, ensure_ascii=False)
            comment = ": PROCESSING" + end + end if step.get("comments") else ""
            made.append(f"{comment}{'event: ' + name + end if name else ''}data: {data}{end}{end}".encode())
        if "error" in step:
            made[len(made) // 2:] = [f"data: {json.dumps({'error': step['error']})}{end}{end}".encode()]
        return made

    # ---- bytes ----

    def fail(self, status, message, param=None, code=None, headers=None, body=None):
        self.answer(status, body or {"error": {"message": message, "type": "invalid_request_error", "param": param,
                                               "code": code}}, headers)

    def answer(self, status, body, headers=None):
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(raw)

    def wait(self, seconds):
        """Waits, unless they leave."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            poll = select.poll()  # select knows no descriptor above 1023
            poll.register(self.connection, select.POLLIN)
            ready = poll.poll(max(left, 0) * 1000)
            if ready and not self.connection.recv(1, socket.MSG_PEEK):
                raise HungUp
            if left <= 0 or ready:
                return

    def stream(self, parts, step, kind):
        """Sends the parts in pieces that know nothing of lines or characters."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if not step.get("delay"):
            parts = [b"".join(parts)]
        size = step.get("chunk", 509)
        whole = sum(len(part) for part in parts)
        sent, has_hung = 0, "hang" not in step or step.get("at") != "middle"
        for part in parts:
            for at in range(0, len(part), size):
                if not has_hung and sent >= whole // 2:
                    has_hung = True
                    self.wait(step["hang"])
                if step.get("cut") and sent >= whole // 2:
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                piece = part[at:at + size]
                if step.get("cut"):
                    piece = piece[:max(whole // 2 - sent, 1)]
                self.wait(0)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                sent += len(piece)
            self.wait(step.get("delay", 0))
        if step.get("cut"):
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if not has_hung:
            self.wait(step["hang"])
        self.wfile.write(b"0\r\n\r\n")


def main():
    args = argparse.ArgumentParser(description="A scripted model for tests.")
    args.add_argument("--port", type=int, default=0)
    args.add_argument("--key")
    args.add_argument("--no-tools", action="store_true")
    args.add_argument("--refuse", action="append", default=[])
    got = args.parse_args()
    up = Upstream(got.key, got.port, got.no_tools, got.refuse)
    print(up.url, flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    up.close()


if __name__ == "__main__":
    main()
