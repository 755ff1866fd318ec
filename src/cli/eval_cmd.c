/* `cicada eval`: how many tasks a model solves. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/eval_int.h"
#include "cli/exit.h"
#include "cli/remote.h"
#include "cli/stop.h"
#include "cli/table.h"

enum { OPT_MODEL = 1, OPT_JOBS, OPT_ONLY, OPT_RUNS, OPT_TIMEOUT, OPT_KEEP, OPT_JSON, OPT_HELP };
enum { RUNS_MAX = 200, TIMEOUT_MAX_S = 86400 };

/* clang-format off */
static const struct option table[] = {
    {OPT_MODEL, 0, "model", "NAME", "ask this model (the server's)"},
    {OPT_JOBS, 'j', "jobs", "N", "so many tasks at a time (1)"},
    {OPT_ONLY, 0, "only", "ID", "only this task"},
    {OPT_RUNS, 0, "max-runs", "N", "let it run code so often at most for each task"},
    {OPT_TIMEOUT, 0, "timeout", "SECONDS", "give up a task after so long"},
    {OPT_KEEP, 0, "keep", NULL, "keep the workspaces the tasks were worked on in"},
    {OPT_JSON, 0, "json", NULL, "print JSON instead: an object for each task, then the sum"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0}};
/* clang-format on */

struct eval_options {
    const char *file, *model, *only;
    uint64_t jobs, max_runs, timeout_s;
    bool is_json, is_help, keeps;
};

static int take_number(const struct arg *arg, const char *name, uint64_t max, uint64_t *ret,
                       struct err *e)
{
    return parse_u64(arg->value, 1, max, ret, e) ? err_wrap(e, "--%s", name) : 0;
}

static int take_arg(struct eval_options *o, const struct arg *arg, struct err *e)
{
    switch (arg->id) {
    case OPT_MODEL: o->model = arg->value; return 0;
    case OPT_JOBS: return take_number(arg, "jobs", EVAL_JOBS_MAX, &o->jobs, e);
    case OPT_ONLY: o->only = arg->value; return 0;
    case OPT_RUNS: return take_number(arg, "max-runs", RUNS_MAX, &o->max_runs, e);
    case OPT_TIMEOUT: return take_number(arg, "timeout", TIMEOUT_MAX_S, &o->timeout_s, e);
    case OPT_KEEP: o->keeps = true; return 0;
    case OPT_JSON: o->is_json = true; return 0;
    case OPT_HELP: o->is_help = true; return 0;
    default: break;
    }
    if (o->file)
        return err_set(e, ERR_INVALID, "'%.60s' is one too many; name one file of tasks",
                       arg->value);
    o->file = arg->value;
    return 0;
}

static int parse(int argc, char **argv, struct eval_options *o, struct err *e)
{
    struct args args = ARGS(argc, argv, table);
    struct arg arg;
    int got;
    while ((got = args_next(&args, &arg, e)) == 1)
        if (take_arg(o, &arg, e))
            return -1;
    if (got == 0 && !o->file && !o->is_help)
        return err_set(e, ERR_INVALID,
                       "which tasks? Name a file with one JSON object on each line");
    return got;
}

/* ---- the tasks ---- */

static int read_tasks(const char *name, struct tasks *ret, struct err *e)
{
    scoped(fd_closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    scoped(freep) char *text = malloc(TASKS_BYTES_MAX + 1); /* only what is touched costs memory */
    size_t len;
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "read the tasks");
    if (fd < 0)
        return err_sys(e, errno, "cannot read %.150s", name);
    if (fd_read_all(fd, text, TASKS_BYTES_MAX + 1, &len, e) || tasks_read(text, len, ret, e))
        return err_wrap(e, "%.100s", name);
    return 0;
}

static int keep_only(struct tasks *t, const char *id, struct err *e)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->all[i].id, id) != 0)
            continue;
        const struct task only = t->all[i];
        t->all[i] = t->all[0];
        t->all[0] = only;
        for (size_t k = 1; k < t->count; k++)
            json_decref(t->all[k].object);
        t->count = 1;
        return 0;
    }
    return err_set(e, ERR_INVALID, "there is no task '%.60s'", id);
}

