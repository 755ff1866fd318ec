# class: dos | kind: self
# expect: many processes that fork at once do not get past the pids limit together
import os, signal, time; r, w = os.pipe(); go = time.time() + 0.5; kids = []
for i in range(12):
    try: p = os.fork()
    except OSError: break
    if p == 0:
        while time.time() < go: pass
        for k in range(30):
            try:
                if os.fork() == 0: os.write(w, b'x'); time.sleep(3); os._exit(0)
            except OSError: pass
        time.sleep(3); os._exit(0)
    kids.append(p)
time.sleep(2); os.set_blocking(r, False); n = len(kids)
try: n += len(os.read(r, 65536))
except BlockingIOError: pass
print('ESCAPED: %d processes at once' % n if n > 130 else 'HELD: %d processes at once' % n)
