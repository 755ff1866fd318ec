/* live.c -- one spawner that stays up, and sessions on it as asked for on standard input.
 *
 *     live SPAWN KERNEL BASE [LOAD IMAGES image|woken]
 *
 * says "spawner PID", then takes one command per line, each with a tag chosen by whoever asks, and
 * answers with a line that begins with that tag. Commands run beside each other, each in a thread.
 *
 *     TAG second                                   a session with default limits computes 1 + 1
 *         TAG 2
 *     TAG run MEMORY_MIB PIDS WALL_MS REPORT CODE...
 *         TAG done                                 a session runs the files CODE one after the
 *                                                  other, up to the first that does not end well;
 *                                                  their run objects go to the file REPORT
 *         TAG lost: WHY                            the same, but it did not wake after one of them
 *     TAG back CODE                                a session copies itself, runs the file CODE, and
 *         TAG back                                 goes back to the copy,
 *         TAG stayed: WHY                          cannot, and lives on,
 *         TAG dead: WHY                            or cannot, and is dead
 *     TAG many COUNT                               a session computes COUNT small things in turn
 *         TAG COUNT
 *
 * BASE is where the sessions' work directories go. Ends at the end of its input.
 *
 * Sessions start cold. With the last three words they start from the current image of the store
 * IMAGES by the loader LOAD, and with "woken" each of them has run a cell, slept and been woken in
 * another jail before it does what was asked for, and again between two pieces of code unless it
 * refuses.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/report.h"
#include "session/images.h"
#include "session/kernel.h"
#include "session/rest.h"
#include "session/run.h"
#include "session/spawner.h"
#include "session/twin.h"
#include "session/workdir.h"

enum { WORDS_MAX = 16, LINE_SIZE = 8192, REPORT_MAX = 512 << 20 };

struct place {
    struct spawner *spawner;
    const char *base;
    struct kernel_origin origin;
    bool must_nap;
};

struct command {
    const struct place *place;
    char line[LINE_SIZE];
    char *words[WORDS_MAX + 1];
    int count;
};

/* A session with its directory, ended together. */
struct life {
    struct workdir *dir;
    struct kernel *kernel;
};

static void life_done(struct life *l)
{
    kernel_free(l->kernel);
    workdir_free(l->dir);
}

/* Runs code that prints one line; true if it printed `want`. */
static bool prints(struct life *l, const char *code, const char *want, struct err *e)
{
    struct run run;
    struct run_spec spec = {.code = code, .code_len = strlen(code)};
    if (kernel_run(l->kernel, &spec, NULL, &run, e))
        return false;
    scoped(buf_done) struct buf text = BUF_INIT(KIB);
    keep_text(&run.out, &text);
    bool is_right =
        run.end == END_OK && text.len == strlen(want) && memcmp(text.bytes, want, text.len) == 0;
    if (!is_right)
        (void)err_set(e, ERR_INTERNAL, "ended %s", run_end_name(run.end));
    run_done(&run);
    return is_right;
}

/* 1 if it sleeps, 0 if it refused: then *e says why. */
static int fall_asleep(struct kernel *k, int out_fd, struct err *e)
{
    struct rest_report report;
    if (kernel_sleep(k, SLEEP_EXITS, out_fd, &report, e))
        return -1;
    bool sleeps = !report.is_refused;
    if (!sleeps)
        (void)err_set(e, ERR_CONFLICT, "refused to sleep: %s",
                      report.reasons.count > 0 ? report.reasons.list[0] : "no reason");
    rest_report_done(&report);
    return sleeps;
}

/* A file for writing and for reading: a session never holds one it could write to. It has a name as
 * long as it is used: one without would be disk space that the session hides. */
struct bed {
    char path[PATH_MAX];
    int in, out;
};

static void bed_done(struct bed *b)
{
    if (b->out >= 0)
        (void)unlink(b->path);
    fd_closep(&b->in);
    fd_closep(&b->out);
}

static int bed_init(struct bed *b, const char *base, struct err *e)
{
    (void)snprintf(b->path, sizeof b->path, "%s/nap-XXXXXX", base);
    b->out = mkostemp(b->path, O_CLOEXEC);
    b->in = b->out < 0 ? -1 : open(b->path, O_RDONLY | O_CLOEXEC);
    return b->in < 0 ? err_sys(e, errno, "make a file in %s", base) : 0;
}

