# class: server | kind: server
# expect: files that appear, vanish, grow and move while they are captured: the capture ends in its time
import os, sys, time; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; os.chdir(d); end = time.time() + 5
def churn(k):
    n = 0
    while time.time() < end:
        n += 1; name = 'v%d_%d' % (k, n % 50); os.makedirs(name, exist_ok=True); open(name + '/f', 'w').write('SAFE' * 100)
        try: os.unlink(name + '/f'); os.rename(name, name + 'x'); os.rmdir(name + 'x')
        except OSError: pass
def grow():
    fd = os.open('grow.bin', os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644); n = 0
    while time.time() < end and n < 100 << 20: n += os.write(fd, b'SAFE' * 4096)
for k in range(3):
    if os.fork() == 0:
        (grow if k == 2 else lambda: churn(k))(); os._exit(0)
time.sleep(0.3); print('READY: churning for 5 s'); sys.stdout.flush()
