# class: disk | kind: self
# expect: a gigabyte asked for in a few microseconds, beyond the end of the files, is refused or ended before it is much over the limit
import ctypes, os, signal, time; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
L = ctypes.CDLL(None, use_errno=True); tot = 0; why = ''
for mode in (1, 0):     # FALLOC_FL_KEEP_SIZE: blocks without size
    for k in range(6):
        fd = os.open('%s/.a%d%d' % (d, mode, k), os.O_CREAT | os.O_RDWR, 0o600)
        if L.fallocate(fd, mode, ctypes.c_long(0), ctypes.c_long(100 << 20)): why = os.strerror(ctypes.get_errno()); break
        tot += 100; os.close(fd)
print('PROGRESS %d MiB' % tot, flush=True)
if tot >= 600: time.sleep(2); print('ESCAPED: %d MiB allocated at once' % tot)
else: print('HELD: %d MiB then %s' % (tot, why))
