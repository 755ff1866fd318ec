/* `cicada files put`: from here to a workspace. */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/transfer.h"

enum { LISTED_MAX = 20, FILES_MAX = 1000000 };

/* clang-format off */
const struct option files_put_options[] = {
    {FILES_TO, 't', "to", "PATH", "where to: a directory if it ends with a slash, exists as one, or\n"
                                  "there are several files; otherwise the new name"},
    VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};
/* clang-format on */

/* A file here, and where it goes. */
struct item {
    char *local, *path; /* owned */
    uint64_t size;
};

struct storing {
    const struct verb_input *in;
    struct haul haul;
    char to[FILEREF_SIZE];
    bool is_to_dir;
    struct item *items; /* owned */
    size_t count, left_out, told, same;
};

static void storing_done(struct storing *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->items[i].local);
        free(s->items[i].path);
    }
    free(s->items);
    haul_done(&s->haul);
}

static int add_item(struct storing *s, const char *local, const char *path, uint64_t size,
                    struct err *e)
{
    if (s->count == FILES_MAX)
        return err_set(e, ERR_TOO_LARGE, "more than %d files; store them in parts", FILES_MAX);
    struct item *grown = reallocarray(s->items, s->count + 1, sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "look at %.150s", local);
    s->items = grown;
    struct item item = {.local = strdup(local), .path = strdup(path), .size = size};
    s->items[s->count++] = item;
    return item.local && item.path ? 0 : err_set(e, ERR_NO_MEMORY, "look at %.150s", local);
}

static void close_fts(FTS **tree)
{
    if (*tree)
        (void)fts_close(*tree);
}

static int add_entry(struct storing *s, const char *root, const char *base, const FTSENT *entry,
                     struct err *e)
{
    char path[FILEREF_SIZE];
    const char *rest = entry->fts_path + strlen(root);
    switch (entry->fts_info) {
    case FTS_D:
    case FTS_DP: return 0;
    case FTS_F: break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS: return err_sys(e, entry->fts_errno, "cannot read %.150s", entry->fts_path);
    default: s->left_out++; return 0;
    }
    if (fileref_join(base, rest + strspn(rest, "/"), path, e))
        return -1;
    return add_item(s, entry->fts_path, path, (uint64_t)entry->fts_statp->st_size, e);
}

/* A directory with everything in it. Links that are found are not followed. */
static int add_tree(struct storing *s, char *root, const char *base, struct err *e)
{
    char *const roots[] = {root, NULL};
    scoped(close_fts) FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (!tree)
        return err_sys(e, errno, "cannot read %.150s", root);
    errno = 0;
    for (FTSENT *entry; (entry = fts_read(tree)); errno = 0)
        if (add_entry(s, root, base, entry, e))
            return -1;
    return errno ? err_sys(e, errno, "cannot read %.150s", root) : 0;
}

/* What it is called: its last component. Of "." it is nothing: what is in it goes there itself. */
static int own_name(const char *local, char ret[FILEREF_SIZE], struct err *e)
{
    scoped(freep) char *whole = strdup(local);
    if (!whole)
        return err_set(e, ERR_NO_MEMORY, "look at %.150s", local);
    for (size_t len = strlen(whole); len > 1 && whole[len - 1] == '/'; len--)
        whole[len - 1] = '\0';
    const char *base = fileref_base(whole);
    if (strcmp(base, ".") == 0)
        base = "";
    else if (!*base || strcmp(base, "..") == 0)
        return err_set(
            e, ERR_INVALID,
            "what should %.150s be called? Store it with --to NAME, or name what is in it", local);
    return fileref_join("", base, ret, e);
}

/* Looks at a word; *ret_mode is what it is. */
static int look(struct storing *s, const char *word, mode_t *ret_mode, uint64_t *ret_size,
                struct err *e)
{
    struct stat st;
    if (stat(word, &st)) {
        int failed = errno;
        if (failed == ENOENT && s->in->operand_count > 1 && !s->in->values[FILES_TO])
            note(&s->haul.remote->notes, "to store under another name, write --to %s", word);
        return failed == ENOENT ? err_set(e, ERR_NOT_FOUND, "there is no file %.150s here", word)
                                : err_sys(e, failed, "cannot read %.150s", word);
    }
    *ret_mode = st.st_mode;
    *ret_size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    return 0;
}

