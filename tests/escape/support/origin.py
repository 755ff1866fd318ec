"""What sessions are made of.

    cold     Python starts from nothing
    image    it starts from a baked image
    woken    it started from an image, ran a cell, slept, and was woken in another jail

The image is baked for the test, by the product, as whoever tests: an image of the machine's own
would make the outcome depend on who ran what before.
"""

import contextlib
import functools
import glob
import hashlib
import os
import subprocess

from . import host

NAMES = ("cold", "image", "woken")
STORE = "ci_store_path_7f3a"  # probe 167 looks for it

# What tells them apart from inside. `slept_before` is left by live.c.
QUESTION = "import sys; print('pandas' in sys.modules, 'slept_before' in globals())"
ANSWERS = {"cold": "False False", "image": "True False", "woken": "True True"}


NAP_S = 30  # a session that is to sleep has so long to do it, see session/rest.h; then it is ended


class Origin:
    def __init__(self, name="cold", store=None):
        self.name, self.store = name, store
        self.nap_s = NAP_S if name == "woken" else 0  # between two pieces of code

    def environment(self):
        return {"CICADA_IMAGE_DIR": self.store or "off"}

    def live_words(self, directory):
        """The last arguments of live.c; programs are in `directory`."""
        if not self.store:
            return []
        return [os.path.join(directory, "cicada-load"), self.store, self.name]

    def complaint(self, cicada):
        """What is wrong when a session of `cicada` (see product.py) is made of something else."""
        outcome = cicada.run([QUESTION], 30)
        answer = (outcome.run.get("stdout") or "").strip()
        if answer != ANSWERS[self.name]:
            return "a session is not %s: it said %r, not %r; %s" % (
                self.name, answer, ANSWERS[self.name], outcome.problem)

    def damage(self):
        """What is wrong with the image. No session may change it: its name is the hash of its
        content. And every session can read it: nothing of the host may be in it."""
        images = [name for name in os.listdir(self.store) if name.endswith(".img")]
        if len(images) != 1:
            return "the store has %r" % sorted(os.listdir(self.store))
        digest, found, last = hashlib.sha256(), set(), b""
        with open(os.path.join(self.store, images[0]), "rb") as f:
            while block := f.read(1 << 22):
                digest.update(block)
                found |= {secret for secret in of_the_host(self.store) if secret in last + block}
                last = block[-200:]
        if found:
            return "in the image: %r" % sorted(found)
        if digest.hexdigest() + ".img" != images[0]:
            return "the image was changed"


@functools.lru_cache
def of_the_host(store):
    """Byte strings that would tell a session about the machine or about who baked its image."""
    texts = [store, os.path.dirname(store), host.SECRET_NAME, os.uname().nodename]
    for path in ["/etc/machine-id", "/proc/sys/kernel/random/boot_id",
                 *glob.glob("/sys/class/net/*/address")]:
        with contextlib.suppress(OSError), open(path) as f:
            texts.append(f.read().strip())
    texts = [t for t in texts if len(t) >= 8 and t.strip("0:")]  # not the address of loopback
    return host.host_secrets() + [t.encode() for t in texts]


def prepare(name, cicada, scratch, env):
    """The origin called `name`; bakes if it needs an image."""
    if name == "cold":
        return Origin()
    origin = Origin(name, os.path.join(scratch, STORE))
    os.mkdir(env["TMPDIR"])
    baked = subprocess.run([cicada, "bake"], env={**env, **origin.environment()},
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=300)
    if baked.returncode:
        raise SystemExit("no image could be baked: " + baked.stdout[-1000:])
    return origin
