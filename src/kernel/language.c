#include "kernel/language.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "kernel/language_int.h"
#include "kernel/process.h"
#include "kernel/reads.h"
#include "kernel/signals.h"
#include "kernel/tell.h"

#define DATA_DIR "/mnt/data"
#define CODE_PATH "/dev/fd/9" /* PROCESS_CODE_FD */

enum { MESSAGE_SIZE = 256, ARGS_MAX = 6 };

static const struct language {
    const char *program; /* as people call it */
    const char *path, *package;
    const char *args[ARGS_MAX]; /* NULL-ended; the name of the code follows where it is of use */
    const char *name;           /* of code without one; NULL: it is of no use */
} languages[LANGUAGE_COUNT] = {
    [LANGUAGE_BASH] = {"bash", "/bin/bash", "bash", {"bash", CODE_PATH}, NULL},
    [LANGUAGE_JAVASCRIPT] = {"node",
                             "/usr/bin/node",
                             "nodejs",
                             {"node", "--experimental-vm-modules", "-e", javascript_start, "--"},
                             "cell.js"},
};

enum run_language language_of(const struct frame *request)
{
    struct field f;
    uint32_t number = field_find(request, FIELD_LANGUAGE, &f) ? field_u32(&f, LANGUAGE_COUNT) : 0;
    return number < LANGUAGE_COUNT ? (enum run_language)number : LANGUAGE_COUNT;
}

/* ---- its environment */

struct environment {
    char **list; /* NULL-ended; the first `own` are ours to free */
    size_t own, count;
};

static void environment_done(struct environment *env)
{
    for (size_t i = 0; env->list && i < env->own; i++)
        free(env->list[i]);
    free(env->list);
}

static bool has_same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");
    return strncmp(a, b, len) == 0 && b[len] == '=';
}

static bool is_overridden(const struct environment *env, const char *pair)
{
    for (size_t i = 0; i < env->own; i++)
        if (has_same_name(env->list[i], pair))
            return true;
    return false;
}

/* Of two of the same name the later one counts. */
static int add_own(struct environment *env, const struct field *f)
{
    char *pair = strndup((const char *)f->bytes, f->len);
    if (!pair)
        return -1;
    for (size_t i = 0; i < env->own; i++)
        if (has_same_name(env->list[i], pair)) {
            free(env->list[i]);
            env->list[i] = pair;
            return 0;
        }
    env->list[env->own++] = pair;
    return 0;
}

static int environment_make(const struct frame *request, struct environment *ret)
{
    size_t most = 1;
    for (char **at = environ; at && *at; at++)
        most++;
    for (struct field f = {0}; field_next(request, &f);)
        most += f.tag == FIELD_ENV;
    ret->list = calloc(most, sizeof *ret->list);
    if (!ret->list)
        return -1;
    for (struct field f = {0}; field_next(request, &f);)
        if (f.tag == FIELD_ENV && add_own(ret, &f))
            return -1;
    ret->count = ret->own;
    for (char **at = environ; at && *at; at++)
        if (!is_overridden(ret, *at))
            ret->list[ret->count++] = *at;
    return 0;
}

/* ---- how it went */

/* Nothing of a session is needed to say it, nor of Python. */
static void say(const char *name, const char *message)
{
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_HEAD + 4 * FIELD_HEAD + 2 * MESSAGE_SIZE);
    size_t mark = frame_begin(&out, FRAME_ERROR);
    field_put(&out, FIELD_NAME, name, strlen(name));
    field_put(&out, FIELD_MESSAGE, message, strlen(message));
    field_put(&out, FIELD_TRACEBACK, "", 0);
    tell_frame(&out, FRAME_ERROR, mark);
}

static void say_why_not(const struct language *l, int why)
{
    char message[MESSAGE_SIZE];
    if (why == ENOENT) {
        (void)snprintf(message, sizeof message,
                       "%s is not installed in the sandbox. Install the package %s on the host, or "
                       "write the code in Python",
                       l->program, l->package);
        say("NotInstalled", message);
        return;
    }
    (void)snprintf(message, sizeof message, "%s could not be started: %s", l->program,
                   strerrordesc_np(why));
    say(why == ENOMEM ? "MemoryError" : "OSError", message);
}

static void say_end(const struct language *l, const struct process_end *end)
{
    char message[MESSAGE_SIZE];
    const char *known = end->signal ? sigabbrev_np(end->signal) : NULL;
    if (end->is_unknown) {
        (void)snprintf(message, sizeof message,
                       "%s has ended, but a thread of this session waits for all children and took "
                       "its status",
                       l->program);
        say("ExitStatus", message);
    } else if (end->signal) {
        (void)snprintf(message, sizeof message,
                       known ? "%s was killed by SIG%s" : "%s was killed%s", l->program,
                       known ? known : "");
        say("Signal", message);
    } else if (end->status) {
        (void)snprintf(message, sizeof message, "%s ended with status %d", l->program, end->status);
        say("ExitStatus", message);
    }
}

/* ---- the run */

static int file_of(const struct frame *request, enum field_tag tag)
{
    struct field f;
    return field_find(request, tag, &f) ? process_file(f.bytes, f.len) : process_file("", 0);
}

/* What the code is called: a name as of a file, or the language's own for "<cell 3>" and none. */
static char *name_of(const struct language *l, const struct frame *request)
{
    struct field f;
    if (field_find(request, FIELD_NAME, &f) && f.len > 0 && f.bytes[0] != '<')
        return strndup((const char *)f.bytes, f.len);
    return strdup(l->name);
}

/* 0, or an errno. */
static int run(const struct language *l, const struct frame *request, struct process_end *ret)
{
    char *argv[ARGS_MAX + 2] = {0};
    scoped(environment_done) struct environment env = {0};
    scoped(freep) char *name = l->name ? name_of(l, request) : NULL;
    scoped(fd_closep) int code = file_of(request, FIELD_CODE);
    if (code < 0)
        return errno;
    scoped(fd_closep) int input = file_of(request, FIELD_STDIN);
    if (input < 0)
        return errno;
    if ((l->name && !name) || environment_make(request, &env))
        return ENOMEM;
    size_t count = 0;
    for (; l->args[count]; count++)
        argv[count] = (char *)l->args[count]; /* execve does not write there */
    argv[count] = name;
    const struct program program = {.path = l->path,
                                    .argv = argv,
                                    .env = env.list,
                                    .directory = DATA_DIR,
                                    .code_fd = code,
                                    .stdin_fd = input};
    PyThreadState *thread = PyEval_SaveThread();
    int why = process_run(&program, ret);
    PyEval_RestoreThread(thread);
    return why;
}

/* What the code reads happens elsewhere: only what it names is known. */
static void note_reads(const struct frame *request)
{
    struct field f;
    reads_begin();
    reads_partial();
    if (field_find(request, FIELD_CODE, &f))
        reads_words((const char *)f.bytes, f.len, access(DATA_DIR, X_OK) ? NULL : DATA_DIR);
}

void language_run(const struct frame *request)
{
    enum run_language number = language_of(request);
    const struct language *l = number < LANGUAGE_COUNT ? &languages[number] : NULL;
    struct process_end end = {0};
    (void)fflush(NULL);
    signals_drop_stale();
    note_reads(request);
    int why = l && l->program ? run(l, request, &end) : 0;
    sigset_t before = signals_hold();
    if (!l || !l->program)
        say("NotInstalled", "this version of the kernel does not know the language of the code");
    else if (why)
        say_why_not(l, why);
    else
        say_end(l, &end);
    tell_done();
    signals_let(before);
}
