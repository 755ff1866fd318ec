"""What cicada is compared with, by the scripts beside this one."""

import os
import subprocess
import sys
import time

ENV = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
PYTHON = "/usr/bin/python3"
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr",
         "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
         "--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
# What `cicada bench kernel` starts sessions with.
FIRST = "import pandas as pd; pd.DataFrame({'a': [1]}).a.sum()"
FRAME = ("import pandas as pd\n"
         "pd.DataFrame({'a': range(100), 'b': range(100, 200)}).describe()")
TIMEOUT_S = 60  # for any one answer


def now_us():
    return time.perf_counter_ns() / 1000


def jupyter_home(home):
    """ipykernel writes its connection files and its history there, not into the user's home."""
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # says so otherwise, on every start
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        os.environ[name] = home


class IpyKernel:
    """A Jupyter kernel behind jupyter_client, as notebooks and most code interpreters use it."""

    def __init__(self):
        from jupyter_client.manager import KernelManager

        self.manager = KernelManager()
        self.manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT_S)

    def run(self, code):
        """From the request to the reply on the shell channel; output is fetched afterwards."""
        start = now_us()
        request = self.client.execute(code)
        while True:
            reply = self.client.get_shell_msg(timeout=TIMEOUT_S)
            if reply["parent_header"].get("msg_id") == request:
                break
        took = now_us() - start
        if reply["content"]["status"] != "ok":
            sys.exit(f"bench: ipykernel: {reply['content']}")
        while True:
            message = self.client.get_iopub_msg(timeout=TIMEOUT_S)
            if (message["parent_header"].get("msg_id") == request
                    and message["content"].get("execution_state") == "idle"):
                return took

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
