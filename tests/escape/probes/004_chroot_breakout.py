# class: fs | kind: self
# expect: classic chroot(2) + ../../.. walk must fail
import os
def walk():
    for _ in range(64): os.chdir('..')
    return os.path.exists('var/tmp/cicada-canary/CANARY_HOST')
try:
    os.makedirs('/tmp/.cb', exist_ok=True); fd = os.open('/', os.O_RDONLY | os.O_DIRECTORY); os.chroot('/tmp/.cb'); os.fchdir(fd); w = walk(); os.chroot('.')
    print('ESCAPED: chroot allowed, host root %s' % ('REACHED' if w else 'not reached but call permitted'))
except OSError as e: print('HELD: chroot ->', e.strerror)
