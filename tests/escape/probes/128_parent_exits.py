# class: proc | kind: server
# expect: the interpreter exits and leaves children that hold stdout: reported as dead at once, the children die
import os, time; print('START', flush=True)
for i in range(5):
    if os.fork() == 0:
        try: os.setsid()
        except OSError: pass
        time.sleep(60); os._exit(0)
os._exit(3)
