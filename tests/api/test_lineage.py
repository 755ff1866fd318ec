"""Lineage: what runs read, where a version comes from, making it once more, a session as a document."""
import json
import os
import subprocess
import tempfile
import unittest
import urllib.parse

from base import IMAGES, ROOT, Client, eventually
from files import FilesTest

import nbformat

RAW = b"day,value\n1,10\n2,\n3,30\n4,25\n"
CLEAN = """
import csv
with open("raw.csv") as f:
    rows = [r for r in csv.DictReader(f) if r["value"]]
with open("clean.csv", "w") as f:
    f.write("day,value\\n" + "".join(f"{r['day']},{r['value']}\\n" for r in rows))
"""
SUMS = """
import csv, json
with open("clean.csv") as f:
    values = [int(r["value"]) for r in csv.DictReader(f)]
json.dump({"sum": sum(values), "mean": sum(values) / len(values)}, open("sums.json", "w"))
"""
CHART = """
import csv, json
from PIL import Image, ImageDraw
sums = json.load(open("sums.json"))
with open("clean.csv") as f:
    rows = list(csv.DictReader(f))
image = Image.new("RGB", (200, 100), "white")
draw = ImageDraw.Draw(image)
for i, r in enumerate(rows):
    draw.rectangle([i * 40, 100 - int(r["value"]), i * 40 + 30, 100], fill="navy")
draw.line([0, 100 - sums["mean"], 200, 100 - sums["mean"]], fill="red")
image.save("chart.png")
"""


class LineageTest(FilesTest):
    def setUp(self):
        super().setUp()
        self.workspace = self.ws.rpartition("/")[2]

    def session(self, **wishes):
        made = self.client.session(workspace=self.workspace, **wishes)
        self.addCleanup(lambda: Client(self.server).request("DELETE", "/api/v1/sessions/" + made))
        return made

    def run_in(self, session, code, end="ok", **more):
        run = self.client.run(session, code, **more)
        self.assertEqual(run["end"], end, run)
        return run

    def reads(self, run):
        return {(r["path"], r["version"], r["guessed"]) for r in run["reads"]}

    def lineage(self, path, **more):
        return self.client.ok("GET", f"{self.ws}/lineage?" + urllib.parse.urlencode({"path": path, **more}))

    def reproduce(self, path, **more):
        return self.client.ok("POST", self.ws + "/reproduce", {"path": path, **more})

    def pipeline(self, sessions):
        """CSV, cleaned, sums, chart: each run in the session that comes next."""
        self.make("raw.csv", RAW)
        return [self.run_in(s, code) for s, code in zip(sessions, (CLEAN, SUMS, CHART))]

    def shape(self, graph):
        """{(from, to, kind)}, with versions as path@n and runs by the number of their start."""
        names = {}
        for node in graph["nodes"]:
            names[node["id"]] = f"{node['path']}@{node['version']}" if node["kind"] == "version" else node["id"]
        return {(names[e["from"]], names[e["to"]], e["kind"]) for e in graph["edges"]}


