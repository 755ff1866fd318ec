# class: proc | kind: server
# expect: the interpreter replaced by a program that exits with 0: not a success
import os; print('START', flush=True); os.execv('/bin/true', ['true'])
