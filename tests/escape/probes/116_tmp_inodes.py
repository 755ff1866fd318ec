# class: disk | kind: self
# expect: the number of files in /tmp and /dev/shm is capped: they are kernel memory
import os; out = []; bad = False
for d in ('/tmp', '/dev/shm'):
    n = 0; top = d + '/ci_many'
    try:
        os.mkdir(top)
        for n in range(1, 60001): os.close(os.open('%s/%d' % (top, n), os.O_CREAT | os.O_WRONLY, 0o600))
        bad = True; out.append('%s took %d files' % (d, n))
    except OSError as e: out.append('%s %d then %s' % (d, n, e.strerror))
    for k in range(1, n + 1):
        try: os.unlink('%s/%d' % (top, k))
        except OSError: pass
    try: os.rmdir(top)
    except OSError: pass
print(('ESCAPED: ' if bad else 'HELD: ') + ', '.join(out))
