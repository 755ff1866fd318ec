# class: dos | kind: server
# expect: 16 busy processes for 4 s: cpu quota holds; a second session still answers 1+1 in < 500 ms
import os, time; end = time.time() + 4; kids = []
for i in range(16):
    p = os.fork()
    if p == 0:
        while time.time() < end: pass
        os._exit(0)
    kids.append(p)
for k in kids: os.waitpid(k, 0)
print('READY: 16 processes burned for 4 s')
