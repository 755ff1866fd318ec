# class: disk | kind: self
# expect: space of deleted files that are only mapped still counts
import mmap, os, time; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; tot = 0; keep = []
try:
    for k in range(6):
        fd = os.open(d + '/.m', os.O_CREAT | os.O_RDWR, 0o600); os.unlink(d + '/.m'); os.ftruncate(fd, 100 << 20)
        m = mmap.mmap(fd, 100 << 20); os.close(fd); keep.append(m)
        for i in range(0, 100 << 20, 4096): m[i] = 1
        m.flush(); tot += 100; print('PROGRESS %d MiB' % tot, flush=True)
    time.sleep(2); print('ESCAPED: %d MiB held by mappings' % tot)
except OSError as e: print('HELD: %d MiB then %s' % (tot, e.strerror))
