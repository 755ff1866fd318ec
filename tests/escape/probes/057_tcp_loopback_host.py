# class: net | kind: self
# expect: host loopback listener (harness opens 127.0.0.1:47999) unreachable
import socket; hit = []; why = set()
for fam, ip in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET, '0.0.0.0'), (socket.AF_INET6, '::ffff:127.0.0.1')):
    try:
        with socket.socket(fam, socket.SOCK_STREAM) as s: s.settimeout(2); s.connect((ip, 47999)); hit.append(ip)
    except OSError as e: why.add(str(e))
print('ESCAPED: connected to the host through ' + ','.join(hit) if hit else 'HELD: %s' % sorted(why))
