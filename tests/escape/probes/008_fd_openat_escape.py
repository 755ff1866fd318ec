# class: fs | kind: self
# expect: openat(fd, "../../../../..") through every inherited fd must not reach the host
import os
for fd in range(0, 1024):
    for rel in ('../' * 20 + 'var/tmp/cicada-canary/CANARY_HOST', '../' * 20 + 'etc/shadow'):
        try: os.close(os.open(rel, os.O_RDONLY, dir_fd=fd)); print('ESCAPED: fd', fd, 'reaches', rel); raise SystemExit
        except OSError: pass
print('HELD: no inherited fd reaches the host')
