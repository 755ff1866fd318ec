# class: dos | kind: server
# expect: a background process keeps stdout open and goes on writing after the run: the run ends at once all the same
import os, sys, time
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0:
        end = time.time() + 30
        while time.time() < end:
            try: os.write(1, b'late line\n')
            except OSError: pass
            time.sleep(0.001)
    os._exit(0)
os.wait(); print('READY: the run is over now')
