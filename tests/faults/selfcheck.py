# Runs inside a jail and looks at it from there. Prints MARKER first: user code has run. Then
# COMPLETE, or INCOMPLETE and what is missing.
print('MARKER', flush=True)
import errno, os, resource, socket

missing = []
def need(what, is_there):
    if not is_there: missing.append(what)

status = dict(line.split(':', 1) for line in open('/proc/self/status'))
field = lambda name: status.get(name, '?').strip()
need('uid', os.getuid() not in (0, 65534) and len(set(os.getresuid() + (os.getuid(),))) == 1)
need('gid', os.getgid() != 0 and len(set(os.getresgid())) == 1)
need('groups', field('Groups') in ('', str(os.getgid())))
for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'): need(name, int(field(name), 16) == 0)
need('no_new_privs', field('NoNewPrivs') == '1')
need('seccomp', field('Seccomp') == '2' and int(field('Seccomp_filters')) >= 2)
need('pid namespace', os.getpid() == 2 and os.getppid() == 1)
need('cwd', os.getcwd() == '/mnt/data')
need('host name', socket.gethostname() not in ('', '(none)'))

for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, 40, socket.AF_PACKET):
    try: socket.socket(family, socket.SOCK_DGRAM).close(); missing.append('socket family %d' % family)
    except OSError as e: need('refusal of family %d' % family, e.errno == errno.EPERM)

for path in ('/', '/usr', '/etc', '/usr/lib', '/dev', '/mnt'):
    try: os.close(os.open(path + '/.marker', os.O_CREAT | os.O_WRONLY)); missing.append('read-only ' + path)
    except OSError: pass
for path in ('/root', '/home', '/var/lib', '/etc/shadow', '/proc/sys', '/proc/meminfo', '/proc/kallsyms', '/sys/kernel', '/dev/kmsg', '/dev/tty'):
    try: os.stat(path) if not os.path.isdir(path) else os.listdir(path); missing.append('hidden ' + path)
    except OSError: pass

for path in ('/tmp', '/dev/shm'):
    v = os.statvfs(path)
    need('size of ' + path, 0 < v.f_blocks * v.f_frsize <= 1 << 30)
    need('inodes of ' + path, 0 < v.f_files <= 1 << 20)
    need('nosuid,nodev ' + path, v.f_flag & 6 == 6)
need('nosuid,nodev /mnt/data', os.statvfs('/mnt/data').f_flag & 6 == 6)
need('read-only /', os.statvfs('/').f_flag & 1)
need('read-only /usr', os.statvfs('/usr').f_flag & 1)

limit = lambda name: resource.getrlimit(getattr(resource, name))[1]
need('RLIMIT_CORE', limit('RLIMIT_CORE') == 0)
need('RLIMIT_NOFILE', 0 < limit('RLIMIT_NOFILE') <= 4096)
need('RLIMIT_FSIZE', 0 < limit('RLIMIT_FSIZE') <= 1 << 40)
need('RLIMIT_NPROC', 0 < limit('RLIMIT_NPROC') <= 1 << 16)
need('RLIMIT_MEMLOCK', limit('RLIMIT_MEMLOCK') in range(0, 1 << 24))
need('RLIMIT_MSGQUEUE', limit('RLIMIT_MSGQUEUE') == 0)
need('RLIMIT_SIGPENDING', 0 < limit('RLIMIT_SIGPENDING') <= 4096)
need('RLIMIT_DATA', 0 < limit('RLIMIT_DATA') <= 1 << 40)
need('RLIMIT_RTPRIO', limit('RLIMIT_RTPRIO') == 0)

extra = []
for fd in os.listdir('/proc/self/fd'):
    try: target = os.readlink('/proc/self/fd/' + fd)
    except OSError: continue    # the one that lists them
    if int(fd) > 2 and not target.startswith('socket:'): extra.append(target)
need('no descriptors %s' % extra, not extra)
others = [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 2]
need('no other processes', not others)
print('INCOMPLETE: ' + ', '.join(missing) if missing else 'COMPLETE')
