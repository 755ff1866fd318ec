# class: dos | kind: kill
# expect: children that send the interpreter signals as fast as they can, real-time ones queued: ends at the limit at the latest
import os, signal, time; print('START', flush=True); me = os.getpid()
for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGALRM, signal.SIGWINCH, signal.SIGRTMIN, signal.SIGIO): signal.signal(s, lambda *a: None)
for i in range(3):
    if os.fork() == 0:
        while True:
            for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGALRM, signal.SIGRTMIN, signal.SIGIO): os.kill(me, s)
while True:
    try: time.sleep(60)
    except BaseException: pass