class Reads(LineageTest):
    def test_a_run_says_which_versions_it_read(self):
        self.make("raw.csv", b"1")
        self.make("raw.csv", b"2")
        session = self.session()
        run = self.run_in(session, "open('raw.csv').read(); open('/etc/passwd').close()")
        self.assertEqual(self.reads(run), {("raw.csv", 2, False)})
        self.assertTrue(run["reads_complete"])
        self.make("raw.csv", b"3")
        self.assertEqual(self.reads(self.run_in(session, "open('raw.csv').read()")), {("raw.csv", 3, False)})
        self.assertEqual(self.reads(self.run_in(session, "1 + 1")), set())
        # What it had before the run counts, also when it writes the file itself.
        run = self.run_in(session, "t = open('raw.csv').read(); open('raw.csv', 'w').write(t + '!')")
        self.assertEqual(self.reads(run), {("raw.csv", 3, False)})
        self.assertEqual(run["files"][0]["version"], 4)
        run = self.run_in(session, "open('raw.csv', 'w').write('new'); open('raw.csv').read()")
        self.assertEqual(self.reads(run), set())
        stored = self.client.ok("GET", "/api/v1/runs/" + run["id"])
        self.assertEqual(stored["reads"], [])

    def test_children_and_other_languages_are_guesses(self):
        self.make("raw.csv", RAW)
        session = self.session()
        for code, language in (("!wc -l raw.csv", "python"), ("sort raw.csv > sorted.csv", "bash")):
            run = self.run_in(session, code, language=language)
            self.assertEqual(self.reads(run), {("raw.csv", 1, True)}, code)
            self.assertFalse(run["reads_complete"])

    def test_nothing_the_code_says_is_believed_but_versions_that_were_there(self):
        self.make("raw.csv", RAW)
        session = self.session()
        run = self.run_in(session, "open('mine.txt', 'w').write('1')\nopen('mine.txt').read()")
        self.assertEqual(self.reads(run), set())
        run = self.run_in(session, """
import _cicada
_cicada.send(76, ((20, b'raw.csv'), (20, b'no/such'), (20, b'../../etc/passwd'), (20, b'/raw.csv'), (20, b'a\\0b'),
                  (20, b'\\xff\\xfe'), (21, b'raw.csv')), False)
_cicada.send(76, ((20, b'x' * 5000), (22, 1)), False)
""")
        self.assertEqual(self.reads(run), {("raw.csv", 1, False)})
        self.assertFalse(run["reads_complete"])

    def test_a_run_that_was_killed_may_have_read_more(self):
        self.make("raw.csv", RAW)
        run = self.run_in(self.session(), "open('raw.csv').read()\nimport os; os._exit(3)", end="crashed")
        self.assertFalse(run["reads_complete"])

    def baked_session(self):
        """A server that has just begun may not have looked at its image yet, and starts sessions cold."""
        session = self.session()
        return session if self.client.ok("GET", f"/api/v1/sessions/{session}")["baked"] else None

    @unittest.skipIf(IMAGES == "off", "a session that started cold cannot sleep or branch")
    def test_after_sleeping_and_in_a_branch_it_goes_on(self):
        self.make("raw.csv", RAW)
        session = eventually(self.baked_session, 120)
        self.run_in(session, "x = 1")
        self.client.ok("POST", f"/api/v1/sessions/{session}/sleep")
        self.assertEqual(self.reads(self.run_in(session, "open('raw.csv').read()")), {("raw.csv", 1, False)})
        branch = self.client.ok("POST", f"/api/v1/sessions/{session}/fork", {}, 201)["id"]
        self.assertEqual(self.reads(self.run_in(branch, "open('raw.csv').read()")), {("raw.csv", 1, False)})


