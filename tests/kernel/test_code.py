"""Code and what it gives: results, history, await, magics, names, environment, input."""
import os
import pathlib
import time
import unittest

from base import KernelTest, cold_only
from client import Kernel


class Results(KernelTest):
    def test_last_expression_is_the_result(self):
        self.assertEqual(self.text("1+1"), "2")
        self.assertEqual(self.text("x = 5\nx * 2"), "10")
        self.assertEqual(self.text("'a\\nb'"), "'a\\nb'")

    def test_statements_none_and_empty_code_have_no_result(self):
        for code in "x = 1", "None", "", "  \n", "# only a comment", "if 1:\n    2", "print":
            run = self.run_ok(code)
            if code == "print":
                self.assertIn("function print", run.text)
            else:
                self.assertIsNone(run.result, code)

    def test_semicolon_hides_the_result_and_a_semicolon_in_a_string_does_not(self):
        self.assertIsNone(self.text("1;"))
        self.assertIsNone(self.text("1 ;  # why"))
        self.assertIsNone(self.text("(1,\n 2);\n\n"))
        self.assertIsNone(self.text("'ü';"))
        self.assertEqual(self.text("'a;'"), "'a;'")
        self.assertEqual(self.text("1 # no;"), "1")
        self.assertEqual(self.text("a = 1; a"), "1")

    def test_history_variables_follow_ipython(self):
        with Kernel() as k:
            for code in "10", "20", "30", "x = 1", "40":
                k.run(code)
            self.assertEqual(k.run("_, __, ___, _1, _2, _5, sorted(Out)").text,
                             "(40, 30, 20, 10, 20, 40, [1, 2, 3, 5])")
            self.assertEqual(k.run("_i, _i1, In[4], len(In)").text,
                             "('_, __, ___, _1, _2, _5, sorted(Out)', '10', 'x = 1', 8)")
            self.assertIsNone(k.run("_ = 'mine'").error)
            k.run("50")
            self.assertEqual(k.run("_").text, "'mine'")
            self.assertEqual(k.run("_9").text, "50")

    def test_state_is_kept_between_runs_and_after_errors(self):
        self.run_ok("kept = [1]\ndef f(): return kept")
        self.error("kept.append(2)\n1/0")
        self.assertEqual(self.text("f()"), "[1, 2]")

    def test_code_runs_in_main_without_a_frame_of_ours_below(self):
        self.assertEqual(self.text("__name__"), "'__main__'")
        self.assertEqual(self.text("import sys\nsys._getframe().f_back is None"), "True")
        self.assertEqual(self.text("import inspect\nlen(inspect.stack())"), "1")
        self.assertEqual(self.text("sys.modules['__main__'].__dict__ is globals()"), "True")

    def test_classes_pickle_and_functions_have_a_source(self):
        self.run_ok("import pickle\nclass Point:\n    x = 3\ndef triple(n):\n    return 3 * n\n")
        self.assertEqual(self.text("pickle.loads(pickle.dumps(Point())).x"), "3")
        self.assertIn("return 3 * n", self.text("import inspect\ninspect.getsource(triple)"))

    def test_builtins_pickle_by_their_names(self):
        for name in "input", "print", "len", "open":
            self.assertEqual(self.text(f"import pickle\npickle.loads(pickle.dumps({name})) is {name}"), "True", name)
        self.assertEqual(self.text("input.__module__"), "'builtins'")

    def test_future_imports_hold_for_later_cells(self):
        with Kernel() as k:
            k.run("from __future__ import annotations")
            self.assertEqual(k.run("def f(x: NotThere): pass\nf.__annotations__").text,
                             "{'x': 'NotThere'}")

    def test_own_displayhook_is_used(self):
        with Kernel() as k:
            k.run("import sys\nold = sys.displayhook\ndef hook(v):\n    print('hook', v)\n    old(v)\n"
                  "sys.displayhook = hook")
            run = k.run("7")
            self.assertEqual((run.stdout, run.text), ("hook 7\n", "7"))
            k.run("sys.displayhook = None")
            self.assertEqual(k.run("8").text, "8")

    def test_files_left_open_are_written_at_the_end_of_a_run(self):
        self.run_ok("f = open('left_open.txt', 'w')\nf.write('all of it');\n"
                    "import csv\ng = open('left.csv', 'w', newline='')\ncsv.writer(g).writerow([1, 2]);")
        for name, content in ("left_open.txt", "all of it"), ("left.csv", "1,2\r\n"):
            with open(f"{self.kernel.cwd}/{name}", newline="") as file:
                self.assertEqual(file.read(), content)
        self.run_ok("def more(): f.write(', and more')")
        self.run_ok("more()")
        with open(f"{self.kernel.cwd}/left_open.txt") as file:
            self.assertEqual(file.read(), "all of it, and more")
        self.run_ok("f.close(); g.close()")

    def test_a_run_costs_the_same_however_many_came_before(self):
        def spent():
            with open(f"/proc/{self.kernel.pid}/schedstat") as file:
                return int(file.read().split()[0])  # ns on a processor: others do not count

        def cost(rounds):
            started = spent()
            for _ in range(rounds):
                self.kernel.run("1+1")
            return (spent() - started) / rounds

        cost(100)
        early = min(cost(100) for _ in range(3))
        cost(3000)
        self.assertLess(min(cost(100) for _ in range(3)), 2 * early)

    def test_large_results_are_cut_and_say_so(self):
        run = self.run_ok("class Big:\n    def __repr__(self): return 'x' * (3 << 20)\nBig()")
        self.assertLess(len(run.text), (1 << 20) + 100)
        self.assertIn("cut here", run.text[-100:])
        run = self.run_ok("'y' * (40 << 20)")
        self.assertIn("41943040 in all", run.text[-100:])
        self.assertEqual(self.text("len(_)"), str(40 << 20))

    def test_long_containers_end_in_dots(self):
        self.assertTrue(self.text("list(range(100000))").endswith("999,\n ...]"))

    def test_byte_order_mark_crlf_and_indented_code_run(self):
        self.assertEqual(self.text("\ufeff1+2"), "3")
        self.assertEqual(self.text("a = 1\r\na + 1\r\n"), "2")
        self.assertEqual(self.text("    b = 1\n    b + 2"), "3")
        self.assertEqual(self.text("\n\n    if True:\n        c = 4\n    c"), "4")

    def test_code_that_is_not_text_is_an_error_not_a_crash(self):
        self.assertIn("null bytes", self.error("x = 1\0")["message"])
        self.error(b"x = '\xff\xfe'")
        self.assertEqual(self.text("1"), "1")

    def test_imports_prefer_the_session_directory(self):
        with open(self.kernel.cwd + "/helper_of_mine.py", "w") as file:
            file.write("value = 42")
        self.assertEqual(self.text("import helper_of_mine\nhelper_of_mine.value"), "42")

    def test_standard_paths_and_flags(self):
        code = "import sys\nsys.path[0], sys.argv, sys.executable, sys.flags.no_user_site, sys.flags.no_site"
        self.assertEqual(self.text(code), "('', [''], '/usr/bin/python3', 1, 0)")
        self.assertEqual(self.text("sys.dont_write_bytecode, hash('a') == hash('a')"), "(True, True)")

    def test_hashes_are_the_same_in_every_kernel(self):
        with Kernel() as other:
            self.assertEqual(self.text("hash('cicada')"), other.run("hash('cicada')").text)


