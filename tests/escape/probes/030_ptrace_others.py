# class: proc | kind: self
# expect: ptrace denied even on own child; never on pid 1/parent
import ctypes, os, signal, time
L = ctypes.CDLL(None, use_errno=True); L.ptrace.restype = ctypes.c_long; hit = []; own = []
def pt(req, pid): return L.ptrace(ctypes.c_long(req), ctypes.c_long(pid), ctypes.c_void_p(0), ctypes.c_void_p(0))
for pid in {1, os.getppid()}:
    for name, req in (('seize', 0x4206), ('attach', 16)):
        if pt(req, pid) == 0:
            hit.append('%s %d' % (name, pid)); pt(0x4207, pid); os.waitpid(pid, 0x40000000); pt(17, pid); break
c = os.fork()
if c == 0: time.sleep(20); os._exit(0)
if pt(0x4206, c) == 0: own.append('seize child')
os.kill(c, signal.SIGKILL); os.waitpid(c, 0)
c = os.fork()
if c == 0: os._exit(7 if pt(0, 0) == 0 else 0)
if os.waitpid(c, 0)[1] >> 8 == 7: own.append('traceme')
print('ESCAPED: ' + ','.join(hit) if hit else 'INFO: only own children: ' + ','.join(own) if own else 'HELD: ptrace denied')
