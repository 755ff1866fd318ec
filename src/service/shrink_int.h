/* shrink_int.h -- one jail in which images are made small (shrink_jail.c), the places that jails have
 * (shrink_places.c), and what goes through them (shrink.c). */
#ifndef SERVICE_SHRINK_INT_H
#define SERVICE_SHRINK_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "service/shrink.h"

struct shrink_jail;

/* What a jail is asked to do. */
struct shrink_task {
    struct str image; /* PNG, JPEG, GIF or WebP by its header, within the limits */
    const struct shrink_wish *wish;
    struct buf *to; /* empty */
};

/* What can be done with jails; a test has others. */
struct shrink_jails {
    /* `dir` is the name of its directory in live_fd, which it makes and removes. Blocks. */
    int (*open)(const struct shrinker_options *o, const char *dir, const atomic_bool *is_stopping,
                struct shrink_jail **ret, struct err *e);
    void (*close)(struct shrink_jail *j); /* NULL is fine. Blocks */
    /* Puts anything into t->to: it is a stranger's and not checked. Blocks. */
    int (*make)(struct shrink_jail *j, const struct shrink_task *t, struct err *e);
    /* Ends what make does, once *is_stopping is true. Any thread. */
    void (*cancel)(struct shrink_jail *j);
    /* It has done its share, or something went wrong in it. */
    bool (*is_spent)(struct shrink_jail *j);
};
extern const struct shrink_jails shrink_jails_real;

enum place_state { PLACE_EMPTY, PLACE_BUSY, PLACE_WAITING }; /* see shrink_places.c */

struct place {
    enum place_state state;
    char dir[16];
    char owner[SHRINK_OWNER_MAX + 1];
    struct shrink_jail *jail; /* set by who is busy with it, with the lock held */
    int64_t used_us;
};

struct shrinker {
    struct shrinker_options o;
    const struct shrink_jails *jails;
    int64_t linger_us;
    pthread_mutex_t lock; /* protects places */
    pthread_cond_t moved; /* one of them, or the end has come */
    struct place places[SHRINK_JAILS_MAX];
    atomic_bool is_stopping;
    pthread_t keeper;
    bool has_keeper;
};

int shrinker_open_with(const struct shrinker_options *options, const struct shrink_jails *jails,
                       uint32_t linger_ms, struct shrinker **ret, struct err *e);

/* How many jails there are now. */
size_t shrinker_count(struct shrinker *s);

/* A place for the caller alone, with a jail in which nobody else's image ever was. Blocks. */
int shrinker_claim(struct shrinker *s, const char *owner, struct place **ret, struct err *e);
void shrinker_release(struct shrinker *s, struct place *p, bool is_spoiled);

#endif
