# class: fs | kind: self
# expect: /proc/<pid>/root, cwd, exe of other processes are not followable
import os; hit = []; me = os.getpid()
try: pids = [int(d) for d in os.listdir('/proc') if d.isdigit()]
except OSError: pids = []
for pid in sorted(set(pids) | {1, os.getppid()} - {0}):
    if pid == me: continue
    for name, look in (('root', os.listdir), ('cwd', os.listdir), ('exe', lambda p: os.close(os.open(p, os.O_RDONLY))), ('root/etc/shadow', os.stat), ('cwd/..', os.listdir)):
        try: look('/proc/%d/%s' % (pid, name)); hit.append('%d/%s' % (pid, name))
        except OSError: pass
print('ESCAPED: followed ' + ','.join(hit[:8]) if hit else 'HELD: no link of another process can be followed')
