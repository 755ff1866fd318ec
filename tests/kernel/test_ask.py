"""Completion, inspection, variables."""
import json
import unittest

from base import KernelTest


class Ask(KernelTest):
    def ask(self, topic, code="", cursor=None):
        return json.loads(self.kernel.ask(topic, code, cursor))

    def matches(self, code, cursor=None):
        return self.ask("complete", code, cursor)["matches"]

    def test_names_keywords_and_attributes(self):
        self.run_ok("my_value = 1\nimport math")
        self.assertEqual(self.matches("my_v"), ["my_value"])
        self.assertIn("print", self.matches("x = pri"))
        self.assertIn("while", self.matches("whi"))
        self.assertEqual(self.matches("math.sq"), ["sqrt"])
        self.assertEqual(self.matches("math.sq + 1", 7), ["sqrt"])
        self.assertEqual(self.matches("no_such.x"), [])

    def test_the_range_to_replace(self):
        reply = self.ask("complete", "üü = math.sq")
        self.assertEqual((reply["cursor_start"], reply["cursor_end"]), (10, 12))

    def test_keys_files_modules_and_magics(self):
        self.run_ok("table = {'alpha': 1, 'beta': 2}")
        self.assertEqual(self.matches("table['al"), ["alpha"])
        open(self.kernel.cwd + "/data_of_mine.csv", "w").close()
        self.assertEqual(self.matches("open('data_o"), ["data_of_mine.csv"])
        self.assertIn("json", self.matches("import js"))
        self.assertIn("timeit", self.matches("%time"))

    def test_inspection(self):
        self.run_ok("def greet(name, loud=False):\n    'Says hello.'\n    return name")
        found = self.ask("inspect", "greet(")
        self.assertEqual((found["found"], found["name"], found["signature"], found["doc"]),
                         (True, "greet", "(name, loud=False)", "Says hello."))
        self.assertIn("return name", found["source"])
        self.assertEqual(self.ask("inspect", "nothing_here")["found"], False)

    def test_variables(self):
        self.run_ok("import numpy as np, pandas as pd\na = np.zeros((3, 4))\nd = pd.DataFrame({'x': [1, 2]})\n"
                    "s = 'text'\nn = 5\nbig = list(range(10**6))")
        listed = {v["name"]: v for v in self.ask("variables")["variables"]}
        self.assertEqual(listed["a"]["shape"], [3, 4])
        self.assertEqual(listed["a"]["size"], 96)
        self.assertEqual(listed["d"]["type"], "pandas.core.frame.DataFrame")
        self.assertEqual(listed["d"]["repr"], "2 rows x 1 columns")
        self.assertEqual((listed["s"]["len"], listed["s"]["repr"]), (4, "'text'"))
        self.assertEqual(listed["n"]["repr"], "5")
        self.assertLess(len(listed["big"]["repr"]), 300)
        for name in "In", "Out", "_", "get_ipython", "__name__":
            self.assertNotIn(name, listed)

    def test_hostile_objects_do_not_break_the_answers(self):
        self.run_ok("class H:\n    def __repr__(self): raise SystemError\n    def __len__(self): return -1\n"
                    "    def __dir__(self): raise ValueError\n    def __getattr__(self, n): raise KeyError\n"
                    "h = H()\nt = type('T' * 10**6, (), {})()")
        self.assertEqual(self.matches("h."), [])
        listed = {v["name"]: v for v in self.ask("variables")["variables"]}
        self.assertEqual(listed["h"]["type"], "H")
        self.assertLess(len(json.dumps(listed["t"])), 2000)
        self.assertTrue(self.ask("inspect", "h")["found"])

    def test_many_variables_are_cut_and_counted(self):
        self.run_ok("for i in range(3000): globals()[f'many_{i}'] = i")
        reply = self.ask("variables")
        self.assertEqual(len(reply["variables"]), 1000)
        self.assertGreaterEqual(reply["count"], 3000)
        self.assertEqual(len(self.matches("many_")), 500)
        self.run_ok("for i in range(3000): del globals()[f'many_{i}']")

    def test_unknown_topics(self):
        self.assertIn("error", self.ask("nonsense"))
        self.assertEqual(self.text("1"), "1")


if __name__ == "__main__":
    unittest.main()
