# class: proc | kind: server
# expect: the interpreter replaced by another program that stays silent: ended at once or at the time limit, never taken for a kernel
import os; print('START', flush=True); os.execv('/bin/sleep', ['sleep', '60'])
