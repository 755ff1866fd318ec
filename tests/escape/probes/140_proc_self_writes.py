# class: fs | kind: self
# expect: files under /proc/self that change more than this process are not writable
import os; hit = []; ok = []
for f, text in (('uid_map', b'0 0 1'), ('gid_map', b'0 0 1'), ('setgroups', b'allow'), ('timens_offsets', b'monotonic 1 0'), ('oom_score_adj', b'-1000'), ('oom_adj', b'-17'), ('attr/current', b'x'), ('attr/exec', b'x'), ('loginuid', b'0'), ('make-it-fail', b'1'), ('fail-nth', b'1'), ('sched', b'0'), ('latency', b'0'), ('autogroup', b'-20'), ('projid_map', b'0 0 1')):
    for base in ('/proc/self/', '/proc/1/', '/proc/thread-self/'):
        try:
            fd = os.open(base + f, os.O_WRONLY)
            try: os.write(fd, text); (ok if f in ('sched', 'latency', 'loginuid', 'projid_map') and 'self' in base else hit).append(base + f)
            finally: os.close(fd)
        except OSError: pass
print('ESCAPED: wrote ' + ','.join(hit) if hit else 'HELD: nothing but what concerns only itself: %s' % ok)
