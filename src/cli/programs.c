#include "cli/programs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "session/spawner.h"

/* The directory this program is in. */
static int own_directory(char dir[PATH_MAX], struct err *e)
{
    ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
    if (len < 0)
        return err_sys(e, errno, "find the directory of this program (is /proc mounted?)");
    dir[len] = '\0';
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

static bool find_in(const char *dir, const char *place, struct programs *ret)
{
    int a = snprintf(ret->spawn, sizeof ret->spawn, "%s/%scicada-spawn", dir, place);
    int b = snprintf(ret->kernel, sizeof ret->kernel, "%s/%scicada-kernel", dir, place);
    int c = snprintf(ret->load, sizeof ret->load, "%s/%scicada-load", dir, place);
    return a < PATH_MAX && b < PATH_MAX && c < PATH_MAX && access(ret->spawn, X_OK) == 0 &&
           access(ret->kernel, X_OK) == 0 && access(ret->load, X_OK) == 0;
}

int programs_find(struct programs *ret, struct err *e)
{
    char dir[PATH_MAX];
    if (own_directory(dir, e))
        return -1;
    if (find_in(dir, "", ret) || find_in(dir, "../libexec/cicada/", ret))
        return 0;
    return err_set(e, ERR_NOT_FOUND,
                   "cicada-spawn, cicada-kernel and cicada-load are neither beside cicada nor in "
                   "../libexec/cicada; build or install all of them");
}

int programs_spawner(struct spawner **ret, struct err *e)
{
    struct programs programs;
    if (programs_find(&programs, e))
        return -1;
    return spawner_open(programs.spawn, programs.kernel, programs.load, ret, e);
}

bool programs_encoder(char ret[PATH_MAX])
{
    static const char *const places[] = {"encoder", "../share/cicada/encoder"};
    char dir[PATH_MAX];
    struct err ignored = {0};
    if (own_directory(dir, &ignored))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int len = snprintf(ret, PATH_MAX, "%s/%s/use-lite-q8.bin", dir, places[i]);
        if (len < PATH_MAX && access(ret, R_OK) == 0)
            return true;
    }
    return false;
}

const char *work_base(void)
{
    const char *own = getenv("CICADA_TMP"), *general = getenv("TMPDIR");
    if (own && *own)
        return own;
    return general && *general ? general : "/var/tmp";
}
