"""`cicada files` and `cicada workspaces`: every verb, for eyes, for programs, and its mistakes."""
import hashlib
import os
import re

from served import Served, scripted
from standin import refuse
from test_server_commands import on_terminal


class Filled(Served):
    """With some files in the default workspace."""

    FILES = {"a.csv": "x\n1\n", "notes.txt": "one\n", "plots/a.png": "png", "plots/deep/b.png": "png too",
             "odd é [1].txt": "odd"}

    def setUp(self):
        super().setUp()
        for path, content in self.FILES.items():
            self.put(path, content)

    def put(self, path, content, *more):
        raw = content.encode() if isinstance(content, str) else content
        return self.good("files", "put", "-", "--to", path, *more, stdin=raw)

    def names(self, *words):
        return self.good("files", "ls", *words).out.splitlines()

    def content(self, path, *more):
        return self.good("files", "cat", path, *more).raw_out


class Listing(Filled):
    def test_ls_names_what_is_there_with_directories_marked(self):
        self.assertEqual(["a.csv", "notes.txt", "odd é [1].txt", "plots/"], self.names())
        self.assertEqual(["plots/a.png", "plots/deep/"], self.names("plots"))
        self.assertEqual(["plots/a.png", "plots/deep/"], self.names("/mnt/data/plots/"))
        self.assertEqual(sorted(self.FILES), self.names("-R"))

    def test_ls_of_a_file_a_pattern_and_several(self):
        self.assertEqual(["a.csv"], self.names("a.csv"))
        self.assertEqual(["a.csv"], self.names("*.csv"))
        self.assertEqual(["plots/a.png", "plots/deep/b.png"], self.names("**/*.png"))
        self.assertEqual(["plots/a.png"], self.names("plots/?.png"))
        self.assertEqual(["a.csv", "plots/a.png"], self.names("plots/a.png", "a.csv"))
        self.assertEqual(["odd é [1].txt"], self.names("odd é [1].txt"))

    def test_ls_long_is_tabs_for_programs(self):
        rows = [line.split("\t") for line in self.good("files", "ls", "-l").out.splitlines()]
        self.assertEqual(["4", "1", "a.csv"], [rows[0][0], rows[0][2], rows[0][4]])
        self.assertRegex(rows[0][1], r"^\d{4}-\d\d-\d\dT")
        self.assertEqual(["", "plots/"], [rows[-1][0], rows[-1][4]])

    def test_ls_long_is_a_table_for_eyes(self):
        self.put("big.bin", bytes(3 << 20))
        lines = on_terminal(self, "files", "ls", "-l", columns=120).splitlines()
        self.assertRegex(lines[0], r"^ +SIZE +MODIFIED +VERSION +BY +NAME$")
        self.assertRegex(lines[1], r"^ +4 B +(now|\d+ s ago) +1 +\S+ +a\.csv$")
        self.assertRegex(lines[2], r"^ *3 MiB .* big\.bin$")

    def test_ls_sorts_by_name_size_time_and_back(self):
        self.put("a.csv", "the newest")
        self.assertEqual("plots/deep/b.png", self.names("-R", "-S")[1])
        self.assertEqual("a.csv", self.names("-R", "-t")[0])
        self.assertEqual("a.csv", self.names("-R", "-t", "-r")[-1])
        self.assertEqual(sorted(self.FILES, reverse=True), self.names("-R", "-r"))

    def test_ls_follows_pages_up_to_the_limit(self):
        if self.standin:
            self.standin.server.page_max = 2
        self.assertEqual(sorted(self.FILES), self.names("-R"))
        ran = self.good("files", "ls", "-R", "--limit", "3")
        self.assertEqual(3, len(ran.out.splitlines()))
        self.assertIn("there are more", ran.err)

    def test_ls_as_json_is_the_objects_of_the_server(self):
        file = self.object("files", "ls", "a.csv")
        self.assertEqual(("a.csv", 4, 1, "file"), tuple(file[k] for k in ("path", "size", "version", "kind")))
        self.assertEqual(hashlib.sha256(b"x\n1\n").hexdigest(), file["sha256"])

    def test_what_is_not_there_is_exit_code_2(self):
        self.assertIn("missing", self.fails(2, "files", "ls", "missing"))
        self.assertIn("no file fits '*.missing'", self.fails(2, "files", "ls", "*.missing"))
        self.assertIn("leads out", self.fails(2, "files", "ls", "../x"))
        self.fails(2, "files", "ls", "-w", "no-such-workspace")

    def test_of_nothing_it_says_so(self):
        self.good("workspaces", "create", "empty")
        ran = self.good("files", "ls", "-w", "empty")
        self.assertEqual("", ran.out)
        self.assertIn("no files", ran.err)