/* Sleeps and is woken in another jail: 1, or refuses and goes on: 0. */
static int nap(struct life *l, const struct place *place, const struct limits *limits,
               struct err *e)
{
    scoped(bed_done) struct bed bed = {.in = -1, .out = -1};
    if (bed_init(&bed, place->base, e))
        return -1;
    int slept = fall_asleep(l->kernel, bed.out, e);
    if (slept != 1)
        return slept;
    kernel_free(l->kernel);
    l->kernel = NULL;
    const struct kernel_origin origin = {
        .image_fd = place->origin.image_fd, .delta_fd = bed.in, .libraries_fd = -1};
    if (kernel_start(place->spawner, limits, &JAIL_DATA_PLAIN(workdir_fd(l->dir)), &origin,
                     &l->kernel, e))
        return -1;
    return 1;
}

/* The variable proves to later code that it was so. */
static int first_nap(struct life *l, const struct place *place, const struct limits *limits,
                     struct err *e)
{
    if (!prints(l, "slept_before = 1; print(slept_before)", "1\n", e))
        return -1;
    return nap(l, place, limits, e) == 1 ? 0 : -1;
}

static int life_init(struct life *l, const struct place *place, const struct limits *limits,
                     struct err *e)
{
    *l = (struct life){0};
    if (workdir_new(place->base, &l->dir, e) ||
        kernel_start(place->spawner, limits, &JAIL_DATA_PLAIN(workdir_fd(l->dir)), &place->origin,
                     &l->kernel, e))
        return -1;
    return place->must_nap ? first_nap(l, place, limits, e) : 0;
}

static void do_second(const struct command *c, char answer[], size_t size, struct err *e)
{
    const struct limits limits = LIMITS_DEFAULT;
    scoped(life_done) struct life l = {0};
    if (life_init(&l, c->place, &limits, e) == 0 && prints(&l, "print(1+1)", "2\n", e))
        (void)snprintf(answer, size, "2");
}

static void do_many(const struct command *c, char answer[], size_t size, struct err *e)
{
    const struct limits limits = LIMITS_DEFAULT;
    uint64_t count = 0, i = 0;
    scoped(life_done) struct life l = {0};
    if (c->count < 3 || parse_u64(c->words[2], 1, 1000000, &count, e) ||
        life_init(&l, c->place, &limits, e))
        return;
    for (; i < count; i++) {
        char code[128], want[32];
        (void)snprintf(code, sizeof code, "x = %llu; open('f','w').write(str(x)); print(x * 2)",
                       (unsigned long long)i);
        (void)snprintf(want, sizeof want, "%llu\n", (unsigned long long)i * 2);
        if (!prints(&l, code, want, e))
            return;
    }
    (void)snprintf(answer, size, "%llu", (unsigned long long)i);
}

static int read_code(const char *path, char **ret, size_t *ret_len, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    scoped(freep) char *code = malloc(CODE_MAX);
    if (fd < 0 || !code)
        return err_sys(e, errno, "open %s", path);
    if (fd_read_all(fd, code, CODE_MAX, ret_len, e))
        return -1;
    *ret = take(code);
    return 0;
}

/* One piece; 1 if the next may follow. */
static int run_piece(struct life *l, const char *path, struct buf *out, struct err *e)
{
    const struct report report = {"run_live", "ses_live", "live"};
    scoped(freep) char *code = NULL;
    struct run run;
    struct run_spec spec = {0};
    if (read_code(path, &code, &spec.code_len, e))
        return -1;
    spec.code = code;
    spec.language = run_language_of_file(path);
    if (kernel_run(l->kernel, &spec, NULL, &run, e))
        return -1;
    report_run(&report, &run, out);
    bool may_follow = run.end == END_OK;
    run_done(&run);
    return may_follow;
}

static void do_run(const struct command *c, char answer[], size_t size, struct err *e)
{
    struct limits limits = LIMITS_DEFAULT;
    uint64_t memory_mib, pids, wall_ms;
    if (c->count < 7) {
        (void)err_set(e, ERR_INVALID, "run needs five words and a file");
        return;
    }
    if (parse_u64(c->words[2], 1, 1 << 20, &memory_mib, e) ||
        parse_u64(c->words[3], 1, 1 << 20, &pids, e) ||
        parse_u64(c->words[4], 1, 1 << 30, &wall_ms, e))
        return;
    limits.memory_bytes = memory_mib * MIB;
    limits.pids = (uint32_t)pids;
    limits.wall_ms = (uint32_t)wall_ms;
    scoped(buf_done) struct buf out = BUF_INIT(REPORT_MAX);
    scoped(life_done) struct life l = {0};
    if (life_init(&l, c->place, &limits, e))
        return;
    int more = 1;
    bool is_lost = false;
    for (int i = 6; more == 1 && i < c->count; i++) {
        is_lost = i > 6 && c->place->must_nap && nap(&l, c->place, &limits, e) < 0;
        if (is_lost)
            break;
        more = run_piece(&l, c->words[i], &out, e);
    }
    if (is_lost)
        (void)snprintf(answer, size, "lost: %s", e->text);
    else if (more >= 0)
        (void)snprintf(answer, size, "done");
    scoped(fd_closep) int fd = open(c->words[5], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, out.bytes, out.len, e))
        *answer = '\0';
}

