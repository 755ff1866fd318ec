# class: syscall | kind: self
# expect: no more filters, listeners or rule sets from inside: the policy is fixed, and nothing can be loaded to confuse what runs later in the session
import ctypes, errno, os, struct
L = ctypes.CDLL(None, use_errno=True); hit = []; out = []
def sc(n, *a):
    ctypes.set_errno(0); r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a]); return r, errno.errorcode.get(ctypes.get_errno(), '0')
insn = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)); prog = ctypes.create_string_buffer(struct.pack('<HxxxxxxQ', 1, ctypes.addressof(insn)))
rules = ctypes.create_string_buffer(struct.pack('<QQ', 1, 0))
for n, a in {'seccomp filter': (317, 1, 0, prog), 'seccomp notif': (317, 1, 8, prog), 'seccomp strict': (317, 0, 0, 0), 'prctl filter': (157, 22, 2, prog), 'landlock abi': (444, 0, 0, 1), 'landlock ruleset': (444, rules, 16, 0), 'landlock restrict': (446, -1, 0)}.items():
    c = os.fork()
    if c == 0:
        r, e = sc(*a); os._exit(7 if r >= 0 else {'EPERM': 1, 'ENOSYS': 2, 'EACCES': 1}.get(e, 5))
    st = os.waitpid(c, 0)[1]; x = 'SIGNAL' if st & 127 else st >> 8
    (hit if x in (5, 7) else out).append('%s=%s' % (n, {7: 'ALLOWED', 5: 'reached-kernel', 1: 'EPERM', 2: 'ENOSYS'}.get(x, x)))
print('ESCAPED: ' + ', '.join(hit) if hit else 'HELD: ' + ', '.join(out))
