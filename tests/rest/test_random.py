"""No two sessions draw the same random numbers, however they came to be; one that slept draws on."""
import unittest

from driver import Driver

# One line for each source. What is drawn must differ in every session.
DRAW = """
import random, numpy as np, secrets, uuid, os, tempfile, sqlite3, ssl, multiprocessing, scipy.stats
import sympy.core.random, sklearn.utils, networkx, hashlib
drawn = {
    'random': random.random(),
    'numpy': float(np.random.random()),
    'numpy randint': int(np.random.randint(1 << 62)),
    'default_rng': float(np.random.default_rng().random()),
    'scipy': float(scipy.stats.norm.rvs()),
    'sklearn': float(sklearn.utils.check_random_state(None).random_sample()),
    'sympy': sympy.core.random.random(),
    'networkx': str(sorted(networkx.gnp_random_graph(40, 0.5).edges)),
    'secrets': secrets.token_hex(),
    'uuid4': str(uuid.uuid4()),
    'uuid1': str(uuid.uuid1()),
    'urandom': os.urandom(8).hex(),
    'tempfile': next(tempfile._get_candidate_names()),
    'sqlite': sqlite3.connect(':memory:').execute('select random()').fetchone()[0],
    'ssl': ssl.RAND_bytes(8).hex(),
    'multiprocessing': bytes(multiprocessing.current_process().authkey).hex(),
}
print(repr(drawn))
"""

# Made before a branch, drawn from after it.
OWN = "import random, numpy as np; mine = random.Random(5); rng = np.random.default_rng(5); old = np.random.RandomState(5)"
DRAW_OWN = "print(repr({'Random': mine.random(), 'Generator': float(rng.random()), 'RandomState': float(old.random_sample())}))"


class Random(unittest.TestCase):
    def setUp(self):
        self.d = Driver()
        self.addCleanup(self.d.close)
        if not self.d.hello["images"]:
            self.skipTest("this host cannot use images")

    def draw(self, session, code=DRAW):
        run = self.d.run(session, code)
        self.assertEqual(run["end"], "ok", run["error"])
        return eval(run["stdout"])

    def all_differ(self, draws):
        for source in draws[0]:
            values = [draw[source] for draw in draws]
            self.assertEqual(len(set(values)), len(values), f"{source}: {values}")

    def test_sessions_from_one_image_differ(self):
        self.all_differ([self.draw(self.d.start()) for _ in range(4)])

    def test_sessions_from_the_pool_differ(self):
        self.d("pool", min=3, max=3)
        self.all_differ([self.draw(self.d.start()) for _ in range(4)])

    def test_branches_differ_from_their_origin_and_from_each_other(self):
        session = self.d.start()
        self.draw(session)  # so that every source is in use
        self.d.run(session, OWN)
        branches = [self.d("fork", id=session)["id"] for _ in range(2)]
        draws = [self.draw(s) for s in (session, *branches)]
        # A key that processes share to recognise each other is the origin's own business.
        self.all_differ(draws)
        self.all_differ([self.draw(s, DRAW_OWN) for s in (session, *branches)])

    def test_branches_of_a_sleeper_differ(self):
        session = self.d.start()
        self.draw(session)
        self.d.run(session, OWN)
        self.d("sleep", id=session)
        branches = [self.d("fork", id=session)["id"] for _ in range(2)]
        self.all_differ([self.draw(s) for s in (session, *branches)])
        self.all_differ([self.draw(s, DRAW_OWN) for s in (session, *branches)])

    def test_a_plain_wake_draws_on(self):
        for sleeps in False, True:
            session = self.d.start()
            self.d.run(session, OWN + "; random.seed(5); np.random.seed(5)")
            if sleeps:
                self.d("sleep", id=session)
            first = self.draw(session, DRAW_OWN)
            more = self.draw(session, "print((random.random(), np.random.random()))")
            if sleeps:
                self.assertEqual((first, more), expected)
            expected = first, more
