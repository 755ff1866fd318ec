# class: proc | kind: self
# expect: every thread of the kernel process is under the filter (TSYNC): no pre-existing helper thread without seccomp
import os, threading; ev = threading.Event(); t = threading.Thread(target=ev.wait, args=(5,)); t.start(); bad = []; n = 0
for tid in os.listdir('/proc/self/task'):
    s = dict(l.split(':', 1) for l in open('/proc/self/task/%s/status' % tid)); n += 1
    for k, want in (('Seccomp', '2'), ('NoNewPrivs', '1')):
        if s.get(k, '?').strip() != want: bad.append('%s %s=%s' % (s['Name'].strip(), k, s.get(k, '?').strip()))
ev.set(); t.join()
print('ESCAPED: ' + ' '.join(bad) if bad else 'HELD: %d threads, all filtered' % n)
