# class: server | kind: server
# expect: everything below /mnt/data removed, what was brought included, and the directory itself attempted: reported as deleted, nothing breaks
import os, shutil; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
for n in os.listdir(d): shutil.rmtree(os.path.join(d, n)) if os.path.isdir(os.path.join(d, n)) else os.unlink(os.path.join(d, n))
for f in (lambda: os.rmdir(d), lambda: os.rename(d, '/mnt/gone'), lambda: os.rename(d, '/tmp/gone')):
    try: f(); print('moved or removed', d)
    except OSError as e: print('refused:', e.strerror)
print('READY: emptied')
