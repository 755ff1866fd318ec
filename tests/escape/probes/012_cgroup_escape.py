# class: fs | kind: self
# expect: no cgroup file system is visible or writable (release_agent, cgroup.procs, memory limit)
import os; hit = []; seen = 0
tops = ['/sys/fs/cgroup']
try: tops += [l.split()[1] for l in open('/proc/self/mounts') if l.split()[2].startswith('cgroup')]
except OSError: pass
knobs = {'release_agent', 'notify_on_release', 'cgroup.procs', 'cgroup.kill', 'tasks', 'memory.limit_in_bytes', 'memory.max', 'pids.max', 'cpu.max', 'cpu.cfs_quota_us', 'devices.allow'}
for top in tops:
    for d, dirs, files in os.walk(top):
        for f in knobs & set(files):
            seen += 1
            try: os.close(os.open(os.path.join(d, f), os.O_WRONLY)); hit.append(os.path.join(d, f))
            except OSError: pass
print('ESCAPED: writable ' + ','.join(hit[:6]) if hit else 'HELD: %d control files visible, none writable' % seen)
