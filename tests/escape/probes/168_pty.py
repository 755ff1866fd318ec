# class: fs | kind: self
# expect: no terminal can be made or taken: a pty would allow TIOCSTI-like games with whoever reads the output
import os, fcntl, termios; hit = []
for p in ('/dev/ptmx', '/dev/pts/ptmx', '/dev/tty', '/dev/console', '/dev/tty0'):
    try: os.close(os.open(p, os.O_RDWR | os.O_NOCTTY)); hit.append(p)
    except OSError: pass
try: os.openpty(); hit.append('openpty')
except OSError: pass
for fd in (0, 1, 2):
    try: fcntl.ioctl(fd, termios.TIOCSCTTY, 0); hit.append('TIOCSCTTY %d' % fd)
    except OSError: pass
print('ESCAPED: ' + ','.join(hit) if hit else 'HELD: no terminal')
