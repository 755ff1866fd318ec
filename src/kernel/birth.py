"""To begin with the memory of another kernel: random numbers, environment, current directory.

At birth from an image, C fills the states that were marked here when the image was baked: those of the
modules random and numpy.random, of sympy and of any other generator a library keeps, and the key of
multiprocessing. That is all there is then.

A branch of a session (RESEED) may have more: generators that its code has made, with or without a seed.
They are found and seeded anew as well, for two branches that draw the same numbers are rarely what was
meant. A plain wake changes nothing.
"""
import gc
import os
import sys

import _cicada_hooks as hooks
from _cicada_cell import namespace
from _cicada_start import native

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
STATE_SIZE = 624 * 4  # of a Mersenne twister


# ---- while an image is baked


def mark_random_states():
    """Notes where the states are. Each is compared with what its owner says, so that a Python or
    numpy that keeps it elsewhere stops the bake, and not the randomness."""
    random = sys.modules["random"]
    random.seed()
    found = [o for o in gc.get_objects() if is_random(o)]
    for generator in found:
        generator.gauss_next = None
        mark_twister(generator)
    mark_numpy()
    mark_key()
    native.forget_sqlite()


def is_random(value):
    random = sys.modules["random"]
    return issubclass(type(value), random.Random) and not issubclass(
        type(value), random.SystemRandom
    )


def mark(what, address, expected, index=0):
    ctypes = sys.modules["ctypes"]
    if ctypes.string_at(address, len(expected)) != expected:
        raise RuntimeError(f"{what} is kept in an unknown way")
    if not native.mark(address, len(expected), index):
        raise RuntimeError("there are too many random states")


def packed(numbers):
    return b"".join(int(n).to_bytes(4, "little") for n in numbers)


def mark_twister(generator):
    """struct { PyObject_HEAD; int index; uint32_t state[624]; }"""
    *state, index = generator.getstate()[1]
    at = id(generator) + object.__basicsize__
    expected = packed([index, *state])
    ctypes = sys.modules["ctypes"]
    if ctypes.string_at(at, len(expected)) != expected:
        raise RuntimeError("random.Random is kept in an unknown way")
    mark("random.Random", at + 4, expected[4:], at)


def mark_numpy():
    """struct { uint32_t key[624]; int pos; }"""
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return
    numpy.seed()
    rand = numpy.mtrand._rand
    state = rand.get_state(legacy=False)
    at = rand._bit_generator.ctypes.state_address
    expected = packed(state["state"]["key"])
    ctypes = sys.modules["ctypes"]
    if ctypes.string_at(at + STATE_SIZE, 4) != packed([state["state"]["pos"]]):
        raise RuntimeError("numpy.random is kept in an unknown way")
    mark("numpy.random", at, expected, at + STATE_SIZE)


def mark_key():
    """Bytes do not change, but nobody has seen these yet."""
    process = sys.modules.get("multiprocessing.process")
    if process is None:
        return
    key = process.AuthenticationString(os.urandom(32))
    process.current_process()._config["authkey"] = key
    mark("multiprocessing's key", id(key) + bytes.__basicsize__ - 1, bytes(key))


# ---- RESEED


def reseed():
    """Everything that gives random numbers starts anew."""
    native.reseed()  # what libraries of an image have; the collector does not list it
    for value in gc.get_objects():
        try:
            reseed_one(value)
        except Exception:
            pass  # a subclass with ideas of its own
    for module, attribute in (("random", "_inst"), ("sympy.core.random", "rng")):
        generator = getattr(sys.modules.get(module), attribute, None)
        if generator is not None:
            reseed_random(generator)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    reseed_rest()


def reseed_one(value):
    kind = type(value)
    if "random" in sys.modules and is_random(value):
        reseed_random(value)
    elif kind.__module__.startswith("numpy.random"):
        if kind.__name__ == "RandomState":
            reseed_state(value)
        elif kind.__name__ == "Generator":
            reseed_bits(value.bit_generator)
        elif hasattr(kind, "jumped") and hasattr(kind, "state"):
            reseed_bits(value)


def reseed_random(generator):
    """Not by its own seed(), which may be somebody's."""
    random = sys.modules["random"]
    random.Random.seed(generator)


def reseed_state(state):
    bits = state._bit_generator
    if type(bits).__name__ == "MT19937":
        state.seed()
    else:
        reseed_bits(bits)


def reseed_bits(bits):
    bits.state = type(bits)().state


def reseed_rest():
    native.forget_sqlite()
    if "_ssl" in sys.modules:
        sys.modules["_ssl"].RAND_add(os.urandom(32), 32.0)
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        config = process.current_process()._config
        config["authkey"] = process.AuthenticationString(os.urandom(32))
    uuid = sys.modules.get("uuid")
    if uuid is not None:
        uuid._last_timestamp = None


# ---- ENTER


def enter(pairs):
    """Only what differs comes here."""
    for pair in pairs:
        name, _, value = pair.partition("=")
        os.environ[name] = value
        if name == "TZ":
            hooks.own_import("time").tzset()
        if value.isdecimal():
            set_threads(name, int(value))
    try:
        namespace["_dh"][:] = [os.getcwd()]
    except Exception:
        pass  # the session has put something else there


def set_threads(name, count):
    """For libraries that are loaded already, and read the variable then."""
    if name in THREADS:
        native.set_workers(count)
    elif name == "NUMEXPR_NUM_THREADS" and "numexpr" in sys.modules:
        sys.modules["numexpr"].set_num_threads(count)
