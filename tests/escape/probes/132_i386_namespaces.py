# class: syscall | kind: self
# expect: unshare, mount, setns, ptrace by int 0x80, whose numbers mean harmless calls on x86-64, must not run
import ctypes, mmap, os, struct; hit = []; out = []
for n, (nr, arg) in {'unshare': (310, 0x10000000), 'mount': (21, 0), 'setns': (346, 0), 'ptrace': (26, 0), 'socketcall': (102, 1), 'getpid': (20, 0), 'keyctl': (288, 0)}.items():
    c = os.fork()
    if c == 0:
        try:
            m = mmap.mmap(-1, 4096, prot=7); m.write(b'\x53\xbb' + struct.pack('<I', arg) + b'\xb8' + struct.pack('<I', nr) + b'\xcd\x80\x5b\xc3')
            r = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))(); os._exit(0 if r in (-1, -38) else 7)
        except BaseException: os._exit(0)
    st = os.waitpid(c, 0)[1]; (hit if st == 7 << 8 else out).append('%s=%s' % (n, st & 127))
print('ESCAPED: ran ' + ','.join(hit) if hit else 'HELD: ' + ' '.join(out))
