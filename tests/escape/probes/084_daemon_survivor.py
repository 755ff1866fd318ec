# class: dos | kind: server
# expect: double-forked, setsid, signal-ignoring daemon writes heartbeat.txt; after the session ends the heartbeat must stop within 1 s
import os, signal, time; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0:
        for s in range(1, 65):
            try: signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError): pass
        os.closerange(0, 256); end = time.time() + 20
        while time.time() < end:
            fd = os.open(d + '/heartbeat.txt', os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644); os.write(fd, b'%d\n' % time.time()); os.close(fd); time.sleep(0.05)
    os._exit(0)
os.wait(); time.sleep(0.3); print('HELD: daemon started; it must not outlive the session')
