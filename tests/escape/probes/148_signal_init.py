# class: proc | kind: self
# expect: no signal, by kill, tgkill, sigqueue or pidfd, ends or stops pid 1 of the session
import ctypes, os, signal, struct, time; L = ctypes.CDLL(None, use_errno=True); sent = 0
info = ctypes.create_string_buffer(struct.pack('<iii', 9, 0, -1) + bytes(116)); p = L.syscall(434, 1, 0)
if os.getppid() != 1 and not os.path.exists('/mnt/data'): print('HELD: not in a session of its own'); raise SystemExit
for s in range(1, 65):
    for f in (lambda: L.kill(1, s), lambda: L.syscall(234, 1, 1, s), lambda: L.syscall(129, 1, s, info), lambda: L.syscall(297, 1, 1, s, info), lambda: L.syscall(424, p, s, 0, 0) if p >= 0 else -1):
        sent += f() == 0
time.sleep(0.2)
c = os.fork()
if c == 0: os._exit(0)
os.waitpid(c, 0); print('HELD: %d signals delivered, the session lives' % sent)
