/* drop.h -- from root to the service user, for good.
 *
 *     drop_find(config.server.user, &who, e)     as root: who; otherwise: ourselves
 *     data_open(path, &who, &data, e)            made for, and given to, that user
 *     spawner_open(...)                          keeps root: the only one that does
 *     drop_to(&who, e)                           before the first thread
 *
 * Afterwards this process has one uid and one gid (real, effective, saved, of the file system), no
 * other groups, no capabilities, an empty bounding set where root may do that, and no_new_privs; it
 * is looked at again, and that it cannot go back is tried. Started as an ordinary user, it only
 * gets no_new_privs and is hidden.
 *
 * **The spawner lives by its socket, not by signals.** After the drop we may not signal it: it is
 * root. Nor would PR_SET_PDEATHSIG on it help: the signal is sent in the name of the dying parent,
 * who is another uid without capabilities, and does not arrive. It ends when its end of the socket
 * pair reads as closed, however we end, and takes every jail along. One that hangs can only be
 * killed by root: systemd does it (KillMode=mixed, TimeoutStopSec), else it is an orphan until its
 * loop turns.
 *
 * **Not dumpable.** A change of uid makes a process not dumpable, and drop_to sees to it that it
 * stays so, also as a user: keys and TLS secrets are in this memory. So there is no core dump, and
 * gdb, strace and /proc/PID/{mem,environ,maps,fd} are root's alone. Nothing here uses those of
 * itself in a way that needs it: /proc/self/{stat,status,task,ns,fd} stay readable to their own
 * process. A program that is executed is dumpable again.
 */
#ifndef DAEMON_DROP_H
#define DAEMON_DROP_H

#include <stdbool.h>
#include <sys/types.h>

struct err;

enum {
    DROP_UID = 190000,      /* when no user was named and there is none called cicada */
    DROP_UID_SMALL = 65534, /* the same where that one is not mapped, as in some containers */
    DROP_NAME_SIZE = 64,
};

struct drop_user {
    uid_t uid;
    gid_t gid;
    bool is_change;            /* false: we are that already, not being root */
    char name[DROP_NAME_SIZE]; /* for messages: "cicada", "uid 190000" */
};

/* Who `user` is: a name, a number, or "auto": the user cicada if there is one, otherwise DROP_UID,
 * which nobody on a common system has. Not nobody: files of his are everybody's who is him too.
 * Not being root, "auto" and our own name are ourselves. Fails with ERR_INVALID for a user that is
 * not there, is root, or is somebody else when we are not root; ERR_UNAVAILABLE when there is
 * nobody else to become. Reads the user database. */
int drop_find(const char *user, struct drop_user *ret, struct err *e);

enum drop_way {
    DROP_ALL,
    /* Keeps CAP_DAC_OVERRIDE and CAP_FOWNER: where a jail has no mounts of its own (tier
     * container-root) its files belong to its uid, and nobody else could read them. Weaker: such a
     * server can read and write whatever lies in its container. */
    DROP_BUT_FILES,
};

/* Becomes that user. Asserts that there is one thread. A failure leaves the process half-changed:
 * it must end. */
int drop_to(const struct drop_user *who, enum drop_way way, struct err *e);

#endif
