# class: syscall | kind: self
# expect: what the kernel or the loader of an image needs before it seals itself is refused to the code: PR_SET_MM, thread questions, filters, personality, mapping another vDSO
import ctypes, errno, os
L = ctypes.CDLL(None, use_errno=True); H = 1 << 32; buf = ctypes.addressof(ctypes.create_string_buffer(256))
def sc(n, *a):
    ctypes.set_errno(0)
    r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) for x in a])
    return r, errno.errorcode.get(ctypes.get_errno(), "0")
calls = {'PR_SET_MM_%d' % i: (157, 35, i, 4096, 0, 0) for i in (1, 6, 7, 8, 12, 13)}
calls |= {'PR_SET_MM_MAP': (157, 35, 14, buf, 104, 0), 'PR_SET_MM_MAP_SIZE': (157, 35, 15, buf, 0, 0), 'PR_SET_MM high': (157, H | 35, 15, buf, 0, 0),
          'PR_GET_TID_ADDRESS': (157, 40, buf), 'PR_GET_TID_ADDRESS high': (157, H | 40, buf), 'get_robust_list': (274, 0, buf, buf + 8), 'get_robust_list init': (274, 1, buf, buf + 8),
          'seccomp': (317, 1, 0, buf), 'seccomp sizes': (317, 3, 0, buf), 'PR_SET_SECCOMP': (157, 22, 2, buf), 'PR_SET_DUMPABLE': (157, 4, 0),
          'ADDR_NO_RANDOMIZE': (135, 0x40000), 'ADDR_COMPAT_LAYOUT': (135, 0x200000), 'no personality': (135, 0), 'ARCH_SET_GS': (158, 0x1001, 0), 'ARCH_MAP_VDSO_64': (158, 0x2003, 0x200000000), 'ARCH_SET_CPUID': (158, 0x1012, 0)}
hit = []; out = []
for n, a in calls.items():
    c = os.fork()
    if c == 0:
        r, e = sc(*a); os._exit(7 if r >= 0 else {"EPERM": 1, "ENOSYS": 2, "EACCES": 1}.get(e, 5))
    st = os.waitpid(c, 0)[1]; x = "SIGSYS" if st & 127 == 31 else st >> 8
    (hit if x in (5, 7) else out).append("%s=%s" % (n, {7: "ALLOWED", 5: "reached-kernel", 1: "EPERM", 2: "ENOSYS"}.get(x, x)))
print("ESCAPED: " + " ".join(hit) if hit else "HELD: %d calls, all refused" % len(out))
