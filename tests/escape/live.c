/* live.c -- one spawner that stays up, and sessions on it as asked for on standard input.
 *
 *     live SPAWN KERNEL BASE
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
 *     TAG many COUNT                               a session computes COUNT small things in turn
 *         TAG COUNT
 *
 * BASE is where the sessions' work directories go. Ends at the end of its input.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "session/kernel.h"
#include "session/run.h"
#include "session/spawner.h"
#include "session/workdir.h"

enum { WORDS_MAX = 16, LINE_SIZE = 8192, REPORT_MAX = 512 << 20 };

struct place {
    struct spawner *spawner;
    const char *base;
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

static int life_init(struct life *l, const struct place *place, const struct limits *limits,
                     struct err *e)
{
    *l = (struct life){0};
    if (workdir_new(place->base, &l->dir, e))
        return -1;
    return kernel_start(place->spawner, limits, workdir_fd(l->dir), &l->kernel, e);
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
    for (int i = 6; more == 1 && i < c->count; i++)
        more = run_piece(&l, c->words[i], &out, e);
    scoped(fd_closep) int fd = open(c->words[5], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (more >= 0 && fd >= 0 && fd_write_all(fd, out.bytes, out.len, e) == 0)
        (void)snprintf(answer, size, "done");
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

int main(int argc, char **argv)
{
    struct err e = {0};
    struct place place = {.base = argc == 4 ? argv[3] : NULL};
    char line[LINE_SIZE];
    if (argc != 4) {
        (void)fprintf(stderr, "usage: live SPAWN KERNEL BASE\n");
        return 2;
    }
    if (spawner_open(argv[1], argv[2], &place.spawner, &e)) {
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
