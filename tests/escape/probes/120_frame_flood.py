# class: ipc | kind: server
# expect: displays sent without end and without ever reading an answer: bounded, ended at the time limit at the latest
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
print('START', flush=True)
big = frame(66, field(8, b'text/plain'), field(9, b'\x01'), field(10, b'D' * 65536)); found = list(sockets())
while found:
    for fd in found:
        for b in (big, frame(65), frame(67, field(16, b'\x00'))): os.write(fd, b)
