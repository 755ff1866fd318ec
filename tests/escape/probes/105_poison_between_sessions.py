# class: zygote | kind: pair
# expect: state planted here must not be visible in a new session
import builtins, os, sys; seen = []
places = ('/tmp/ci_poison', '/dev/shm/ci_poison', '/mnt/data/ci_poison', '/var/tmp/ci_poison', '/run/lock/ci_poison', os.path.expanduser('~/ci_poison'))
seen += [f for f in places if os.path.exists(f)]
for f in places:
    try: open(f, 'w').write('poison')
    except OSError: pass
if hasattr(builtins, 'ci_poison') or 'ci_poison' in sys.modules or 'CI_POISON' in os.environ or 'ci_poison_variable' in globals(): seen.append('interpreter state')
builtins.ci_poison = 1; sys.modules['ci_poison'] = sys; os.environ['CI_POISON'] = '1'; ci_poison_variable = 1
print('ESCAPED: found %s' % seen if seen else 'HELD: nothing planted yet (run again in a NEW session)')
