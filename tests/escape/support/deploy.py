"""The ways the product is deployed, each as a way to start the harness itself again.

    root             as it is started: the full tier with everything a root process has
    user             as an unprivileged uid that owns nothing but its scratch directory
    container-root   in a container without namespaces (see oci.py), as its root
    container-user   in the same container as uid 1000

The harness that runs inside does not know the difference but for its name. For everything but root
the programs and the probes are copied to a directory that is readable by all.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from . import host, oci

USER = 65533
PROGRAMS = ("cicada", "cicada-spawn", "cicada-kernel", "cicada-load", "tests/jails/jails",
            "tests/jails/player")


def copy_tree(cicada, live, uid):
    """A directory with bin/, tests/ and a scratch/ that belongs to `uid`."""
    top = tempfile.mkdtemp(prefix="escape-", dir="/var/tmp")
    os.chmod(top, 0o755)
    tests = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for name in ("escape", "faults"):
        shutil.copytree(os.path.join(tests, name), os.path.join(top, "tests", name),
                        ignore=shutil.ignore_patterns("__pycache__"))
    os.makedirs(os.path.join(top, "bin/tests/jails"))
    for name in PROGRAMS:
        shutil.copy(os.path.join(os.path.dirname(cicada), name), os.path.join(top, "bin", name))
    if live:
        shutil.copy(live, os.path.join(top, "bin", "live"))
    os.mkdir(os.path.join(top, "scratch"))
    os.chown(os.path.join(top, "scratch"), uid, uid)
    for base, dirs, files in os.walk(top):
        for name in dirs:
            os.chmod(os.path.join(base, name), 0o755)
        for name in files:
            os.chmod(os.path.join(base, name), os.stat(os.path.join(base, name)).st_mode | 0o555)
    return top


def environment(top, live):
    env = {"PATH": "/usr/bin:/bin", "HOME": os.path.join(top, "scratch"), "LANG": "C.UTF-8",
           "TMPDIR": os.path.join(top, "scratch"), "PYTHONDONTWRITEBYTECODE": "1",
           "CICADA": os.path.join(top, "bin", "cicada")}
    if live:
        env["CICADA_LIVE"] = os.path.join(top, "bin", "live")
    return env


def elsewhere(deployment, script, arguments, cicada, live):
    """Runs `script`, named from tests/, again as `deployment`; its exit code."""
    uid = {"user": USER, "bare": USER, "container-root": 0, "container-user": 1000}[deployment]
    top = copy_tree(cicada, live, uid)
    env = environment(top, live)
    command = [sys.executable, os.path.join(top, "tests", script),
               "--inside", deployment, *arguments]
    try:
        if deployment.startswith("container"):
            bundle = tempfile.mkdtemp(prefix="bundle-", dir=top)
            return oci.run(bundle, "cicada-test-%d" % os.getpid(), command, env, top, uid, top)
        return subprocess.run(
            ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", *command],
            env=env, cwd=os.path.join(top, "scratch")).returncode
    finally:
        host.remove_tree(top)
