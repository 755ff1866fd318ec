# class: image | kind: server
# expect: a second process of the session kills the kernel while it writes itself down: the session is lost, and that is said
import ctypes, os, signal, time; L = ctypes.CDLL(None); kernel = os.getpid(); ballast = os.urandom(64 << 20)
def sibling():      # a child of init, which nobody finds among the kernel's own
    r = L.syscall(56, 0x8000 | 17, 0, 0, 0, 0)
    if r == 0: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    return r == 0
def is_pipe(f):
    try: return os.readlink('/proc/%d/fd/%s' % (kernel, f)).startswith('pipe')
    except OSError: return False
def pipes(): return {f for f in os.listdir('/proc/%d/fd' % kernel) if is_pipe(f)}
known = pipes()
if sibling():
    end = time.monotonic() + 8
    while not pipes() - known and time.monotonic() < end: pass
    if pipes() - known: time.sleep(0.03); os.kill(kernel, signal.SIGKILL)
    os._exit(0)
print('READY: waiting for a pipe beside %d' % len(known))
