/* extractor.c -- the jail in which documents are read. */
#include "service/extractor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/tree.h"
#include "service/materialise.h"
#include "session/current.h"
#include "session/kernel.h"
#include "wire/jail.h"
#include "workspace/files.h"

extern const char service_extract[]; /* extract.py */

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
static const char name_of_dir[] = "index";
static const char document[] = "document";

struct extractor {
    struct extractor_options o;
    char vault[ID_SIZE];
    int dir_fd, in_fd, data_fd; /* DATA/live/index, and in it: where we write, what the jail sees */
    struct kernel *kernel;
    unsigned docs;
    bool is_spoiled;
};

static struct limits limits_of(const struct extractor_options *o)
{
    return (struct limits){
        .memory_bytes = EXTRACTOR_MEMORY_MB * MIB,
        .disk_bytes = 2 * o->file_max + 16 * MIB,
        .file_bytes = o->file_max + 16 * MIB,
        .tmp_bytes = 16 * MIB,
        .output_bytes = KIB,
        .drain_bytes = 64 * MIB,
        .cpu_milli = 1000,
        .pids = 64,
        .files = 64,
        .open_files = 128,
        .wall_ms = EXTRACTOR_WALL_MS,
    };
}

/* ---- its directory ---- */

static void remove_dir(struct extractor *x)
{
    struct err ignored = {0}; /* what stays is swept at the next start of the server */
    if (x->dir_fd >= 0)
        (void)tree_remove(x->dir_fd, &ignored);
    (void)unlinkat(x->o.live_fd, name_of_dir, AT_REMOVEDIR);
}

static int make_one(int at, const char *name, mode_t mode, int *ret_fd, struct err *e)
{
    if (mkdirat(at, name, mode) && errno != EEXIST)
        return err_sys(e, errno, "make a directory for documents");
    *ret_fd = openat(at, name, OPEN_DIR);
    return *ret_fd < 0 ? err_sys(e, errno, "open a directory for documents") : 0;
}

static int make_dirs(struct extractor *x, struct err *e)
{
    int old = openat(x->o.live_fd, name_of_dir, OPEN_DIR);
    if (old >= 0) {
        x->dir_fd = old;
        remove_dir(x);
        (void)close(old);
        x->dir_fd = -1;
    }
    return make_one(x->o.live_fd, name_of_dir, 0711, &x->dir_fd, e) ||
                   make_one(x->dir_fd, "in", 0700, &x->in_fd, e) ||
                   make_one(x->dir_fd, "data", 0700, &x->data_fd, e)
               ? -1
               : 0;
}

/* ---- its life ---- */

static int start_from_image(struct extractor *x, const struct limits *limits, struct err *e)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    if (!x->o.can_use_images || current_take(x->o.current, &image, e))
        return -1;
    const struct kernel_origin origin = {.image_fd = image.fd, .delta_fd = -1, .libraries_fd = -1};
    return kernel_start(x->o.spawner, limits, &JAIL_DATA_PLAIN(x->data_fd), &origin, &x->kernel, e);
}

static int run_code(struct extractor *x, const char *code, const struct run_sink *sink,
                    struct run *ret, struct err *e)
{
    const struct run_spec spec = {.code = code,
                                  .code_len = strlen(code),
                                  .language = LANGUAGE_PYTHON,
                                  .name = "extract.py",
                                  .cancel = x->o.is_stopping,
                                  .leaves_files = true};
    return kernel_run(x->kernel, &spec, sink, ret, e);
}

static int start(struct extractor *x, struct err *e)
{
    struct err ignored = {0};
    const struct limits limits = limits_of(&x->o);
    struct run run = {0};
    if (start_from_image(x, &limits, &ignored) &&
        kernel_start(x->o.spawner, &limits, &JAIL_DATA_PLAIN(x->data_fd), &ORIGIN_COLD, &x->kernel,
                     e))
        return -1;
    if (run_code(x, service_extract, NULL, &run, e))
        return -1;
    enum run_end end = run.end;
    run_done(&run);
    return end == END_OK
               ? 0
               : err_set(e, ERR_UNAVAILABLE, "the extractor did not start: %s", run_end_name(end));
}

int extractor_open(const struct extractor_options *options, const char *vault,
                   struct extractor **ret, struct err *e)
{
    struct extractor *x = calloc(1, sizeof *x);
    if (!x)
        return err_set(e, ERR_NO_MEMORY, "read documents");
    x->o = *options;
    x->dir_fd = x->in_fd = x->data_fd = -1;
    (void)snprintf(x->vault, sizeof x->vault, "%s", vault);
    if (make_dirs(x, e) || start(x, e)) {
        extractor_close(x);
        return err_wrap(e, "read documents");
    }
    *ret = x;
    return 0;
}

