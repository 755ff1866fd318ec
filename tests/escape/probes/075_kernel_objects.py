# class: dos | kind: self
# expect: inotify, epoll, timers, eventfds, locks bounded
import ctypes, errno, os, select, fcntl, struct; L = ctypes.CDLL(None, use_errno=True); made = {}; keep = []
def grow(name, limit, make):
    n = 0
    try:
        while n < limit: keep.append(make(n)); n += 1
    except OSError: pass
    made[name] = n
    for k in keep:
        if isinstance(k, int): os.close(k)
    keep.clear()
def fd_of(r):
    if r < 0: raise OSError(ctypes.get_errno(), 'no')
    return r
def timer(i):
    t = ctypes.c_void_p()
    if L.timer_create(1, ctypes.create_string_buffer(struct.pack('<qii', 0, 0, 0) + bytes(48)), ctypes.byref(t)): raise OSError(ctypes.get_errno(), 'no')
    return ()
grow('inotify', 6000, lambda i: fd_of(L.inotify_init1(0)))
grow('epoll', 6000, lambda i: fd_of(L.epoll_create1(0)))
grow('eventfd', 6000, lambda i: fd_of(L.eventfd(0, 0)))
grow('timerfd', 6000, lambda i: fd_of(L.timerfd_create(1, 0)))
grow('timers', 6000, timer)
over = {k: v for k, v in made.items() if v >= 6000}
print('ESCAPED: unbounded %s' % over if over else 'HELD: %s' % made)
