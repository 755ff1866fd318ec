# class: server | kind: server
# expect: mode 000 on /mnt/data itself breaks neither capture nor removal
import os; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; open(d + '/made.txt', 'w').write('made')
try: os.chmod(d, 0); print('READY: mode 000')
except OSError as e: print('READY: refused', e.strerror)
