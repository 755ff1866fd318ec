"""Questions and answers of the stand-in: a model that plays the script in its question, as tests/api/upstream.py does.

`world.model` None: no model is configured. `world.answer_extra` is put into every answer: what only a real server can find out, or
what one that misbehaves would say. `world.hangups` counts the clients that left before the answer was whole.
"""
import json
import time

from standin_files import Refusal, make_id, now

NO_MODEL = ("no model is configured, so there is nobody to ask",
            "set it in the configuration of the server, or in its environment, and start it again:\n"
            "  Ollama: CICADA_MODEL_URL=http://localhost:11434/v1 CICADA_MODEL_NAME=...\n"
            "  hosted: CICADA_MODEL_URL=https://.../v1 CICADA_MODEL_KEY=... CICADA_MODEL_NAME=...")


def script_of(question):
    lines = question.split("\n")
    if "#script" not in lines:
        return [{"say": "You said: " + question}]
    return json.loads("\n".join(lines[lines.index("#script") + 1:]))


class Asks:
    """A part of the handler."""

    def tell(self, name, data):
        if self.is_streaming:
            self.numbered += 1
            self.chunk(f"id: {self.numbered}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode())

    def say(self, text):
        for at in range(0, len(text), 7):
            self.tell("text", {"text": text[at:at + 7]})

    def run_code(self, answer, session, code):
        self.tell("code", {"text": code[:5]})
        self.tell("code", {"text": code[5:]})
        self.tell("run.started", {"code": code})
        run = self.world.add_run(session, {"code": code})
        with run.changed:
            run.changed.wait_for(lambda: run.object["status"] == "done", 30)
        done = run.object
        self.tell("run.done", {k: done[k] for k in ("id", "end", "stdout", "stderr", "result", "error", "files")})
        for file in done["files"]:
            self.tell("file", file)
        answer["runs"].append({"id": run.id, "code": code, "end": done["end"], "stdout_head": done["stdout"][:100],
                               "duration_ms": done["duration_ms"]})
        answer["files"] += [{k: f[k] for k in ("path", "version", "url", "size", "sha256")} for f in done["files"]]
        return (done["stdout"] or (done["result"] or {}).get("text/plain", "")
                or (done["error"] or {}).get("traceback", "")).strip()

    def play(self, answer, session, steps, limit):
        last = ""
        for step in steps:
            if step.get("think"):
                self.tell("thinking", {"text": step["think"]})
            while "hang" in step:  # until the client leaves
                self.chunk(b": ping\n\n")
                time.sleep(0.02)
            if "status" in step:
                answer.update(end="failed", error={"code": "unavailable", "message": f"the model's endpoint says {step['status']}"})
                return
            if "say" in step and "code" in step:
                self.say(step["say"])
            if "code" in step:
                if len(answer["runs"]) == limit:
                    answer.update(end="limit", error={"code": "limit", "message": f"after {limit} runs"})
                    return
                last = self.run_code(answer, session, step["code"])
                continue
            answer["answer"] = last if step.get("echo") else step["say"].replace("{{last}}", last)
            self.say(answer["answer"])
            return

    def post_ask(self, rest, _, request):
        if self.world.model is None:
            raise Refusal(503, "unavailable", *NO_MODEL)
        session = self.world.sessions.get(request.get("session")) or self.world.add_session(request)
        self.world.asked.append(request)
        self.is_streaming, self.numbered = "text/event-stream" in self.headers.get("Accept", ""), 0
        begun = time.monotonic()
        answer = {"id": make_id("ans_"), "status": "running", "end": None, "question": request["question"], "answer": "",
                  "session_id": session["id"], "workspace_id": session["workspace_id"],
                  "model": request.get("model", self.world.model), "runs": [], "files": [], "figures": [], "citations": [],
                  "verification": None, "error": None, "created_at": now(), "duration_ms": 0,
                  "usage": {"input_tokens": 20, "output_tokens": 10, "total_tokens": 30, "questions": 1}}
        self.world.answers[answer["id"]] = answer
        if self.is_streaming:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
        try:
            self.tell("answer.started", answer)
            self.play(answer, session, script_of(request["question"]), request.get("max_runs", 20))
        except (BrokenPipeError, ConnectionResetError):
            answer.update(status="done", end="cancelled")
            self.world.hangups += 1
            raise
        answer.update(status="done", end=answer["end"] or "ok", duration_ms=round((time.monotonic() - begun) * 1000))
        answer.update(self.world.answer_extra)
        if not self.is_streaming:
            return 200, answer
        self.tell("answer.done", answer)
        self.chunk(b"")
        return None

    def get_answers(self, rest, query, _):
        if not rest:
            return self.page(list(reversed(self.world.answers.values())), query)
        answer = self.world.answers.get(rest[0])
        if not answer:
            raise Refusal(404, "not_found", f"there is no answer {rest[0]}")
        if rest[1:] != ["transcript"]:
            return 200, answer
        if query["format"] != "markdown":
            return 200, {"format": query["format"], "answer": answer["id"]}
        text = f"# {answer['question']}\n\n{answer['answer']}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/markdown")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        return None