class Graph(LineageTest):
    def test_a_pipeline_of_three_runs_in_three_sessions(self):
        a, b, c = self.pipeline([self.session() for _ in range(3)])
        graph = self.lineage("chart.png")
        self.assertTrue(graph["complete"])
        self.assertFalse(graph["truncated"])
        self.assertEqual(self.shape(graph), {
            ("raw.csv@1", a["id"], "read"), (a["id"], "clean.csv@1", "wrote"),
            ("clean.csv@1", b["id"], "read"), (b["id"], "sums.json@1", "wrote"),
            ("clean.csv@1", c["id"], "read"), ("sums.json@1", c["id"], "read"), (c["id"], "chart.png@1", "wrote"),
        })
        nodes = {n["id"]: n for n in graph["nodes"]}
        self.assertEqual(nodes[c["id"]]["code"], CHART)
        self.assertEqual(nodes[graph["node"]]["path"], "chart.png")
        self.assertEqual(nodes[graph["node"]]["run_id"], c["id"])
        raw = next(n for n in graph["nodes"] if n.get("path") == "raw.csv")
        self.assertIsNone(raw["run_id"])
        self.assertEqual({r["run_id"] for r in self.lineage("clean.csv")["read_by"]}, {b["id"], c["id"]})

    def test_depth_is_how_many_runs_to_go_back(self):
        a, b, c = self.pipeline([self.session() for _ in range(3)])
        graph = self.lineage("chart.png", depth=1)
        self.assertTrue(graph["truncated"])
        self.assertEqual({n["id"] for n in graph["nodes"] if n["kind"] == "run"}, {c["id"]})
        self.assertEqual(self.client.get(f"{self.ws}/lineage?path=chart.png&depth=51").code, "invalid_request")
        self.assertEqual(self.client.get(f"{self.ws}/lineage?path=chart.png&depth=0").code, "invalid_request")
        self.assertEqual(self.client.get(f"{self.ws}/lineage?path=none.png").code, "not_found")

    def test_versions_and_deleted_files_keep_their_lineage(self):
        session = self.session()
        first = self.run_in(session, "open('a', 'w').write('1')")
        second = self.run_in(session, "open('a', 'w').write('2')")
        self.assertEqual(self.shape(self.lineage("a")), {(second["id"], "a@2", "wrote")})
        self.assertEqual(self.shape(self.lineage("a", version=1)), {(first["id"], "a@1", "wrote")})

    def test_variables_lead_back_to_the_runs_that_left_them(self):
        self.make("raw.csv", RAW)
        session = self.session()
        a = self.run_in(session, "rows = open('raw.csv').read().splitlines()")
        self.run_in(session, "1 + 1")
        b = self.run_in(session, "open('count.txt', 'w').write(str(len(rows)))")
        self.assertEqual(self.shape(self.lineage("count.txt")), {
            ("raw.csv@1", a["id"], "read"), (a["id"], b["id"], "state"), (b["id"], "count.txt@1", "wrote")})
        self.client.ok("POST", f"/api/v1/sessions/{session}/restart")
        c = self.run_in(session, "open('count.txt', 'w').write('none')")
        self.assertEqual(self.shape(self.lineage("count.txt")), {(c["id"], "count.txt@2", "wrote")})

    def test_an_uploaded_file_has_none(self):
        self.make("raw.csv", RAW)
        graph = self.lineage("raw.csv")
        self.assertEqual((len(graph["nodes"]), graph["edges"], graph["complete"]), (1, [], True))


