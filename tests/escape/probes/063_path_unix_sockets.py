# class: net | kind: self
# expect: no control socket of the server, docker.sock, dbus, or agent socket reachable by path (harness listens on canary.sock; Landlock < ABI 9 does not stop connect() to a path socket)
import glob, os, socket, stat; hit = []
paths = ['/var/tmp/cicada-canary/canary.sock', '/run/docker.sock', '/var/run/docker.sock', '/run/containerd/containerd.sock', '/run/dbus/system_bus_socket', '/run/systemd/private', '/run/systemd/journal/socket', '/dev/log', '/run/cicada.sock', os.environ.get('SSH_AUTH_SOCK', '')]
for pattern in ('/run/user/*/bus', '/tmp/ssh-*/agent.*', '/run/*.sock', '/run/*/*.sock', '/var/run/*/*', '/tmp/*', '/proc/*/root/var/tmp/cicada-canary/canary.sock'):
    for p in glob.glob(pattern):
        try:
            if stat.S_ISSOCK(os.stat(p).st_mode): paths.append(p)
        except OSError: pass
for p in filter(None, paths):
    for t in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, t) as s: s.settimeout(1); s.connect(p); hit.append(p); break
        except OSError: pass
print('ESCAPED: connected to ' + ','.join(hit) if hit else 'HELD: none of %d sockets reachable' % len(paths))
