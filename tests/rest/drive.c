/* drive.c -- sessions that sleep, driven from outside: one JSON object per line in, one per line
 * out.
 *
 *     drive SPAWN KERNEL LOAD BASE [IMAGES]
 *
 * BASE gets the directories sleepers/ and data/ID/, one for each session; images are kept in
 * IMAGES, BASE/images unless named. Says {"ready": true, "tier", "images"} first. A command is
 * {"do": VERB, ...} with the fields below; "tag" is repeated in its answer; with "async": true it
 * runs in a thread of its own. Every answer has "us", how long the call of the engine took, in
 * microseconds, and either its own fields or "error": {code, message}.
 *
 *     bake     force?                           id, size, disk
 *     refresh                                   id of the image that is current now
 *     keep                                      copies the libraries beside that image
 *     start    snapshots? cold? limits? tz?     id, baked
 *                                               limits: memory_mb disk_mb cpu_milli pids wall_ms
 *     run      id code wall_ms? language?       run: the run object
 *     ask      id topic code                    reply
 *     settle   id
 *     sleep    id must?                         refused, reasons, lost, size
 *     wake     id
 *     fork     id                               id: of the branch; it gets a copy of the files
 *     rollback id run
 *     cancel   id
 *     renew    id                               session_restart
 *     delete   id
 *     look     id                               life, runs, oldest, sleep_bytes, memory_bytes, tz,
 *                                               baked
 *     list                                      ids
 *     gc                                        freed
 *     pool     min max                          a pool from now on; 0 0: none
 *     pool_look                                 ready, wanted, taken, missed, made, died
 *     restart                                   as if the engine had been killed and started
 *                                               again; awake sessions are gone
 *
 * Ends at the end of its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/report.h"
#include "session/current.h"
#include "session/images.h"
#include "session/pool.h"
#include "session/session.h"
#include "session/spawner.h"
#include "session/workdir.h"
#include "json/read.h"
#include "json/write.h"

enum { PATH_SIZE = 512, ANSWER_MAX = 512 << 20 };

struct place {
    char **argv;
    char base[PATH_SIZE - 128];
    char images_path[PATH_SIZE - 128];
    int sleepers_fd;
    struct spawner *spawner;
    struct images *images;
    struct current *current;
    struct current *none; /* for cold starts */
    struct pool *pool;
    struct sessions *all, *cold; /* the same directory, with and without images */
};

/* One command on its way to its answer. */
struct call {
    struct place *place;
    json_t *in;
    struct buf out;
    struct json_writer w;
    int64_t us;
    struct err e;
};

static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER; /* protects standard output */

static const char *text_of(const struct call *c, const char *key)
{
    const char *text = json_string_value(json_object_get(c->in, key));
    return text ? text : "";
}

static uint64_t number_of(const json_t *in, const char *key, uint64_t preset)
{
    const json_t *v = json_object_get(in, key);
    return json_is_integer(v) ? (uint64_t)json_integer_value(v) : preset;
}

static bool is_set(const struct call *c, const char *key)
{
    return json_is_true(json_object_get(c->in, key));
}

static void put_text(struct call *c, const char *key, const char *text)
{
    jw_key(&c->w, key);
    jw_text(&c->w, text);
}

static void put_number(struct call *c, const char *key, uint64_t v)
{
    jw_key(&c->w, key);
    jw_u64(&c->w, v);
}

static void put_bool(struct call *c, const char *key, bool v)
{
    jw_key(&c->w, key);
    jw_bool(&c->w, v);
}

static void put_names(struct call *c, const char *key, const struct names *names)
{
    jw_key(&c->w, key);
    jw_array(&c->w);
    for (size_t i = 0; i < names->count; i++)
        jw_text(&c->w, names->list[i]);
    jw_end_array(&c->w);
}

/* ---- directories */

static void data_path(const struct place *p, const char *name, char ret[PATH_SIZE])
{
    (void)snprintf(ret, PATH_SIZE, "%s/data/%.80s", p->base, name);
}

static int make_dir(const char *path, struct err *e)
{
    if (mkdir(path, 0700) && errno != EEXIST)
        return err_sys(e, errno, "mkdir %s", path);
    return 0;
}

static int open_dir(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        (void)err_sys(e, errno, "open %s", path);
    return fd;
}

/* A new data directory, not yet anybody's. */
static int make_data(const struct place *p, const char *name, struct err *e)
{
    char path[PATH_SIZE];
    data_path(p, name, path);
    if (make_dir(path, e))
        return -1;
    if (geteuid() == 0 && chown(path, WORKDIR_UID, WORKDIR_UID))
        return err_sys(e, errno, "chown");
    return open_dir(path, e);
}