class Reproduce(LineageTest):
    def assert_nothing_is_left(self):
        names = [w["name"] for w in self.client.ok("GET", "/api/v1/workspaces?limit=100")["data"]]
        self.assertFalse([n for n in names if n.startswith("reproduce-")])
        open_sessions = self.client.ok("GET", "/api/v1/sessions?limit=100")["data"]
        return {s["id"] for s in open_sessions}

    def files(self):
        return {(f["path"], f["version"]) for f in self.client.ok("GET", self.ws + "/files")["data"]}

    def test_the_same_from_three_sessions_and_different_after_an_input_changed(self):
        _, _, c = self.pipeline([self.session() for _ in range(3)])
        before, sessions = self.files(), self.assert_nothing_is_left()
        answer = self.reproduce("chart.png")
        self.assertEqual((answer["result"], answer["how"]), ("same", "bytes"), answer)
        self.assertEqual([r["run_id"] for r in answer["runs"]], [c["id"]])
        self.assertTrue(answer["complete"])
        self.assertEqual({(i["path"], i["version"]) for i in answer["inputs"]}, {("clean.csv", 1), ("sums.json", 1)})
        answer = self.reproduce("chart.png", inputs="latest")
        self.assertEqual((answer["result"], len(answer["runs"])), ("same", 3), answer)

        self.make("raw.csv", RAW.replace(b"30", b"80"))
        self.assertEqual(self.reproduce("chart.png")["result"], "same")  # from what it was made of
        answer = self.reproduce("chart.png", inputs="latest")
        self.assertEqual(answer["result"], "different", answer)
        self.assertIn("pixels", answer["detail"])
        self.assertEqual([(i["path"], i["version"]) for i in answer["inputs"]], [("raw.csv", 2)])
        answer = self.reproduce("sums.json", inputs="latest")
        self.assertEqual(answer["result"], "different")
        self.assertIn("$.sum is", answer["detail"])
        self.assertEqual(self.files(), {(p, 2 if p == "raw.csv" else v) for p, v in before})
        self.assertEqual(self.assert_nothing_is_left(), sessions)

    def test_an_input_that_changed_is_named(self):
        self.make("raw.csv", RAW)
        self.run_in(self.session(), CLEAN)
        self.make("raw.csv", RAW + b"5,50\n")
        answer = self.reproduce("clean.csv")
        self.assertEqual(answer["result"], "same")
        self.assertEqual(answer["inputs"], [{"path": "raw.csv", "version": 1, "newest_version": 2}])
        answer = self.reproduce("clean.csv", inputs="latest")
        self.assertEqual(answer["result"], "different")
        self.assertIn("rows instead of", answer["detail"])

    def test_variables_of_earlier_runs_are_made_again(self):
        self.make("raw.csv", RAW)
        session = self.session()
        self.run_in(session, "old = 1")
        self.client.ok("POST", f"/api/v1/sessions/{session}/restart")
        runs = [self.run_in(session, "rows = open('raw.csv').read().splitlines()"),
                self.run_in(session, "1 / 0", end="error"),
                self.run_in(session, "import os; os.makedirs('out', exist_ok=True)"),
                self.run_in(session, "open('out/count.txt', 'w').write(str(len(rows)))")]
        answer = self.reproduce("out/count.txt")
        self.assertEqual(answer["result"], "same", answer)
        self.assertEqual([r["run_id"] for r in answer["runs"]], [r["id"] for r in runs])

    def test_a_directory_that_was_there_is_there(self):
        session = self.session()
        self.run_in(session, "import os; os.makedirs('deep/er'); open('deep/er/x', 'w').write('x')")
        self.run_in(self.session(), "open('deep/er/y', 'w').write('y')")
        self.assertEqual(self.reproduce("deep/er/y")["result"], "same")

    def test_each_run_begins_with_what_it_read(self):
        self.make("in.txt", b"one")
        session = self.session()
        self.run_in(session, "a = open('in.txt').read()")
        self.make("in.txt", b"two")
        self.run_in(session, "b = open('in.txt').read()\nopen('out.txt', 'w').write(a + b)")
        self.make("in.txt", b"three")
        self.assertEqual(self.data("out.txt"), b"onetwo")
        self.assertEqual(self.reproduce("out.txt")["result"], "same")
        self.assertEqual(self.reproduce("out.txt", inputs="latest")["result"], "different")

    def test_numbers_within_a_tolerance_are_the_same(self):
        session = self.session()
        self.run_in(session, "import os, json\n"
                    "open('t.csv', 'w').write(f'x,y\\n{0.1 + os.getpid() * 0 + 1e-13 * (os.urandom(1)[0] + 1)},a\\n')\n"
                    "json.dump({'v': [0.3 + 1e-14 * (os.urandom(1)[0] + 1)]}, open('t.json', 'w'))\n"
                    "open('t.txt', 'w').write(os.urandom(8).hex())\n"
                    "open('t.bin', 'wb').write(b'\\xff' + os.urandom(16))")
        for path, how in (("t.csv", "values"), ("t.json", "values")):
            answer = self.reproduce(path)
            self.assertEqual((answer["result"], answer["how"] in (how, "bytes")), ("same", True), answer)
        for path, word in (("t.txt", "line 1"), ("t.bin", "bytes")):
            answer = self.reproduce(path)
            self.assertEqual(answer["result"], "different")
            self.assertIn(word, answer["detail"])

    def test_what_fails_says_why(self):
        self.make("raw.csv", RAW)
        self.run_in(self.session(), "open('copy.csv', 'w').write(open('raw.csv').read().split('day')[1])")
        self.make("raw.csv", b"nothing of that\n")
        answer = self.reproduce("copy.csv", inputs="latest")
        self.assertEqual(answer["result"], "failed")
        self.assertEqual(answer["error"]["name"], "IndexError")
        self.assertIn("Traceback", answer["error"]["traceback"])

    def test_what_no_run_made_cannot_be_repeated(self):
        self.make("raw.csv", RAW)
        answer = self.client.post(self.ws + "/reproduce", {"path": "raw.csv"})
        self.assertEqual((answer.status, answer.code), (409, "conflict"))
        self.assertEqual(self.client.post(self.ws + "/reproduce", {"path": "none"}).code, "not_found")

    def test_other_languages(self):
        self.make("raw.csv", RAW)
        self.run_in(self.session(), "sort raw.csv > sorted.csv", language="bash")
        answer = self.reproduce("sorted.csv")
        self.assertEqual((answer["result"], answer["complete"]), ("same", False))

    def test_a_key_needs_both_scopes_and_no_right_to_write(self):
        self.make("raw.csv", RAW)
        self.run_in(self.session(), CLEAN)
        for scopes, status in ((["run"], 403), (["files:read"], 403), (["run", "files:read"], 200)):
            made = self.client.ok("POST", "/api/v1/keys", {"name": "k", "scopes": scopes}, 201)
            other = Client(self.server, made["secret"])
            answer = other.post(self.ws + "/reproduce", {"path": "clean.csv"})
            self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.json["result"], "same")
        self.assert_nothing_is_left()

    def test_a_viewer_may_repeat_what_they_may_read(self):
        self.make("raw.csv", RAW)
        self.run_in(self.session(), CLEAN)
        someone = self.client.ok("POST", "/api/v1/principals", {"name": "viewer"}, 201)["id"]
        key = self.client.ok("POST", "/api/v1/keys", {"principal": someone, "scopes": ["run", "files:read"]}, 201)
        viewer = Client(self.server, key["secret"])
        self.assertEqual(viewer.post(self.ws + "/reproduce", {"path": "clean.csv"}).code, "not_found")
        self.client.ok("PUT", f"{self.ws}/members/{someone}", {"role": "viewer"})
        self.assertEqual(viewer.ok("POST", self.ws + "/reproduce", {"path": "clean.csv"})["result"], "same")
        self.assertEqual(len(viewer.ok("GET", f"{self.ws}/lineage?path=clean.csv")["edges"]), 2)
        mine = viewer.ok("GET", "/api/v1/workspaces?limit=100")["data"]
        self.assertFalse([w for w in mine if w["name"].startswith("reproduce-")])

    def test_repeated_runs_count_like_others(self):
        session = self.session()
        for i in range(4):
            self.run_in(session, f"x{i} = {i}\nopen('n.txt', 'w').write('{i}')")
        key = self.client.ok("POST", "/api/v1/keys", {"scopes": ["run", "files:read"], "limits": {"runs_per_minute": 2}}, 201)
        answer = Client(self.server, key["secret"]).post(self.ws + "/reproduce", {"path": "n.txt"})
        self.assertEqual(answer.status, 429, answer.body)
        self.assert_nothing_is_left()


