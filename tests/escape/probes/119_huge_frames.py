# class: ipc | kind: server
# expect: lengths of four gigabytes and truncated fields on the control channel: the session is ended, the engine does not allocate them
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
import time
print('START', flush=True); n = 0
for fd in list(sockets()):
    for b in (struct.pack('<IB3x', 0xffffffff, 68) + b'x' * 100, struct.pack('<IB3x', 0x7fffffff, 66), frame(68, struct.pack('<HHI', 10, 0, 0xfffffff0)), b'\xff' * 4096):
        try: n += os.write(fd, b)
        except OSError as e: print('write', e.strerror)
time.sleep(1); print('READY: %d bytes' % n)
