# class: server | kind: server
# expect: a directory exchanged with a link to a host directory thousands of times a second while files are captured: only SAFE is ever read
import ctypes, os, sys, time; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; os.chdir(d)
L = ctypes.CDLL(None); os.makedirs('a/b', exist_ok=True); open('a/b/CANARY_HOST', 'w').write('SAFE'); open('a/CANARY_HOST', 'w').write('SAFE')
os.symlink('/var/tmp/cicada-canary', 'l'); os.symlink('/var/tmp/cicada-canary', 'a/l'); open('x', 'w').write('SAFE'); os.symlink('/etc/shadow', 'y'); end = time.time() + 4
for k in range(2):
    if os.fork() == 0:
        while time.time() < end:
            for p, q in ((b'a', b'l'), (b'a/b', b'a/l'), (b'x', b'y')): L.syscall(316, -100, p, -100, q, 2)
        os._exit(0)
print('READY: exchanging for 4 s'); sys.stdout.flush(); time.sleep(0.3)
