#include "kernel/rest.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "image/bake.h"
#include "image/birth.h"
#include "image/context.h"
#include "image/delta.h"
#include "image/format.h"
#include "image/machine.h"
#include "image/places.h"
#include "image/raw.h"

static struct {
    struct machine machine; /* read when the image was baked; valid in everything made from it */
    struct birth birth;
    uint64_t image_bytes;
    bool is_image;
} rest;

/* In a process that has just been put together. The loader's memory is gone after this. */
static int begin(uint64_t came)
{
    rest.birth = *(const struct birth *)(uintptr_t)came;
    rest.is_image = true;
    rest.image_bytes = ((const struct image_head *)(uintptr_t)BASE_START)->file_len;
    (void)raw_munmap(LOADER_START, LOADER_END - LOADER_START);
    return 1;
}

int rest_bake(int image_fd, const char *deps, size_t deps_len, struct err *e)
{
    long failed = machine_read(&rest.machine);
    if (failed)
        return err_sys(e, (int)-failed, "find out about the process");
    uint64_t came = context_save(rest.machine.registers);
    if (came)
        return begin(came);
    const char *step = "";
    failed = bake_write(image_fd, &rest.machine, deps, deps_len, &step);
    return failed ? err_sys(e, (int)-failed, "%s", step) : 0;
}

int rest_sleep(int fd, const char **ret_why)
{
    machine_refresh(&rest.machine);
    uint64_t came = context_save(rest.machine.registers);
    if (came)
        return begin(came);
    return delta_write(fd, &rest.machine, ret_why);
}

int rest_copy(void)
{
    const struct machine *m = &rest.machine;
    /* CLONE_PARENT: the session does not find it among its children. */
    long pid = raw6(SYS_clone, CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
                    0, 0, m->tid_address, 0, 0);
    if (pid < 0) {
        errno = (int)-pid;
        return -1;
    }
    if (pid > 0)
        return 0;
    (void)raw3(SYS_set_robust_list, m->robust_list, m->robust_len, 0);
    (void)raw3(SYS_setsid, 0, 0, 0); /* an interrupt of the original's group is not for the copy */
    return 1;
}

long rest_trim(void)
{
    if (!rest.is_image)
        return 0;
    /* A signal handler could write to a page between the look and the giving back. */
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    long given = delta_trim();
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return given > 0 ? given : 0;
}

bool rest_is_image(void)
{
    return rest.is_image;
}

int rest_control(void)
{
    return rest.is_image ? rest.birth.control : -1;
}

uint64_t rest_image_bytes(void)
{
    return rest.image_bytes;
}

int rest_lost_files(void)
{
    return rest.birth.lost_files;
}
