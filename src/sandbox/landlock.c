#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scope.h"

/* The interface, in our own words: the headers of Debian 12 know only the first two ABIs. */
enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

struct path_beneath {
    uint64_t access;
    int32_t parent_fd;
} __attribute__((packed));

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_MAKE_SOCK = 1 << 9,
    FS_MAKE_FIFO = 1 << 10,
    FS_MAKE_BLOCK = 1 << 11,
    FS_MAKE_SYM = 1 << 12,
    FS_REFER = 1 << 13,
    FS_TRUNCATE = 1 << 14,
    FS_IOCTL_DEV = 1 << 15,
    FS_RESOLVE_UNIX = 1 << 16,

    FS_OF_ABI_1 = FS_REFER - 1,
    FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE,

    NET_BIND_TCP = 1 << 0,
    NET_CONNECT_TCP = 1 << 1,

    SCOPE_ABSTRACT_SOCKET = 1 << 0,
    SCOPE_SIGNAL = 1 << 1,
};

/* FS_IOCTL_DEV and FS_RESOLVE_UNIX are granted to nobody: no device of a jail needs an ioctl, and a
 * socket made inside the fence can be reached without. */
static const uint64_t grants[] = {
    [LANDLOCK_READ] = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
    [LANDLOCK_LIST] = FS_READ_DIR,
    [LANDLOCK_DEV] = FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE,
    [LANDLOCK_WRITE] = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE |
                       FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK |
                       FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER,
};

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

struct landlock_handled landlock_handled(int abi)
{
    struct landlock_handled all = {0};
    if (abi >= 1)
        all.fs |= FS_OF_ABI_1;
    if (abi >= 2)
        all.fs |= FS_REFER;
    if (abi >= 3)
        all.fs |= FS_TRUNCATE;
    if (abi >= 4)
        all.net |= NET_BIND_TCP | NET_CONNECT_TCP;
    if (abi >= 5)
        all.fs |= FS_IOCTL_DEV;
    if (abi >= 6)
        all.scoped |= SCOPE_ABSTRACT_SOCKET | SCOPE_SIGNAL;
    if (abi >= 9)
        all.fs |= FS_RESOLVE_UNIX;
    return all;
}

uint64_t landlock_access(enum landlock_right right, bool is_dir, int abi)
{
    uint64_t access = grants[right] & landlock_handled(abi).fs;
    return is_dir ? access : access & FS_OF_FILES;
}

static int add(int ruleset, const struct landlock_rule *rule, int abi)
{
    scoped(fd_closep) int fd = open(rule->path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return rule->optional && errno == ENOENT ? 0 : errno;
    struct stat st;
    if (fstat(fd, &st))
        return errno;
    struct path_beneath beneath = {.access = landlock_access(rule->right, S_ISDIR(st.st_mode), abi),
                                   .parent_fd = fd};
    if (beneath.access == 0)
        return ENOTDIR; /* LANDLOCK_LIST of a file */
    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &beneath, 0))
        return errno;
    return 0;
}

int landlock_restrict(const struct landlock_rule *rules, size_t count, const char **ret_path)
{
    *ret_path = NULL;
    int abi = landlock_abi();
    if (abi < 1)
        return ENOSYS;
    /* An older kernel takes the longer struct as long as what it does not know is zero. */
    struct landlock_handled handled = landlock_handled(abi);
    scoped(fd_closep) int ruleset =
        (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (ruleset < 0)
        return errno;
    for (size_t i = 0; i < count; i++) {
        int why = add(ruleset, &rules[i], abi);
        if (why) {
            *ret_path = rules[i].path;
            return why;
        }
    }
    return syscall(SYS_landlock_restrict_self, ruleset, 0) ? errno : 0;
}