class Versions(Filled):
    def setUp(self):
        super().setUp()
        self.put("notes.txt", "one\ntwo\n")
        self.put("notes.txt", "one\ntwo\nthree\n")

    def test_history_lists_versions_newest_first(self):
        rows = [line.split("\t") for line in self.good("files", "history", "notes.txt").out.splitlines()]
        self.assertEqual([["3", "14"], ["2", "8"], ["1", "4"]], [row[:2] for row in rows])
        self.assertEqual(["modified", "modified", "created"], [row[3] for row in rows])
        self.assertEqual(hashlib.sha256(b"one\n").hexdigest(), rows[2][6])
        lines = on_terminal(self, "files", "history", "notes.txt", columns=120).splitlines()
        self.assertRegex(lines[0], r"^VERSION +SIZE +MADE +CHANGE +BY +PINNED +SHA256$")
        self.assertEqual([3, 2, 1], [v["version"] for v in self.objects("files", "history", "notes.txt")])

    def test_an_old_version_can_be_had(self):
        self.assertEqual(b"one\n", self.content("notes.txt", "--version", "1"))
        self.good("files", "get", "notes.txt", "-v", "2", "-o", "old.txt")
        self.assertEqual(b"one\ntwo\n", self.tree(".")["old.txt"])
        self.fails(2, "files", "cat", "notes.txt", "--version", "9")
        self.fails(2, "files", "cat", "notes.txt", "--version", "0")
        self.fails(2, "files", "get", "notes.txt", "a.csv", "--version", "1")

    def test_diff_of_the_newest_or_of_two(self):
        text = self.good("files", "diff", "notes.txt").out
        self.assertIn("+three\n", text)
        self.assertNotIn("+two\n", text)
        self.assertIn("+two\n", self.good("files", "diff", "notes.txt", "1").out)
        self.assertIn("-two\n", self.good("files", "diff", "notes.txt", "2", "1").out)
        self.assertIn("one version only", self.good("files", "diff", "a.csv").err)
        self.good("files", "rm", "a.csv")
        self.put("a.csv", "x\n2\n")
        self.assertIn("-1\n+2\n", self.good("files", "diff", "a.csv").out)
        self.assertIn("+three", self.object("files", "diff", "notes.txt")["diff"])
        self.fails(2, "files", "diff", "notes.txt", "x")

    def test_diff_is_coloured_for_eyes_and_harmless(self):
        self.put("notes.txt", "one\n\x1b]0;evil\x07\n")
        text = on_terminal(self, "files", "diff", "notes.txt")
        self.assertIn("\x1b[31m-three\x1b[0m", text)
        self.assertIn("\x1b[32m+?]0;evil?\x1b[0m", text)

    def test_restore_makes_an_old_version_the_newest(self):
        ran = self.good("files", "restore", "notes.txt", "--version", "1")
        self.assertIn("notes.txt is as it was in version 1; that is version 4 now", ran.err)
        self.assertEqual(b"one\n", self.content("notes.txt"))
        self.assertIn("--version N", self.fails(2, "files", "restore", "notes.txt"))


