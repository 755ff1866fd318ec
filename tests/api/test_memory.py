"""Memory that a session does not have is refused, and its variables stay; what only reserves memory works."""
import unittest

from base import IMAGES, ApiTest, eventually

ONE = "/api/v1/sessions/"
QUICK_MS = 50  # of its own CPU time: how long somebody else made it wait says nothing

# What asks for more than all there is, and how much it asks for at least.
ASKED = {
    "numpy.ones": "numpy.ones({} // 8)",
    "numpy.zeros": "numpy.zeros({} // 8)",
    "bytearray": "bytearray({})",
    "a list": "[0] * ({} // 8)",
    "bytes": "b'x' * {}",
    "text": "'x' * {}",
    "a list of a range": "list(range({} // 8))",
    "mmap": "mmap.mmap(-1, {}, flags=mmap.MAP_PRIVATE)",
}
TRY = """
import mmap, time, numpy
begun = time.thread_time()
try:
    x = %s
    print('it was given')
except (MemoryError, OSError) as e:
    print('refused' if isinstance(e, MemoryError) or e.errno == 12 else e, (time.thread_time() - begun) * 1000)
"""
OVERALLOCATE = """
import os, subprocess, sys
code = '''
import ctypes, threading
x = [bytearray(1 << 20) for _ in range(100)]
threads = [threading.Thread(target=lambda: [bytes(1000) for _ in range(1000)]) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(x), hasattr(ctypes.CDLL(None), %r))
'''
subprocess.run([sys.executable, '-c', code], env={**os.environ, 'LD_PRELOAD': %r}, check=True)
"""
ALLOCATORS = {  # and a name that only it has
    "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2": "mallctl",
    "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0": "mi_version",
}


class Memory(ApiTest):
    settings = {"sessions.memory_max_mb": 2048}

    def session(self, mb):
        """From the image, if there is one: a server that has just begun may not have looked at it yet."""
        def made():
            session = self.client.session(limits={"memory_mb": mb})
            self.addCleanup(self.client.request, "DELETE", ONE + session)
            return session if IMAGES == "off" or self.client.ok("GET", ONE + session)["baked"] else None

        return eventually(made, 120)

    def text(self, session, code):
        run = self.client.run(session, code)
        self.assertEqual(run["end"], "ok", run)
        return run["result"]["text/plain"] if run["result"] else run["stdout"]

    def test_what_is_beyond_the_whole_limit_is_refused_at_once(self):
        session = self.session(256)
        self.text(session, "mark = 'here'")
        for name, code in ASKED.items():
            with self.subTest(name):
                word, _, ms = self.text(session, TRY % code.format(257 << 20)).partition(" ")
                self.assertEqual(word, "refused")
                self.assertLess(float(ms), QUICK_MS)
        self.assertEqual(self.text(session, "mark"), "'here'")

    def test_the_run_says_what_to_do(self):
        session = self.session(256)
        self.text(session, "mark = 'here'")
        run = self.client.run(session, "numbers = list(range(10**9))")
        self.assertEqual((run["end"], run["error"]["name"]), ("error", "MemoryError"))
        for part in "256 MiB", "memory_mb", "smaller pieces", "Variables are kept":
            self.assertIn(part, run["hint"])
        self.assertEqual(self.text(session, "mark"), "'here'")

    def test_a_table_that_is_too_large_is_refused(self):
        session = self.session(256)
        self.text(session, "import pandas\nmark = 'here'\nwith open('big.csv', 'w') as f:\n    f.write('a\\n')\n"
                           "    for i in range(40): f.write('1\\n' * (1 << 20))")
        run = self.client.run(session, "table = pandas.read_csv('big.csv')")
        self.assertEqual(run["end"], "error", run)
        self.assertIn("Unable to allocate", run["error"]["message"])
        self.assertIn("256 MiB", run["hint"])
        self.assertEqual(self.text(session, "mark"), "'here'")

    def test_what_grows_little_by_little_is_refused_too(self):
        for step in "bytearray(1 << 20)", "str(len(x)) * 20", "{'n': len(x)}":
            with self.subTest(step):
                session = self.session(512)
                self.text(session, "mark = 'here'; x = []")
                run = self.client.run(session, f"while True: x.append({step})", timeout_s=60)
                self.assertEqual((run["end"], run["error"]["name"]), ("error", "MemoryError"))
                self.assertEqual(self.text(session, "len(x) > 100, mark"), "(True, 'here')")
                self.text(session, "del x")
                self.assertEqual(self.text(session, "sum(bytearray(300 << 20))"), "0")
                self.client.ok("DELETE", ONE + session, status=204)

    @unittest.skipIf(IMAGES == "off", "what was not started from an image keeps plain values only")
    def test_a_full_session_sleeps_and_wakes_with_all_it_had(self):
        session = self.session(256)
        self.text(session, "x = []\ntry:\n    while True: x.append(bytearray(b'x' * (1 << 20)))\nexcept MemoryError: count = len(x)")
        self.client.ok("POST", f"{ONE}{session}/sleep")
        run = self.client.run(session, "len(x) == count > 150, x[-1][-1]")
        self.assertEqual((run["state"], run["result"]["text/plain"]), ("woken", "(True, 120)"))
        self.assertEqual(self.client.run(session, "y = bytearray(100 << 20)")["error"]["name"], "MemoryError")
        self.text(session, "del x")
        self.assertEqual(self.client.run(session, "bytearray(257 << 20)")["error"]["name"], "MemoryError")
        self.assertEqual(self.text(session, "len(bytearray(100 << 20)) >> 20"), "100")

    def test_what_is_only_reserved_does_not_count(self):
        session = self.session(256)
        code = ("import mmap\nm = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE, prot=0)\n"
                "len(m) >> 30")
        self.assertEqual(self.text(session, code), "64")

    def test_javascript_works_in_half_a_gibibyte(self):
        session = self.session(512)
        run = self.client.run(session, "const a = []; for (let i = 0; i < 1e6; i++) a.push({i}); console.log(a.length)",
                              language="javascript")
        self.assertEqual((run["end"], run["stdout"]), ("ok", "1000000\n"))
        wasm = "new WebAssembly.Memory({initial: 16, maximum: 65536}).buffer.byteLength"
        run = self.client.run(session, f"console.log({wasm})", language="javascript")
        self.assertEqual((run["end"], run["stdout"]), ("ok", "1048576\n"))

    def test_allocators_that_reserve_much_work_in_half_a_gibibyte(self):
        session = self.session(512)
        for library, name in ALLOCATORS.items():
            with self.subTest(name):
                run = self.client.run(session, OVERALLOCATE % (name, library))
                self.assertEqual((run["end"], run["stdout"]), ("ok", "100 True\n"), run["stderr"])

    def test_many_threads_fit_into_a_small_session(self):
        session = self.session(256)
        code = ("import concurrent.futures as f, threading\nb = threading.Barrier(33)\n"
                "p = f.ThreadPoolExecutor(32)\nr = [p.submit(b.wait) for _ in range(32)]\nb.wait(20) >= 0")
        self.assertEqual(self.text(session, code), "True")

    def test_threads_recurse_as_deep_as_python_lets_them(self):
        session = self.session(256)
        code = ("import threading\nclass A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\n"
                "def f():\n    try: A().a\n    except RecursionError: print('deep', end='')\n"
                "t = threading.Thread(target=f); t.start(); t.join()")
        self.assertEqual(self.text(session, code), "deep")


if __name__ == "__main__":
    unittest.main()
