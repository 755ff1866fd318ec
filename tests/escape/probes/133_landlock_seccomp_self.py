# class: syscall | kind: self
# expect: no more filters or listeners from inside: nothing can be loaded to confuse what runs later in the session. Landlock's rule sets can be, for a process and
# what it starts, but only take rights away: one that allows everything allows nothing that was refused before
import ctypes, errno, os, struct
L = ctypes.CDLL(None, use_errno=True); hit = []; out = []
def sc(n, *a):
    ctypes.set_errno(0); r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a]); return r, errno.errorcode.get(ctypes.get_errno(), '0')
insn = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7fff0000)); prog = ctypes.create_string_buffer(struct.pack('<HxxxxxxQ', 1, ctypes.addressof(insn)))
for n, a in {'seccomp filter': (317, 1, 0, prog), 'seccomp notif': (317, 1, 8, prog), 'seccomp strict': (317, 0, 0, 0), 'prctl filter': (157, 22, 2, prog)}.items():
    c = os.fork()
    if c == 0:
        r, e = sc(*a); os._exit(7 if r >= 0 else {'EPERM': 1, 'ENOSYS': 2, 'EACCES': 1}.get(e, 5))
    st = os.waitpid(c, 0)[1]; x = 'SIGNAL' if st & 127 else st >> 8
    (hit if x in (5, 7) else out).append('%s=%s' % (n, {7: 'ALLOWED', 5: 'reached-kernel', 1: 'EPERM', 2: 'ENOSYS'}.get(x, x)))
refused = ('/usr/probe133', '/etc/probe133', '/proc/1/mem', '/proc/sys/kernel/core_pattern')
def opens(path):
    try: os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600)); return True
    except OSError: return False
before = [p for p in refused if opens(p)]
c = os.fork()
if c == 0:
    rights = (1 << 13) - 1; ruleset = sc(444, ctypes.create_string_buffer(struct.pack('<QQ', rights, 0)), 16, 0)[0]; root = os.open('/', os.O_PATH)
    if ruleset < 0: os._exit(2)
    added = sc(445, ruleset, 1, ctypes.create_string_buffer(struct.pack('<Qi', rights, root)), 0)[0]; entered = sc(446, ruleset, 0)[0]
    os._exit(7 if any(opens(p) and p not in before for p in refused) else 0 if added == entered == 0 else 2)
st = os.waitpid(c, 0)[1]; x = st >> 8
(hit if x == 7 or before else out).append('landlock=%s' % {7: 'GAVE RIGHTS', 0: 'gives nothing', 2: 'refused'}.get(x, x))
print('ESCAPED: ' + ', '.join(hit) if hit else 'HELD: ' + ', '.join(out))
