# class: proc | kind: self
# expect: pidfd_getfd cannot steal descriptors from pid 1 / parent
import ctypes, os
L = ctypes.CDLL(None, use_errno=True); hit = []; why = set()
def sc(n, *a):
    ctypes.set_errno(0); r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) for x in a]); return r, ctypes.get_errno()
for pid in {1, os.getppid()}:
    p, e = sc(434, pid, 0)
    if p < 0: why.add('pidfd_open ' + os.strerror(e)); continue
    for fd in range(0, 64):
        r, e = sc(438, p, fd, 0)
        if r >= 0: hit.append('%d:%d' % (pid, fd)); os.close(r)
        else: why.add(os.strerror(e))
    os.close(p)
print('ESCAPED: took descriptors ' + ','.join(hit) if hit else 'HELD: %s' % sorted(why))
