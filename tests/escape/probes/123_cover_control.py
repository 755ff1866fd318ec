# class: ipc | kind: server
# expect: /dev/null put over every descriptor, the control channel included: reported as a dead kernel, not as success and not as a hang
import os, socket, stat, struct
def sockets():      # every socket this process did not make itself: the control channel, if it can be found
    try: fds = [int(f) for f in os.listdir("/proc/self/fd")]
    except OSError: fds = range(3, 1 << 20)
    for fd in fds:
        try:
            if fd > 2 and stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd
        except OSError: pass
def field(tag, b): return struct.pack("<HHI", tag, 0, len(b)) + b
def frame(kind, *fields): p = b"".join(fields); return struct.pack("<IB3x", len(p), kind) + p
print('START', flush=True); null = os.open('/dev/null', os.O_RDWR)
for fd in list(sockets()) + [1, 2, 0]:
    try: os.dup2(null, fd)
    except OSError: os.close(fd)     # its number is above the limit
