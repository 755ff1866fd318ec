# class: syscall | kind: self
# expect: kcmp, process_madvise, process_mrelease, pidfd_getfd, move_pages, migrate_pages denied
import ctypes, errno, os
L = ctypes.CDLL(None, use_errno=True)
def sc(n, *a):
    ctypes.set_errno(0)
    r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r, errno.errorcode.get(ctypes.get_errno(), "0")
calls = {'kcmp': (312, -1, -1, 0, 0, 0), 'process_madvise': (440, -1, 0, 0, 0, 0), 'process_mrelease': (448, -1, 0), 'pidfd_getfd': (438, -1, 0, 0), 'move_pages': (279, 0, 1, 0, 0, 0, 0), 'migrate_pages': (256, 0, 1, 0, 0), 'process_vm_readv': (310, 0, 0, 1, 0, 0, 0), 'set_mempolicy_home_node': (450, 1, 1, 0, 9), 'ptrace': (101, 99, 0, 0, 0)}
hit = []; out = []
for n, a in calls.items():
    c = os.fork()
    if c == 0:
        r, e = sc(*a); os._exit(7 if r >= 0 else {"EPERM": 1, "ENOSYS": 2, "EACCES": 1, "EAFNOSUPPORT": 1}.get(e, 5))
    st = os.waitpid(c, 0)[1]; x = "SIGSYS" if st & 127 == 31 else st >> 8
    (hit if x in (5, 7) else out).append("%s=%s" % (n, {7: "ALLOWED", 5: "reached-kernel", 1: "EPERM", 2: "ENOSYS"}.get(x, x)))
print("ESCAPED: " + " ".join(hit) if hit else "HELD: " + " ".join(out))
