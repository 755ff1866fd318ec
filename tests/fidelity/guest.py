"""Runs test suites and writes down the outcome of every single test.

The same file is used on both sides: outside the jail it is a program, inside it is either a
program that the kernel starts or a module that the kernel imports. It knows nothing of cicada.

A job is a dictionary:

    units      list of [kind, name, arguments...]; each runs in a process of its own.
               "kind@cwd" puts its temporary files below the current directory
    workers    how many units run at once
    timeout_s  after which a unit is given up

and the result is {"records": {unit name: {test id: outcome}}, "seconds": {unit name: seconds}}.
An outcome is a word, possibly followed by ": " and what went wrong, which is shown but not compared.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PACKAGES = "/usr/lib/python3/dist-packages"
RESOURCES = "subprocess,decimal,cpu"  # of CPython's tests: not network, gui, audio, gigabytes
GIGABYTES = ["test_bytes_exceed_2gb"]  # pytest's tests that need more memory than is given
LOG_TAIL = 6000


class Records:
    """Outcomes by test id, appended to a file line by line so that a crash loses nothing."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8", errors="backslashreplace")
        self.pid = os.getpid()

    def add(self, test_id, outcome, detail=""):
        if os.getpid() != self.pid:  # a test forked and its child came back here
            return
        self.file.write(json.dumps([test_id, outcome, str(detail)[-1500:]]) + "\n")
        self.file.flush()


class RecordingResult(unittest.TestResult):
    """Writes every outcome down, those of subtests and of whole classes included."""

    def __init__(self, records):
        super().__init__()
        self.records = records
        self.sub_skips = 0
        self.sub_failures = 0

    def startTest(self, test):
        super().startTest(test)
        self.sub_skips = self.sub_failures = 0

    def note(self, test, outcome, detail=""):
        self.records.add(test.id(), outcome, detail)

    def addSuccess(self, test):
        super().addSuccess(test)
        skips = f" ({self.sub_skips} subtests skipped)" if self.sub_skips else ""
        self.note(test, "passed" + skips)

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "error", self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed", self.failures[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if hasattr(test, "test_case"):
            self.sub_skips += 1
        else:
            self.note(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "xfailed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "xpassed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            detail = (self.failures if failed else self.errors)[-1][1]
            self.note(test, "failed" if failed else "error", f"{subtest}\n{detail}")


class RecordingRunner:
    def __init__(self, records):
        self.result = RecordingResult(records)

    def run(self, suite):
        suite(self.result)
        return self.result


class PytestPlugin:
    def __init__(self, records):
        self.records = records

    def pytest_runtest_teardown(self, item, nextitem):
        """Takes away what the test wrote. Pytest keeps it, and all of it together fills /tmp."""
        if "tmp_path" in getattr(item, "funcargs", ()):
            shutil.rmtree(item.funcargs["tmp_path"], ignore_errors=True)

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self.records.add(report.nodeid, f"collection {report.outcome}", report.longreprtext)

    def pytest_runtest_logreport(self, report):
        xfail = hasattr(report, "wasxfail")
        if report.skipped:
            outcome = "xfailed" if xfail else "skipped"
        elif report.failed:
            outcome = "failed" if report.when == "call" else "error"
        elif report.when == "call":
            outcome = "xpassed" if xfail else "passed"
        else:
            return
        self.records.add(report.nodeid, outcome, report.longreprtext)


# ---- one unit, in a process of its own ----


def run_regrtest(records_path, module, *ignored):
    """`python3 -m test module`, with our own note-taking in place of its summary."""
    import runpy

    from test import support
    from test.libregrtest.main import Regrtest

    records = Records(records_path)
    support.get_test_runner = lambda *args, **kwargs: RecordingRunner(records)
    accumulate = Regrtest.accumulate_result

    def accumulate_and_note(self, result, rerun=False):
        records.add(module, "module " + type(result).__name__.lower(), result)
        accumulate(self, result, rerun)

    Regrtest.accumulate_result = accumulate_and_note
    del sys.path[0]  # where this file is; -m puts the current directory there
    sys.path.insert(0, os.getcwd())
    sys.argv[1:] = ["-u", RESOURCES, "--timeout", "900", module]
    for pattern in ignored:
        sys.argv += ["-i", pattern]
    runpy.run_module("test", run_name="__main__", alter_sys=True)


def run_pytest(records_path, *paths):
    import pytest

    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", PACKAGES,
               "--hypothesis-seed=0", "-W", "ignore::pytest.PytestUnknownMarkWarning",
               "-m", "not network and not slow", "-k", "not " + " and not ".join(GIGABYTES)]
    pytest.hookimpl(trylast=True)(PytestPlugin.pytest_runtest_teardown)
    os.environ["NPY_AVAILABLE_MEM"] = "1 GB"  # numpy's tests skip themselves when they need more
    paths = [os.path.join(PACKAGES, p) for p in paths]
    return pytest.main(options + paths, plugins=[PytestPlugin(Records(records_path))])


