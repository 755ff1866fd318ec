#include "cli/run_request.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/note.h"
#include "cli/run_options.h"
#include "session/run.h"
#include "json/write.h"

static void put_env(struct json_writer *w, const struct run_options *o)
{
    if (o->env_count == 0)
        return;
    jw_key(w, "env");
    jw_object(w);
    for (size_t i = 0; i < o->env_count; i++) {
        const char *word = o->env[i], *equals = strchr(word, '=');
        bool is_last = true; /* a variable given twice has its last value */
        for (size_t k = i + 1; k < o->env_count; k++)
            is_last = is_last && strncmp(o->env[k], word, (size_t)(equals - word) + 1) != 0;
        if (!is_last)
            continue;
        jw_key_str(w, word, (size_t)(equals - word));
        jw_text(w, equals + 1);
    }
    jw_end_object(w);
}

static void put_code(struct json_writer *w, const struct run_options *o, const struct piece *p)
{
    jw_key(w, "code");
    jw_str(w, p->code, p->code_len);
    if (p->language != LANGUAGE_PYTHON) {
        jw_key(w, "language");
        jw_text(w, run_language_name(p->language));
    }
    if (p->name) {
        jw_key(w, "name");
        jw_text(w, p->name);
    }
    if (o->stdin_text) {
        jw_key(w, "stdin");
        jw_str(w, o->stdin_text, o->stdin_len);
    }
    if (o->limits_given & LIMIT_GIVEN_WALL) {
        jw_key(w, "timeout_s");
        jw_decimal(w, o->limits.wall_ms, 3);
    }
    put_env(w, o);
}

static void put_mib(struct json_writer *w, const char *key, uint64_t bytes)
{
    jw_key(w, key);
    jw_decimal(w, bytes / MIB * 1000 + bytes % MIB * 1000 / MIB, 3);
}

static void put_limits(struct json_writer *w, const struct limits *l, unsigned given)
{
    if (!given)
        return;
    jw_key(w, "limits");
    jw_object(w);
    if (given & LIMIT_GIVEN_MEMORY)
        put_mib(w, "memory_mb", l->memory_bytes);
    if (given & LIMIT_GIVEN_DISK)
        put_mib(w, "disk_mb", l->disk_bytes);
    if (given & LIMIT_GIVEN_CPU) {
        jw_key(w, "cpu");
        jw_decimal(w, l->cpu_milli, 3);
    }
    if (given & LIMIT_GIVEN_WALL) {
        jw_key(w, "wall_s");
        jw_decimal(w, l->wall_ms, 3);
    }
    if (given & LIMIT_GIVEN_PIDS) {
        jw_key(w, "pids");
        jw_u64(w, l->pids);
    }
    if (given & LIMIT_GIVEN_OUTPUT) {
        jw_key(w, "output_bytes");
        jw_u64(w, l->output_bytes);
    }
    jw_end_object(w);
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    jw_key(w, key);
    jw_text(w, text);
}

void session_request(const char *name, const char *workspace, const struct limits *limits,
                     unsigned limits_given, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    put_text(&w, "name", name);
    put_text(&w, "workspace", workspace);
    put_limits(&w, limits, limits_given);
    jw_end_object(&w);
    jw_finish(&w);
}

int run_request(const struct run_options *o, const struct piece *piece, struct buf *out,
                struct err *e)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    put_code(&w, o, piece);
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(out, e);
}

/* Files on their way into a request. */
struct load {
    struct json_writer *writer;
    size_t bytes, count; /* so far */
    size_t skipped;
};

static int too_large(struct err *e)
{
    return err_set(
        e, ERR_TOO_LARGE,
        "the files for -f are larger than the %d MiB that travel with a run; bring less, "
        "or run it here with --direct",
        RUN_FILES_MAX >> 20);
}

static int put_file(struct load *l, const char *path, const char *name, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t room = RUN_FILES_MAX - l->bytes, len;
    if (fd < 0)
        return err_sys(e, errno, "cannot bring %.150s", path);
    scoped(freep) char *bytes = malloc(room + 1); /* only what is touched costs memory */
    if (!bytes)
        return err_set(e, ERR_NO_MEMORY, "bring %.150s", path);
    if (fd_read_all(fd, bytes, room + 1, &len, e))
        return err_wrap(e, "cannot bring %.150s", path);
    if (len > room || ++l->count > RUN_FILES_COUNT_MAX)
        return too_large(e);
    l->bytes += len;
    jw_object(l->writer);
    jw_key(l->writer, "path");
    jw_text(l->writer, name);
    jw_key(l->writer, "content_base64");
    jw_base64(l->writer, bytes, len);
    jw_end_object(l->writer);
    return 0;
}

static void close_fts(FTS **tree)
{
    if (*tree)
        (void)fts_close(*tree);
}

static int put_entry(struct load *l, const struct guest *g, const FTSENT *entry, struct err *e)
{
    scoped(freep) char *name = NULL;
    switch (entry->fts_info) {
    case FTS_D:
    case FTS_DP: return 0;
    case FTS_F: break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: return err_sys(e, entry->fts_errno, "cannot bring %.150s", entry->fts_path);
    default: l->skipped++; return 0;
    }
    if (asprintf(&name, "%s%s", g->name, entry->fts_path + strlen(g->path)) < 0)
        return err_set(e, ERR_NO_MEMORY, "bring %.150s", g->path);
    return put_file(l, entry->fts_path, name, e);
}

/* A file, or a directory with everything in it. A link that was named is followed, one that was
 * found is not. */
static int put_guest(struct load *l, const struct guest *g, struct err *e)
{
    char *const roots[] = {g->path, NULL};
    scoped(close_fts) FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (!tree)
        return err_sys(e, errno, "cannot bring %.150s", g->path);
    errno = 0;
    for (FTSENT *entry; (entry = fts_read(tree)); errno = 0)
        if (put_entry(l, g, entry, e))
            return -1;
    return errno ? err_sys(e, errno, "cannot bring %.150s", g->path) : 0;
}

static int put_files(struct json_writer *w, const struct run_options *o, struct notes *notes,
                     struct err *e)
{
    struct load l = {.writer = w};
    jw_key(w, "files");
    jw_array(w);
    for (size_t i = 0; i < o->guest_count; i++) {
        l.skipped = 0;
        if (put_guest(&l, &o->guests[i], e))
            return -1;
        if (l.skipped > 0)
            note(notes, "%zu entr%s of %s not brought: only files and directories are", l.skipped,
                 l.skipped == 1 ? "y" : "ies", o->guests[i].path);
    }
    jw_end_array(w);
    return 0;
}

int run_request_alone(const struct run_options *o, const struct piece *piece, struct notes *notes,
                      struct buf *out, struct err *e)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    put_code(&w, o, piece);
    put_text(&w, "workspace", o->workspace);
    put_limits(&w, &o->limits, o->limits_given & ~(unsigned)LIMIT_GIVEN_WALL);
    if (o->guest_count > 0 && put_files(&w, o, notes, e))
        return -1;
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(out, e);
}
