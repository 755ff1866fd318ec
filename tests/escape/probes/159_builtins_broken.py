# class: ipc | kind: server
# expect: builtins, sys and the shell taken apart: the next run answers or fails honestly; never a hang, never a forged success
import builtins, sys; print('READY: taking the shell apart', flush=True)
def no(*a, **k): raise RuntimeError('broken on purpose')
sys.stdout = sys.stderr = sys.stdin = sys.displayhook = sys.excepthook = None
try:
    sh = get_ipython(); sh.run_cell = sh.run_ast_nodes = sh.compile = sh.showtraceback = sh.run_cell_async = no
except Exception: pass
for m in [m for m in sys.modules if m.startswith(('IPython', 'traitlets', 'traceback', 'io', 'ast', 'codeop', 'linecache'))]: sys.modules[m] = None
for n in ('print', 'compile', 'exec', 'eval', '__import__', 'isinstance', 'getattr', 'len', 'repr', 'str', 'open'): setattr(builtins, n, no)
