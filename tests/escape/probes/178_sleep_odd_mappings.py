# class: image | kind: server
# expect: tens of thousands of mappings, memory where the loader and the writer want to be, a terabyte that is only reserved: asleep or refused, woken or lost, in its time
import ctypes; L = ctypes.CDLL(None, use_errno=True); L.mmap.restype = ctypes.c_void_p; n = 0
for at, size, prot in ((0x100000, 0x100000, 7), (0x110000000000, 1 << 20, 3), (0x120000000000, 1 << 40, 3), (0x10000, 4096, 3), (0x7ffff7ff0000 - (1 << 21), 1 << 20, 0)):
    n += L.mmap(ctypes.c_void_p(at), ctypes.c_size_t(size), prot, 0x100022 | 0x4000, -1, 0) == at
top = L.mmap(None, ctypes.c_size_t(40000 * 4096), 3, 0x4022, -1, 0)
for i in range(0, 40000, 2): n += L.mprotect(ctypes.c_void_p(top + i * 4096), ctypes.c_size_t(4096), 1) == 0
print('READY: %d mappings' % n)
