# class: ipc | kind: server
# expect: fork without atfork handlers, and both processes return from the cell: the copy must not serve as a second kernel unnoticed
import ctypes, os; L = ctypes.CDLL(None); L.syscall(57); os.fork(); os.write(1, b'READY\n')
