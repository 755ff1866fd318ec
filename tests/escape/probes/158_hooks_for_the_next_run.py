# class: ipc | kind: server
# expect: audit, import, gc and profile hooks left behind to break the next run of the session: it answers, or says honestly that it failed, in its time
import builtins, gc, sys
class Finder:
    def find_spec(self, *a): raise ImportError('left behind')
sys.meta_path.insert(0, Finder()); sys.path_hooks.insert(0, lambda p: 1 / 0); sys.path[:] = ['/nowhere']
gc.callbacks.append(lambda *a: 1 / 0); gc.set_threshold(1); sys.setprofile(lambda *a: None); sys.settrace(lambda *a: None)
print('READY: hooks are in place', flush=True)
sys.addaudithook(lambda e, a: 1 / 0 if e in ('compile', 'exec', 'open', 'import', 'object.__getattr__') else None)
