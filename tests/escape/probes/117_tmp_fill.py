# class: dos | kind: kill
# expect: /tmp and /dev/shm are bounded in bytes and count as memory: full, or ended for memory, below 600 MiB each
import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); print('START', flush=True); z = b'x' * (1 << 20); out = []; bad = False
for d in ('/tmp', '/dev/shm'):
    n = 0; made = []
    try:
        for k in range(6):
            made.append(os.open('%s/.big%d' % (d, k), os.O_CREAT | os.O_WRONLY, 0o600)); os.unlink('%s/.big%d' % (d, k))
            for i in range(100): os.write(made[-1], z); n += 1
        bad = True; out.append('%s took %d MiB' % (d, n))
    except OSError as e: out.append('%s %d MiB then %s' % (d, n, e.strerror))
    for fd in made: os.close(fd)
print(('ESCAPED: ' if bad else 'HELD: ') + ', '.join(out))
