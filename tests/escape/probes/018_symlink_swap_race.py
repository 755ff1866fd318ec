# class: server | kind: server
# expect: while this runs the server lists/captures; it must only ever see the string SAFE or an error, never host content
import os, sys, time; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
os.chdir(d); end = time.time() + 4
targets = ['/var/tmp/cicada-canary/CANARY_HOST', '/etc/shadow', '/etc/passwd']
open('swap.txt', 'w').write('SAFE'); os.makedirs('swapdir', exist_ok=True); open('swapdir/CANARY_HOST', 'w').write('SAFE')
def swap():
    n = 0
    while time.time() < end:
        for t in targets:
            try:
                os.symlink(t, '.l'); os.rename('.l', 'swap.txt')
                open('.s', 'w').write('SAFE'); os.rename('.s', 'swap.txt')
                os.rename('swapdir', '.away'); os.symlink('/var/tmp/cicada-canary', 'swapdir'); os.unlink('swapdir'); os.rename('.away', 'swapdir'); n += 1
            except OSError: pass
    return n
for _ in range(2):
    if os.fork() == 0: swap(); os._exit(0)     # these go on while the files are captured
print('READY: swapping for 4 s'); sys.stdout.flush(); time.sleep(0.3)
