/* sessions.c -- which sessions there are. Those that are awake are in the table; of those asleep
 * only the ones that somebody holds are, so that thousands of them cost nothing but their files. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "session/session_int.h"
#include "session/sleeper.h"

int sessions_open(const struct sessions_options *options, struct sessions **ret, struct err *e)
{
    struct sessions *all = calloc(1, sizeof *all);
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "open the sessions");
    all->spawner = options->spawner;
    all->current = options->current;
    all->pool = options->pool;
    all->dir_fd = options->dir_fd;
    all->not_woken = options->not_woken;
    (void)pthread_mutex_init(&all->lock, NULL); /* cannot fail with default attributes */
    sleeper_sweep(all->dir_fd);
    *ret = all;
    return 0;
}

static void free_session(struct session *s)
{
    session_drop_kernel(s);
    (void)pthread_mutex_destroy(&s->busy);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

void sessions_close(struct sessions *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < SESSION_BUCKETS; i++)
        for (struct session *s = all->table[i], *next; s; s = next) {
            next = s->next;
            free_session(s);
        }
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

static struct session **bucket(struct sessions *all, const char *id)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *id; id++)
        h = (h ^ (uint8_t)*id) * 16777619u;
    return &all->table[h % SESSION_BUCKETS];
}

/* With all->lock held, as the next two. */
static struct session *get(struct sessions *all, const char *id)
{
    struct session *s = *bucket(all, id);
    while (s && strcmp(s->id, id) != 0)
        s = s->next;
    return s;
}

static void put(struct sessions *all, struct session *s)
{
    struct session **head = bucket(all, s->id);
    s->next = *head;
    *head = s;
}

static void take_out(struct sessions *all, struct session *s)
{
    for (struct session **at = bucket(all, s->id); *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            return;
        }
}

static struct session *make_session(struct sessions *all, const struct session_seed *seed,
                                    struct err *e)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        (void)err_set(e, ERR_NO_MEMORY, "make a session");
        return NULL;
    }
    s->all = all;
    s->refs = 1;
    s->life = seed->life;
    s->limits = seed->options.limits;
    s->snapshots = seed->options.snapshots;
    memcpy(s->tz, seed->options.tz, sizeof s->tz);
    s->runs = seed->runs;
    s->generation = seed->generation;
    s->sleep_bytes = seed->sleep_bytes;
    s->data = JAIL_DATA_PLAIN(-1);
    (void)pthread_mutex_init(&s->busy, NULL);
    (void)pthread_mutex_init(&s->lock, NULL);
    if (seed->id) {
        assert(strlen(seed->id) < sizeof s->id);
        memcpy(s->id, seed->id, strlen(seed->id) + 1);
    } else if (id_make("ses_", s->id, e)) {
        free_session(s);
        return NULL;
    }
    return s;
}

int session_add(struct sessions *all, const struct session_seed *seed, struct session **ret,
                struct err *e)
{
    struct session *s = make_session(all, seed, e);
    if (!s)
        return -1;
    if (s->life == LIFE_ASLEEP)
        undo_load(s);
    else if (seed->was_awake)
        undo_find(s);
    (void)session_begin(s);
    pthread_mutex_lock(&all->lock);
    struct session *known = get(all, s->id);
    /* Who deletes one removes its file first and takes it out of the table then. */
    bool is_gone = !known && s->life == LIFE_ASLEEP && !sleeper_exists(all->dir_fd, s->id);
    if (known)
        known->refs++;
    else if (!is_gone)
        put(all, s);
    pthread_mutex_unlock(&all->lock);
    if (!known && !is_gone && s->life == LIFE_ASLEEP)
        undo_tidy(s);
    session_end(s);
    if (known || is_gone)
        free_session(s);
    if (is_gone)
        return err_set(e, ERR_NOT_FOUND, "there is no session %.64s", seed->id);
    *ret = known ? known : s;
    return 0;
}

int session_new(struct sessions *all, const struct session_options *options,
                const struct jail_data *data, struct session **ret, struct err *e)
{
    struct session *s;
    if (options->snapshots > SNAPSHOTS_MAX)
        return err_set(e, ERR_INVALID, "at most %d runs can be undone", SNAPSHOTS_MAX);
    const struct session_seed seed = {.life = LIFE_EMPTY, .options = *options};
    if (limits_check(&options->limits, e) || zone_check(options->tz, e) ||
        session_add(all, &seed, &s, e))
        return -1;
    (void)session_begin(s);
    int failed = session_rise(s, data, e);
    if (failed)
        session_step(s, LIFE_CLOSE);
    session_end(s);
    if (failed) {
        session_unref(s);
        return -1;
    }
    *ret = s;
    return 0;
}

