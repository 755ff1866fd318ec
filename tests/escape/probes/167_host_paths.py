# class: info | kind: self
# expect: INFO: what /proc/self says about the host: paths of mounts, of the program, of the work directory
import os; seen = []; secret = 'ci_host_' + 'path_7f3a'
for f in ('mountinfo', 'mounts', 'mountstats', 'maps', 'environ', 'cmdline', 'cgroup', 'auxv', 'cpuset', 'status'):
    try:
        if secret.encode() in open('/proc/self/' + f, 'rb').read(): seen.append(f)
    except OSError: pass
for l in ('exe', 'cwd', 'root'):
    try:
        if secret in os.readlink('/proc/self/' + l): seen.append(l)
    except OSError: pass
print('INFO: the work directory of the host is named in %s' % seen if seen else 'HELD: no path of the host')
