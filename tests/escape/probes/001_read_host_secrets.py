# class: fs | kind: self
# expect: no host secret readable
c = ['/etc/shadow','/etc/gshadow','/root/.ssh/id_rsa','/root/.bash_history','/home','/root','/var/lib','/srv','/etc/ssh','/var/tmp/cicada-canary/CANARY_HOST','/run/secrets','/var/run/secrets/kubernetes.io']
import os; hit = []
for x in c:
    try: hit.append(x + ':' + (str(len(os.listdir(x))) if os.path.isdir(x) else repr(open(x).read(12))))
    except OSError: pass
print('ESCAPED: host paths visible ' + ' '.join(hit) if hit else 'HELD: none of %d host paths readable' % len(c))
