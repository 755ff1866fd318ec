# class: syscall | kind: self
# expect: add_key, request_key, keyctl denied (not namespaced: cross-session persistent memory)
import ctypes, errno, os
L = ctypes.CDLL(None, use_errno=True)
def sc(n, *a):
    ctypes.set_errno(0)
    r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r, errno.errorcode.get(ctypes.get_errno(), "0")
s = ctypes.create_string_buffer
calls = {'add_key': (248, s(b'user'), s(b'ci_probe'), s(b'x'), 1, -2), 'request_key': (249, s(b'user'), s(b'ci_probe_none'), 0, 0), 'keyctl': (250, 0, -3, 0)}
hit = []; out = []
for n, a in calls.items():
    c = os.fork()
    if c == 0:
        r, e = sc(*a); os._exit(7 if r >= 0 else {"EPERM": 1, "ENOSYS": 2, "EACCES": 1, "EAFNOSUPPORT": 1}.get(e, 5))
    st = os.waitpid(c, 0)[1]; x = "SIGSYS" if st & 127 == 31 else st >> 8
    (hit if x in (5, 7) else out).append("%s=%s" % (n, {7: "ALLOWED", 5: "reached-kernel", 1: "EPERM", 2: "ENOSYS"}.get(x, x)))
print("ESCAPED: " + " ".join(hit) if hit else "HELD: " + " ".join(out))
