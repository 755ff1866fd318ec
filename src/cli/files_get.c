/* `cicada files get` and `cat`: from a workspace to here. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/delivery.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/landing.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/transfer.h"

enum { LISTED_MAX = 20 }; /* files that are named one by one */

/* clang-format off */
const struct option files_get_options[] = {
    {FILES_OUT, 'o', "out", "DEST", "a file, a directory (here by itself), or - for standard output"},
    {FILES_VERSION, 'v', "version", "N", "this version of a file, not the newest"},
    {FILES_ALL, 'a', "hidden", NULL, "from a directory or by a pattern also files that begin with a\n"
                                     "dot, even into a directory that is not empty"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
const struct option files_cat_options[] = {
    {FILES_VERSION, 'v', "version", "N", "this version, not the newest"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
/* clang-format on */

/* What is being fetched, all of it known before the first byte moves. */
struct fetching {
    const struct verb_input *in;
    struct haul haul;
    struct found found[VERB_OPERANDS_MAX];
    size_t found_count;
    struct delivery delivery; /* the directory it goes to */
    size_t told, same, skipped;
};

static void fetching_done(struct fetching *f)
{
    for (size_t i = 0; i < f->found_count; i++)
        found_done(&f->found[i]);
    delivery_close(&f->delivery);
    haul_done(&f->haul);
}

/* The one version of one file that --version names. */
static int find_version(struct fetching *f, const char *word, unsigned long long version,
                        struct err *e)
{
    char path[FILEREF_SIZE];
    struct found *found = &f->found[0];
    json_t *file = NULL;
    if (f->in->operand_count > 1)
        return err_set(e, ERR_INVALID, "--version goes with one file");
    if (fileref_clean(word, path, /* ret_is_dir= */ NULL, e) ||
        verb_file_stat(f->haul.remote, f->haul.workspace, path, version, &file, e))
        return -1;
    found->base_len = (size_t)(fileref_base(path) - path);
    found->files = json_array();
    if (!found->files || json_array_append_new(found->files, file))
        return err_set(e, ERR_NO_MEMORY, "look for a file");
    f->found_count = 1;
    return 0;
}

static int find_all(struct fetching *f, struct err *e)
{
    struct haul *h = &f->haul;
    unsigned long long version;
    uint64_t total = 0;
    size_t count = 0;
    if (files_version(f->in, &version, e))
        return -1;
    if (version && find_version(f, f->in->operands[0], version, e))
        return -1;
    for (size_t i = 0; !version && i < f->in->operand_count; i++) {
        if (files_find(h->remote, h->workspace, f->in->operands[i], &f->found[i], e)) {
            if (e->code == ERR_NOT_FOUND && i > 0)
                note(&h->remote->notes, "to save under another name, write -o %s",
                     f->in->operands[i]);
            return -1;
        }
        f->found_count++;
    }
    for (size_t i = 0; i < f->found_count; i++) {
        count += json_array_size(f->found[i].files);
        for (size_t k = 0; k < json_array_size(f->found[i].files); k++)
            total += pick_count(json_array_get(f->found[i].files, k), "size");
    }
    progress_begin(&h->progress, total, count);
    return 0;
}

static void tell_saved(struct fetching *f, const char *where, const struct origin *from,
                       bool is_new)
{
    char size[SIZE_TEXT];
    if (!is_new)
        f->same++;
    else if (f->told++ < LISTED_MAX && !verb_is_json(f->in)) {
        progress_clear(&f->haul.progress);
        note(&f->haul.remote->notes, "saved %s (%s)", where, size_text(from->size, size));
    }
}

/* One of several files, or the one that goes to a directory. */
static int take_one(struct fetching *f, const struct found *found, const json_t *file,
                    struct err *e)
{
    struct origin from = origin_of(file);
    const char *name = from.path + (strlen(from.path) > found->base_len ? found->base_len : 0);
    char where[FILEREF_SIZE + 256];
    bool is_new, takes_hidden = f->delivery.takes_hidden || f->in->values[FILES_ALL];
    if (found->meaning != MEANS_FILE && fileref_is_hidden(name) && !takes_hidden) {
        f->skipped++;
        progress_skipped(&f->haul.progress, from.size);
        return 0;
    }
    if (landing_take(&f->haul, f->delivery.dir_fd, &from, name, &is_new, e))
        return -1;
    bool is_here = strcmp(f->delivery.dir, ".") == 0;
    (void)snprintf(where, sizeof where, "%.250s%s%s", is_here ? "" : f->delivery.dir,
                   is_here ? "" : "/", name);
    tell_saved(f, where, &from, is_new);
    return verb_is_json(f->in) && verb_print(f->in, file) != EXIT_DONE
               ? err_set(e, ERR_GONE, "nobody reads standard output")
               : 0;
}

static int take_to_dir(struct fetching *f, const char *dir, struct err *e)
{
    struct notes *notes = &f->haul.remote->notes;
    if (delivery_open(&f->delivery, dir, /* is_quiet= */ false, notes, e))
        return -1;
    for (size_t i = 0; i < f->found_count; i++)
        for (size_t k = 0; k < json_array_size(f->found[i].files); k++)
            if (take_one(f, &f->found[i], json_array_get(f->found[i].files, k), e))
                return -1;
    progress_clear(&f->haul.progress);
    if (f->told > LISTED_MAX && !verb_is_json(f->in))
        note(notes, "saved %zu more files to %s", f->told - LISTED_MAX, dir);
    if (f->same > 0)
        note(notes, "%zu file%s here already, with the same bytes", f->same,
             f->same == 1 ? " was" : "s were");
    if (f->skipped > 0)
        note(notes,
             "%zu file%s not saved: names that begin with a dot go to an empty or new "
             "directory, or with --hidden",
             f->skipped, f->skipped == 1 ? "" : "s");
    return EXIT_DONE;
}

/* One file under a name of the user's, whose directory is trusted. */
static int take_to_file(struct fetching *f, const char *dest, struct err *e)
{
    const json_t *file = json_array_get(f->found[0].files, 0);
    const struct origin from = origin_of(file);
    const char *slash = strrchr(dest, '/');
    char dir[PATH_MAX];
    struct stat st;
    bool is_new = true;
    if (stat(dest, &st) == 0 && !S_ISREG(st.st_mode)) { /* a device, a pipe */
        scoped(fd_closep) int fd = open(dest, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            return err_sys(e, errno, "cannot write to %.150s", dest);
        return download_stream(&f->haul, &from, fd, e);
    }
    (void)snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - dest + 1) : 1,
                   slash ? dest : ".");
    scoped(fd_closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return err_sys(e, errno, "cannot use the directory of %.150s", dest);
    if (download_file(&f->haul, &from, dir_fd, slash ? slash + 1 : dest, &is_new, e))
        return -1;
    progress_clear(&f->haul.progress);
    tell_saved(f, dest, &from, is_new);
    if (f->same)
        note(&f->haul.remote->notes, "%s was here already, with the same bytes", dest);
    return verb_print(f->in, verb_is_json(f->in) ? file : NULL);
}

/* All of them, one after the other. */
static int take_to_stdout(struct fetching *f, struct err *e)
{
    for (size_t i = 0; i < f->found_count; i++)
        for (size_t k = 0; k < json_array_size(f->found[i].files); k++) {
            const struct origin from = origin_of(json_array_get(f->found[i].files, k));
            if (download_stream(&f->haul, &from, STDOUT_FILENO, e))
                return f->haul.stream_errno == EPIPE ? EXIT_NO_READER : -1;
        }
    return EXIT_DONE;
}

static bool goes_to_dir(const struct fetching *f, const char *dest)
{
    struct stat st;
    return f->found_count > 1 || f->found[0].meaning != MEANS_FILE ||
           dest[strlen(dest) - 1] == '/' || (stat(dest, &st) == 0 && S_ISDIR(st.st_mode));
}

static int fetch(struct fetching *f, const char *dest, struct err *e)
{
    if (!*dest)
        return err_set(e, ERR_INVALID, "-o needs a name, a directory, or -");
    if (find_all(f, e))
        return -1;
    int code = strcmp(dest, "-") == 0 ? take_to_stdout(f, e)
               : goes_to_dir(f, dest) ? take_to_dir(f, dest, e)
                                      : take_to_file(f, dest, e);
    if (code < 0)
        haul_tell_rest(&f->haul, e);
    return code;
}

static int run(struct remote *r, const struct verb_input *in, const char *dest, struct err *e)
{
    scoped(fetching_done) struct fetching f = {.in = in,
                                               .delivery = {.dir_fd = -1, .figure_fd = -1}};
    if (haul_init(&f.haul, r, verb_workspace(in), e))
        return -1;
    return fetch(&f, dest, e);
}

int files_get(struct remote *r, const struct verb_input *in, struct err *e)
{
    return run(r, in, in->values[FILES_OUT] ? in->values[FILES_OUT] : ".", e);
}

int files_cat(struct remote *r, const struct verb_input *in, struct err *e)
{
    return run(r, in, "-", e);
}