/* One that nobody holds and that sleeps, by its file. */
static int find_asleep(struct sessions *all, const char *id, struct session **ret, struct err *e)
{
    struct session_seed seed = {
        .id = id, .life = LIFE_ASLEEP, .options = {.limits = LIMITS_DEFAULT}};
    struct sleeper head = {0};
    struct err why = {0};
    if (sleeper_look(all->dir_fd, id, &head, &seed.sleep_bytes, &why) == 0) {
        seed.options = (struct session_options){.limits = head.limits, .snapshots = head.snapshots};
        memcpy(seed.options.tz, head.tz, sizeof head.tz);
        seed.runs = head.runs;
        seed.generation = head.generation;
        sleeper_done(&head);
    } else if (why.code == ERR_NOT_FOUND || why.code == ERR_INVALID) {
        return err_set(e, ERR_NOT_FOUND, "there is no session %.64s", id);
    } else if (why.code == ERR_NO_MEMORY || why.code == ERR_LIMIT || why.code == ERR_NO_SPACE ||
               why.code == ERR_INTERNAL) {
        *e = why; /* not its fault */
        return -1;
    } /* else it cannot be woken, which its first run will say */
    if (seed.options.snapshots > SNAPSHOTS_MAX)
        seed.options.snapshots = SNAPSHOTS_MAX;
    return session_add(all, &seed, ret, e);
}

bool sessions_peek(struct sessions *all, const char *id, struct session_info *ret)
{
    struct sleeper head = {0};
    struct err ignored = {0};
    *ret = (struct session_info){.life = LIFE_ASLEEP};
    if (sleeper_look(all->dir_fd, id, &head, &ret->sleep_bytes, &ignored))
        return sleeper_exists(all->dir_fd, id);
    ret->limits = head.limits;
    ret->snapshots = head.snapshots;
    ret->runs = head.runs;
    undo_peek(all, id, ret);
    sleeper_done(&head);
    return true;
}

int session_find(struct sessions *all, const char *id, struct session **ret, struct err *e)
{
    pthread_mutex_lock(&all->lock);
    struct session *s = get(all, id);
    if (s)
        s->refs++;
    pthread_mutex_unlock(&all->lock);
    if (!s)
        return find_asleep(all, id, ret, e);
    *ret = s;
    return 0;
}

int session_place(struct sessions *all, const char *id, const struct session_options *options,
                  bool is_lost, struct session **ret, struct err *e)
{
    struct session *s;
    const struct session_seed seed = {
        .id = id, .life = LIFE_EMPTY, .options = *options, .was_awake = is_lost};
    if (is_lost && session_find(all, id, ret, e) == 0)
        return 0;
    if (is_lost && e->code != ERR_NOT_FOUND)
        return -1;
    if (options->snapshots > SNAPSHOTS_MAX)
        return err_set(e, ERR_INVALID, "at most %d runs can be undone", SNAPSHOTS_MAX);
    if (limits_check(&options->limits, e) || zone_check(options->tz, e) ||
        session_add(all, &seed, &s, e))
        return -1;
    if (is_lost) {
        (void)session_begin(s);
        if (s->life == LIFE_EMPTY && !s->owes_loss && !undo_resume(s))
            session_forget(s, "The server was restarted while the session was awake");
        session_end(s);
    }
    *ret = s;
    return 0;
}

void session_has_run(struct session *which, uint64_t runs)
{
    scoped(session_endp) struct session *s = session_begin(which);
    if (s->life == LIFE_ASLEEP && s->runs < runs && !*s->note)
        (void)snprintf(
            s->note, sizeof s->note,
            "The server ended before variables were kept as run %llu left them. They are "
            "what they were before run %llu; files in /mnt/data are kept.",
            (unsigned long long)runs, (unsigned long long)s->runs + 1);
}

void session_unref(struct session *s)
{
    if (!s)
        return;
    struct sessions *all = s->all;
    pthread_mutex_lock(&all->lock);
    /* The last to hold it sees its state without `busy`: nobody else can change it. */
    bool is_over = --s->refs == 0 && (s->life == LIFE_ASLEEP || s->life == LIFE_GONE);
    if (is_over)
        take_out(all, s);
    pthread_mutex_unlock(&all->lock);
    if (is_over)
        free_session(s);
}

const char *session_id(const struct session *s)
{
    return s->id;
}