class ColdStart(unittest.TestCase):
    @cold_only
    def test_plain_code_imports_nothing_heavy(self):
        with Kernel() as k:
            k.run("print(1)\n[1, 2]\n{'a': (1, None)}")
            k.run("for i in range(3)\n    pass")
            loaded = k.run("import sys\nprint(*sys.modules)").stdout.split()
        for name in "IPython", "numpy", "matplotlib", "traitlets", "inspect", "asyncio", "json":
            self.assertNotIn(name, loaded)

    def test_no_thread_and_no_descriptor_but_the_known(self):
        with Kernel() as k:
            k.run("x = 1")
            self.assertEqual(len(os.listdir(f"/proc/{k.pid}/task")), 1)
            self.assertEqual(sorted(os.listdir(f"/proc/{k.pid}/fd"), key=int), ["0", "1", "2", "600"])
            self.assertEqual(k.run("import os\n'CICADA_CONTROL_FD' in os.environ").text, "False")

    def test_it_is_sealed(self):
        with Kernel() as k:
            status = pathlib.Path(f"/proc/{k.pid}/status").read_text()
        self.assertIn("Seccomp:\t2", status)
        self.assertIn("NoNewPrivs:\t1", status)

    def test_it_ends_when_the_engine_hangs_up(self):
        k = Kernel()
        k.close()
        self.assertEqual(k.status, 0)


