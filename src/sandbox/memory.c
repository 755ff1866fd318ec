#include "sandbox/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/scope.h"
#include "sandbox/procs.h"

/* The number of kB behind `name` at the beginning of a line; 0 when there is none. */
static uint64_t kilobytes(const char *text, const char *name)
{
    char wanted[32];
    unsigned long long kb = 0;
    snprintf(wanted, sizeof wanted, "\n%s:", name);
    const char *found = strstr(text, wanted);
    if (!found || sscanf(found + strlen(wanted), "%llu", &kb) != 1)
        return 0;
    return kb;
}

/* The pages that only swap or killing would free, those shared with others divided by the number of
 * sharers. Without the right to ask for that, what the process alone says counts in full. */
static bool thread_memory(pid_t pid, pid_t tid, uint64_t *bytes)
{
    char name[48], text[4096];
    snprintf(name, sizeof name, "task/%d/smaps_rollup", (int)tid);
    if (proc_read(pid, name, text, sizeof text) && *text) {
        *bytes += 1024 * (kilobytes(text, "Pss_Anon") + kilobytes(text, "Pss_Shmem") +
                          kilobytes(text, "SwapPss"));
        return true;
    }
    snprintf(name, sizeof name, "task/%d/status", (int)tid);
    if (!proc_read(pid, name, text, sizeof text) || !strstr(text, "\nRssAnon:"))
        return false; /* gone, or exited before the others of its process */
    *bytes += 1024 * (kilobytes(text, "RssAnon") + kilobytes(text, "RssShmem") +
                      kilobytes(text, "VmSwap"));
    return true;
}

/* Adds the CPU time of a process and of the children it has waited for. False when it is gone. */
static bool process_cpu(pid_t pid, uint64_t *cpu_us)
{
    char text[1024], state;
    unsigned long long ticks[4];
    if (!proc_read(pid, "stat", text, sizeof text))
        return false;
    const char *after_name = strrchr(text, ')'); /* the name may hold anything, also brackets */
    if (!after_name ||
        sscanf(after_name + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
               &state, &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 5)
        return false;
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    *cpu_us += (ticks[0] + ticks[1] + ticks[2] + ticks[3]) * 1000000 / per_second;
    return true;
}

/* All threads have children of their own, but one memory: the first that shows it will do. */
static void process_threads(struct procs *p, pid_t pid, uint64_t *bytes)
{
    struct dir tasks;
    bool has_memory = false;
    dir_init(&tasks, proc_open(pid, "task"));
    if (tasks.fd < 0)
        return;
    for (const struct dirent64 *entry; (entry = dir_next(&tasks));) {
        pid_t tid = proc_number(entry->d_name);
        procs_add_children(p, pid, tid);
        has_memory = has_memory || thread_memory(pid, tid, bytes);
    }
    dir_done(&tasks);
}

void memory_begin(struct memory_scan *m, pid_t init)
{
    procs_begin(&m->procs, init);
    m->bytes = m->cpu_us = 0;
    m->is_there = false;
}

bool memory_step(struct memory_scan *m)
{
    pid_t pid;
    if (!procs_next(&m->procs, &pid))
        return true;
    bool is_alive = process_cpu(pid, &m->cpu_us);
    m->is_there = m->is_there || (is_alive && pid == m->procs.init);
    process_threads(&m->procs, pid, &m->bytes);
    return false;
}

void memory_done(struct memory_scan *m)
{
    procs_done(&m->procs);
}
