/* birth.h -- to begin with the memory of another process.
 *
 * A kernel that starts from an image, wakes or is a copy finds its memory filled and everything else
 * new. Two things follow.
 *
 * Some of what the OS keeps for a process is not in memory: `struct outside` carries it over.
 *
 * And everything random is the same in all that start from one image. While an image is made, the
 * states of generators are marked; at birth each is filled anew, in place: three pages and 40 us,
 * where seeding them through Python costs 600. What has to be found by searching, because a session
 * made it, is birth.py's.
 */
#ifndef KERNEL_BIRTH_H
#define KERNEL_BIRTH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { BIRTH_MARKS_MAX = 64 };

/* What the OS keeps, beside open files and directories, which are rest.py's. */
struct outside {
    stack_t signal_stack;
    char name[16];
};

void outside_note(struct outside *o);
void outside_restore(const struct outside *o);

/* Marks bytes to be filled at birth. `index`, if not NULL, is set to `index_value` then: how far a
 * generator has used up its state. False when there are too many. */
bool birth_mark(void *bytes, size_t len, int32_t *index, int32_t index_value);

/* Fills all that is marked, or of that only generators: what has an index. Other bytes may have been
 * seen by the session's code by then. */
enum birth_which { BIRTH_ALL, BIRTH_GENERATORS };
int birth_reseed(enum birth_which which, struct err *e);

/* SQLite's generator, which names temporary files, starts anew when it is next used. */
void birth_forget_sqlite(void);

#endif
