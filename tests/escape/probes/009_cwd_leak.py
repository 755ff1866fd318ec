# class: fs | kind: self
# expect: cwd is inside the jail; getcwd is not "(unreachable)"
import os
try: here = os.readlink('/proc/self/cwd')
except OSError: here = os.getcwd()
bad = []
if not os.getcwd().startswith('/') or not here.startswith('/') or 'unreachable' in here: bad.append('cwd is %r' % here)
fd = os.open('.', os.O_RDONLY | os.O_DIRECTORY)
try:
    for _ in range(64): os.chdir('..')
except PermissionError: print('HELD: cwd %s, and no way up from it' % here); raise SystemExit
up, root = os.stat('.'), os.stat('/')
if (up.st_dev, up.st_ino) != (root.st_dev, root.st_ino): bad.append('.. leads to another root: %s' % os.listdir('.')[:5])
os.fchdir(fd); os.close(fd)
print('ESCAPED: ' + '; '.join(bad) if bad else 'HELD: cwd %s, its top is /' % here)
