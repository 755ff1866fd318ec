# class: disk | kind: self
# expect: writes stop at the session quota with ENOSPC/EDQUOT/EFBIG (600 MiB tried in /mnt/data and /tmp)
import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); z = b'\0' * (1 << 20); out = []; bad = False
for d in ('/mnt/data', '/tmp') if os.access('/mnt/data', os.W_OK) else ('.',):
    tot = 0; made = []
    try:
        for k in range(6):
            made.append('%s/.fill%d' % (d, k))
            with open(made[-1], 'wb', 0) as f:
                for i in range(100): tot += f.write(z)
        bad = True; out.append('%s took %d MiB' % (d, tot >> 20))
    except OSError as e: out.append('%s %d MiB then %s' % (d, tot >> 20, e.strerror))
    print('PROGRESS %s %d MiB' % (d, tot >> 20), flush=True)
    for m in made:
        try: os.unlink(m)
        except OSError: pass
print(('ESCAPED: ' if bad else 'HELD: ') + ', '.join(out))
