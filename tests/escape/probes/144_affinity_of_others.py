# class: proc | kind: self
# expect: scheduling, affinity, priority and limits of pid 1 and the parent cannot be changed
import ctypes, os, resource; hit = []; L = ctypes.CDLL(None, use_errno=True)
for pid in {1, os.getppid()} - {0}:
    for n, f in (('affinity', lambda: os.sched_setaffinity(pid, {0})), ('nice', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)), ('batch', lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))), ('prlimit', lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (10, 10)))):
        try: f(); hit.append('%s of %d' % (n, pid))
        except (OSError, ValueError): pass
    if L.syscall(251, 1, pid, 3 << 13) == 0: hit.append('ioprio of %d' % pid)
for n, which in (('user', os.PRIO_USER),):
    try: os.setpriority(which, 0, 19); hit.append('nice of the whole user')
    except OSError: pass
print('ESCAPED: ' + ','.join(hit) if hit else 'HELD: others cannot be touched')
