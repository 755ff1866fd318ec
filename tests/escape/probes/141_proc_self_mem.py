# class: fs | kind: self
# expect: writing to read-only mappings of shared libraries, or to the image they came in, through /proc/self/mem changes only this process, never the file others map
import ctypes, os
lines = [l.split() for l in open('/proc/self/maps') if l.split()[4] != '0']; done = ''; changed = False
shared = {l[4]: int(l[0].split('-')[0], 16) for l in lines if l[1] == 'r--s'}      # the image once more, whole
def file_bytes(l): return ctypes.string_at(shared[l[4]] + int(l[2], 16), 64) if l[4] in shared else open(l[5], 'rb').read(64)
line = next((l for l in lines if ('libc.so' in l[5] or l[4] in shared and l[1][3] == 'p') and l[1].startswith('r')), None)
if line:
    start = int(line[0].split('-')[0], 16); before = file_bytes(line); own = ctypes.string_at(start, 64)
    try:
        with open('/proc/self/mem', 'r+b', 0) as m: m.seek(start + 9); m.write(b'POISON!'); done = 'private copy written'; m.seek(start); m.write(own)
    except OSError as e: done = e.strerror
    print('ESCAPED: the file on disk changed' if before != file_bytes(line) else 'HELD: %s, %s unchanged' % (done, 'image' if line[4] in shared else 'library'))
else: print('HELD: no mapping of a file')
