#include "daemon/drop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"

/* ThreadSanitizer may have a thread of its own. */
#if defined(__SANITIZE_THREAD__)
#define OWN_THREADS 2
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OWN_THREADS 2
#endif
#endif
#ifndef OWN_THREADS
#define OWN_THREADS 1
#endif

enum { PASSWD_MAX = 64 << 10, CAPABILITIES_MAX = 64 };

#define SERVICE_USER "cicada"

/* 1 and the entry, 0 when there is none of that name. */
static int look_up(const char *name, struct drop_user *ret, struct err *e)
{
    struct passwd entry, *found = NULL;
    scoped(freep) char *space = malloc(PASSWD_MAX);
    if (!space)
        return err_set(e, ERR_NO_MEMORY, "look up a user");
    int why = getpwnam_r(name, &entry, space, PASSWD_MAX, &found);
    if (why && why != ENOENT)
        return err_sys(e, why, "look up the user %.60s", name);
    if (!found)
        return 0;
    ret->uid = entry.pw_uid;
    ret->gid = entry.pw_gid;
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    return 1;
}

static void number(uid_t uid, struct drop_user *ret)
{
    ret->uid = uid;
    ret->gid = (gid_t)uid;
    (void)snprintf(ret->name, sizeof ret->name, "uid %u", uid);
}

/* Is the number one that this user namespace knows? In a container only some are. */
static bool is_mapped(uid_t uid)
{
    unsigned long long first, count;
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool is_there = !map; /* without /proc nothing is known; setresuid will say */
    while (map && fscanf(map, "%llu %*u %llu", &first, &count) == 2)
        is_there = is_there || (uid >= first && uid - first < count);
    if (map)
        (void)fclose(map);
    return is_there;
}

static int choose(struct drop_user *ret, struct err *e)
{
    int found = look_up(SERVICE_USER, ret, e);
    if (found != 0)
        return found < 0 ? -1 : 0;
    uid_t uid = is_mapped(DROP_UID) ? DROP_UID : DROP_UID_SMALL;
    if (!is_mapped(uid))
        return err_set(e, ERR_UNAVAILABLE,
                       "root is the only user in this user namespace; start the server outside of "
                       "it, as an ordinary user");
    number(uid, ret);
    return 0;
}

/* A number is taken as it is; its group is that of the user with the number, if there is one. */
static int by_number(uid_t uid, struct drop_user *ret, struct err *e)
{
    struct passwd entry, *found = NULL;
    scoped(freep) char *space = malloc(PASSWD_MAX);
    if (!space)
        return err_set(e, ERR_NO_MEMORY, "look up a user");
    number(uid, ret);
    if (getpwuid_r(uid, &entry, space, PASSWD_MAX, &found) == 0 && found)
        ret->gid = found->pw_gid;
    return 0;
}

static int named(const char *user, struct drop_user *ret, struct err *e)
{
    uint64_t uid;
    struct err ignored = {0};
    if (parse_u64(user, 0, INT32_MAX, &uid, &ignored) == 0)
        return by_number((uid_t)uid, ret, e);
    int found = look_up(user, ret, e);
    if (found == 0)
        return err_set(
            e, ERR_INVALID,
            "there is no user '%.60s'; make one (useradd --system) or change server.user", user);
    return found < 0 ? -1 : 0;
}

static int as_myself(const char *user, struct drop_user *ret, struct err *e)
{
    struct drop_user asked = {.uid = geteuid(), .gid = getegid(), .name = "the same user"};
    if (strcmp(user, "auto") != 0 && named(user, &asked, e))
        return -1;
    if (asked.uid != geteuid())
        return err_set(e, ERR_INVALID, "only root can run the server as %.60s", asked.name);
    asked.gid = getegid();
    *ret = asked;
    return 0;
}

