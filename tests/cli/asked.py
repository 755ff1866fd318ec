"""Tests of questions: a server with a model that plays the script in its question."""
import json
import pathlib
import sys

from served import IS_REAL, Served

# Behind everything else: files of the same names are in both folders.
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "api"))


def script(*steps, text="What is it?"):
    """A question that is answered with these steps."""
    return f"{text}\n#script\n{json.dumps(steps)}"


class Asked(Served):
    """The stand-in has its own model; the real server asks the one of the tests of the API."""

    def setUp(self):
        if IS_REAL:
            from upstream import KEY, Upstream
            self.upstream = Upstream(key=KEY)
            self.addCleanup(self.upstream.close)
            self.settings = {"CICADA_MODEL_URL": self.upstream.url, "CICADA_MODEL_KEY": KEY,
                             "CICADA_MODEL_NAME": "scripted-1", "CICADA_MODEL_RETRIES": "0"}
        super().setUp()

    def ask(self, *words, **more):
        return self.good("ask", *words, **more)

    def last_answer(self):
        return self.objects("ask", "--list")[0]
