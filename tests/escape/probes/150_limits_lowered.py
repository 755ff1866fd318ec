# class: dos | kind: server
# expect: limits lowered under the interpreter (descriptors, address space, CPU seconds): an honest end, no hang, no false success of the next run
import resource as R; print('START', flush=True)
for k, v in ((R.RLIMIT_NOFILE, 3), (R.RLIMIT_NPROC, 0), (R.RLIMIT_FSIZE, 0), (R.RLIMIT_STACK, 65536), (R.RLIMIT_CPU, 1)):
    try: R.setrlimit(k, (v, v))
    except (OSError, ValueError) as e: print(e)
print('READY', flush=True)
while True: pass
