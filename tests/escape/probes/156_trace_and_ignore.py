# class: dos | kind: kill
# expect: SIGINT ignored, a trace function that restarts the loop, a thread that never lets go: ended at the limit
import signal, sys, threading; print('START', flush=True); signal.signal(signal.SIGINT, signal.SIG_IGN); sys.setswitchinterval(1000)
def trace(f, e, a): return trace
sys.settrace(trace); threading.settrace(trace)
def loop():
    while True: pass
threading.Thread(target=loop, daemon=True).start(); loop()
