# class: dos | kind: self
# expect: mlockall, MAP_LOCKED, huge pages and secret memory give no unlimited unswappable memory
import ctypes, os; L = ctypes.CDLL(None, use_errno=True); L.mmap.restype = ctypes.c_void_p; hit = []; n = 100 << 20; FAIL = ctypes.c_void_p(-1).value
if L.mlockall(3) == 0: hit.append('mlockall'); L.munlockall()
for name, flags in (('MAP_LOCKED', 0x2022), ('MAP_HUGETLB', 0x40022), ('MAP_HUGETLB 1G', 0x40022 | 30 << 26)):
    m = L.mmap(None, ctypes.c_size_t(n), 3, flags, -1, ctypes.c_long(0))
    if m not in (None, FAIL): hit.append(name); L.munmap(ctypes.c_void_p(m), ctypes.c_size_t(n))
fd = L.syscall(447, 0)
if fd >= 0:
    try:
        os.ftruncate(fd, n)
        if L.mmap(None, ctypes.c_size_t(n), 3, 1, fd, ctypes.c_long(0)) not in (None, FAIL): hit.append('memfd_secret')
    except OSError: pass
try:
    fd = os.memfd_create('h', 4); os.ftruncate(fd, n)
    m = L.mmap(None, ctypes.c_size_t(n), 3, 1, fd, ctypes.c_long(0))
    if m not in (None, FAIL): hit.append('memfd hugetlb')
except OSError: pass
print('ESCAPED: ' + ','.join(hit) if hit else 'HELD: no locked memory of 100 MiB')
