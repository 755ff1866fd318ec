# class: dos | kind: kill
# expect: data queued in unix sockets is charged to the session or bounded by its descriptors: no 700 MiB of kernel memory
import os, socket; print('START', flush=True); n = 0; keep = []
try:
    while n < 700 << 20:
        a, b = socket.socketpair(); keep += [a, b]; a.setblocking(False)
        a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        try:
            while n < 700 << 20: n += a.send(b'x' * 65536)
        except BlockingIOError: pass
    print('ESCAPED: %d MiB in socket queues' % (n >> 20))
except OSError as e: print('HELD: %d MiB in %d sockets then %s' % (n >> 20, len(keep), e.strerror))
