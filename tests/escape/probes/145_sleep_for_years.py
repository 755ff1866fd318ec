# class: dos | kind: kill
# expect: sleeping until the year 3000 with every signal blocked: ended at the limit
import signal, time; print('START', flush=True); signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); time.sleep(9e8); print('ESCAPED')
