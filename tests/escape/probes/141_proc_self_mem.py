# class: fs | kind: self
# expect: writing to read-only mappings of shared libraries through /proc/self/mem changes only this process, never the file others map
import ctypes, os, subprocess, sys
line = next((l for l in open('/proc/self/maps') if 'libc.so' in l and l.split()[1].startswith('r')), None); done = ''
if line:
    start = int(line.split('-')[0], 16); path = line.split()[-1]; before = open(path, 'rb').read(64)
    try:
        with open('/proc/self/mem', 'r+b', 0) as m: m.seek(start + 9); m.write(b'POISON!')
        done = 'private copy written'
    except OSError as e: done = e.strerror
    after = open(path, 'rb').read(64)
    print('ESCAPED: the library on disk changed' if before != after else 'HELD: %s, file unchanged' % done)
else: print('HELD: no libc mapping')
