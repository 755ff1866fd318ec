# class: proc | kind: self
# expect: no real-time class, no negative nice, no RT ioprio
import ctypes, os, struct
L = ctypes.CDLL(None, use_errno=True); hit = []
for n, p, prio in (('FIFO', os.SCHED_FIFO, 1), ('RR', os.SCHED_RR, 99)):
    try: os.sched_setscheduler(0, p, os.sched_param(prio)); hit.append(n)
    except OSError: pass
try: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 5); hit.append('negative nice')
except OSError: pass
for cls in (1,):
    if L.syscall(251, 1, 0, cls << 13) == 0: hit.append('RT ioprio')
attr = ctypes.create_string_buffer(struct.pack('<IIQiIQQQ', 48, 6, 0, 0, 0, 10**6, 10**7, 10**7))
if L.syscall(314, 0, attr, 0) == 0: hit.append('DEADLINE')
print('ESCAPED: ' + ','.join(hit) if hit else 'HELD: no better scheduling to be had')
