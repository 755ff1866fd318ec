# class: image | kind: self
# expect: nothing that is mapped from a file, the image above all, can be written to through its mapping, /proc/self/mem, map_files or its name; what is written to a private page stays private
import ctypes, os; L = ctypes.CDLL(None, use_errno=True); hit = []; seen = 0; own = ''
def call(f, *a): return getattr(L, f)(*[ctypes.c_void_p(x) for x in a])
L.mremap.restype = ctypes.c_void_p
maps = [(l.split(), *(int(x, 16) for x in l.split()[0].split('-'))) for l in open('/proc/self/maps') if l.split()[4] != '0']
for m, a, b in maps:
    for how in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDONLY):
        try: os.open('/proc/self/map_files/%x-%x' % (a, b), how); hit.append('map_files %o' % how)
        except OSError: pass
        if m[5].endswith('.img'):
            try: os.open(m[5], how); hit.append('opened by name')
            except OSError: pass
    if m[1][3] != 's' or m[1][1] == 'w': continue
    seen += 1; moved = call('mremap', a, 0, 4096, 1)
    if call('mprotect', a, 4096, 3) == 0: hit.append('mprotect')
    if call('madvise', a, 4096, 9) == 0: hit.append('MADV_REMOVE')
    if moved not in (None, 2**64 - 1) and call('mprotect', moved, 4096, 3) == 0: hit.append('mremap')
    try:
        with open('/proc/self/mem', 'r+b', 0) as f: f.seek(a + 4095); f.write(b'X'); hit.append('/proc/self/mem')
    except OSError: pass
    for p, start, end in maps:      # the same file, mapped privately: a write must not come through
        at = int(p[2], 16)
        if p[4] != m[4] or p[1][1] != 'w' or p[1][3] != 'p' or at >= b - a: continue
        base = a + at + 4095; was = ctypes.string_at(base, 1); mine = (ctypes.c_char * 1).from_address(start + 4095); before = mine.raw
        mine.raw = bytes([before[0] ^ 255]); own = 'private pages are private'
        if ctypes.string_at(base, 1) != was: hit.append('a private page is shared')
        mine.raw = before
print('ESCAPED: ' + ','.join(sorted(set(hit))) if hit else 'HELD: %d files mapped, %d shared and read-only; %s' % (len(maps), seen, own))
