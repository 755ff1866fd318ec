# class: fs | kind: self
# expect: hard link from /mnt/data to a system file fails (EXDEV/EPERM)
import os; hit = []
for s in ('/etc/passwd', '/usr/bin/python3.11', '/bin/sh', '/var/tmp/cicada-canary/CANARY_HOST'):
    try: os.link(s, os.path.join('/mnt/data' if os.path.isdir('/mnt/data') else '.', '.hl'), follow_symlinks=True); hit.append(s); os.unlink(os.path.join('/mnt/data' if os.path.isdir('/mnt/data') else '.', '.hl'))
    except OSError: pass
print('ESCAPED: linked ' + ','.join(hit) if hit else 'HELD: cannot hard link outside')