static int add_word(struct storing *s, const char *word, struct err *e)
{
    char name[FILEREF_SIZE] = "", path[FILEREF_SIZE];
    mode_t mode = 0;
    uint64_t size = 0;
    bool is_stdin = strcmp(word, "-") == 0, has_name = s->in->values[FILES_TO] && !s->is_to_dir;
    if (is_stdin && !has_name)
        return err_set(e, ERR_INVALID, "what should standard input be called? Write --to NAME");
    if ((!is_stdin && look(s, word, &mode, &size, e)) || (!has_name && own_name(word, name, e)) ||
        fileref_join(s->to, name, path, e))
        return -1;
    if (!S_ISDIR(mode))
        return add_item(s, word, path, size, e);
    scoped(freep) char *root = strdup(word);
    if (!root)
        return err_set(e, ERR_NO_MEMORY, "look at %.150s", word);
    for (size_t len = strlen(root); len > 1 && root[len - 1] == '/'; len--)
        root[len - 1] = '\0';
    return add_tree(s, root, path, e);
}

/* Where it goes: --to, and whether that is a directory. */
static int find_to(struct storing *s, struct err *e)
{
    const char *to = s->in->values[FILES_TO];
    scoped(json_decrefp) json_t *there = NULL;
    struct err ignored = {0};
    s->is_to_dir = true;
    if (!to)
        return 0;
    if (fileref_clean(to, s->to, &s->is_to_dir, e))
        return -1;
    if (s->is_to_dir || s->in->operand_count > 1)
        s->is_to_dir = true;
    else if (verb_file_stat(s->haul.remote, s->haul.workspace, s->to, 0, &there, &ignored) == 0)
        s->is_to_dir = file_is_directory(there);
    return 0;
}

static int find_all(struct storing *s, struct err *e)
{
    uint64_t total = 0;
    if (find_to(s, e))
        return -1;
    for (size_t i = 0; i < s->in->operand_count; i++)
        if (add_word(s, s->in->operands[i], e))
            return -1;
    for (size_t i = 0; i < s->count; i++)
        total += s->items[i].size;
    progress_begin(&s->haul.progress, total, s->count);
    return 0;
}

static int tell(struct storing *s, const json_t *file, bool is_new)
{
    char size[SIZE_TEXT];
    if (verb_is_json(s->in))
        return verb_print(s->in, file);
    if (!is_new) {
        s->same++;
    } else if (s->told++ < LISTED_MAX) {
        progress_clear(&s->haul.progress);
        note(&s->haul.remote->notes, "stored %s (%s, version %llu)", pick_text(file, "path"),
             size_text(pick_count(file, "size"), size),
             (unsigned long long)pick_count(file, "version"));
    }
    return EXIT_DONE;
}

static void tell_rest(struct storing *s)
{
    struct notes *notes = &s->haul.remote->notes;
    progress_clear(&s->haul.progress);
    if (s->told > LISTED_MAX)
        note(notes, "stored %zu more files", s->told - LISTED_MAX);
    if (s->same > 0)
        note(notes, "%zu file%s stored already, with the same bytes", s->same,
             s->same == 1 ? " was" : "s were");
    if (s->left_out > 0)
        note(notes, "%zu entr%s left out: only files and directories are stored", s->left_out,
             s->left_out == 1 ? "y" : "ies");
    if (s->count == 0)
        note(notes, "no file to store there");
}

static int store_one(struct storing *s, const struct item *item, struct err *e)
{
    scoped(json_decrefp) json_t *file = NULL;
    bool is_new = true;
    int failed = strcmp(item->local, "-") == 0
                     ? upload_stream(&s->haul, STDIN_FILENO, item->path, &file, e)
                     : upload_file(&s->haul, item->local, item->path, &file, &is_new, e);
    return failed ? -1 : tell(s, file, is_new);
}

int files_put(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(storing_done) struct storing s = {.in = in};
    int code = EXIT_DONE;
    if (haul_init(&s.haul, r, verb_workspace(in), e) || find_all(&s, e))
        return -1;
    for (size_t i = 0; code == EXIT_DONE && i < s.count; i++)
        code = store_one(&s, &s.items[i], e);
    if (code < 0)
        haul_tell_rest(&s.haul, e);
    tell_rest(&s);
    return code;
}
