# class: server | kind: server
# expect: server must never return the target of a symlink in /mnt/data (SandboxFusion-style open(join(root,name)) leak); download = error or the link itself, never host content
import os; d = '/mnt/data' if os.access('/mnt/data', os.W_OK) else '.'
for n, t in (('leak_shadow.txt', '/etc/shadow'), ('leak_canary.txt', '/var/tmp/cicada-canary/CANARY_HOST'), ('leak_rel.txt', '../../../../../../../../etc/passwd'), ('leak_proc.txt', '/proc/self/environ'), ('leak_dir', '/'), ('leak_db', '/var/lib')):
    try: os.unlink(os.path.join(d, n))
    except OSError: pass
    os.symlink(t, os.path.join(d, n))
print('READY: 6 symlinks placed; the server must not follow them when listing, hashing, capturing, previewing or downloading')