int session_delete(struct session *which, struct err *e)
{
    struct sessions *all = which->all;
    scoped(session_endp) struct session *s = session_begin(which);
    if (s->life == LIFE_GONE)
        return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    session_drop_kernel(s);
    undo_remove(s);
    sleeper_discard(all->dir_fd, s->id);
    session_step(s, LIFE_CLOSE);
    pthread_mutex_lock(&all->lock);
    take_out(all, s);
    pthread_mutex_unlock(&all->lock);
    return sleeper_sync(all->dir_fd, e);
}

/* Names of one length each, in one block that grows. */
struct list {
    char *names;
    size_t size, count, cap;
};

static bool list_has(const struct list *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->names + i * l->size, name) == 0)
            return true;
    return false;
}

static int list_add(struct list *l, const char *name, struct err *e)
{
    if (l->count == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        char *grown = realloc(l->names, cap * l->size);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "list the sessions");
        l->names = grown;
        l->cap = cap;
    }
    memcpy(l->names + l->count++ * l->size, name, strlen(name) + 1);
    return 0;
}

/* Calls `each` with the id of every session that has a file, and for each of its snapshots, `before` a
 * run. */
static int list_files(struct sessions *all, struct list *l,
                      int (*each)(struct sessions *all, struct list *l, const char *id,
                                  uint64_t before, struct err *e),
                      struct err *e)
{
    struct dir d;
    int fd = below_open_dir(all->dir_fd, "."), failed = 0;
    if (fd < 0)
        return err_sys(e, -fd, "read the directory of sleeping sessions");
    dir_init(&d, fd);
    for (const struct dirent64 *entry; !failed && (entry = dir_next(&d));) {
        char id[ID_SIZE];
        uint64_t before = 0;
        if (sleeper_is_named(entry->d_name, id) || sleeper_is_snapshot(entry->d_name, id, &before))
            failed = each(all, l, id, before, e);
    }
    dir_done(&d);
    return failed;
}

static int add_id(struct sessions *all, struct list *l, const char *id, uint64_t before,
                  struct err *e)
{
    (void)all;
    return before == 0 ? list_add(l, id, e) : 0; /* of one that is awake: it is in the table */
}

static int add_image(struct sessions *all, struct list *l, const char *id, uint64_t before,
                     struct err *e)
{
    struct sleeper head;
    struct err ignored = {0};
    char hex[HASH_HEX_SIZE];
    uint64_t size;
    if (sleeper_look_snapshot(all->dir_fd, id, before, &head, &size, &ignored))
        return 0; /* woken meanwhile, or unreadable: then no image helps it */
    hash_hex(head.image, hex);
    bool is_delta = head.kind == SLEEPER_DELTA;
    sleeper_done(&head);
    return is_delta && !list_has(l, hex) ? list_add(l, hex, e) : 0;
}

/* Those in the table, with what `wanted` is after: an id, or an image. */
static int list_table(struct sessions *all, struct list *l, bool wants_images, struct err *e)
{
    int failed = 0;
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < SESSION_BUCKETS; i++)
        for (struct session *s = all->table[i]; s && !failed; s = s->next) {
            pthread_mutex_lock(&s->lock);
            const char *name = wants_images ? s->image : s->id;
            if (*name && !list_has(l, name))
                failed = list_add(l, name, e);
            pthread_mutex_unlock(&s->lock);
        }
    pthread_mutex_unlock(&all->lock);
    return failed;
}

int sessions_list(struct sessions *all, char (**ret)[ID_SIZE], size_t *ret_count, struct err *e)
{
    struct list l = {.size = ID_SIZE};
    if (list_files(all, &l, add_id, e) || list_table(all, &l, /* wants_images= */ false, e)) {
        free(l.names);
        return -1;
    }
    *ret = (char(*)[ID_SIZE])l.names;
    *ret_count = l.count;
    return 0;
}

int sessions_images(struct sessions *all, char (**ret)[HASH_HEX_SIZE], size_t *ret_count,
                    struct err *e)
{
    struct list l = {.size = HASH_HEX_SIZE};
    /* Who falls asleep or wakes in between is found before or after: the table first and last. */
    if (list_table(all, &l, /* wants_images= */ true, e) || list_files(all, &l, add_image, e) ||
        list_table(all, &l, /* wants_images= */ true, e)) {
        free(l.names);
        return -1;
    }
    *ret = (char(*)[HASH_HEX_SIZE])l.names;
    *ret_count = l.count;
    return 0;
}
