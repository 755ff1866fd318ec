# class: dos | kind: kill
# expect: page tables and mappings are charged too: a sparse walk over a huge address range is ended or bounded
import ctypes; print('START', flush=True); L = ctypes.CDLL(None, use_errno=True); L.mmap.restype = ctypes.c_void_p; n = 0; step = 2 << 20
for i in range(600):
    m = L.mmap(None, ctypes.c_size_t(1 << 30), 3, 0x4022, -1, ctypes.c_long(0))
    if m in (None, ctypes.c_void_p(-1).value): break
    for a in range(0, 1 << 30, step): ctypes.memset(m + a, 1, 1); n += 1
    if n * 8192 > 1500 << 20: break
print('ESCAPED: %d pages with a page table each: %d MiB' % (n, n * 8192 >> 20) if n * 8192 > 1500 << 20 else 'HELD: %d pages' % n)
