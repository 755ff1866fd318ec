# class: disk | kind: self
# expect: space below a hundred levels of mode-000 directories still counts
import os, signal, time; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
os.chdir(d); up = []; z = b'\0' * (1 << 20); tot = 0
for k in range(100):
    os.mkdir('h'); up.append(os.open('.', os.O_RDONLY)); os.chdir('h')
files = [os.open('f%d' % k, os.O_CREAT | os.O_WRONLY, 0) for k in range(6)]
for fd in reversed(up): os.fchdir(fd); os.chmod('h', 0); os.close(fd)
try:
    for fd in files:
        for i in range(100): tot += os.write(fd, z)
        os.close(fd); print('PROGRESS %d MiB' % (tot >> 20), flush=True)
    time.sleep(2); print('ESCAPED: %d MiB in closed directories' % (tot >> 20))
except OSError as e: print('HELD: %d MiB then %s' % (tot >> 20, e.strerror))
