# class: dos | kind: self
# expect: arguments and environment of megabytes are refused by the kernel and hurt nobody
import os, subprocess; out = []
for n in (1 << 17, 1 << 20, 16 << 20):
    try: out.append(subprocess.run(['/bin/true'], env={'A%d' % i: 'x' * 100000 for i in range(n // 100000 + 1)}).returncode)
    except OSError as e: out.append(e.strerror)
for i in range(2000): os.environ['CI_%d' % i] = 'y' * 1000
print('HELD: %s' % out)
