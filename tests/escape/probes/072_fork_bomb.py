# class: dos | kind: self
# expect: at most pids-limit processes; fork returns EAGAIN; everything dies with the session
import os, signal, time; kids = []; why = ''
try:
    for i in range(400):
        p = os.fork()
        if p == 0: time.sleep(20); os._exit(0)
        kids.append(p)
except OSError as e: why = e.strerror
for k in kids: os.kill(k, signal.SIGKILL)
for k in kids: os.waitpid(k, 0)
print('HELD: %d processes then %s' % (len(kids), why) if why else 'ESCAPED: 400 processes')
