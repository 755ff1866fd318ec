# class: server | kind: server
# expect: 3000-level directory: the walker must be iterative (openat), bounded in depth, and delete must work
import os; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; top = os.open(d, os.O_RDONLY | os.O_DIRECTORY); os.chdir(d); n = 0
try:
    for n in range(3000):
        os.mkdir('d'); os.chdir('d')
        if n % 500 == 0: open('f.txt', 'w').write('x')
except OSError as e: print('stopped at', n, e.strerror)
os.fchdir(top); os.close(top); print('READY: %d levels' % (n + 1))
