"""What the test files share: one kernel per class, made when first needed."""
import unittest

from client import Kernel


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
