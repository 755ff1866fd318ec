# class: proc | kind: self
# expect: setns into /proc/1/ns/* or any ns fd denied
import ctypes, os
L = ctypes.CDLL(None, use_errno=True); hit = []; why = set()
def join(fd, flags):
    c = os.fork()
    if c == 0: os._exit(201 if L.setns(fd, flags) == 0 else ctypes.get_errno())
    st = os.waitpid(c, 0)[1]; return 'signal' if st & 127 else st >> 8
for pid in (1, os.getppid(), os.getpid()):
    for ns in ('user', 'mnt', 'pid', 'pid_for_children', 'net', 'ipc', 'uts', 'cgroup', 'time'):
        try: fd = os.open('/proc/%d/ns/%s' % (pid, ns), os.O_RDONLY)
        except OSError as e: why.add(e.strerror); continue
        r = join(fd, 0); os.close(fd)
        if r == 201: hit.append('%d/%s' % (pid, ns))
        elif isinstance(r, int): why.add(os.strerror(r))
p = L.syscall(434, 1, 0)
if p >= 0:
    r = join(p, 0x20000 | 0x40000000 | 0x10000000)
    if r == 201: hit.append('pidfd of 1')
print('ESCAPED: joined ' + ','.join(hit) if hit else 'HELD: %s' % sorted(why))
