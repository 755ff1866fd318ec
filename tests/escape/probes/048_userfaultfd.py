# class: syscall | kind: self
# expect: userfaultfd denied (race-widening primitive)
import ctypes, errno, os
L = ctypes.CDLL(None, use_errno=True)
def sc(n, *a):
    ctypes.set_errno(0)
    r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r, errno.errorcode.get(ctypes.get_errno(), "0")
calls = {'userfaultfd': (323, 0), 'userfaultfd_user_mode': (323, 1), 'userfaultfd_cloexec': (323, 0o2000001)}
try: os.close(os.open('/dev/userfaultfd', os.O_RDWR)); calls['dev_userfaultfd'] = (39,)
except OSError: pass
hit = []; out = []
for n, a in calls.items():
    c = os.fork()
    if c == 0:
        r, e = sc(*a); os._exit(7 if r >= 0 else {"EPERM": 1, "ENOSYS": 2, "EACCES": 1, "EAFNOSUPPORT": 1}.get(e, 5))
    st = os.waitpid(c, 0)[1]; x = "SIGSYS" if st & 127 == 31 else st >> 8
    (hit if x in (5, 7) else out).append("%s=%s" % (n, {7: "ALLOWED", 5: "reached-kernel", 1: "EPERM", 2: "ENOSYS"}.get(x, x)))
print("ESCAPED: " + " ".join(hit) if hit else "HELD: " + " ".join(out))
