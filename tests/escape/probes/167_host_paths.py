# class: info | kind: self
# expect: INFO: what /proc/self says about the host: paths of mounts, of the program, of the work directory, of the image
import os; seen = []; secrets = ['ci_%s_path_7f3a' % x for x in ('host', 'store')]
def look(f, text): seen.extend('%s (%s)' % (f, s[3:].partition('_')[0]) for s in secrets if s in text)
for f in ('mountinfo', 'mounts', 'mountstats', 'maps', 'smaps', 'numa_maps', 'environ', 'cmdline', 'cgroup', 'auxv', 'cpuset', 'status'):
    try: look(f, open('/proc/self/' + f, 'rb').read().decode(errors='replace'))
    except OSError: pass
for l in ('exe', 'cwd', 'root', *('fd/' + f for f in os.listdir('/proc/self/fd'))):
    try: look(l, os.readlink('/proc/self/' + l))
    except OSError: pass
print('INFO: paths of the host are named in %s' % ', '.join(seen) if seen else 'HELD: no path of the host')