static int open_data(const struct place *p, const char *id, struct err *e)
{
    char path[PATH_SIZE];
    data_path(p, id, path);
    return open_dir(path, e);
}

static int rename_data(const struct place *p, const char *from, const char *to, struct err *e)
{
    char old[PATH_SIZE], new[PATH_SIZE];
    data_path(p, from, old);
    data_path(p, to, new);
    return rename(old, new) ? err_sys(e, errno, "rename") : 0;
}

static int copy_data(const struct place *p, const char *from, const char *to, struct err *e)
{
    char old[PATH_SIZE + 4], new[PATH_SIZE];
    char *argv[] = {"cp", "-a", old, new, NULL}, *env[] = {"PATH=/usr/bin:/bin", NULL};
    pid_t pid;
    int status = 0;
    data_path(p, from, old);
    data_path(p, to, new);
    if (posix_spawn(&pid, "/bin/cp", NULL, NULL, argv, env) || waitpid(pid, &status, 0) != pid ||
        status != 0)
        return err_set(e, ERR_INTERNAL, "cp");
    return 0;
}

static void temporary_name(char ret[64])
{
    static _Atomic unsigned count;
    (void)snprintf(ret, 64, "new-%d-%u", (int)getpid(), count++);
}

/* ---- the engine */

static int open_engine(struct place *p, struct err *e)
{
    char **argv = p->argv;
    struct err none = {0};
    const struct images_options images = {p->images_path, argv[2], argv[3]};
    if (spawner_open(argv[1], argv[2], argv[3], &p->spawner, e) ||
        images_make_dir(p->images_path, e) || images_open(&images, &p->images, e) ||
        current_new(p->images, /* kept= */ NULL, &p->current, e) ||
        current_new(NULL, /* kept= */ NULL, &p->none, e))
        return -1;
    (void)current_refresh(p->current, &none); /* there may be none yet */
    const struct sessions_options options = {
        .spawner = p->spawner, .current = p->current, .dir_fd = p->sleepers_fd};
    const struct sessions_options cold = {
        .spawner = p->spawner, .current = p->none, .dir_fd = p->sleepers_fd};
    return sessions_open(&options, &p->all, e) || sessions_open(&cold, &p->cold, e) ? -1 : 0;
}

static void close_engine(struct place *p)
{
    sessions_close(p->all);
    sessions_close(p->cold);
    pool_close(p->pool);
    current_free(p->current);
    current_free(p->none);
    images_close(p->images);
    spawner_close(p->spawner);
    p->all = p->cold = NULL;
    p->pool = NULL;
    p->current = p->none = NULL;
    p->images = NULL;
    p->spawner = NULL;
}

static int do_restart(struct call *c)
{
    close_engine(c->place);
    return open_engine(c->place, &c->e);
}

/* The pool is the sessions' own: a new one for those that are not yet. */
static int do_pool(struct call *c)
{
    struct place *p = c->place;
    const struct pool_options wishes = {p->spawner, p->current, LIMITS_DEFAULT,
                                        number_of(c->in, "min", 0), number_of(c->in, "max", 0)};
    sessions_close(p->all);
    pool_close(p->pool);
    p->all = NULL;
    p->pool = NULL;
    if (wishes.count_max > 0 && pool_open(&wishes, &p->pool, &c->e))
        return -1;
    const struct sessions_options options = {
        .spawner = p->spawner, .current = p->current, .pool = p->pool, .dir_fd = p->sleepers_fd};
    return sessions_open(&options, &p->all, &c->e);
}

static int do_pool_look(struct call *c)
{
    struct pool_info info = {0};
    if (c->place->pool)
        pool_look(c->place->pool, &info);
    put_number(c, "ready", info.ready);
    put_number(c, "wanted", info.wanted);
    put_number(c, "taken", info.taken);
    put_number(c, "missed", info.missed);
    put_number(c, "made", info.made);
    put_number(c, "died", info.died);
    return 0;
}

static void ignore(void *arg, const char *text)
{
    (void)arg, (void)text;
}

