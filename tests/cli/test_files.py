"""Bringing files, taking files, figures."""
import os
import re
import stat

from harness import Case

FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()\n"


class Bring(Case):
    def test_a_file_comes_under_its_own_name_or_another(self):
        self.file("some/where/a.csv", "x\n1\n")
        code = "print(open('a.csv').read(), open('/mnt/data/sub/b.csv').read())"
        ran = self.ok("-c", code, "-f", "some/where/a.csv", "-f", "some/where/a.csv=sub/b.csv")
        self.assertEqual("x\n1\n x\n1\n\n", ran.out)
        self.assertNotIn("changed", ran.err)

    def test_a_directory_comes_whole(self):
        self.file("d/one", "1")
        self.file("d/sub/two", "2")
        os.symlink("/etc/passwd", self.here / "d/link")
        code = "import os\nprint(sorted(os.path.join(p, f) for p, _, fs in os.walk('.') for f in fs))"
        ran = self.ok("-c", code, "-f", "d/")
        self.assertEqual("['./d/one', './d/sub/two']\n", ran.out)
        self.assertIn("1 entry of d not brought", ran.err)

    def test_what_is_brought_can_be_changed_inside_and_stays_as_it_was_outside(self):
        path = self.file("a.txt", "before")
        path.chmod(0o400)
        code = "open('a.txt', 'a').write('after'); import os; os.rename('a.txt', 'b.txt')\n" \
               "print(open('b.txt').read())"
        ran = self.ok("-c", code, "-f", "a.txt")
        self.assertEqual("beforeafter\n", ran.out)
        self.assertEqual("before", path.read_text())

    def test_odd_names_and_contents(self):
        content = os.urandom(3 << 20)
        self.file("b in = é日 .bin", content)
        code = "import hashlib, os; n, = os.listdir('.'); print(n)\n" \
               "print(hashlib.md5(open(n, 'rb').read()).hexdigest())"
        ran = self.ok("-c", code, "-f", "b in = é日 .bin")
        import hashlib
        self.assertEqual(f"b in = é日 .bin\n{hashlib.md5(content).hexdigest()}\n", ran.out)

    def test_an_executable_stays_one(self):
        self.file("tool", "#!/bin/sh\necho ran $1").chmod(0o755)
        code = "import subprocess; print(subprocess.run(['./tool', 'well'], capture_output=True).stdout)"
        self.assertEqual("b'ran well\\n'\n", self.ok("-c", code, "-f", "tool").out)


