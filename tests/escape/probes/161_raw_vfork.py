# class: proc | kind: server
# expect: vfork called raw, so that two processes run on one stack: an honest end of this session only
import ctypes, os; print('START', flush=True); L = ctypes.CDLL(None); L.syscall(58); os.write(1, b'READY\n')
