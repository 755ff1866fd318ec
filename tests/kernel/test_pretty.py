"""Our layout of containers against IPython.lib.pretty, over thousands of made-up values."""
import collections
import datetime
import random
import sys
import types
import unittest

from client import HERE

# The module is meant to be frozen into the kernel; here it is imported from its source.
sys.modules["_cicada_hooks"] = types.SimpleNamespace(own_import=__import__)
sys.path.insert(0, str(HERE.parent.parent / "src" / "kernel"))
import pretty  # noqa: E402
from IPython.lib import pretty as theirs  # noqa: E402

VALUES = 5000


class Plain:
    pass


Pair = collections.namedtuple("Pair", "left right")


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def leaf(self):
        r = self.random
        return r.choice([
            r.randrange(10 ** r.randrange(1, 25)), r.random(), "x" * r.randrange(30), None, True, b"ab", 1j,
            range(3), ValueError("a", 1), datetime.date(2020, 1, 1), Pair(1, 2), len, Plain, KeyError,
            "word " * r.randrange(20),
        ])

    def key(self):
        r = self.random
        return r.choice(["k" * r.randrange(1, 20) + str(r.randrange(99)), r.randrange(100), (r.randrange(9),)])

    def value(self, depth):
        r = self.random
        if depth == 0 or r.random() < 0.35:
            return self.leaf()
        count = r.choice([0, 1, 1, 2, 3, 4, 5, 8, 15])
        inner = [self.value(depth - 1) for _ in range(count)]
        keyed = {self.key(): value for value in inner}
        return r.choice([
            lambda: inner, lambda: tuple(inner), lambda: keyed, lambda: collections.OrderedDict(keyed),
            lambda: collections.defaultdict(list, keyed), lambda: collections.Counter("abc" * count),
            lambda: {r.randrange(1000) for _ in range(count)},
            lambda: frozenset("s" * r.randrange(9) for _ in range(count)),
        ])()


class Layout(unittest.TestCase):
    def test_made_up_values_look_like_ipythons(self):
        maker = Maker(5)
        for number in range(VALUES):
            value = maker.value(maker.random.randrange(1, 6))
            self.assertEqual(pretty.pretty(value), theirs.pretty(value), f"value {number}")

    def test_cycles_long_containers_and_odd_objects(self):
        cycle = [1]
        cycle.append({"self": cycle})
        for value in (cycle, list(range(1005)), dict.fromkeys(range(1002)), set(range(1002)), Plain(), [Plain],
                      (), (1,), [], {}, set(), frozenset(), sys, Plain().__init__, [ValueError("x" * 100, "y")],
                      {1: {2: {3: list(range(40))}}}, Maker.leaf, int, 10**100, "a\nb"):
            self.assertEqual(pretty.pretty(value), theirs.pretty(value))

    def test_what_is_not_known_is_left_to_ipython(self):
        class Special:
            def _repr_pretty_(self, printer, cycle):
                printer.text("special")

        class Tall:
            def __repr__(self):
                return "a\nb"

        for value in [Special()], [Tall()], types.SimpleNamespace(a=1), {tuple(range(30)): list(range(30))}:
            with self.assertRaises(pretty.Unknown):
                pretty.pretty(value)
        self.assertEqual(pretty.pretty(Tall()), "a\nb")


if __name__ == "__main__":
    unittest.main()