class Changing(Filled):
    def test_rm_moves_to_the_trash_and_says_how_to_get_it_back(self):
        err = self.good("files", "rm", "a.csv").err
        self.assertIn("moved a.csv to the trash; `cicada files restore a.csv` brings it back", err)
        self.fails(2, "files", "cat", "a.csv")
        self.assertIn("brought back a.csv", self.good("files", "restore", "a.csv").err)
        self.assertEqual(b"x\n1\n", self.content("a.csv"))

    def test_rm_of_directories_needs_a_word(self):
        self.assertIn("-r removes it", self.fails(2, "files", "rm", "plots"))
        self.good("files", "rm", "-r", "plots")
        self.assertEqual(["a.csv", "notes.txt", "odd é [1].txt"], self.names())
        self.fails(2, "files", "rm", "/")

    def test_rm_of_a_pattern(self):
        self.assertIn("moved 2 files to the trash", self.good("files", "rm", "**/*.png").err)
        self.assertEqual(["a.csv", "notes.txt", "odd é [1].txt"], self.names("-R"))
        self.good("files", "rm", "odd é [1].txt")
        self.fails(2, "files", "rm", "*.png")

    def test_the_trash_is_listed_restored_and_emptied(self):
        self.assertIn("the trash is empty", self.good("files", "trash").err)
        self.good("files", "rm", "a.csv", "notes.txt")
        rows = [line.split("\t") for line in self.good("files", "trash", "ls").out.splitlines()]
        self.assertEqual({"a.csv", "notes.txt"}, {row[3] for row in rows})
        self.put("b.csv", "another")
        self.good("files", "mv", "b.csv", "a.csv")
        self.assertIn("--to PATH", self.fails(125, "files", "trash", "restore", "a.csv"))
        self.good("files", "trash", "restore", "a.csv", "--to", "old.csv")
        self.assertEqual(b"x\n1\n", self.content("old.csv"))
        by_id = self.object("files", "trash")["id"]
        self.good("files", "trash", "restore", by_id)
        self.assertEqual(b"one\n", self.content("notes.txt"))
        self.good("files", "rm", "notes.txt")
        self.assertIn("--force", self.fails(2, "files", "trash", "empty"))
        self.good("files", "trash", "empty", "--force")
        self.assertEqual([], self.objects("files", "trash"))
        self.assertIn("not in the trash", self.fails(2, "files", "restore", "notes.txt"))
        self.fails(2, "files", "trash", "restore")
        self.fails(2, "files", "trash", "burn")

    def test_mv_and_cp(self):
        self.good("files", "cp", "a.csv", "b.csv")
        self.good("files", "mv", "b.csv", "plots/")
        self.assertEqual(b"x\n1\n", self.content("plots/b.csv"))
        self.good("files", "mv", "plots/b.csv", "c.csv")
        self.good("files", "cp", "a.csv", "notes.txt", "plots")
        self.assertEqual(b"one\n", self.content("plots/notes.txt"))
        self.assertIn("--force replaces", self.fails(125, "files", "mv", "c.csv", "a.csv"))
        self.good("files", "mv", "--force", "c.csv", "a.csv")
        self.fails(2, "files", "mv", "missing", "x")
        self.assertIn("is no directory", self.fails(2, "files", "mv", "a.csv", "notes.txt", "x"))
        self.put("a.csv", "newer")
        self.assertEqual("old.csv", self.object("files", "cp", "a.csv", "old.csv", "--version", "1")["path"])

    def test_mkdir(self):
        self.good("files", "mkdir", "new/dir", "other")
        self.assertIn("other/", self.names())
        self.assertEqual([], self.names("other"))


class Workspaces(Served):
    def test_there_is_a_default_one(self):
        rows = [line.split("\t") for line in self.good("workspaces").out.splitlines()]
        self.assertEqual(1, len(rows))
        self.assertRegex(rows[0][1], "^ws_")
        self.assertTrue(self.object("workspaces", "show")["is_default"])
        self.assertEqual(rows[0][1], self.object("workspaces", "show", "default")["id"])

    def test_create_show_rename_rm(self):
        made = self.good("workspaces", "create", "reports").out.strip()
        self.assertRegex(made, "^ws_")
        self.assertEqual(made, self.object("workspaces", "show", "reports")["id"])
        self.good("workspaces", "rename", "reports", "papers")
        self.assertEqual("papers", self.object("workspaces", "show", made)["name"])
        self.good("files", "put", "-", "-t", "x", "-w", "papers", stdin=b"x")
        self.assertIn("has 1 file; --force", self.fails(2, "workspaces", "rm", "papers"))
        self.good("workspaces", "rm", "papers", "--force")
        self.fails(2, "workspaces", "show", made)
        self.assertIn("there is no workspace", self.fails(2, "workspaces", "rm", "papers"))

    def test_files_of_one_are_not_in_the_other(self):
        self.good("workspaces", "create", "a b é")
        self.good("files", "put", "-", "-t", "x", "-w", "a b é", stdin=b"1")
        self.assertEqual("", self.good("files", "ls").out)
        self.assertEqual("x\n", self.good("files", "ls", "-w", "a b é").out)
        self.assertIn("restore -w a b é x", self.good("files", "rm", "-w", "a b é", "x").err)

    def test_a_mistake_is_answered_with_what_was_meant(self):
        self.assertIn("did you mean 'workspaces rename'?", self.fails(2, "workspaces", "rname"))
        self.assertIn("did you mean 'files history'?", self.fails(2, "files", "histroy"))
        self.assertIn("FROM... TO", self.fails(2, "files", "mv", "a"))

    @scripted
    def test_a_key_without_scopes_is_exit_code_77(self):
        self.world.faults.append(refuse("GET", "/api/v1/workspaces/default/files", 403, "permission_denied", "no"))
        self.fails(77, "files", "ls")


