# class: server | kind: server
# expect: paths longer than PATH_MAX, control characters in directory names, a name that is a path of the host: bounded, escaped, written nowhere else
import os; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; os.chdir(d); top = os.open('.', os.O_RDONLY)
for k in range(40): os.mkdir('n' * 200); os.chdir('n' * 200)
open('bottom.txt', 'w').write('x'); os.fchdir(top)
for name in (b'dir\n{"files":[]}', b'\x1b]0;owned\x07', b'..\xc0\xaf..', b'etc\\passwd', b'.. ', b'...', b'\xff\xff'): os.mkdir(name); open(name + b'/f.txt', 'w').write('x')
os.makedirs('var/tmp/cicada-canary'); open('var/tmp/cicada-canary/CANARY_HOST', 'w').write('SAFE')
print('READY')
