# class: ipc | kind: server
# expect: the control channel found by listing /proc/self/fd and fed with well-formed RESULT, ERROR, DONE frames: what is forged hurts only this session; the engine ends with an honest answer
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
result = frame(68, field(8, b'text/plain'), field(9, b'\x01'), field(10, b'FORGED'))
error = frame(69, field(2, b'ForgedError'), field(11, b'FORGED'), field(13, b'FORGED'))
for fd in list(sockets()):
    for b in (result, frame(70), error, frame(70), frame(64, field(7, b'\xff' * 4)), frame(71, field(10, b'{"forged":1}'))):
        try: n += os.write(fd, b)
        except OSError as e: print('write', e.strerror)
time.sleep(1); print('READY: %d bytes forged' % n)
