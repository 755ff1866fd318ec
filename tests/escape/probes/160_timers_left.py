# class: ipc | kind: server
# expect: interval timers, alarms and signal handlers left running every millisecond: the next run still answers
import signal; signal.signal(signal.SIGALRM, lambda *a: None); signal.signal(signal.SIGVTALRM, lambda *a: None); signal.signal(signal.SIGPROF, lambda *a: None); signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for t in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF): signal.setitimer(t, 0.001, 0.001)
print('READY: timers run on')
