# class: proc | kind: self
# expect: file capabilities, set-id copies made in the session and scripts with set-id bits give nothing on exec
import os, shutil, stat, subprocess; hit = []; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
for where in (d, '/tmp', '/dev/shm'):
    f = os.path.join(where, 'ci_suid')
    try:
        shutil.copy('/usr/bin/id', f); os.chmod(f, 0o6755); r = subprocess.run([f], capture_output=True, text=True)
        if 'euid=' in r.stdout or 'uid=0' in r.stdout: hit.append(r.stdout.strip())
    except OSError: pass
    finally:
        try: os.unlink(f)
        except OSError: pass
for su in ('/usr/bin/su', '/usr/bin/sudo', '/usr/bin/newgrp', '/usr/bin/pkexec', '/usr/bin/mount', '/bin/ping'):
    try:
        p = subprocess.Popen([su, '--version'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try: s = open('/proc/%d/status' % p.pid).read(); hit += [su] if '\nUid:\t%d\t0\t' % os.getuid() in s else []
        except OSError: pass
        p.kill(); p.wait()
    except OSError: pass
print('ESCAPED: %s' % hit if hit else 'HELD: set-id bits do nothing')