void extractor_close(struct extractor *x)
{
    if (!x)
        return;
    kernel_free(x->kernel);
    remove_dir(x);
    fd_closep(&x->data_fd);
    fd_closep(&x->in_fd);
    fd_closep(&x->dir_fd);
    free(x);
}

const char *extractor_vault(const struct extractor *x)
{
    return x->vault;
}

bool extractor_is_spent(const struct extractor *x)
{
    return x->is_spoiled || x->docs >= EXTRACTOR_DOCS_MAX || !kernel_is_alive(x->kernel);
}

void extractor_cancel(struct extractor *x)
{
    kernel_cancel(x->kernel);
}

/* ---- one document ---- */

/* Lines as they come out of the jail. */
struct hearing {
    struct extracted *to;
    struct buf line;
    bool is_odd;
};

static int hear(void *arg, const struct run_event *event)
{
    struct hearing *h = arg;
    const char *at = event->bytes, *end = at + event->len;
    if (event->kind != RUN_STDOUT)
        return 0;
    while (at < end && !h->is_odd) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        buf_add(&h->line, at, (size_t)((line ? line : end) - at));
        if (h->line.failed) {
            h->is_odd = true;
        } else if (line) {
            h->is_odd = extracted_line(h->to, h->line.bytes ? h->line.bytes : "", h->line.len) != 0;
            buf_done(&h->line);
        }
        at = line ? line + 1 : end;
    }
    return h->is_odd ? -1 : 0;
}

static void set_failed(struct extracted *t, const char *reason)
{
    extracted_done(t);
    t->state = DOC_FAILED;
    (void)snprintf(t->reason, sizeof t->reason, "%s", reason);
}

/* What became of it, by what the engine saw; what the jail said counts only when all is well. */
static void judge(const struct run *run, const struct hearing *h, struct extracted *t)
{
    char reason[DOC_REASON_MAX + 1];
    if (h->is_odd) {
        set_failed(t, "reading it went wrong: what was read is not text");
    } else if (run->end == END_TIMEOUT) {
        set_failed(t, "reading it takes too long");
    } else if (run->end == END_MEMORY) {
        set_failed(t, "reading it needs too much memory");
    } else if (run->end == END_DISK || run->end == END_OUTPUT_LIMIT) {
        set_failed(t, "what is in it is too large");
    } else if (run->end != END_OK || !t->is_over) {
        (void)snprintf(reason, sizeof reason, "reading it went wrong (%s)", run_end_name(run->end));
        set_failed(t, reason);
    } else if (t->state == DOC_FAILED || t->state == DOC_SKIPPED) {
        snprintf(reason, sizeof reason, "%s", t->reason);
        enum doc_state state = t->state;
        set_failed(t, reason);
        t->state = state;
    } else if (t->count == 0) {
        set_failed(t, "there is no text in it");
        t->state = DOC_SKIPPED;
    }
}

/* The jail may have put anything where the document goes: a rename replaces what is there and follows
 * nothing. */
static int bring(struct extractor *x, const struct workspace_row *ws, const struct content *content,
                 struct err *e)
{
    if (materialise(x->o.files, ws, content, x->in_fd, document, /* changed_us= */ 1, e))
        return -1;
    if (renameat(x->in_fd, document, x->data_fd, document)) {
        x->is_spoiled = true;
        return err_sys(e, errno, "hand a document over");
    }
    return 0;
}

static void add_ending(struct buf *code, const char *name)
{
    const char *dot = strrchr(name, '.');
    for (const char *at = dot ? dot : ""; *at && at < dot + 16; at++)
        if (*at == '.' || (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9'))
            buf_add(code, at, 1);
}

int extractor_read(struct extractor *x, const struct workspace_row *ws,
                   const struct content *content, const char *name, struct extracted *ret,
                   struct err *e)
{
    struct hearing h = {.to = ret, .line = BUF_INIT(EXTRACTOR_LINE_MAX)};
    const struct run_sink sink = {.put = hear, .arg = &h};
    scoped(buf_done) struct buf code = BUF_INIT(256);
    struct run run = {0};
    *ret = (struct extracted){0};
    buf_fmt(&code, "extract('/mnt/data/%s', 'document", document);
    add_ending(&code, name);
    buf_str(&code, "')");
    int failed =
        buf_check(&code, e) || bring(x, ws, content, e) || run_code(x, code.bytes, &sink, &run, e);
    (void)unlinkat(x->data_fd, document,
                   0); /* it may be a directory by now: the jail is spoiled then */
    x->docs++;
    if (!failed) {
        judge(&run, &h, ret);
        x->is_spoiled |= run.end != END_OK || h.is_odd || ret->state == DOC_FAILED;
        run_done(&run);
    } else {
        extracted_done(ret);
        x->is_spoiled = true;
    }
    buf_done(&h.line);
    return failed ? -1 : 0;
}
