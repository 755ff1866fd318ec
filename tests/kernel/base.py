"""What the test files share: one kernel per class, made when first needed."""
import atexit
import functools
import os
import tempfile
import unittest

from client import IMAGE, Died, Kernel


def cold_only(test):
    return unittest.skipIf(IMAGE, "about a kernel that was not started from an image")(test)



@functools.cache
def image():
    """The path of an image: the one given, or one baked now, for as long as the tests run."""
    if IMAGE:
        return IMAGE
    folder = tempfile.TemporaryDirectory(prefix="cicada-kernel-image-")
    atexit.register(folder.cleanup)
    path = os.path.join(folder.name, "image")
    try:
        Kernel(bake=path)
    except Died as died:
        if "was not started" in died.run.stderr:  # no namespaces here, or no loader
            raise unittest.SkipTest(died.run.stderr) from None
        if died.status != 0:
            raise
        image.progress = died.run.progress
    return path


class KernelTest(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()

    @classmethod
    def tearDownClass(cls):
        cls.kernel.close()

    def run_ok(self, code, **options):
        """Runs code that must not fail."""
        run = self.kernel.run(code, **options)
        self.assertIsNone(run.error, run.error and run.error["traceback"])
        return run

    def text(self, code, **options):
        """text/plain of the result of code that must not fail."""
        return self.run_ok(code, **options).text

    def out(self, code, **options):
        return self.run_ok(code, **options).stdout

    def error(self, code, **options):
        run = self.kernel.run(code, **options)
        self.assertIsNotNone(run.error, "there was no error")
        return run.error