static int do_bake(struct call *c)
{
    const struct bake_sink sink = {ignore, NULL};
    scoped(image_done) struct image image = IMAGE_NONE;
    enum bake_way way = is_set(c, "force") ? BAKE_ANEW : BAKE_IF_NEEDED;
    int64_t begun_us = clock_us();
    if (images_bake(c->place->images, c->place->spawner, way, &sink, /* stop_fd= */ -1, &image,
                    &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    put_text(c, "id", image.id);
    put_number(c, "size", image.size);
    put_number(c, "disk", image.disk_bytes);
    return current_refresh(c->place->current, &c->e);
}

static int do_refresh(struct call *c)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    int64_t begun_us = clock_us();
    if (current_refresh(c->place->current, &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    if (current_take(c->place->current, &image, &c->e))
        return -1;
    put_text(c, "id", image.id);
    return 0;
}

static int do_keep(struct call *c)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    if (current_take(c->place->current, &image, &c->e))
        return -1;
    int64_t begun_us = clock_us();
    int failed = images_keep_libraries(c->place->images, image.id, /* wish= */ NULL, &c->e);
    c->us = clock_us() - begun_us;
    return failed;
}

static int do_gc(struct call *c)
{
    char(*keep)[HASH_HEX_SIZE] = NULL;
    size_t count = 0;
    uint64_t freed = 0;
    if (sessions_images(c->place->all, &keep, &count, &c->e))
        return -1;
    int64_t begun_us = clock_us();
    int failed =
        images_gc(c->place->images, (const char(*)[HASH_HEX_SIZE])keep, count, &freed, &c->e);
    c->us = clock_us() - begun_us;
    free(keep);
    put_number(c, "freed", freed);
    return failed;
}

/* ---- sessions */

static struct session_options wishes_of(const struct call *c)
{
    struct session_options o = {.limits = LIMITS_DEFAULT,
                                .snapshots = (uint32_t)number_of(c->in, "snapshots", 0)};
    (void)snprintf(o.tz, sizeof o.tz, "%s", text_of(c, "tz"));
    const json_t *limits = json_object_get(c->in, "limits");
    o.limits.memory_bytes = number_of(limits, "memory_mb", o.limits.memory_bytes / MIB) * MIB;
    o.limits.disk_bytes = number_of(limits, "disk_mb", o.limits.disk_bytes / MIB) * MIB;
    o.limits.cpu_milli = (uint32_t)number_of(limits, "cpu_milli", o.limits.cpu_milli);
    o.limits.pids = (uint32_t)number_of(limits, "pids", o.limits.pids);
    o.limits.wall_ms = (uint32_t)number_of(limits, "wall_ms", o.limits.wall_ms);
    return o;
}

static int do_start(struct call *c)
{
    const struct session_options options = wishes_of(c);
    scoped(session_unrefp) struct session *s = NULL;
    struct session_info info;
    char name[64];
    temporary_name(name);
    scoped(fd_closep) int data = make_data(c->place, name, &c->e);
    if (data < 0)
        return -1;
    int64_t begun_us = clock_us();
    struct sessions *all = is_set(c, "cold") ? c->place->cold : c->place->all;
    if (session_new(all, &options, &JAIL_DATA_PLAIN(data), &s, &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    session_look(s, &info);
    put_text(c, "id", session_id(s));
    put_bool(c, "baked", info.is_baked);
    return rename_data(c->place, name, session_id(s), &c->e);
}

static int find(struct call *c, struct session **ret)
{
    struct err first = {0};
    const char *id = text_of(c, "id");
    if (session_find(c->place->all, id, ret, &c->e) == 0)
        return 0;
    /* One that was started cold and is awake is known to the others only. */
    first = c->e;
    if (session_find(c->place->cold, id, ret, &c->e) == 0)
        return 0;
    c->e = first;
    return -1;
}

static int do_run(struct call *c)
{
    scoped(session_unrefp) struct session *s = NULL;
    scoped(buf_done) struct buf report = BUF_INIT(ANSWER_MAX);
    const char *code = text_of(c, "code");
    struct run_spec spec = {.code = code,
                            .code_len = strlen(code),
                            .wall_ms = (uint32_t)number_of(c->in, "wall_ms", 0)};
    const char *language = *text_of(c, "language") ? text_of(c, "language") : "python";
    scoped(fd_closep) int data = open_data(c->place, text_of(c, "id"), &c->e);
    struct run run;
    if (data < 0 || find(c, &s) || run_language_parse(language, &spec.language, &c->e))
        return -1;
    int64_t begun_us = clock_us();
    if (session_run(s, &JAIL_DATA_PLAIN(data), &spec, /* sink= */ NULL, &run, &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    report_run(&(struct report){"run_drive", session_id(s), "full"}, &run, &report);
    run_done(&run);
    if (buf_check(&report, &c->e))
        return -1;
    jw_key(&c->w, "run");
    jw_raw(&c->w, report.bytes, report.len - 1); /* without its line feed */
    return 0;
}

static int do_ask(struct call *c)
{
    scoped(session_unrefp) struct session *s = NULL;
    scoped(freep) char *reply = NULL;
    scoped(fd_closep) int data = open_data(c->place, text_of(c, "id"), &c->e);
    const char *code = text_of(c, "code");
    if (data < 0 || find(c, &s))
        return -1;
    int64_t begun_us = clock_us();
    if (session_ask(s, &JAIL_DATA_PLAIN(data), text_of(c, "topic"), code, (uint32_t)strlen(code),
                    &reply, &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    put_text(c, "reply", reply);
    return 0;
}

/* Calls one that needs nothing but the session. */
static int do_simply(struct call *c, int (*act)(struct session *s, struct err *e))
{
    scoped(session_unrefp) struct session *s = NULL;
    if (find(c, &s))
        return -1;
    int64_t begun_us = clock_us();
    int failed = act(s, &c->e);
    c->us = clock_us() - begun_us;
    return failed;
}

static int do_settle(struct call *c)
{
    return do_simply(c, session_settle);
}

static int do_renew(struct call *c)
{
    return do_simply(c, session_restart);
}

static int do_delete(struct call *c)
{
    return do_simply(c, session_delete);
}

static int cancel(struct session *s, struct err *e)
{
    (void)e;
    session_cancel(s);
    return 0;
}

static int do_cancel(struct call *c)
{
    return do_simply(c, cancel);
}

static int do_wake(struct call *c)
{
    scoped(session_unrefp) struct session *s = NULL;
    scoped(fd_closep) int data = open_data(c->place, text_of(c, "id"), &c->e);
    if (data < 0 || find(c, &s))
        return -1;
    int64_t begun_us = clock_us();
    int failed = session_wake(s, &JAIL_DATA_PLAIN(data), &c->e);
    c->us = clock_us() - begun_us;
    return failed;
}

static int do_sleep(struct call *c)
{
    scoped(session_unrefp) struct session *s = NULL;
    struct session_rest rest;
    enum rest_way way = is_set(c, "must") ? REST_MUST : REST_POLITE;
    if (find(c, &s))
        return -1;
    int64_t begun_us = clock_us();
    if (session_sleep(s, way, &rest, &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    put_bool(c, "refused", rest.is_refused);
    put_names(c, "reasons", &rest.reasons);
    put_names(c, "lost", &rest.lost);
    put_number(c, "size", rest.size);
    session_rest_done(&rest);
    return 0;
}

static int do_fork(struct call *c)
{
    scoped(session_unrefp) struct session *s = NULL, *branch = NULL;
    char name[64];
    temporary_name(name);
    if (find(c, &s) || copy_data(c->place, session_id(s), name, &c->e))
        return -1;
    scoped(fd_closep) int data = open_data(c->place, name, &c->e);
    if (data < 0)
        return -1;
    int64_t begun_us = clock_us();
    if (session_fork(s, &JAIL_DATA_PLAIN(data), &branch, &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    put_text(c, "id", session_id(branch));
    return rename_data(c->place, name, session_id(branch), &c->e);
}

static int do_rollback(struct call *c)
{
    scoped(session_unrefp) struct session *s = NULL;
    if (find(c, &s))
        return -1;
    int64_t begun_us = clock_us();
    int failed = session_rollback(s, number_of(c->in, "run", 0), &c->e);
    c->us = clock_us() - begun_us;
    return failed;
}

static int do_look(struct call *c)
{
    scoped(session_unrefp) struct session *s = NULL;
    struct session_info info;
    if (find(c, &s))
        return -1;
    session_look(s, &info);
    put_text(c, "life", life_name(info.life));
    put_number(c, "runs", info.runs);
    put_number(c, "oldest", info.oldest);
    put_number(c, "sleep_bytes", info.sleep_bytes);
    put_number(c, "memory_bytes", info.memory_bytes);
    put_text(c, "tz", info.tz);
    put_bool(c, "baked", info.is_baked);
    return 0;
}

static int do_list(struct call *c)
{
    char(*ids)[ID_SIZE] = NULL;
    size_t count = 0;
    int64_t begun_us = clock_us();
    if (sessions_list(c->place->all, &ids, &count, &c->e))
        return -1;
    c->us = clock_us() - begun_us;
    jw_key(&c->w, "ids");
    jw_array(&c->w);
    for (size_t i = 0; i < count; i++)
        jw_text(&c->w, ids[i]);
    jw_end_array(&c->w);
    free(ids);
    return 0;
}

static const struct {
    const char *name;
    int (*act)(struct call *c);
} verbs[] = {
    {"bake", do_bake}, {"refresh", do_refresh},     {"start", do_start},     {"run", do_run},
    {"ask", do_ask},   {"settle", do_settle},       {"sleep", do_sleep},     {"wake", do_wake},
    {"fork", do_fork}, {"renew", do_renew},         {"delete", do_delete},   {"look", do_look},
    {"list", do_list}, {"rollback", do_rollback},   {"cancel", do_cancel},   {"gc", do_gc},
    {"pool", do_pool}, {"pool_look", do_pool_look}, {"restart", do_restart}, {"keep", do_keep},
};

/* ---- commands */

static int act(struct call *c)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(text_of(c, "do"), verbs[i].name) == 0)
            return verbs[i].act(c);
    return err_set(&c->e, ERR_INVALID, "no such command");
}

static void put_error(struct call *c)
{
    jw_key(&c->w, "error");
    jw_object(&c->w);
    put_text(c, "code", err_wire(c->e.code));
    put_text(c, "message", c->e.text);
    jw_end_object(&c->w);
}

static void answer(struct call *c)
{
    c->w = JSON_WRITER(&c->out);
    jw_object(&c->w);
    const json_t *tag = json_object_get(c->in, "tag");
    if (json_is_string(tag))
        put_text(c, "tag", json_string_value(tag));
    if (act(c))
        put_error(c);
    jw_key(&c->w, "us");
    jw_i64(&c->w, c->us);
    jw_end_object(&c->w);
    jw_finish(&c->w);
    buf_str(&c->out, "\n");
    pthread_mutex_lock(&output_lock);
    (void)fwrite(c->out.bytes, 1, c->out.len, stdout);
    (void)fflush(stdout);
    pthread_mutex_unlock(&output_lock);
}

static void *serve(void *arg)
{
    struct call *c = arg;
    answer(c);
    json_decref(c->in);
    buf_done(&c->out);
    free(c);
    return NULL;
}

/* False when the line is no command. */
static bool begin(struct place *p, const char *line, size_t len)
{
    struct call *c = calloc(1, sizeof *c);
    struct err e = {0};
    pthread_t thread;
    if (!c || json_read(line, len, &c->in, &e) || !json_is_object(c->in)) {
        (void)fprintf(stderr, "drive: %s\n", e.code ? e.text : "not an object");
        free(c);
        return false;
    }
    c->place = p;
    c->out = BUF_INIT(ANSWER_MAX);
    if (!is_set(c, "async")) {
        (void)serve(c);
        return true;
    }
    if (pthread_create(&thread, NULL, serve, c))
        abort();
    (void)pthread_detach(thread);
    return true;
}

static int set_up(struct place *p, int argc, char **argv, struct err *e)
{
    char path[PATH_SIZE];
    p->argv = argv;
    (void)snprintf(p->base, sizeof p->base, "%s", argv[4]);
    if (argc > 5)
        (void)snprintf(p->images_path, sizeof p->images_path, "%s", argv[5]);
    else
        (void)snprintf(p->images_path, sizeof p->images_path, "%.300s/images", argv[4]);
    (void)snprintf(path, sizeof path, "%s/data", p->base);
    if (make_dir(p->base, e) || make_dir(path, e))
        return -1;
    (void)snprintf(path, sizeof path, "%s/sleepers", p->base);
    if (make_dir(path, e) || (p->sleepers_fd = open_dir(path, e)) < 0)
        return -1;
    return open_engine(p, e);
}

int main(int argc, char **argv)
{
    struct place p = {.sleepers_fd = -1};
    struct err e = {0};
    scoped(freep) char *line = NULL;
    size_t size = 0;
    bool is_fine = true;
    if (argc < 5 || argc > 6) {
        (void)fprintf(stderr, "usage: drive SPAWN KERNEL LOAD BASE [IMAGES]\n");
        return 2;
    }
    if (set_up(&p, argc, argv, &e)) {
        (void)fprintf(stderr, "drive: %s\n", e.text);
        return 1;
    }
    const struct jail_hello *hello = spawner_hello(p.spawner);
    bool can = hello->tier == TIER_FULL && hello->failure[MECH_IMAGE] == 0;
    (void)printf("{\"ready\": true, \"tier\": \"%s\", \"images\": %s, \"spawner\": %d}\n",
                 tier_name(hello->tier), can ? "true" : "false", spawner_pid(p.spawner));
    (void)fflush(stdout);
    for (ssize_t len; is_fine && (len = getline(&line, &size, stdin)) > 0;)
        is_fine = begin(&p, line, (size_t)len);
    close_engine(&p);
    (void)close(p.sleepers_fd);
    return is_fine ? 0 : 1;
}
