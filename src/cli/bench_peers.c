/* What people use otherwise, timed by a Python of the host's own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/bench.h"
#include "cli/note.h"

enum { OUTPUT_MAX = 64 << 10 };

/* Prints lines "SERIES MICROSECONDS". What is not installed prints nothing. */
static const char script[] =
    "import subprocess, sys, time\n"
    "CELL = \"import pandas as pd; pd.DataFrame({'a': [1]}).a.sum()\"\n"
    "rounds = int(sys.argv[1])\n"
    "def say(series, since):\n"
    "    print(series, round((time.perf_counter() - since) * 1e6), flush=True)\n"
    "for _ in range(rounds):\n"
    "    since = time.perf_counter()\n"
    "    if subprocess.run([sys.executable, '-c', CELL], stderr=subprocess.DEVNULL).returncode:\n"
    "        break\n"
    "    say('python', since)\n"
    "try:\n"
    "    import ipykernel, pandas\n"
    "    from jupyter_client.manager import start_new_kernel\n"
    "except ImportError:\n"
    "    sys.exit()\n"
    "for _ in range(rounds):\n"
    "    since = time.perf_counter()\n"
    "    manager, client = start_new_kernel(kernel_name='python3')\n"
    "    client.execute_interactive(CELL, timeout=60, output_hook=lambda message: None)\n"
    "    say('ipykernel_start', since)\n"
    "    for _ in range(30):\n"
    "        since = time.perf_counter()\n"
    "        client.execute('1+1')\n"
    "        client.get_shell_msg(timeout=60)\n"
    "        say('ipykernel_warm', since)\n"
    "    client.stop_channels()\n"
    "    manager.shutdown_kernel(now=True)\n";

static pid_t start_script(size_t rounds, int *ret_fd, struct err *e)
{
    int pipe_fds[2];
    char count[24];
    (void)snprintf(count, sizeof count, "%zu", rounds);
    if (pipe2(pipe_fds, O_CLOEXEC))
        return err_sys(e, errno, "make a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        if (dup2(null, 0) < 0 || dup2(pipe_fds[1], 1) < 0 || dup2(null, 2) < 0)
            _exit(127);
        (void)execl("/usr/bin/python3", "/usr/bin/python3", "-c", script, count, (char *)NULL);
        _exit(127);
    }
    (void)close(pipe_fds[1]);
    if (pid < 0) {
        (void)close(pipe_fds[0]);
        return err_sys(e, errno, "fork");
    }
    *ret_fd = pipe_fds[0];
    return pid;
}

static void take_line(struct bench_peers *peers, char *line)
{
    const struct {
        const char *name;
        struct series *series;
    } all[] = {{"python", &peers->python},
               {"ipykernel_start", &peers->ipykernel_start},
               {"ipykernel_warm", &peers->ipykernel_warm}};
    char *space = strchr(line, ' ');
    struct err ignored = {0};
    uint64_t us;
    if (!space)
        return;
    *space = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(line, all[i].name) == 0 &&
            parse_u64(space + 1, 1, UINT32_MAX, &us, &ignored) == 0)
            series_add(all[i].series, (int64_t)us);
}

int bench_peers_measure(size_t rounds, struct notes *notes, struct bench_peers *ret, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    scoped(freep) char *text = malloc(OUTPUT_MAX);
    size_t len = 0;
    note(notes, "measuring python3 and ipykernel");
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "measure others");
    pid_t pid = start_script(rounds, &fd, e);
    if (pid < 0)
        return -1;
    int failed = fd_read_all(fd, text, OUTPUT_MAX - 1, &len, e);
    (void)kill(pid, SIGKILL); /* it has closed its output: all it still does is end */
    (void)waitpid(pid, NULL, 0);
    if (failed)
        return -1;
    text[len] = '\0';
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        take_line(ret, line);
    return 0;
}
