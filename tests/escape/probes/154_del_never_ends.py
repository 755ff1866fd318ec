# class: dos | kind: kill
# expect: a destructor that never returns, run when the cell ends: ended at the limit
class D:
    def __del__(self):
        while True:
            try:
                while True: pass
            except BaseException: pass
print('START', flush=True); d = D(); del d