class Take(Case):
    MAKE = "import os\nos.makedirs('sub/deep')\nopen('a.txt', 'w').write('A')\n" \
           "open('sub/deep/b.bin', 'wb').write(bytes(range(256)))\nopen('in.txt', 'a').write('!')\nNone"

    def test_what_was_made_or_changed_comes_back_under_its_path(self):
        self.file("in.txt", "in")
        self.file("same.txt", "same")
        ran = self.ok("-c", self.MAKE, "-f", "in.txt", "-f", "same.txt", "-o", "out")
        self.assertEqual({"a.txt": b"A", "sub/deep/b.bin": bytes(range(256)), "in.txt": b"in!"},
                         self.tree("out"))
        self.assertIn("saved out/a.txt (1 B)", ran.err)
        self.assertIn("saved out/sub/deep/b.bin (256 B)", ran.err)

    def test_without_out_nothing_comes_and_the_files_are_named(self):
        self.file("in.txt", "in")
        ran = self.ok("-c", self.MAKE, "-f", "in.txt")
        self.assertEqual({"in.txt": b"in"}, self.tree("."))
        self.assertIn("to keep them, give -o DIR", ran.err)
        self.assertIn("a.txt (created, 1 B)", ran.err)
        self.assertIn("in.txt (modified, 3 B)", ran.err)

    def test_the_current_directory_when_asked(self):
        self.ok("-c", "open('new', 'w').write('x')", "-o", ".")
        self.assertEqual({"new": b"x"}, self.tree("."))

    def test_a_file_that_is_there_is_replaced(self):
        self.file("out/a", "old and longer")
        self.ok("-c", "open('a', 'w').write('new')", "-o", "out")
        self.assertEqual({"a": b"new"}, self.tree("out"))

    def test_files_come_back_whatever_the_end_was(self):
        for end, code in (("1/0", 1), ("while True: pass", 124), ("import os; os._exit(1)", 134)):
            ran = self.cicada("run", "-c", f"open('a', 'w').write('kept')\n{end}", "-o", f"out{code}",
                              "--timeout", "1")
            self.assertEqual(code, ran.code, ran)
            self.assertEqual({"a": b"kept"}, self.tree(f"out{code}"))

    def test_links_and_sockets_do_not_come(self):
        code = "import os, socket\nos.symlink('/etc/passwd', 'link')\nos.symlink('/etc', 'dir')\n" \
               "socket.socket(socket.AF_UNIX).bind('socket')\nopen('real', 'w').write('r')"
        ran = self.ok("-c", code, "-o", "out")
        self.assertEqual({"real": b"r"}, self.tree("out"))
        self.assertEqual(["real"], os.listdir(self.here / "out"))
        self.assertIn("link (symbolic link)", ran.err)

    def test_nothing_is_written_through_a_link_that_lies_in_the_out_directory(self):
        victim = self.file("victim", "safe")
        (self.here / "elsewhere").mkdir()
        (self.here / "out").mkdir()
        os.symlink(victim, self.here / "out/a")
        os.symlink(self.here / "elsewhere", self.here / "out/sub")
        code = "import os\nos.mkdir('sub')\nopen('a', 'w').write('evil')\n" \
               "open('sub/x', 'w').write('evil')"
        self.cicada("run", "-c", code, "-o", "out")
        self.assertEqual("safe", victim.read_text())
        self.assertEqual([], os.listdir(self.here / "elsewhere"))

    def test_hidden_files_come_only_to_an_empty_or_new_directory(self):
        code = "import os\nos.makedirs('.git/hooks')\nopen('.git/hooks/pre-commit', 'w').write('evil')\n" \
               "open('seen', 'w')"
        self.ok("-c", code, "-o", "new")
        self.assertEqual({".git/hooks/pre-commit", "seen"}, set(self.tree("new")))
        self.file("used/mine", "")
        ran = self.ok("-c", code, "-o", "used")
        self.assertEqual({"mine", "seen"}, set(self.tree("used")))
        self.assertIn("hidden files are only saved to an empty or new directory", ran.err)

    def test_what_comes_back_is_an_ordinary_file(self):
        code = "import os\nopen('a', 'w').write('x')\nos.chmod('a', 0o7777)"
        self.cicada("run", "-c", code, "-o", "out")
        mode = (self.here / "out/a").stat().st_mode
        self.assertEqual(0, mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX))
        self.assertEqual(os.geteuid(), (self.here / "out/a").stat().st_uid)

    def test_many_files_are_listed_shortly(self):
        ran = self.ok("-c", "for i in range(50): open(f'f{i:02}', 'w')", "-o", "out")
        self.assertEqual(50, len(self.tree("out")))
        self.assertEqual(20, ran.err.count("saved out/f"))
        self.assertIn("saved 30 more files to out", ran.err)

    def test_a_full_disk_outside_is_said_and_is_our_failure(self):
        out = self.here / "out"
        out.mkdir()
        (out / "a").mkdir()  # a directory is in the way of the file
        ran = self.cicada("run", "-c", "open('a', 'w').write('x')", "-o", "out")
        self.assertEqual(125, ran.code, ran)
        self.assertIn("not saved", ran.err)


class Figures(Case):
    def test_figures_are_saved_and_named(self):
        ran = self.ok("-c", FIGURE + FIGURE, "-o", "out")
        files = self.tree("out")
        self.assertEqual({"figure-1.png", "figure-2.png"}, set(files))
        for content in files.values():
            self.assertTrue(content.startswith(b"\x89PNG\r\n"))
        self.assertIn("figure saved as out/figure-1.png", ran.err)
        self.assertNotIn("Figure", ran.out)

    def test_without_out_they_go_to_a_private_directory(self):
        ran = self.ok("-c", FIGURE)
        path = re.search(r"figure saved as (\S+)", ran.err)[1]
        self.assertTrue(path.startswith(str(self.tmp)))
        self.assertEqual(0o700, stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode))
        with open(path, "rb") as file:
            self.assertEqual(b"\x89PNG", file.read(4))
        self.assertEqual([], os.listdir(self.here))

    def test_a_figure_does_not_replace_a_file_of_the_code(self):
        code = "open('figure-1.png', 'w').write('mine')\n" + FIGURE
        self.ok("-c", code, "-o", "out")
        files = self.tree("out")
        self.assertEqual(b"mine", files["figure-1.png"])
        self.assertTrue(files["figure-2.png"].startswith(b"\x89PNG"))

    def test_the_next_piece_goes_on_counting(self):
        self.ok("-c", FIGURE, "-c", FIGURE, "-o", "out")
        self.assertEqual({"figure-1.png", "figure-2.png"}, set(self.tree("out")))

    def test_a_result_that_is_an_image_is_a_figure(self):
        self.ok("-c", "from PIL import Image\nImage.new('RGB', (9, 9))", "-o", "out")
        self.assertEqual(["figure-1.png"], list(self.tree("out")))
