# class: fs | kind: self
# expect: python binary, libpython and stdlib cannot be opened for writing (poisoning later sessions)
import glob, os, sys
files = {'/proc/self/exe', '/usr/bin/python3', '/usr/bin/python3.11', os.__file__, sys.executable or '/usr/bin/python3'}
files |= set(glob.glob('/usr/lib/*/libpython3*')) | set(glob.glob('/usr/lib/python3*/site.py')) | set(glob.glob('/usr/lib/python3/dist-packages/*/__init__.py')[:40])
try: files |= {l.split(None, 5)[5].strip() for l in open('/proc/self/maps') if '.so' in l}
except OSError: pass
hit = []
for f in sorted(files):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND):
        try: os.close(os.open(f, flags)); hit.append(f); break
        except OSError: pass
print('ESCAPED: opened for writing ' + ','.join(hit) if hit else 'HELD: %d files of the runtime, none writable' % len(files))
