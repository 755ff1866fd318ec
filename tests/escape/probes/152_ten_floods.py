# class: dos | kind: server
# expect: ten children print without end: ended for output, memory of the engine flat
import os; print('START', flush=True); z = b'B' * 65535 + b'\n'; kids = []
for i in range(10):
    p = os.fork()
    if p == 0:
        for k in range(1600): os.write(1 + k % 2, z)
        os._exit(0)
    kids.append(p)
for k in kids: os.waitpid(k, 0)
os.write(1, b'\nREADY\n')
