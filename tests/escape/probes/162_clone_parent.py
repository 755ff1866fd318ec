# class: proc | kind: server
# expect: children made with CLONE_PARENT belong to init, not to the interpreter, and have no death signal: they die with the session
import ctypes, os, signal, time; L = ctypes.CDLL(None, use_errno=True); n = 0; L.prctl(36, 1)
for i in range(5):
    r = L.syscall(56, 0x8000 | 17, 0, 0, 0, 0)
    if r == 0:
        L.prctl(1, 0); signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(30); os._exit(0)
    n += r > 0
print('HELD: %d children of init; they must not outlive the session' % n)
