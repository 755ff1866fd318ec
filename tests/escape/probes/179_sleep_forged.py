# class: image | kind: server
# expect: a second process of the session waits for the pipe the kernel shall write itself into, fills it with rubbish and says on the control channel that all is done: woken or lost, and that is said
import ctypes, os, signal, stat, struct, time; L = ctypes.CDLL(None); kernel = os.getpid()
def sockets():      # every socket this process did not make itself: the control channel, if it can be found
    try: fds = [int(f) for f in os.listdir("/proc/self/fd")]
    except OSError: fds = range(3, 1 << 20)
    for fd in fds:
        try:
            if fd > 2 and stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
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
    for f in pipes() - known:
        try: os.write(os.open('/proc/%d/fd/%s' % (kernel, f), os.O_WRONLY | os.O_NONBLOCK), b'\x41' * 65536)
        except OSError: pass
    for fd in sockets():
        for kind in (72, 73, 74, 64): os.write(fd, struct.pack('<IB3x', 0, kind))
    os._exit(0)
print('READY: waiting for a pipe beside %d' % len(known))
