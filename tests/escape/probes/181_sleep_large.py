# class: image | kind: server
# expect: a session that has nearly as much memory as it may have sleeps and wakes within its limit, every byte as it was
import hashlib, os; ballast = os.urandom(300 << 20); digest = hashlib.sha256(ballast).hexdigest()
print('READY: %d MiB' % (len(ballast) >> 20))