class Await(KernelTest):
    def test_top_level_await_in_statements_and_expressions(self):
        self.assertEqual(self.text("import asyncio\nasync def f(): return 5\nawait f()"), "5")
        self.assertEqual(self.text("y = await f()\ny + 1"), "6")
        self.assertEqual(self.text("[await f() for _ in range(2)]"), "[5, 5]")

    def test_the_loop_lives_on_between_cells(self):
        self.run_ok("import asyncio\nawait asyncio.sleep(0)\nloop = asyncio.get_event_loop()\n"
                    "task = loop.create_task(asyncio.sleep(0.01, 'done'))")
        self.assertEqual(self.text("await task"), "'done'")
        self.assertEqual(self.text("await asyncio.sleep(0)\nasyncio.get_running_loop() is loop"), "True")

    def test_asyncio_run_works_inside_a_cell_before_and_after_await(self):
        self.assertEqual(self.text("import asyncio\nasync def g(): return 7\nasyncio.run(g())"), "7")
        self.assertEqual(self.text("await g()"), "7")
        self.assertEqual(self.text("asyncio.run(g())"), "7")

    def test_errors_show_only_the_frames_of_the_code(self):
        error = self.error("async def h():\n    raise ValueError('deep')\nawait h()")
        self.assertEqual(error["line"], 2)
        self.assertNotIn("asyncio", error["traceback"])
        self.assertIn("in h", error["traceback"])


