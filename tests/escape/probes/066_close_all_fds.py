# class: ipc | kind: server
# expect: user code closes every fd incl. 0,1,2 and the control channel: session reported dead or restarted, server unaffected
import ctypes, os; print('START', flush=True)
ctypes.CDLL(None).syscall(436, 0, ctypes.c_uint(0xffffffff), 0)
os.closerange(0, 1 << 20)
