# class: disk | kind: self
# expect: space of deleted files whose only reference is a descriptor in flight on a socket still counts
import array, os, signal, socket, time; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
z = b'\0' * (1 << 20); tot = 0; keep = []
try:
    for k in range(6):
        a, b = socket.socketpair(); keep.append((a, b))
        fd = os.open(d + '/.f', os.O_CREAT | os.O_RDWR, 0o600); os.unlink(d + '/.f')
        for i in range(100): tot += os.write(fd, z)
        a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))]); os.close(fd)
        print('PROGRESS %d MiB' % (tot >> 20), flush=True)
    time.sleep(2); print('ESCAPED: %d MiB held by descriptors in flight' % (tot >> 20))
except OSError as e: print('HELD: %d MiB then %s' % (tot >> 20, e.strerror))
