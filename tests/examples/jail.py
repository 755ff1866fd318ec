"""Runs code through `cicada run` the way a user would, and gives back everything that came out."""
import base64
import io
import json
import os
import subprocess
import tempfile
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CICADA = os.environ.get("CICADA", os.path.join(ROOT, "build", "cicada"))


class Ran:
    """One finished `cicada run --json`: the run object, the exit code, and the folder of -o."""

    def __init__(self, exit_code, text, notes, folder):
        self.exit_code = exit_code
        self.notes = notes
        self.folder = folder
        self.run = json.loads(text) if text.strip() else {}

    def __getattr__(self, name):  # stdout, stderr, end, error, result, displays, files, ...
        try:
            return self.run[name]
        except KeyError:
            raise AttributeError(f"the run has no {name}; exit code {self.exit_code}, "
                                 f"stderr of cicada: {self.notes[-2000:]}") from None

    def path(self, name):
        return os.path.join(self.folder, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def image(self, name):
        from PIL import Image

        return Image.open(self.path(name))

    def pictures(self):
        """The PNG figures that came back as displays or as the result, in order."""
        from PIL import Image

        bundles = self.displays + ([self.result] if self.result else [])
        return [Image.open(io.BytesIO(base64.b64decode(b["image/png"])))
                for b in bundles if "image/png" in b]


def run(code, *options, files=(), folder=None):
    """`cicada run --json -c code -f file... -o folder options...`"""
    folder = folder or tempfile.mkdtemp(prefix="cicada-example-")
    command = [CICADA, "run", "--json", "-c", textwrap.dedent(code), "-o", folder, *options]
    for name in files:
        command += ["-f", name]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"), folder)


def plain(*arguments, text=None):
    """`cicada run arguments...` without --json; returns (exit code, stdout, stderr)."""
    done = subprocess.run([CICADA, "run", *arguments], timeout=300, capture_output=True,
                          input=(text or "").encode())
    return done.returncode, done.stdout.decode(), done.stderr.decode()
