"""The run object field by field: what docs/cli.md promises, as a checker."""
import re


def is_text(value):
    return isinstance(value, str)


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def one_of(*values):
    return lambda value: value in values


def matching(pattern):
    return lambda value: is_text(value) and re.fullmatch(pattern, value) is not None


def null_or(check):
    return lambda value: value is None or check(value)


def list_of(check):
    return lambda value: isinstance(value, list) and all(check(v) for v in value)


def record(fields, optional=None):
    def check(value):
        return isinstance(value, dict) and not problems(value, fields, optional or {})
    return check


def bundle(value):
    return (isinstance(value, dict) and value != {}
            and all(re.fullmatch(r"[\w.+-]+/[\w.+;=-]+", key) for key in value))


FILE = {
    "path": is_text,
    "size": is_count,
    "sha256": null_or(matching("[0-9a-f]{64}")),
    "mime": matching(r"[\w.+-]+/[\w.+-]+"),
    "change": one_of("created", "modified", "deleted"),
}
ERROR = {"name": is_text, "message": is_text, "line": null_or(is_count), "traceback": is_text}
LIMITS = {"memory_mb": is_number, "cpu": is_number, "wall_s": is_number, "pids": is_count,
          "output_bytes": is_count, "disk_mb": is_number}
TRUNCATED = {"stdout": is_count, "stderr": is_count, "displays": is_count, "not_saved": is_count, "not_brought": is_count}
RUN = {
    "id": matching("run_[0-9a-z]{20,60}"),
    "session_id": matching("ses_[0-9a-z]{20,60}"),
    "workspace_id": one_of(None),
    "status": one_of("done"),
    "language": one_of("python", "bash", "javascript"),
    "end": one_of("ok", "error", "timeout", "memory", "output_limit", "disk", "cancelled", "crashed",
                  "killed"),
    "state": one_of("fresh", "kept", "woken", "lost"),
    "lost": list_of(is_text),
    "stdout": is_text,
    "stderr": is_text,
    "result": null_or(bundle),
    "displays": list_of(bundle),
    "error": null_or(record(ERROR)),
    "files": list_of(record(FILE)),
    "not_saved": list_of(record({"path": is_text, "reason": is_text})),
    "truncated": record(TRUNCATED),
    "started_at": matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    "duration_ms": is_number,
    "cpu_ms": is_number,
    "peak_memory_bytes": is_count,
    "limits": record(LIMITS),
    "tier": one_of("full", "container-root", "container-user"),
}
SOMETIMES = {"hint": is_text, "signal": matching("SIG[A-Z0-9]+"), "exit_code": is_count, "server_disk_full": one_of(True)}


def problems(value, fields=None, optional=None):
    """What is wrong with a run object; empty if nothing is."""
    fields, optional = fields or RUN, SOMETIMES if optional is None else optional
    found = [f"{key} is missing" for key in fields if key not in value]
    for key, content in value.items():
        check = fields.get(key) or optional.get(key)
        if not check:
            found.append(f"{key} is not in the contract")
        elif not check(content):
            found.append(f"{key} is {content!r}")
    return found