class Compare(unittest.TestCase):
    """What runs inside the sandbox, by itself."""

    PROGRAM = ROOT / "src/service/compare.py"

    def compare(self, a, b, ending):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name + ending) for name in "ab"]
            for path, data in zip(paths, (a, b)):
                with open(path, "wb") as f:
                    f.write(data if isinstance(data, bytes) else data.encode())
            done = subprocess.run(["/usr/bin/python3", self.PROGRAM], input=json.dumps(dict(zip("ab", paths))),
                                  capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def same(self, a, b, ending, how):
        answer = self.compare(a, b, ending)
        self.assertEqual((answer["is_same"], answer.get("how")), (True, how), answer)

    def different(self, a, b, ending, word):
        answer = self.compare(a, b, ending)
        self.assertFalse(answer["is_same"], answer)
        self.assertIn(word, answer["detail"])

    def test_tables(self):
        self.same("a,b\n1,x\n", "a,b\n1.0000000000001,x\n", ".csv", "values")
        self.different("a,b\n1,x\n", "a,b\n1.001,x\n", ".csv", "row 2, column 1 is 1.001 instead of 1")
        self.different("a\n1\n", "a\n1\n2\n", ".csv", "3 rows instead of 2")
        self.different("a\n1\n", "a\tb\n1\n", ".tsv", "2 columns instead of 1")

    def test_documents(self):
        self.same('{"a": [1, 2.5], "b": null}', '{"b": null, "a": [1.0, 2.5000000000001]}', ".json", "values")
        self.different('{"a": [1]}', '{"a": [2]}', ".json", "$.a[0] is 2 instead of 1")
        self.different('{"a": true}', '{"a": 1}', ".json", "$.a")
        self.different('{"a": 1}', '{"b": 1}', ".json", "other keys")

    def test_pictures(self):
        def png(colour, size=(4, 4), compress_level=6):
            code = ("import sys; from PIL import Image\n"
                    f"Image.new('RGB', {size}, {colour}).save(sys.stdout.buffer, 'png', compress_level={compress_level})")
            return subprocess.run(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE, check=True).stdout

        self.same(png((9, 9, 9)), png((9, 9, 9), compress_level=0), ".png", "pixels")
        self.same(png((9, 9, 9)), png((9, 9, 11)), ".png", "pixels")
        self.different(png((9, 9, 9)), png((9, 9, 12)), ".png", "16 of 16 pixels differ, by up to 3")
        self.different(png((9, 9, 9)), png((9, 9, 9), (4, 5)), ".png", "4 by 5 pixels instead of 4 by 4")

    def test_what_changes_with_every_drawing_does_not_count(self):
        svg = '<svg><dc:date>%s</dc:date><clipPath id="p%s"/><g clip-path="url(#p%s)"/></svg>'
        self.same(svg % ("2026", "1a", "1a"), svg % ("2027", "zz", "zz"), ".svg", "text")
        self.different(svg % ("2026", "1a", "1a"), svg.replace("<g ", "<h ") % ("2027", "zz", "zz"), ".svg", "line 1")

    def test_anything_else(self):
        self.same("x = 1.0\n", "x = 1.00000000000001\n", ".txt", "text")
        self.different("x = 1\n", "x = 2\n", ".txt", "line 1")
        self.different(b"\xff\0", b"\xff\1", ".bin", "the first that differs is at 1")
        self.different("no json", "neither", ".json", "could not be read")
        self.different(b"\x89PNG broken", b"\x89PNG broken too", ".png", "could not be read")


class Export(LineageTest):
    CELLS = [
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7",
        "from IPython.display import display, HTML, JSON\ndisplay(HTML('<b>x</b>'))\ndisplay(JSON({'a': [1, None]}))",
        "%cd .\nx = !echo hello\nx",
        "def f():\n    return {'k': 1}\nf()",
        "import io, base64\nfrom PIL import Image\nImage.new('RGB', (2, 2), 'red')",
        "open('made.txt', 'w').write(str(f()))",
        "1 / 0",
    ]

    def fill(self):
        session = self.session()
        for code in self.CELLS:
            self.client.run(session, code)
        self.client.run(session, "echo from bash", language="bash")
        return session

    def notebook(self, session):
        answer = self.client.get(f"/api/v1/sessions/{session}/export")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/x-ipynb+json")
        return json.loads(answer.body)

    def test_the_notebook_is_valid(self):
        book = self.notebook(self.fill())
        nbformat.validate(nbformat.reads(json.dumps(book), as_version=4))
        nbformat.validate(book, relax_add_props=False)
        self.assertEqual((book["nbformat"], book["nbformat_minor"]), (4, 5))

    def test_cells_and_outputs(self):
        book = self.notebook(self.fill())
        cells = book["cells"]
        self.assertEqual(["".join(c["source"]) for c in cells], self.CELLS + ["%%bash\necho from bash"])
        self.assertEqual([c["execution_count"] for c in cells], list(range(1, 9)))
        first = {o["output_type"]: o for o in cells[0]["outputs"]}
        self.assertEqual([(o["name"], o["text"]) for o in cells[0]["outputs"] if o["output_type"] == "stream"],
                         [("stdout", "out\n"), ("stderr", "err\n")])
        self.assertEqual(first["execute_result"]["data"]["text/plain"], "42")
        self.assertEqual(first["execute_result"]["execution_count"], 1)
        self.assertEqual([o["output_type"] for o in cells[1]["outputs"]], ["display_data"] * 2)
        self.assertEqual(cells[1]["outputs"][1]["data"]["application/json"], {"a": [1, None]})
        self.assertIn("image/png", cells[4]["outputs"][0]["data"])
        error = cells[6]["outputs"][-1]
        self.assertEqual((error["output_type"], error["ename"]), ("error", "ZeroDivisionError"))
        self.assertIn("Traceback", error["traceback"][0])

    def test_it_runs_from_top_to_bottom_with_equal_results(self):
        book = self.notebook(self.fill())
        again = self.session()
        for cell in book["cells"]:
            if cell["source"][0].startswith("%%"):
                continue
            run = self.client.run(again, "".join(cell["source"]))
            outputs = {o["output_type"]: o for o in cell["outputs"]}
            result = outputs.get("execute_result", {}).get("data")
            self.assertEqual(run["result"], result)
            self.assertEqual(run["displays"], [o["data"] for o in cell["outputs"] if o["output_type"] == "display_data"])
            streams = {o["name"]: o["text"] for o in cell["outputs"] if o["output_type"] == "stream"}
            self.assertEqual((run["stdout"], run["stderr"]), (streams.get("stdout", ""), streams.get("stderr", "")))
            self.assertEqual(run["error"] and run["error"]["name"], outputs.get("error", {}).get("ename"))

    def test_the_script_runs_as_python(self):
        session = self.session()
        for code in ("x = 20", "%time x\n!echo no", "y = x + 1\ny", "%%bash\necho no", "open('s.txt', 'w').write(str(y))"):
            self.client.run(session, code)
        answer = self.client.get(f"/api/v1/sessions/{session}/export?format=py")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/x-python"))
        text = answer.body.decode()
        self.assertTrue(text.startswith("#!/usr/bin/env python3\n"))
        self.assertIn("# !echo no", text)
        self.assertIn("# %%bash\n# echo no", text)
        compile(text, "session.py", "exec")
        again = self.session()
        self.assertEqual(self.run_in(again, f"exec({text!r}); y")["result"]["text/plain"], "21")
        self.assertEqual(self.client.get(f"/api/v1/sessions/{session}/export?format=pdf").code, "invalid_request")

    def test_closed_sessions_too_but_nobody_elses(self):
        session = self.session()
        self.run_in(session, "1")
        self.client.request("DELETE", "/api/v1/sessions/" + session)
        self.assertEqual(len(self.notebook(session)["cells"]), 1)
        made = self.client.ok("POST", "/api/v1/principals", {"name": "other"}, 201)
        key = self.client.ok("POST", "/api/v1/keys", {"name": "o", "principal": made["id"], "scopes": ["run"]}, 201)
        other = Client(self.server, key["secret"])
        self.assertEqual(other.get(f"/api/v1/sessions/{session}/export").code, "not_found")


if __name__ == "__main__":
    unittest.main()