class Magics(KernelTest):
    def test_shell_commands_use_pipes_and_keep_the_exit_code(self):
        self.assertEqual(self.out("!echo hello; exit 3"), "hello\n")
        self.assertEqual(self.text("_exit_code"), "3")
        self.assertEqual(self.run_ok("!echo oops >&2").stderr, "oops\n")
        self.assertEqual(self.out("name = 'world'\n!echo {name} $name"), "world world\n")

    def test_output_of_commands_can_be_assigned(self):
        self.assertEqual(self.text("a = !printf 'x\\ny\\n'\nlist(a)"), "['x', 'y']")

    def test_order_of_prints_and_commands(self):
        self.assertEqual(self.out("print(1)\n!echo 2\nprint(3)"), "1\n2\n3\n")

    def test_line_and_cell_magics(self):
        self.assertIn("loop", self.out("%timeit -n 2 -r 2 sum(range(10))"))
        run = self.run_ok("%%time\nsum(range(10))")
        self.assertEqual(run.text, "45")
        self.assertIn("Wall time", run.stdout)
        self.assertEqual(self.out("%%bash\necho from bash"), "from bash\n")
        self.assertEqual(self.text("%%capture c\nprint('caught')\n5"), None)
        self.assertEqual(self.text("c.stdout"), "'caught\\n'")
        self.run_ok("%%writefile made.txt\nhi")
        self.assertEqual(self.out("%cat made.txt"), "hi\n")

    def test_automagic_and_variables_that_shadow_it(self):
        open(self.kernel.cwd + "/seen.txt", "w").close()
        self.assertIn("seen.txt", self.out("ls"))
        self.assertIn("seen.txt", self.out("ls -l"))
        self.assertIn("usr", self.out("ls /"))
        self.assertIn(self.kernel.where, self.text("pwd"))
        self.assertEqual(self.text("ls = 5\nls"), "5")
        self.assertEqual(self.text("ls"), "5")
        self.run_ok("del ls")

    def test_help_is_printed(self):
        self.assertIn("Return the number of items", self.out("len?"))
        self.assertIn("Docstring", self.out("?len"))

    def test_get_ipython_works_and_shares_the_namespace(self):
        self.assertEqual(self.text("q = 3\nget_ipython().user_ns['q']"), "3")
        self.assertEqual(self.text("get_ipython().run_line_magic('who_ls', '')[-1] in globals()"), "True")
        self.assertNotIn("Out", self.out("%who"))
        self.run_ok("from IPython import get_ipython as g")
        self.assertEqual(self.text("g() is get_ipython()"), "True")
        self.run_ok("get_ipython().run_cell('r = q + 1')")
        self.assertEqual(self.text("r"), "4")

    def test_a_run_has_one_result_and_earlier_ones_become_displays(self):
        run = self.run_ok("get_ipython().run_cell('1')\nget_ipython().run_cell('2');\n3")
        self.assertEqual([d["text/plain"] for d in run.displays], ["1", "2"])
        self.assertEqual(run.text, "3")
        run = self.kernel.run("get_ipython().run_cell('4');\n1/0")
        self.assertEqual((run.result, run.displays), (None, [{"text/plain": "4"}]))

    def test_history_continues_through_magics(self):
        with Kernel() as k:
            k.run("'first'")
            k.run("%time pass")
            self.assertEqual(k.run("Out[1], In[1], _i2").text, "('first', \"'first'\", '%time pass')")
            self.assertIn("'first'", k.run("%history").stdout)

    def test_wrong_magics_are_usage_errors_without_noise(self):
        error = self.error("%no_such_magic")
        self.assertEqual(error["name"], "UsageError")
        self.assertEqual(error["traceback"].count("\n"), 1)

    def test_matplotlib_inline_is_harmless(self):
        run = self.run_ok("%matplotlib inline\n%config InlineBackend.figure_format = 'retina'")
        self.assertEqual((run.stdout, run.stderr), ("", ""))

    def test_own_magics_can_be_registered(self):
        self.run_ok("from IPython.core.magic import register_line_magic\n"
                    "@register_line_magic\ndef shout(line):\n    return line.upper()")
        self.assertEqual(self.text("%shout abc"), "'ABC'")

    def test_genuine_syntax_errors_stay_what_they_are(self):
        self.assertEqual(self.error("x = = 1")["name"], "SyntaxError")
        self.assertEqual(self.error("%time x = = 1")["name"], "SyntaxError")

    def test_prompts_pasted_from_elsewhere_are_taken_off(self):
        self.assertEqual(self.text(">>> a = 2\n>>> a + 1"), "3")

    def test_all_expressions_are_shown_if_ipython_is_told_to(self):
        with Kernel() as k:
            k.run("from IPython.core.interactiveshell import InteractiveShell\n"
                  "InteractiveShell.ast_node_interactivity = 'all'")
            run = k.run("1\nx = 2\nx\nNone\nx + 1")
            self.assertEqual([d["text/plain"] for d in run.displays] + [run.text], ["1", "2", "3"])
            k.run("get_ipython().ast_node_interactivity = 'last_expr_or_assign'")
            k.run("InteractiveShell.ast_node_interactivity = 'last_expr_or_assign'")
            self.assertEqual(k.run("y = 5").text, "5")
            self.assertIsNone(k.run("y = 5;").text)

    def test_scripts_and_reloaded_modules(self):
        with Kernel() as k:
            with open(k.cwd + "/tool.py", "w") as file:
                file.write("import sys\nanswer = 42\nprint(__name__, sys.argv[1:])\n")
            self.assertEqual(k.run("%run tool.py a b").stdout, "__main__ ['a', 'b']\n")
            self.assertEqual(k.run("answer").text, "42")
            k.run("%load_ext autoreload\n%autoreload 2")
            with open(k.cwd + "/changing.py", "w") as file:
                file.write("value = 1")
            self.assertEqual(k.run("import changing\nchanging.value").text, "1")
            with open(k.cwd + "/changing.py", "w") as file:
                file.write("value = 22")
            self.assertEqual(k.run("changing.value").text, "22")
            self.assertEqual(k.run("%cd /\nimport os\nos.getcwd()").text, "'/'")

    def test_reset_and_registered_formatters(self):
        with Kernel() as k:
            k.run("class T: pass\nget_ipython().display_formatter.formatters['text/html']"
                  ".for_type(T, lambda t: '<t/>')")
            self.assertEqual(k.run("T()").result.get("text/html"), "<t/>")
            self.assertEqual(k.run("%precision 2\n3.14159").text, "3.14")
            k.run("%reset -f")
            self.assertEqual(k.run("T").error["name"], "NameError")
            self.assertEqual(k.run("len(Out) >= 0").text, "True")


