# class: ipc | kind: server
# expect: descriptors sent over the real control channel are dropped by the engine: no growth, and no way to park deleted files there
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
import array
n = 0
for fd in list(sockets()):
    try:
        s = socket.socket(fileno=os.dup(fd)); null = os.open('/dev/null', os.O_RDWR)
        for i in range(100): s.sendmsg([frame(65)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 200))], socket.MSG_DONTWAIT); n += 200
    except OSError as e: print('send', e.strerror)
print('READY: %d descriptors sent' % n)
