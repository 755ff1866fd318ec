# class: server | kind: server
# expect: mode-000 files/dirs must not break capture or deletion (server walks as owner/root with openat, reports an error for the file, still deletes)
import os; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'; os.chdir(d)
os.makedirs('closed/inner/more', exist_ok=True); open('closed/inner/x.txt', 'w').write('x'); open('secret.txt', 'w').write('y'); open('plain.txt', 'w').write('z')
os.chmod('secret.txt', 0); os.chmod('closed/inner/x.txt', 0); os.chmod('closed/inner/more', 0); os.chmod('closed/inner', 0); os.chmod('closed', 0)
print('READY: mode 000 on two files and three directories')
