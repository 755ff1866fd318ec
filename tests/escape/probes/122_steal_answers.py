# class: ipc | kind: server
# expect: a thread that reads the control channel steals acknowledgements and the next run: the engine times out or reports the kernel dead, it never hangs
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
import threading, time
def steal(fd):
    while True:
        try:
            if not os.read(fd, 65536): return
        except OSError: return
for fd in list(sockets()): threading.Thread(target=steal, args=(fd,), daemon=True).start()
time.sleep(0.2); print('READY: stealing')