/* A file that is missing is told before the first question costs something. */
static int check_files(const struct eval *v, struct err *e)
{
    for (size_t i = 0; i < v->tasks.count; i++) {
        const struct task *t = &v->tasks.all[i];
        for (size_t k = 0; k < json_array_size(t->files); k++) {
            const char *path = json_string_value(json_array_get(t->files, k));
            scoped(freep) char *local = NULL;
            struct stat st;
            if (asprintf(&local, "%s/%s", v->dir, path) < 0) {
                local = NULL;
                return err_set(e, ERR_NO_MEMORY, "look at %.150s", path);
            }
            if (stat(local, &st) || !S_ISREG(st.st_mode) || access(local, R_OK))
                return err_set(e, ERR_INVALID, "line %zu: there is no file %.150s beside the tasks",
                               t->line, path);
        }
    }
    return 0;
}

/* ---- working on them ---- */

static void *worker(void *arg)
{
    eval_work(arg);
    return NULL;
}

static void work(struct eval *v, size_t jobs)
{
    pthread_t threads[EVAL_JOBS_MAX];
    size_t count = 0;
    while (count + 1 < jobs && count + 1 < v->tasks.count &&
           pthread_create(&threads[count], NULL, worker, v) == 0)
        count++;
    eval_work(v);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

static int evaluate(struct eval *v, const struct eval_options *o, struct err *e)
{
    v->results = calloc(v->tasks.count + 1, sizeof *v->results);
    if (!v->results)
        return err_set(e, ERR_NO_MEMORY, "work on the tasks");
    if (remote_find(v->notes, &v->address, e) || stop_new(&v->stop, e))
        return -1;
    work(v, o->jobs);
    int code = eval_report(v, o->is_json);
    if (stop_is_asked(v->stop))
        return EXIT_CANCELLED;
    if (!v->has_failed)
        return code;
    note_problem(v->notes, "%s", v->failure.text);
    note_lines(v->notes, v->hint);
    return answer_exit_code(&v->failure);
}

static void eval_done(struct eval *v)
{
    for (size_t i = 0; v->results && i < v->tasks.count; i++)
        free(v->results[i].answer);
    free(v->results);
    tasks_done(&v->tasks);
    stop_free(v->stop);
    explicit_bzero(v->address.key, sizeof v->address.key);
    pthread_mutex_destroy(&v->lock);
}

int eval_main(int argc, char **argv)
{
    struct err e = {0};
    struct eval_options o = {.jobs = 1};
    struct notes notes = notes_to_stderr();
    if (parse(argc, argv, &o, &e))
        return usage_error("eval", e.text);
    if (o.is_help)
        return print_help(eval_help);
    scoped(freep) char *name = strdup(o.file);
    scoped(eval_done) struct eval v = {.model = o.model,
                                       .max_runs = o.max_runs,
                                       .timeout_s = o.timeout_s,
                                       .keeps = o.keeps,
                                       .is_quiet = o.is_json,
                                       .notes = &notes,
                                       .lock = PTHREAD_MUTEX_INITIALIZER};
    text_locale();
    if (!name)
        return EXIT_NO_JAIL;
    v.dir = dirname(name);
    int code = EXIT_USAGE;
    if (read_tasks(o.file, &v.tasks, &e) == 0 &&
        (!o.only || keep_only(&v.tasks, o.only, &e) == 0) && check_files(&v, &e) == 0) {
        code = evaluate(&v, &o, &e);
        if (code >= 0)
            return code;
        code = answer_exit_code(&e);
    }
    note_problem(&notes, "%s", e.text);
    return code;
}

void eval_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada eval TASKS.jsonl [OPTION...]\n\n"
            "Gives tasks with answers that can be checked to a model, each in a workspace and a "
            "session of its\nown, and says how many it solved, with how many attempts (runs of "
            "code), tokens and seconds.\n\noptions:\n");
    args_help(table, out);
    buf_str(out,
            "\na task is one line, such as:\n"
            "  {\"id\": \"sum\", \"question\": \"What do all orders add up to?\", \"files\": "
            "[\"orders.csv\"],\n   \"expect\": {\"number\": 1234.5, \"tolerance\": 0.01}}\n"
            "\n\"expect\" is one of {\"number\", \"tolerance\"}, {\"text\"}, {\"contains\": "
            "[...]}, {\"regex\"} and\n{\"file\", \"sha256\"}. Files are found beside the tasks.\n"
            "\nexit codes: 0 all are solved; 1 some are not; 2 a line is wrong\n");
}