static int make_twin(struct life *l, struct twin *ret, struct err *e)
{
    scoped(rest_report_done) struct rest_report report = {0};
    if (!prints(l, "x = 1; print(x)", "1\n", e) || kernel_copy(l->kernel, ret, &report, e))
        return -1;
    return report.is_refused ? err_set(e, ERR_CONFLICT, "refused to be copied") : 0;
}

static void do_back(const struct command *c, char answer[], size_t size, struct err *e)
{
    const struct limits limits = LIMITS_DEFAULT;
    scoped(life_done) struct life l = {0};
    scoped(twin_done) struct twin twin = TWIN_NONE;
    scoped(buf_done) struct buf out = BUF_INIT(REPORT_MAX);
    if (c->count != 3 || life_init(&l, c->place, &limits, e) || make_twin(&l, &twin, e) ||
        !prints(&l, "x = 2; print(x)", "2\n", e) || run_piece(&l, c->words[2], &out, e) != 1)
        return;
    bool is_back = kernel_switch(l.kernel, &twin, e) == 0;
    struct err why = *e;
    if (is_back && prints(&l, "print(x)", "1\n", e))
        (void)snprintf(answer, size, "back");
    else if (!is_back && prints(&l, "print(x)", "2\n", e))
        (void)snprintf(answer, size, "stayed: %s", why.text);
    else if (!kernel_is_alive(l.kernel))
        (void)snprintf(answer, size, "dead: %s", why.text);
}

static void *serve(void *arg)
{
    scoped(freep) struct command *c = arg;
    struct err e = {0};
    char answer[1024] = "";
    const char *verb = c->count > 1 ? c->words[1] : "";
    if (strcmp(verb, "second") == 0)
        do_second(c, answer, sizeof answer, &e);
    else if (strcmp(verb, "many") == 0)
        do_many(c, answer, sizeof answer, &e);
    else if (strcmp(verb, "back") == 0)
        do_back(c, answer, sizeof answer, &e);
    else if (strcmp(verb, "run") == 0)
        do_run(c, answer, sizeof answer, &e);
    else
        (void)err_set(&e, ERR_INVALID, "no such command");
    if (!*answer)
        (void)snprintf(answer, sizeof answer, "failed: %s", e.text);
    (void)printf("%s %s\n", c->words[0], answer); /* one call: lines of threads do not mix */
    return NULL;
}

/* Takes a line apart at its spaces and starts its thread. */
static void begin(const struct place *place, const char *line)
{
    struct command *c = calloc(1, sizeof *c);
    pthread_t thread;
    if (!c)
        abort();
    c->place = place;
    (void)snprintf(c->line, sizeof c->line, "%s", line);
    char *rest = c->line;
    for (char *word; c->count < WORDS_MAX && (word = strsep(&rest, " \n"));)
        if (*word)
            c->words[c->count++] = word;
    if (c->count == 0) {
        free(c);
        return;
    }
    if (pthread_create(&thread, NULL, serve, c))
        abort();
    (void)pthread_detach(thread);
}

/* The words behind BASE: LOAD IMAGES image|woken. */
static int open_origin(struct place *place, const char *kernel, char **words, struct err *e)
{
    const struct images_options options = {
        .dir_path = words[1], .kernel_path = kernel, .load_path = words[0]};
    struct images *images;
    struct image image;
    if (images_open(&options, &images, e))
        return -1;
    int failed = images_find(images, &image, e);
    images_close(images);
    if (failed)
        return -1;
    place->origin.image_fd = image.fd; /* as long as the process lives */
    place->must_nap = strcmp(words[2], "woken") == 0;
    return 0;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct place place = {.origin = ORIGIN_COLD};
    char line[LINE_SIZE];
    bool has_image = argc == 7;
    if (argc != 4 && !has_image) {
        (void)fprintf(stderr, "usage: live SPAWN KERNEL BASE [LOAD IMAGES image|woken]\n");
        return 2;
    }
    place.base = argv[3];
    if (spawner_open(argv[1], argv[2], has_image ? argv[4] : NULL, &place.spawner, &e) ||
        (has_image && open_origin(&place, argv[2], argv + 4, &e))) {
        (void)fprintf(stderr, "live: %s\n", e.text);
        return 1;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)printf("spawner %d\n", spawner_pid(place.spawner));
    while (fgets(line, sizeof line, stdin))
        begin(&place, line);
    spawner_close(place.spawner);
    return 0;
}
