"""A container as Docker would make it by default, for crun.

The point of the container deployments is what such a container *refuses*: no namespaces, no mounts,
no cgroups, fourteen capabilities, clone3 answered with ENOSYS. The program that runs inside is the
harness itself, so the container needs nothing but the machine's own files, read-only, and a few
places to write. The system call rules below follow Docker's published default profile: it is an
allow-list there; here its complement is spelled out, which is shorter and can be read.
"""

import json
import os
import subprocess

CAPABILITIES = [
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW",
    "CAP_SETGID", "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE",
    "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE",
]

# Refused with EPERM to a container without further capabilities.
REFUSED = """
    acct add_key bpf clock_settime delete_module fanotify_init finit_module fsconfig fsmount fsopen
    fspick get_mempolicy init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl
    lookup_dcookie mbind migrate_pages mount mount_setattr move_mount move_pages nfsservctl
    open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root process_madvise quotactl
    quotactl_fd reboot request_key set_mempolicy set_mempolicy_home_node setdomainname sethostname
    setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd ustat vhangup
""".split()

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
NEW_NAMESPACE = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]

PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)

MASKED = [
    "/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def seccomp():
    def refuse(names, errno=1, args=None):
        rule = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno}
        if args:
            rule["args"] = args
        return rule

    rules = [refuse(REFUSED), refuse(["clone3"], errno=38)]
    rules.append(refuse(["socket"], args=[{"index": 0, "value": 40, "op": "SCMP_CMP_EQ"}]))
    for flag in NEW_NAMESPACE:
        rules.append(refuse(["clone"], args=[
            {"index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"}]))
    rules.append(refuse(["personality"], args=[
        {"index": 0, "value": value, "op": "SCMP_CMP_NE"} for value in PERSONALITIES]))
    return {"defaultAction": "SCMP_ACT_ALLOW",
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
            "syscalls": rules}


def config(args, env, cwd, uid, scratch):
    """The bundle's config.json. `scratch` is a directory of the host that is writable inside, at
    the same path; everything else is the machine's own tree, read-only."""
    caps = CAPABILITIES if uid == 0 else []
    tmpfs = ["nosuid", "nodev", "mode=1777", "size=2g"]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False, "user": {"uid": uid, "gid": uid}, "args": args, "cwd": cwd,
            "env": ["%s=%s" % item for item in sorted(env.items())],
            "capabilities": {k: caps for k in ("bounding", "effective", "permitted")},
            "noNewPrivileges": False,
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "container",
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc",
             "options": ["nosuid", "noexec", "nodev"]},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
             "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts",
             "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": tmpfs},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmp", "options": tmpfs},
            {"destination": "/var/tmp", "type": "tmpfs", "source": "tmp", "options": tmpfs},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs",
             "options": ["nosuid", "noexec", "nodev", "ro"]},
            {"destination": scratch, "type": "bind", "source": scratch,
             "options": ["bind", "rw", "nosuid", "nodev"]},
        ],
        "linux": {
            "namespaces": [{"type": t} for t in ("pid", "network", "ipc", "uts", "mount")],
            "maskedPaths": MASKED, "readonlyPaths": READ_ONLY, "seccomp": seccomp(),
        },
    }


# crun before 1.9 refuses machines with both cgroup versions mounted. Hiding them is what a
# container without cgroups means anyway. The root is bound, because the tree cannot be its own
# lower half.
START = """
set -e
mount --make-rprivate /
mount -t tmpfs none /sys/fs/cgroup
mount --bind / "$1/rootfs"
exec crun --cgroup-manager=disabled --root "$1/state" run -b "$1" "$2"
"""


def run(bundle, name, args, env, cwd, uid, scratch):
    """Runs a program in the container and returns its exit code."""
    os.makedirs(os.path.join(bundle, "rootfs"))
    with open(os.path.join(bundle, "config.json"), "w") as f:
        json.dump(config(args, env, cwd, uid, scratch), f)
    return subprocess.run(["unshare", "--mount", "sh", "-c", START, "sh", bundle, name]).returncode
