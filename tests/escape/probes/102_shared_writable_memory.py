# class: zygote | kind: self
# expect: no MAP_SHARED writable mapping inherited from the zygote
try: bad = [l.strip() for l in open('/proc/self/maps') if l.split()[1][1] == 'w' and l.split()[1][3] == 's']
except OSError: bad = []
print('ESCAPED: shared writable memory ' + ' | '.join(bad[:4]) if bad else 'HELD: every writable mapping is private')