def run_unittest(records_path, *modules):
    """CPython's test modules one after the other in this very process."""
    import importlib

    from test import support

    records = Records(records_path)
    support.get_test_runner = lambda *args, **kwargs: RecordingRunner(records)
    back = os.getcwd()
    for name in modules:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            os.chdir(place)
            try:
                suite = unittest.defaultTestLoader.loadTestsFromName("test." + name)
                suite(RecordingResult(records))
                outcome, detail = "module ran", ""
            except unittest.SkipTest as skip:
                outcome, detail = "module skipped", skip
            except Exception as error:  # the module could not even be loaded
                outcome, detail = "module error", repr(error)
            finally:
                os.chdir(back)
        records.add(name, outcome, detail)


KINDS = {"regrtest": run_regrtest, "pytest": run_pytest, "unittest": run_unittest}


# ---- all units of a job ----


def run_unit(unit, timeout_s):
    """Runs a unit in a process group of its own; returns ({test id: outcome}, seconds)."""
    kind, name, *arguments = unit
    kind, _, where = kind.partition("@")
    env = dict(os.environ)
    if where == "cwd":  # temporary files beside the user's own
        env["TMPDIR"] = tempfile.mkdtemp(prefix="", dir=os.getcwd())
    records_path = os.path.abspath(name + ".records")  # not in /tmp, which a test may fill
    log_path = os.path.abspath(name + ".log")
    command = [sys.executable, os.path.abspath(__file__), kind, records_path, *arguments]
    started = time.monotonic()
    with open(log_path, "wb") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=subprocess.STDOUT, start_new_session=True, env=env)
        try:
            child.wait(timeout_s)
            end = "ended by signal %d" % -child.returncode if child.returncode < 0 else None
            if kind == "pytest" and child.returncode > 1:  # neither all well nor some failed
                end = "did not finish"
        except subprocess.TimeoutExpired:
            end = "gave up"
        try:
            os.killpg(child.pid, 9)  # what a test left running must not disturb the next
        except ProcessLookupError:
            pass
        child.wait()
    if where == "cwd":
        shutil.rmtree(env["TMPDIR"], ignore_errors=True)
    records = read_records(records_path)
    if end:
        records[name] = f"{end}: {read_tail(log_path)}"
    elif not records or kind == "regrtest" and name not in records:
        records[name] = f"did not finish: {read_tail(log_path)}"
    return records, time.monotonic() - started


def read_records(path):
    """The outcomes of one unit. A test that noted several keeps the distinct ones, in order."""
    records = {}
    try:
        lines = open(path, encoding="utf-8").read().splitlines()
    except FileNotFoundError:
        return records
    for line in lines:
        test_id, outcome, detail = json.loads(line)
        words, _, details = records.get(test_id, "").partition(": ")
        if outcome not in words.split("+"):
            words = f"{words}+{outcome}" if words else outcome
        records[test_id] = f"{words}: {details or detail}" if details or detail else words
    return records


def read_tail(path):
    with open(path, "rb") as log:
        return log.read()[-LOG_TAIL:].decode(errors="replace")


def run_job(job):
    waiting = list(job["units"])
    result = {"records": {}, "seconds": {}}

    def work():
        while True:
            try:
                unit = waiting.pop(0)
            except IndexError:
                return
            records, seconds = run_unit(unit, job["timeout_s"])
            result["records"][unit[1]] = records
            result["seconds"][unit[1]] = round(seconds, 2)

    workers = [threading.Thread(target=work) for _ in range(job["workers"])]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return result


def run_job_here(job):
    """All units in this process: how the kernel itself runs them."""
    result = {"records": {}, "seconds": {}}
    for kind, name, *arguments in job["units"]:
        path = os.path.abspath(name + ".records")  # among the files that outlive a crash
        started = time.monotonic()
        try:
            KINDS[kind](path, *arguments)
        finally:
            result["seconds"][name] = round(time.monotonic() - started, 2)
        result["records"][name] = read_records(path)
    return result


def main():
    if sys.argv[1] in KINDS:
        return KINDS[sys.argv[1]](sys.argv[2], *sys.argv[3:])
    with open(sys.argv[2]) as text:
        job = json.load(text)
    result = (run_job_here if sys.argv[1] == "here" else run_job)(job)
    with open("result.json", "w") as out:
        json.dump(result, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
