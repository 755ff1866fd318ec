# class: image | kind: self
# expect: MADV_COLD and MADV_PAGEOUT are denied: by them a session that owns the image's file (a user's own) could push out of memory what no other uses at the moment
import ctypes; L = ctypes.CDLL(None, use_errno=True); taken = []; size = 0
for l in open('/proc/self/maps'):
    m = l.split()
    if len(m) < 6 or m[1] != 'r--s' or not m[5].endswith('.img'): continue
    a, b = (int(x, 16) for x in m[0].split('-')); size += b - a
    for advice, name in (20, 'MADV_COLD'), (21, 'MADV_PAGEOUT'), (25, 'MADV_COLLAPSE'):
        ctypes.set_errno(0)
        if L.madvise(ctypes.c_void_p(a), ctypes.c_size_t(4096), advice) == 0 or ctypes.get_errno() != 1: taken.append(name)
print('ESCAPED: the image takes ' + ','.join(taken) if taken else 'HELD: %d MiB of the image stay where they are' % (size >> 20))
