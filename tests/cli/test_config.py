"""`cicada config`: what the server would be told, without starting it."""
import configparser
import json
import pathlib

from harness import Case

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Config(Case):
    def config(self, *words, **variables):
        # Whatever is configured on this machine is not meant.
        variables.setdefault("CICADA_CONFIG", str(self.empty))
        return self.cicada("config", *words, env=self.environment(**variables))

    def setUp(self):
        super().setUp()
        self.empty = self.here / "empty.conf"
        self.empty.write_text("")

    def test_everything_that_is_wrong_is_told_with_its_line(self):
        file = self.here / "cicada.conf"
        file.write_text("[server]\nlistn = 1\nworkers = 1\nwhat\n[sesions]\nidle_s = 1\n")
        ran = self.config("check", str(file), CICADA_RUNS_KEEP_DAYS="long")
        self.assertEqual(1, ran.code, ran)
        self.assertEqual("", ran.out)
        for text in (f"{file}:2: there is no key 'listn' in [server]; did you mean 'listen'?",
                     f"{file}:3: server.workers: 1 is not in the range 2 to 4096",
                     f"{file}:4: neither [section] nor name = value",
                     f"{file}:6: there is no section [sesions]; did you mean [sessions]?",
                     "CICADA_RUNS_KEEP_DAYS: runs.keep_days: 'long' is not a whole number"):
            self.assertIn(f"cicada: {text}\n", ran.err)

    def test_a_file_without_mistakes_is_right(self):
        for words in (["check", str(ROOT / "packaging/cicada.conf")],
                      ["check", "--config", str(self.empty)], ["check"]):
            ran = self.config(*words)
            self.assertEqual((0, ""), (ran.code, ran.err), ran)
            self.assertIn("is right\n", ran.out)

    def test_a_file_that_is_not_there_is_an_error(self):
        ran = self.config("check", "/nonexistent/cicada.conf")
        self.assertEqual(1, ran.code, ran)
        self.assertIn("No such file or directory", ran.err)

    def test_show_says_where_each_value_comes_from(self):
        file = self.here / "cicada.conf"
        file.write_text("[server]\n\nworkers = 9\n")
        env = {"CICADA_CONFIG": str(file), "CICADA_SESSIONS_IDLE_S": "7",
               "CICADA_API_KEY": "cik_not_to_be_shown_0"}
        shown = self.config("show", **env)
        self.assertEqual((0, ""), (shown.code, shown.err), shown)
        self.assertNotIn("not_to_be_shown", shown.out)
        for line in ("workers = 9 ; file, line 3", "idle_s = 7 ; environment",
                     "connections = 10000 ; default", "api_key = (set) ; environment"):
            self.assertIn(f"\n{line}\n", shown.out)

        ran = self.config("show", "--json", **env)
        self.assertEqual(0, ran.code, ran)
        self.assertNotIn("not_to_be_shown", ran.out)
        keys = {(key["section"], key["name"]): key for key in json.loads(ran.out)["keys"]}
        self.assertEqual(("9", "file", 3), tuple(
            keys["server", "workers"][name] for name in ("value", "source", "line")))
        self.assertEqual(("7", "environment", "CICADA_SESSIONS_IDLE_S"), tuple(
            keys["sessions", "idle_s"][name] for name in ("value", "source", "variable")))

    def test_a_model_is_named_and_its_key_is_not_shown(self):
        url, secret = "http://127.0.0.1:11434/v1", "sk-not_to_be_shown_0123456789"
        ran = self.config("check", CICADA_MODEL_URL=url)
        self.assertEqual(1, ran.code, ran)
        self.assertIn("set model.name", ran.err)
        ran = self.config("check", CICADA_MODEL_URL="localhost:11434", CICADA_MODEL_NAME="m")
        self.assertEqual(1, ran.code, ran)
        self.assertIn("is no address such as http://", ran.err)
        env = {"CICADA_MODEL_URL": url, "CICADA_MODEL_NAME": "m", "CICADA_MODEL_KEY": secret}
        for words in (["check"], ["show"], ["show", "--json"]):
            ran = self.config(*words, **env)
            self.assertEqual(0, ran.code, ran)
            self.assertNotIn("not_to_be_shown", ran.out + ran.err)
        self.assertIn(f"\nurl = {url} ; environment\n", self.config("show", **env).out)
        self.assertIn("\nkey = (set) ; environment\n", self.config("show", **env).out)

    def test_a_variable_that_looks_like_a_key_is_remarked_on(self):
        ran = self.config("check", CICADA_SERVER_LISTN="x", CICADA_OTHER="y")
        self.assertEqual(0, ran.code, ran)
        self.assertEqual("cicada: CICADA_SERVER_LISTN: is no key and was ignored; "
                         "did you mean CICADA_SERVER_LISTEN?\n", ran.err)

    def test_the_example_is_what_is_packaged_and_others_can_read_it(self):
        ran = self.config("example")
        self.assertEqual((0, ""), (ran.code, ran.err), ran)
        self.assertEqual((ROOT / "packaging/cicada.conf").read_text(), ran.out)
        parser = configparser.ConfigParser()
        parser.read_string(ran.out)
        self.assertEqual(["server", "sessions", "runs", "workspaces", "store", "search", "webhooks", "oauth", "model", "openai", "limits"], parser.sections())

    def test_the_reference_is_in_the_manual(self):
        ran = self.config("reference")
        self.assertEqual((0, ""), (ran.code, ran.err), ran)
        self.assertIn(ran.out, (ROOT / "docs/server.md").read_text())

    def test_words_that_are_wrong_are_refused(self):
        for words, text in (([], "config what?"), (["chek"], "did you mean check?"),
                            (["show", "x.conf"], "too many operands"),
                            (["check", "a", "b"], "too many operands"),
                            (["check", "--config", "a", "b"], "a file is named once"),
                            (["check", "--confg", "a"], "did you mean --config?")):
            ran = self.config(*words)
            self.assertEqual(2, ran.code, ran)
            self.assertIn(text, ran.err)
