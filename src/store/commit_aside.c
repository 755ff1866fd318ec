/* What a session wrote where somebody else was faster goes beside it: both are kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/commit_int.h"

enum { NAME_BYTES_MAX = 255, ASIDE_TRIES = 1000 };

static const char known_sql[] =
    "SELECT rev, aside FROM session_paths WHERE session = ?1 AND path = ?2";

/* Cuts what is longer than `max` before a character, not in it. */
static size_t cut(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
        max--;
    return max;
}

int aside_name(const char *path, size_t end, const char *mark, unsigned number,
               char ret[PATH_BYTES_MAX + 1], struct err *e)
{
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    size_t dot = end;
    for (size_t i = end; i-- > begin + 1;)
        if (path[i] == '.') {
            dot = i;
            break;
        }
    if (end - dot > 64) /* no extension but a long name with a dot in it */
        dot = end;
    char label[160];
    int label_len = number < 2 ? snprintf(label, sizeof label, " (%.100s)", mark)
                               : snprintf(label, sizeof label, " (%.100s %u)", mark, number);
    for (char *at = label; *at; at++) /* a mark is a name of somebody's */
        if (*at == '/' || (unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '_';
    size_t fixed = (size_t)label_len + (end - dot), rest = strlen(path + end);
    size_t room = NAME_BYTES_MAX > fixed ? NAME_BYTES_MAX - fixed : 0;
    size_t used = begin + fixed + rest;
    if (used >= PATH_BYTES_MAX)
        return err_set(e, ERR_CONFLICT, "no name beside %.100s is short enough", path);
    if (room > PATH_BYTES_MAX - used)
        room = PATH_BYTES_MAX - used;
    size_t name_len = cut(path + begin, dot - begin, room);
    (void)snprintf(ret, PATH_BYTES_MAX + 1, "%.*s%s%s", (int)(begin + name_len), path, label,
                   path + dot);
    return 0;
}

/* Where the session's content of that path went before: 1, 0, -1. */
static int known_aside(struct work *w, const char *path, char ret[PATH_BYTES_MAX + 1],
                       uint64_t *ret_rev, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (!w->commit->is_working_copy)
        return 0;
    if (sql_query(w->c, known_sql, SQL_WITH(SQL_TEXT(w->commit->author.session), SQL_TEXT(path)),
                  &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    struct str aside = got == 1 ? sql_text(&rows, 1) : STR_NONE;
    if (got < 0 || !aside.ptr || aside.len > PATH_BYTES_MAX)
        return got < 0 ? -1 : 0;
    memcpy(ret, aside.ptr, aside.len);
    ret[aside.len] = '\0';
    *ret_rev = (uint64_t)sql_int(&rows, 0);
    return 1;
}

/* Whether the content may go to `name`: nothing is there, or nothing but the same, or what the
 * session itself put there (by `rev`; 0: it did not). */
static int is_free(struct work *w, const struct file_change *c, const char *name, uint64_t rev,
                   struct err *e)
{
    struct entry f;
    size_t blocked;
    const struct held *by;
    if (locks_on(w, name, /* is_dir= */ false, &by, e))
        return -1;
    if (by)
        return 0;
    int got = entry_live(w, name, &f, e);
    if (got < 0)
        return -1;
    if (got)
        return f.kind == FILE_REGULAR &&
               (f.rev <= rev || (f.content.size == c->content.size &&
                                 memcmp(f.content.sha256, c->content.sha256, HASH_LEN) == 0));
    if (blocked_at(w, name, &blocked, e))
        return -1;
    if (blocked)
        return 0;
    int below = has_below(w, name, e);
    return below < 0 ? -1 : !below;
}

static int choose(struct work *w, const struct file_change *c, char ret[PATH_BYTES_MAX + 1],
                  struct err *e)
{
    size_t end, locked;
    if (locks_above(w, c->path, &locked, e) || blocked_at(w, c->path, &end, e))
        return -1;
    if (end == 0)
        end = strlen(c->path);
    if (locked > 0 && locked < end)
        end = locked; /* nothing may be put into a tree that others have locked */
    for (unsigned number = 1; number <= ASIDE_TRIES; number++) {
        if (aside_name(c->path, end, c->mark, number, ret, e))
            return -1;
        int got = is_free(w, c, ret, /* rev= */ 0, e);
        if (got)
            return got < 0 ? -1 : 0;
    }
    return err_set(e, ERR_CONFLICT, "there are too many copies beside %.100s", c->path);
}

int put_aside_if(struct work *w, struct file_change *c, bool differs, struct err *e)
{
    char name[PATH_BYTES_MAX + 1];
    uint64_t rev = 0;
    int known = known_aside(w, c->path, name, &rev, e);
    if (known < 0)
        return -1;
    if (!known && !differs)
        return 0;
    int usable = known ? is_free(w, c, name, rev, e) : 0;
    if (usable < 0 || (!usable && choose(w, c, name, e)) ||
        place(w, c, name, &c->content, CHANGE_MODIFIED, e))
        return -1;
    c->outcome = OUTCOME_ASIDE;
    c->ret_path = strdup(name);
    if (!c->ret_path)
        return err_set(e, ERR_NO_MEMORY, "put a file aside");
    return note_path(w, c->path, rev_now(w), name, e) ? -1 : 1;
}
