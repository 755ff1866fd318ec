"""Conditions a probe's outcome must meet beyond its own verdict. Each takes a Trial (see run) and
returns a complaint, or nothing."""

import ast
import os
import stat


def quick(seconds):
    """The whole answer, start and capture included, took at most so long."""

    def check(trial):
        if trial.outcome.seconds > seconds:
            return "took %.1f s, more than %g" % (trial.outcome.seconds, seconds)

    return check


def engine_below(mib):
    """The engine's own memory stayed below so much, whatever the code printed or sent."""

    def check(trial):
        if trial.outcome.peak_kib > mib << 10:
            return "the engine used %d MiB" % (trial.outcome.peak_kib >> 10)

    return check


def output_is_cut(trial):
    run = trial.outcome.run
    kept = len((run.get("stdout") or "").encode()) + len((run.get("stderr") or "").encode())
    if kept > 4 << 20:  # 1 MiB kept; bytes that are no UTF-8 become three each
        return "%d bytes of output kept" % kept
    cut = run.get("truncated") or {}
    if not cut.get("stdout") and not cut.get("stderr"):
        return "output was cut and nothing says so"


def interrupted(trial):
    error = trial.outcome.run.get("error") or {}
    if error.get("name") != "KeyboardInterrupt":
        return "was not interrupted by KeyboardInterrupt but %r" % error.get("name")


def died_of_signal(name):
    def check(trial):
        got = trial.outcome.run.get("signal")
        if got != name:
            return "reported signal %r instead of %s" % (got, name)

    return check


def exited_with(code):
    def check(trial):
        got = trial.outcome.run.get("exit_code")
        if got != code:
            return "reported exit code %r instead of %d" % (got, code)

    return check


def not_a_success(trial):
    if trial.outcome.code == 0:
        return "cicada exited with 0"


def paths(trial):
    return [f["path"] for f in trial.outcome.run.get("files") or []]


def no_core_file(trial):
    cores = [p for p in paths(trial) if os.path.basename(p).startswith("core")]
    if cores:
        return "core file %s" % cores


def copied(trial):
    """Paths below the output directory that are no directories."""
    top = trial.outcome.out_dir
    if not top:
        return
    for base, dirs, files in os.walk(top):
        for name in files + [d for d in dirs if os.path.islink(os.path.join(base, d))]:
            yield os.path.join(base, name)


def only_regular_files(trial):
    for path in copied(trial):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return "copied something that is no regular file: %r" % path


def no_links_followed(trial):
    """Links are neither copied nor followed, and nothing of their targets comes back."""
    odd = only_regular_files(trial)
    if odd:
        return odd
    for name in paths(trial):
        if name.startswith("leak_") or "/canary/" in name:
            return "a link was captured as a file: %r" % name


def only_safe_text(trial):
    odd = only_regular_files(trial)
    if odd:
        return odd
    for path in copied(trial):
        with open(path, "rb") as f:
            text = f.read(1 << 20)
        if text.replace(b"SAFE", b""):
            return "copied %r with %r" % (path, text[:60])


def never_copied(name):
    def check(trial):
        if any(os.path.basename(path) == name and os.path.getsize(path) for path in copied(trial)):
            return "%s was copied" % name
        if trial.outcome.seconds > 5:
            return "took %.1f s: was it read?" % trial.outcome.seconds

    return check


def captured(name):
    def check(trial):
        if name not in paths(trial):
            return "%s is not among the files: %r" % (name, paths(trial)[:5])

    return check


def reported_deleted(name):
    def check(trial):
        changes = {f["path"]: f["change"] for f in trial.outcome.run.get("files") or []}
        if changes.get(name) != "deleted":
            return "%s was not reported as deleted: %r" % (name, changes)

    return check


HOSTILE_NAMES = [
    "new\nline.txt", "cr\r\nSet-Cookie: x=1.txt", "-rf", "a" * 255, 'quote".txt',
    "<img src=x onerror=alert(1)>.txt", "..%2f..%2fetc%2fpasswd", ".hidden", "trail ",
    "\u202egnp.exe", "nul\x01\x1b[31m.txt", "CON", "a\\b", "~", "$(id)", "%s%n", "..;", '{"a":1}',
]


def names_are_exact(trial):
    names = set(paths(trial))
    missing = [n for n in HOSTILE_NAMES if n not in names]
    if missing:
        return "names missing or changed: %r" % missing[:3]
    # Two names are not UTF-8 and cannot be told exactly in JSON; they must be told of all the same.
    told = len(names) + len(trial.outcome.run.get("not_saved") or [])
    if told < len(HOSTILE_NAMES) + 2:
        return "only %d of %d names are told of" % (told, len(HOSTILE_NAMES) + 2)


def nothing_forged(trial):
    run = trial.outcome.run
    for key in ("result", "displays", "files", "error"):
        if "FORGED" in repr(run.get(key)):
            return "forged text in %s" % key
    if run.get("end") == "ok" and run.get("forged"):
        return "forged run object"


def verdict_values(outcome):
    for line in reversed(outcome.lines()):
        if line.startswith("PAIR:"):
            return ast.literal_eval(line[5:].strip())
    return None


def values_differ(trial):
    one, two = (verdict_values(o) for o in trial.outcomes)
    if not one or not two:
        return "no values"
    same = [k for k in one if one[k] == two.get(k)]
    if same:
        return "the same in both sessions: %s" % same


def values_shown(trial):
    if not all(verdict_values(o) for o in trial.outcomes):
        return "no values"


def second_is_honest(trial):
    """The second piece in the same session gave the right answer, or said that it did not."""
    runs = trial.outcome.runs
    if len(runs) < 2:
        return None if trial.outcome.code else "the second piece vanished, and the exit code is 0"
    if runs[1].get("end") == "ok" and "SECOND 2" not in (runs[1].get("stdout") or ""):
        return "the second piece ended ok without its output"


def second_is_right(trial):
    runs = trial.outcome.runs
    if len(runs) < 2 or "SECOND 2" not in (runs[1].get("stdout") or ""):
        return "the second piece did not answer: %r" % [r.get("end") for r in runs]


def others_answered(trial):
    """Of the sessions started while the probe ran, three of four answered in time and all of them
    in four times that: this machine has other work too."""
    times = sorted(trial.meanwhile)
    if not times:
        return "no other session was tried meanwhile"
    if times[len(times) * 3 // 4] > trial.bound or times[-1] > 4 * trial.bound:
        return "other sessions took %s s meanwhile" % ["%.2f" % t for t in times]
