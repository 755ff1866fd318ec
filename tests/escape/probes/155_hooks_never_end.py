# class: dos | kind: kill
# expect: excepthook, displayhook, unraisablehook and IPython hooks that never return: ended at the limit
import sys; print('START', flush=True)
def hang(*a, **k):
    while True:
        try:
            while True: pass
        except BaseException: pass
sys.excepthook = sys.displayhook = sys.unraisablehook = hang
try: get_ipython().set_custom_exc((Exception,), hang); get_ipython().events.register('post_execute', hang); get_ipython().events.register('post_run_cell', hang)
except Exception: pass
class R:
    def __repr__(self): hang()
    _repr_html_ = __repr__
R()
