# class: image | kind: server
# expect: what changed pages are compared with is replaced by memory of the session's own, or unmapped: only its own memory suffers, and that is said
import ctypes, mmap; L = ctypes.CDLL(None, use_errno=True); L.mmap.restype = ctypes.c_void_p; n = 0
base = [tuple(int(x, 16) for x in l.split()[0].split('-')) for l in open('/proc/self/maps') if l.split()[1] == 'r--s' and '.img' in l]
for a, b in base or [(0x100000000000, 0x100000000000 + (64 << 20))]:
    half = a + (b - a) // 2 // 4096 * 4096
    n += L.mmap(ctypes.c_void_p(a), ctypes.c_size_t(half - a), 3, 0x32 | 0x4000, -1, 0) == a; ctypes.memset(a, 0x41, 1 << 20)
    n += L.munmap(ctypes.c_void_p(half), ctypes.c_size_t((b - half) // 2 // 4096 * 4096)) == 0
print('READY: %d mappings changed' % n)
