#include "image/machine.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/rseq.h>

#include "image/raw.h"

enum { STAT_START_CODE = 26, STAT_FIELDS = 52 };

/* The numbers of /proc/self/stat by their place in proc(5). The second, the name, may hold anything:
 * counting starts behind its closing bracket. */
static long read_stat(uint64_t fields[STAT_FIELDS])
{
    char text[2048];
    long fd = raw_open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fd;
    long len = raw_read((int)fd, text, sizeof text);
    (void)raw_close((int)fd);
    if (len <= 0)
        return len;
    long at = len - 1;
    while (at > 0 && text[at] != ')')
        at--;
    int field = 2;
    bool in_number = false;
    for (at++; at < len && field < STAT_FIELDS; at++) {
        if (text[at] >= '0' && text[at] <= '9') {
            fields[field] = (in_number ? fields[field] * 10 : 0) + (uint64_t)(text[at] - '0');
            in_number = true;
        } else if (text[at] == ' ') {
            field++;
            in_number = false;
        }
    }
    return field < STAT_FIELDS - 1 ? -1 : 0;
}

static long read_places(struct machine *m)
{
    uint64_t stat[STAT_FIELDS] = {0};
    long failed = read_stat(stat);
    m->start_code = stat[STAT_START_CODE];
    m->end_code = stat[27];
    m->start_stack = stat[28];
    m->start_data = stat[45];
    m->end_data = stat[46];
    m->brk_start = stat[47];
    m->arg_start = stat[48];
    m->arg_end = stat[49];
    m->env_start = stat[50];
    m->env_end = stat[51];
    return failed;
}

long machine_read(struct machine *m)
{
    long failed = read_places(m);
    if (!failed)
        failed = raw3(SYS_arch_prctl, ARCH_GET_FS, raw_address(&m->fs_base), 0);
    if (!failed)
        failed = raw3(SYS_prctl, PR_GET_TID_ADDRESS, raw_address(&m->tid_address), 0);
    if (!failed)
        failed =
            raw3(SYS_get_robust_list, 0, raw_address(&m->robust_list), raw_address(&m->robust_len));
    m->rseq = m->fs_base + (uint64_t)__rseq_offset;
    m->rseq_len = sizeof(struct rseq); /* what glibc registers, whatever part of it it uses */
    machine_refresh(m);
    return failed;
}

void machine_refresh(struct machine *m)
{
    m->brk_end = (uint64_t)raw3(SYS_brk, 0, 0, 0);
    for (uint64_t i = 1; i <= IMAGE_SIGNALS; i++)
        (void)raw6(SYS_rt_sigaction, i, 0, raw_address(m->signals[i]), 8, 0, 0);
}
