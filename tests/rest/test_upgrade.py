"""Libraries are upgraded while sessions sleep: those find what they were baked with, new ones the new.

The host's libraries are not touched: in a mount namespace of its own the engine has a copy of one package,
which is changed as an upgrade would, by renaming new files over the old.
"""
import os
import pathlib
import shutil
import tempfile
import unittest

from driver import WORK, Driver

PACKAGE = pathlib.Path("/usr/lib/python3/dist-packages/dateutil")  # imported by pandas
BIND = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
LATE = "from dateutil import late; late.VERSION"
LATER = "from dateutil import later; later.VERSION"
LOAD = f"import ctypes; c = ctypes.CDLL('{PACKAGE}/_crypt.so')"
MOUNTS = "[line.split()[4:6] for line in open('/proc/self/mountinfo') if '/python3' in line.split()[4]]"


class Package:
    """That one, in a directory of ours."""

    def __init__(self, path):
        self.path = path
        shutil.copytree(PACKAGE, path, symlinks=True)
        self.library = next(pathlib.Path("/usr/lib/python3.11/lib-dynload").glob("_crypt.*.so"))
        self.write("old")

    def put(self, name, text):
        (self.path / "draft").write_text(text)
        (self.path / "draft").rename(self.path / name)

    def write(self, version):
        for name in "late", "later":
            self.put(f"{name}.py", f"VERSION = {version!r}\n")
        self.put("__init__.py", (self.path / "__init__.py").read_text() + f"# {version}\n")
        shutil.copy(self.library, self.path / "draft")  # with another time
        (self.path / "draft").rename(self.path / "_crypt.so")


@unittest.skipIf(os.geteuid(), "only root can give the engine other libraries")
class Upgrades(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        base = pathlib.Path(tempfile.mkdtemp(prefix="cicada-upgrade-", dir=WORK))
        cls.addClassCleanup(shutil.rmtree, base)
        cls.images, package = base / "images", Package(base / "package")
        through = ["unshare", "--mount", "--propagation", "private", "sh", "-c", BIND, "sh",
                   package.path, PACKAGE]
        cls.d = d = Driver(base / "engine", cls.images, through)
        cls.addClassCleanup(d.close)
        if not d.hello["images"]:
            raise unittest.SkipTest("this host cannot use images")
        d("bake")
        d("keep")
        cls.plain, cls.loaded, cls.awake, cls.bare = (d.start() for _ in range(4))
        for session, code in (cls.plain, "x = 1"), (cls.loaded, LOAD), (cls.bare, "x = 1"):
            d.value(session, code)
            d("sleep", id=session)
        package.write("new")
        package.put("installed.py", "VERSION = 'new'\n")
        d.value(cls.awake, f"{LOAD}; x = 1")
        d("sleep", id=cls.awake)
        d("bake")

    def woken(self, session, code):
        """What comes of it, and the hint."""
        run = self.d.run(session, code)
        self.assertEqual((run["end"], run["state"]), ("ok", "woken"), run)
        return run["result"]["text/plain"], run.get("hint", "")

    def test_an_old_sleeper_imports_what_it_was_baked_with(self):
        asleep = self.d("fork", id=self.plain)["id"]
        for each in self.plain, asleep:
            self.assertEqual(self.woken(each, f"{LATE}, x"), ("('old', 1)", ""))
        # Also when it sleeps once more, and what is branched from it while it is awake.
        self.d("sleep", id=self.plain)
        branch = self.d("fork", id=asleep)["id"]
        for each in self.plain, branch:
            self.assertEqual(self.woken(each, LATER), ("'old'", ""))

    def test_a_new_session_imports_the_new(self):
        for wishes in {}, {"cold": True}:
            self.assertEqual(self.d.value(self.d.start(**wishes), LATE), "'new'")

    def test_what_was_installed_since_is_for_new_sessions_and_that_is_said(self):
        session = self.d("fork", id=self.plain)["id"]
        run = self.d.run(session, "from dateutil import late; import dateutil.installed")
        self.assertEqual(run["error"]["name"], "ModuleNotFoundError")
        self.assertIn("new session", run["hint"])
        self.assertEqual(self.d.value(self.d.start(), "import dateutil.installed as i; i.VERSION"), "'new'")

    def test_the_copy_cannot_be_written_to(self):
        session = self.d("fork", id=self.plain)["id"]
        mounts, _ = self.woken(session, MOUNTS)
        for place in "/usr/lib/python3", "/usr/lib/python3.11":
            self.assertIn(f"['{place}', 'ro,nosuid,nodev", mounts)
        self.assertEqual(self.d.value(session, f"{LATE}"), "'old'")
        for code in "open(late.__file__, 'a')", "import os; os.chmod(late.__file__, 0o777)":
            self.assertEqual(self.d.run(session, code)["end"], "error")

    def test_a_library_that_was_loaded_is_the_one_of_then(self):
        """It is mapped from its file: with that of now the session could not go on."""
        self.assertEqual(self.woken(self.loaded, "c.PyInit__crypt.__name__"), ("'PyInit__crypt'", ""))

    def test_one_that_was_awake_during_the_upgrade_goes_on_with_what_it_has(self):
        """It has loaded a file of now, which is not in the copy."""
        value, hint = self.woken(self.awake, f"{LATE}, x")
        self.assertEqual(value, "('new', 1)")
        self.assertIn("Libraries were upgraded", hint)

    def test_without_a_copy_it_is_said(self):
        (tree,) = self.images.glob("*.lib")
        tree.rename(tree.with_suffix(".away"))
        try:
            value, hint = self.woken(self.bare, f"{LATE}, x")
        finally:
            tree.with_suffix(".away").rename(tree)
        self.assertEqual(value, "('new', 1)")
        self.assertIn("Libraries were upgraded", hint)

    def test_zz_a_second_copy_costs_what_has_changed_and_goes_with_its_image(self):
        (old,) = self.images.glob("*.lib")
        self.d("keep")
        (new,) = set(self.images.glob("*.lib")) - {old}
        before, after = ({p.stat().st_ino for p in tree.rglob("*.py")} for tree in (old, new))
        self.assertGreater(len(after & before), 1000)
        self.assertLessEqual(len(after - before), 4)
        self.d("gc")
        self.assertTrue(old.exists())  # sessions live under it
        for session in self.d("list")["ids"]:
            self.d("delete", id=session)
        self.d("restart")
        self.d("gc")
        self.assertEqual(list(self.images.glob("*.lib")), [new])
