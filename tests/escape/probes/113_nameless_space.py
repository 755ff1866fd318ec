# class: disk | kind: self
# expect: space of O_TMPFILE files, which never had a name, still counts
import os, signal, time; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
z = b'\0' * (1 << 20); tot = 0; keep = []
try:
    for k in range(6):
        fd = os.open(d, os.O_TMPFILE | os.O_RDWR, 0o600); keep.append(fd)
        for i in range(100): tot += os.write(fd, z)
        print('PROGRESS %d MiB' % (tot >> 20), flush=True)
    time.sleep(2); print('ESCAPED: %d MiB in files without a name' % (tot >> 20))
except OSError as e: print('HELD: %d MiB then %s' % (tot >> 20, e.strerror))
