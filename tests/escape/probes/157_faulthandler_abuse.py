# class: dos | kind: server
# expect: faulthandler dumping a thousand times a second and chained on SIGINT: output bounded, the run ends
import faulthandler, signal, sys, time
for s in (signal.SIGINT, signal.SIGUSR1, signal.SIGTERM):
    try: faulthandler.register(s, file=1, chain=False)
    except (ValueError, RuntimeError): pass
faulthandler.enable(file=1); faulthandler.dump_traceback_later(0.001, repeat=True, file=1); print('START', flush=True)
time.sleep(1); print('READY', flush=True)
