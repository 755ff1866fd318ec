# class: proc | kind: server
# expect: kill(-1, SIGKILL) reaches only this session's own processes
import os, signal, time; print('START', flush=True)
for i in range(3):
    if os.fork() == 0: time.sleep(30); os._exit(0)
try: os.kill(-1, signal.SIGKILL); print('HELD: children killed, the interpreter lives')
except OSError as e: print('HELD:', e.strerror)
