# class: server | kind: server
# expect: links into /proc (magic links, roots, descriptors), loops and links in place of directories are never followed from outside, where they would mean the server's own
import os; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; os.chdir(d)
links = {'root1': '/proc/1/root', 'root1_canary.txt': '/proc/1/root/var/tmp/cicada-canary/CANARY_HOST', 'self_root': '/proc/self/root', 'self_cwd': '/proc/self/cwd', 'self_env.txt': '/proc/self/environ', 'parent_env.txt': '/proc/thread-self/environ', 'loop_a': 'loop_b', 'loop_b': 'loop_a', 'me': '.', 'up': '..', 'dev': '/dev/zero'}
links.update({'fd%d' % n: '/proc/self/fd/%d' % n for n in range(0, 16)})
for name, target in links.items(): os.symlink(target, name)
os.makedirs('sub/dir'); os.symlink('/var/tmp/cicada-canary', 'sub/dir/canary'); open('plain.txt', 'w').write('SAFE')
print('READY: %d links' % len(links))