class Running(Served):
    MAKE = "f = open('made.txt', 'w'); n = f.write('made')"

    def test_what_a_run_made_is_there(self):
        self.good("run", "-c", self.MAKE)
        self.assertEqual(b"made", self.good("files", "cat", "made.txt").raw_out)
        self.assertRegex(self.object("files", "ls", "made.txt")["author"]["run_id"], "^run_")

    def test_what_was_put_is_seen_by_a_run(self):
        self.good("files", "put", "-", "-t", "in.txt", stdin=b"put before")
        self.assertEqual("put before\n", self.good("run", "-c", "print(open('in.txt').read())").out)

    def test_a_run_in_a_workspace(self):
        self.good("workspaces", "create", "reports")
        self.good("run", "-w", "reports", "-c", self.MAKE)
        self.good("run", "-w", "reports", "-c", self.MAKE.replace("made.txt", "two.txt"), "-c", "1")
        self.assertEqual("made.txt\ntwo.txt\n", self.good("files", "ls", "-w", "reports").out)
        self.assertEqual("", self.good("files", "ls").out)
        self.fails(2, "run", "-w", "missing", "-c", "1")

    def test_a_session_stays_in_its_workspace(self):
        self.good("workspaces", "create", "reports")
        self.good("run", "-w", "reports", "-s", "work", "-c", self.MAKE)
        self.good("run", "-w", "reports", "-s", "work", "-c", "1")
        self.good("run", "-s", "work", "-c", "1")
        err = self.fails(125, "run", "-w", "default", "-s", "work", "-c", "1")
        self.assertIn("works in another workspace", err)
        made = self.good("sessions", "create", "-w", "reports").out.strip()
        reports = self.object("workspaces", "show", "reports")["id"]
        self.assertEqual(reports, self.object("sessions", "show", made)["workspace_id"])

    def test_results_come_to_the_out_directory(self):
        code = "for name in ('a.txt', 'b.txt', '.hidden'): n = open(name, 'w').write('made ' + name)\nNone"
        ran = self.good("run", "-o", "out", "-c", code)
        self.assertEqual({"a.txt": b"made a.txt", "b.txt": b"made b.txt", ".hidden": b"made .hidden"}, self.tree("out"))
        self.assertIn("saved out/a.txt (10 B)", ran.err)
        self.assertNotIn("changed in /mnt/data", ran.err)
        self.good("run", "-o", "out", "-c", code.replace("made", "more"), "-c", "1 + 1")
        self.assertEqual(b"more a.txt", self.tree("out")["a.txt"])
        self.assertEqual(b"made .hidden", self.tree("out")[".hidden"])

    def test_without_a_server_it_says_so(self):
        ran = self.cicada("run", "-w", "reports", "-c", "1", env=dict(self.environment(), CICADA_SOCKET="off"))
        self.assertEqual(2, ran.code, ran)
        self.assertIn("-w needs a server", ran.err)

    @scripted
    def test_a_hostile_name_of_a_server_stays_outside(self):
        victim = self.file("victim", "safe")
        os.mkdir(self.here / "out")
        os.symlink(self.here, self.here / "out" / "up")
        self.world.workspace.put("plain", b"evil")
        for path in ("../victim", "up/victim", str(victim), "a/../../victim"):
            file = self.world.workspace.files.pop("plain")
            file.path = path
            self.world.workspace.files = {path: file}
            ran = self.cicada("files", "get", "**", "-o", "out", "--hidden")
            self.assertNotEqual(0, ran.code, path)
            self.assertEqual("safe", victim.read_text())
            self.world.workspace.files = {"plain": file}

    def test_help_names_every_verb(self):
        text = self.good("files", "--help").out
        for verb in "ls get put cat rm mv cp mkdir history diff restore trash".split():
            self.assertRegex(text, rf"(?m)^  files {verb} ")
            self.assertIn("usage: cicada files " + verb, self.good("files", verb, "--help").out)
        self.assertTrue(re.search("Without a verb it is `cicada workspaces ls`", self.good("workspaces", "--help").out))
