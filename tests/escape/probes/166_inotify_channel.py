# class: info | kind: self
# expect: INFO: watching shared read-only files shows that others use them (covert channel, like file locks); documented
import ctypes, os, select, time; L = ctypes.CDLL(None, use_errno=True); fd = L.inotify_init1(0o4000); n = 0
for p in (b'/usr/bin', b'/usr/lib/python3.11', b'/etc', b'/', b'/proc', b'/tmp'): n += L.inotify_add_watch(fd, p, 0x20 | 0x1 | 0x8) >= 0
r = select.select([fd], [], [], 1)[0] if fd >= 0 else []
print('INFO: %d watches, %s' % (n, '%d bytes of events of others' % len(os.read(fd, 65536)) if r else 'no events within 1 s'))