class ExitAndNames(KernelTest):
    def test_exit_without_a_status_is_a_normal_end(self):
        for code in "exit()", "quit()", "exit", "import sys; sys.exit()", "raise SystemExit(0)":
            run = self.run_ok(code)
            self.assertIsNone(run.result)
        self.assertEqual(self.text("1"), "1")

    def test_other_exits_are_errors(self):
        error = self.error("import sys\nsys.exit('no good')")
        self.assertEqual((error["name"], error["message"], error["line"]), ("SystemExit", "no good", 2))
        self.assertEqual(self.error("exit(3)")["message"], "3")

    def test_a_name_is_shown_in_tracebacks_and_is_file(self):
        error = self.error("x = 1\nraise ValueError(__file__)", name="tool.py")
        self.assertIn('File "tool.py", line 2', error["traceback"])
        self.assertIn("raise ValueError(__file__)", error["traceback"])
        self.assertEqual((error["message"], error["line"]), ("tool.py", 2))
        self.assertEqual(self.error("__file__")["name"], "NameError")

    def test_env_is_set_for_one_run(self):
        code = "import os\nos.environ.get('SECRET'), os.environ['HOME']"
        run = self.run_ok(code, env=["SECRET=a=b", "HOME=/x"])
        self.assertEqual(run.text, "('a=b', '/x')")
        self.assertEqual(self.out("!echo $SECRET", env=["SECRET=1"]), "1\n")
        self.assertIn("None", self.text(code))
        self.assertNotIn("'/x'", self.text(code))


class Input(KernelTest):
    def test_input_reads_the_given_text_and_echoes_its_prompt(self):
        run = self.run_ok("a = input('name? ')\nb = input()\n(a, b)", stdin="Ann\nBob\n")
        self.assertEqual((run.text, run.stdout), ("('Ann', 'Bob')", "name? "))

    def test_stdin_in_all_its_forms(self):
        self.assertEqual(self.text("import sys\nsys.stdin.read()", stdin="ü\n"), "'ü\\n'")
        self.assertEqual(self.text("[l for l in sys.stdin]", stdin="1\n2"), "['1\\n', '2']")
        self.assertEqual(self.text("sys.stdin.buffer.read()", stdin=b"\xff\x00"), "b'\\xff\\x00'")
        self.assertEqual(self.text("open(0).read()", stdin="zero"), "'zero'")
        self.assertEqual(self.out("!cat", stdin="to a child"), "to a child")
        self.assertEqual(self.text("sys.stdin.fileno()", stdin=""), "0")

    def test_without_text_input_is_a_clear_error_and_stdin_is_empty(self):
        error = self.error("input('? ')")
        self.assertEqual(error["name"], "EOFError")
        self.assertIn("--stdin", error["message"])
        self.assertEqual(self.text("sys.stdin.read(), sys.stdin.readline()"), "('', '')")

    def test_text_does_not_leak_into_the_next_run(self):
        self.run_ok("input()", stdin="one\ntwo\n")
        self.assertEqual(self.error("input()")["name"], "EOFError")
        self.assertEqual(self.text("open(0).read()"), "''")

    def test_used_up_text_is_an_ordinary_eof(self):
        self.assertEqual(self.error("input(); input()", stdin="one")["message"],
                         "EOF when reading a line")

    def test_replaced_stdin_is_left_alone(self):
        self.run_ok("import io, sys\nsys.stdin = io.StringIO('mine')")
        self.assertEqual(self.text("input()"), "'mine'")
        self.run_ok("sys.stdin.close()")
        self.assertEqual(self.text("sys.stdin.read()"), "''")


if __name__ == "__main__":
    unittest.main()