int drop_find(const char *user, struct drop_user *ret, struct err *e)
{
    if (geteuid() != 0)
        return as_myself(user, ret, e);
    struct drop_user found = {.is_change = true};
    if (strcmp(user, "auto") == 0 ? choose(&found, e) : named(user, &found, e))
        return -1;
    if (found.uid == 0 || found.gid == 0)
        return err_set(e, ERR_INVALID,
                       "server.user must not be root or in its group: only the spawner needs that");
    *ret = found;
    return 0;
}

/* A uid is a thread's, in the kernel's eyes; glibc only pretends otherwise. */
static bool is_alone(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) != 0 || st.st_nlink <= 2 + OWN_THREADS;
}

/* So that even a program with file capabilities would get none. no_new_privs sees to that too, so
 * a container in which root may not do it is no reason to stop. */
static void empty_bounding_set(void)
{
    for (int cap = 0; cap < CAPABILITIES_MAX; cap++)
        if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
            (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static int change_ids(const struct drop_user *who, struct err *e)
{
    if (setgroups(0, NULL))
        return err_sys(e, errno, "leave all groups");
    if (setresgid(who->gid, who->gid, who->gid))
        return err_sys(e, errno, "become group %u", who->gid);
    if (setresuid(who->uid, who->uid, who->uid))
        return err_sys(e, errno, "become %s", who->name);
    return 0;
}

/* Of the first 32 capabilities; none of the others is ever kept. */
static uint32_t kept(enum drop_way way)
{
    return way == DROP_BUT_FILES ? 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER : 0;
}

static int clear_capabilities(enum drop_way way, struct err *e)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rest[2] = {{.effective = kept(way), .permitted = kept(way)}};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
        return err_sys(e, errno, "clear ambient capabilities");
    if (syscall(SYS_capset, &head, rest))
        return err_sys(e, errno, "drop all capabilities");
    return 0;
}

static int close_up(struct err *e)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return err_sys(e, errno, "set no_new_privs");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return err_sys(e, errno, "hide from debuggers");
    return 0;
}

static bool has_others(enum drop_way way)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2] = {{0}};
    if (syscall(SYS_capget, &head, held))
        return true;
    uint32_t fine[2] = {kept(way), 0};
    for (int i = 0; i < 2; i++)
        if (held[i].effective != fine[i] || held[i].permitted != fine[i] || held[i].inheritable)
            return true;
    for (int cap = 0; cap < CAPABILITIES_MAX; cap++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
            return true;
    return false;
}

/* setfsuid says what it was; asking for an impossible id changes nothing. */
static bool is_only(const struct drop_user *who)
{
    uid_t r, e, s;
    gid_t gr, ge, gs;
    return getresuid(&r, &e, &s) == 0 && getresgid(&gr, &ge, &gs) == 0 && r == who->uid &&
           e == who->uid && s == who->uid && gr == who->gid && ge == who->gid && gs == who->gid &&
           (uid_t)setfsuid((uid_t)-1) == who->uid && (gid_t)setfsgid((gid_t)-1) == who->gid &&
           getgroups(0, NULL) == 0;
}

/* Trusting the calls above would do, if no kernel ever had a bug there. */
static int verify(const struct drop_user *who, enum drop_way way, struct err *e)
{
    if (!is_only(who))
        return err_set(e, ERR_INTERNAL, "did not become %s entirely", who->name);
    if (has_others(way) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return err_set(e, ERR_INTERNAL, "capabilities were left after becoming %s", who->name);
    if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0)
        return err_set(e, ERR_INTERNAL, "could become root again");
    return 0;
}

int drop_to(const struct drop_user *who, enum drop_way way, struct err *e)
{
    assert(is_alone());
    if (!who->is_change)
        return close_up(e);
    empty_bounding_set();
    if (way == DROP_BUT_FILES && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
        return err_sys(e, errno, "keep capabilities");
    if (change_ids(who, e) || clear_capabilities(way, e) || close_up(e) || verify(who, way, e))
        return err_wrap(e, "give up root");
    return 0;
}
