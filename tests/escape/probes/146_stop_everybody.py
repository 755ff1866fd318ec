# class: dos | kind: kill
# expect: SIGSTOP to every process that can be reached, children that stop each other again when continued: ended at the limit
import os, signal, time; print('START', flush=True)
for i in range(3):
    if os.fork() == 0:
        while True:
            try: os.kill(-1, signal.SIGSTOP)
            except OSError: pass
try: os.killpg(0, signal.SIGSTOP)
except OSError: pass
time.sleep(60); print('ESCAPED')
