# class: proc | kind: self
# expect: credentials passed over a unix socket (SCM_CREDENTIALS) cannot be forged to be root or pid 1
import os, socket, struct; hit = []
try: a, b = socket.socketpair()
except OSError as e: print('HELD: no sockets:', e.strerror); raise SystemExit
b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
for pid, uid, gid in ((1, 0, 0), (os.getpid(), 0, 0), (1, os.getuid(), os.getgid()), (os.getpid(), os.getuid(), 0)):
    if uid == os.getuid() and pid == os.getpid() and gid == os.getgid(): continue
    try: a.sendmsg([b'x'], [(socket.SOL_SOCKET, 2, struct.pack('iII', pid, uid, gid))]); hit.append((pid, uid, gid))
    except OSError: pass
print('ESCAPED: forged %s' % hit if hit else 'HELD: credentials cannot be forged')
