# class: image | kind: self
# expect: INFO: a session that owns the image's file (a user's own) can push pages out of memory that no other session uses at the moment, which then have to be read again; any other cannot
import ctypes, re; L = ctypes.CDLL(None, use_errno=True); again = size = 0
def touch(a, b):
    for at in range(a, b, 4096): ctypes.string_at(at, 1)
def read_so_far(): return int(re.search('^read_bytes: ([0-9]+)', open('/proc/self/io').read(), re.M)[1])
for l in open('/proc/self/maps'):
    m = l.split()
    if len(m) < 6 or m[1] != 'r--s' or not m[5].endswith('.img'): continue
    a, b = (int(x, 16) for x in m[0].split('-')); b = min(b, a + (128 << 20)); touch(a, b); before = read_so_far()
    for advice in (20, 21): L.madvise(ctypes.c_void_p(a), ctypes.c_size_t(b - a), advice)      # MADV_COLD, MADV_PAGEOUT
    touch(a, b); again += read_so_far() - before; size += b - a
print('INFO: %d of %d MiB of the image had to be read again' % (again >> 20, size >> 20) if again > 1 << 20 else 'HELD: %d MiB of the image stayed in memory' % (size >> 20))
