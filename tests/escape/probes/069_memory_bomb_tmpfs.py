# class: dos | kind: kill
# expect: memory through memfd/tmpfs counts: killed or ENOSPC below 1.5 GiB
import os; print('START', flush=True); z = b'x' * (1 << 20); tot = 0; why = []
def fill(fd, mib):
    global tot
    for i in range(mib): tot += os.write(fd, z)
for k in range(6):
    try: fd = os.memfd_create('m%d' % k); fill(fd, 200)
    except OSError as e: why.append('memfd: ' + e.strerror); break
for d in ('/dev/shm', '/tmp'):
    for k in range(3):
        try: fd = os.open('%s/.bomb%d' % (d, k), os.O_CREAT | os.O_RDWR, 0o600); os.unlink('%s/.bomb%d' % (d, k)); fill(fd, 100)
        except OSError as e: why.append('%s: %s' % (d, e.strerror)); break
print('ESCAPED: %d MiB of memory in files' % (tot >> 20) if tot >= 1200 << 20 else 'HELD: %d MiB, %s' % (tot >> 20, why))
