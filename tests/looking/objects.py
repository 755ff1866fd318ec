"""Code that makes objects which do their worst when they are looked at: hostile(act), for each of ACTS."""
from base import IMAGES, ApiTest, Client, eventually

CODE = r'''
import ctypes, mmap, os, re, signal, subprocess, sys, threading, time
born = os.getpid()

def spin(): re.match(r"(a+)+$", "a" * 40 + "b")
def stop(): os.kill(os.getpid(), signal.SIGSTOP)
def crash(): ctypes.string_at(0)
def grow(): held = [bytearray(16 << 20) for _ in range(10**5)]
def share():
    held = mmap.mmap(-1, 600 << 20)
    for i in range(0, len(held), 4096): held[i] = 1
def fill():
    for i in range(0, len(wide), 4096): wide[i] = 1
def babble():
    os.write(3, b"\0\0\6\0")
    for i in range(0, len(wide), 4096): wide[i] = 1; i % 65536 or os.write(3, b"x")
def copy(): held = [list(kept) for _ in range(10**5)]
def text(): return "x" * (1 << 31)
def threads(): [threading.Thread(target=time.sleep, args=(9,)).start() for _ in range(20)]
def child():
    if os.fork() == 0: time.sleep(9), os._exit(0)
def process(): subprocess.Popen(["sleep", "9"])
def kill(): os.kill(born, signal.SIGKILL), os.kill(born, signal.SIGSTOP)
def kill_all(): os.kill(-1, signal.SIGKILL)
def kill_group(): os.killpg(0, signal.SIGKILL)
def kill_parent(): os.kill(os.getppid(), signal.SIGKILL)
def write(): open("written", "w").write("x")
def remove(): os.unlink("there")
def close(): os.closerange(0, 100); time.sleep(9)
def shout(): print("from a copy"); os.write(1, b"from a copy"); os.write(2, b"from a copy"); display("from a copy")
def forge(): os.write(3, b"\xff" * 100); time.sleep(9)
def leave(): os._exit(0)
def leave_loudly(): os._exit(7)
def quit(): sys.exit(3)
def recurse(): recurse()

def hostile(act):
    class H:
        def __repr__(self): return act()
        def __len__(self): return act()
        def __dir__(self): return act()
        def __getattr__(self, name): return act()
        @property
        def shape(self): return act()
        @property
        def __class__(self): return act()
        def _ipython_key_completions_(self): return act()
        _repr_html_ = _repr_mimebundle_ = _repr_png_ = __str__ = __hash__ = __sizeof__ = __repr__
    return H()

class Nice:
    def __repr__(self): return "nice"

wide = mmap.mmap(-1, 600 << 20)
kept = [object() for _ in range(10**5)]
open("there", "w").write("there")
'''

ACTS = ("spin stop crash grow share fill babble copy text threads child process kill kill_all kill_group kill_parent write remove close "
        "shout forge leave leave_loudly quit recurse").split()
SLOW = {"spin", "stop", "close", "forge", "copy", "grow", "share", "fill", "babble"}  # those that cost a budget of time


class Looking(ApiTest):
    """A server that starts sessions as it will start all others: it may take a moment to see that an image is good."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        client = Client(cls.server)

        def is_ready():
            session = client.session()
            is_baked = client.ok("GET", "/api/v1/sessions/" + session)["baked"]
            client.ok("DELETE", "/api/v1/sessions/" + session, status=204)
            return is_baked or IMAGES == "off"

        eventually(is_ready, 60)
        client.close()
