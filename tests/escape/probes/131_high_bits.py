# class: syscall | kind: self
# expect: flags and commands with bits above 32 set do not slip past comparisons of the filter (EPERM, not an error of the kernel behind it)
import ctypes, errno, os
L = ctypes.CDLL(None, use_errno=True); H = 1 << 32; hit = []; out = []; null = os.open('/dev/null', os.O_RDWR)
def sc(n, *a):
    ctypes.set_errno(0); r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) for x in a]); return r, errno.errorcode.get(ctypes.get_errno(), '0')
calls = {'ioctl TIOCSTI': (16, 0, H | 0x5412, 0), 'ioctl TIOCSTI 63': (16, null, 1 << 63 | 0x5412, 0), 'ioctl TIOCLINUX': (16, null, H | 0x541c, 0), 'ioctl TIOCSCTTY': (16, 0, H | 0x540e, 0),
         'prctl SECCOMP': (157, H | 22, 99, 0), 'prctl DUMPABLE': (157, H | 4, 9), 'prctl MM': (157, H | 35, 99, 0), 'prctl SECUREBITS': (157, H | 28, 1 << 20), 'prctl PTRACER': (157, H | 0x59616d61, -1), 'prctl AMBIENT': (157, H | 47, 99, 0),
         'personality': (135, H | 0x0040000), 'personality read': (135, (1 << 40) | 0x0400000), 'socket INET': (41, H | 2, 1, 0), 'socket NETLINK': (41, H | 16, 3, 0),
         'clone NEWUSER': (56, H | 0x10000000 | 17, 0, 0, 0, 0), 'clone NEWNS': (56, H | 0x20000 | 17, 0, 0, 0, 0), 'unshare': (272, H | 0x10000000), 'prlimit init': (302, H | 1, 7, 0, 0), 'setpriority user': (141, H | 2, 0, 19)}
for n, a in calls.items():
    c = os.fork()
    if c == 0:
        r, e = sc(*a)
        if r == 0 and a[0] == 56: os._exit(0)
        os._exit(7 if r >= 0 else {'EPERM': 1, 'ENOSYS': 2, 'EACCES': 1, 'EAFNOSUPPORT': 1}.get(e, 5))
    st = os.waitpid(c, 0)[1]; x = 'SIGSYS' if st & 127 == 31 else st >> 8
    (hit if x in (5, 7) else out).append('%s=%s' % (n, {7: 'ALLOWED', 5: 'reached-kernel', 1: 'EPERM', 2: 'ENOSYS'}.get(x, x)))
print('ESCAPED: ' + ', '.join(hit) if hit else 'HELD: %d calls, all refused' % len(out))
