# class: dos | kind: server
# expect: os._exit / SIGKILL self: server reports the kernel as dead with the code, not as success
import os; print('START', flush=True); os._exit(41)
