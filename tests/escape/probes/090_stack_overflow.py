# class: dos | kind: server
# expect: interpreter segfault: reported as kernel death, session restartable, no core file
import sys; print('START', flush=True); sys.setrecursionlimit(1 << 30)
def f(*a): return sorted([0], key=f)
f(); print('ESCAPED: endless recursion ended')
