#include "cli/state_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"

/* Makes every directory of a path up to its last slash. */
static int make_parents(char *path, struct err *e)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = mkdir(path, 0700) && errno != EEXIST ? errno : 0;
        *slash = '/';
        if (failed)
            return err_sys(e, failed, "make the directory for what cicada remembers");
    }
    return 0;
}

int state_path(const char *name, char ret[PATH_MAX], struct err *e)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int len;
    if (state && state[0] == '/')
        len = snprintf(ret, PATH_MAX, "%s/cicada/%s", state, name);
    else if (home && home[0] == '/')
        len = snprintf(ret, PATH_MAX, "%s/.local/state/cicada/%s", home, name);
    else
        return err_set(e, ERR_NOT_FOUND, "no home directory; set HOME or XDG_STATE_HOME");
    if (len < 0 || len >= PATH_MAX)
        return err_set(e, ERR_INVALID, "the path of the home directory is too long");
    return make_parents(ret, e);
}
