# class: zygote | kind: pair
# expect: INFO: flock on a shared read-only inode is visible across sessions (covert channel); isolate blocks it, we document it
import fcntl, os, time
try:
    fd = os.open(os.__file__, os.O_RDONLY); fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); time.sleep(2); print('INFO: took the lock alone')
except BlockingIOError: print('INFO: a sibling holds the lock: covert channel of one bit')
except OSError as e: print('INFO: locks refused:', e.strerror)
