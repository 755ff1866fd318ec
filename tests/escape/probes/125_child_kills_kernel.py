# class: proc | kind: server
# expect: a child that kills the interpreter with SIGKILL: the run ends as crashed with signal 9
import os, signal, time; print('START', flush=True); me = os.getpid()
if os.fork() == 0: os.kill(me, signal.SIGKILL); time.sleep(20); os._exit(0)
time.sleep(10); print('ESCAPED: survived')
