# class: dos | kind: self
# expect: threads with 64 MiB stacks each, all touched, are ended by the memory or the pids limit
import threading; threading.stack_size(64 << 20); n = 0; ev = threading.Event(); keep = []
def eat(): keep.append(bytearray(b'x' * (8 << 20))); ev.wait(10)
try:
    for i in range(300): threading.Thread(target=eat, daemon=True).start(); n += 1
    print('ESCAPED: 300 threads with 8 MiB each')
except (RuntimeError, MemoryError) as e: print('HELD: %d threads then %s' % (n, e))
ev.set()
