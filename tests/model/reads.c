/* Looking: every answer is held against the reference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "player.h"

static void compare_version(const struct player *p, const struct ref_version *v,
                            const struct version_row *row)
{
    if (row->version != v->number || row->change != v->change || strcmp(row->path, v->path) != 0 ||
        row->rev != v->rev || row->is_pinned != v->is_pinned)
        player_fail(p, "%s, version %llu: it is version %llu of %s, %s, revision %llu not %llu, %d",
                    v->path, (unsigned long long)v->number, (unsigned long long)row->version,
                    row->path, change_names[row->change], (unsigned long long)row->rev,
                    (unsigned long long)v->rev, (int)row->is_pinned);
    if (v->has_content && (row->content.size != v->made.size ||
                           memcmp(row->content.sha256, v->made.sha256, HASH_LEN) != 0))
        player_fail(p, "%s, version %llu: another content", v->path, (unsigned long long)v->number);
}

/* A part of a content, or all of it. */
static void read_bytes(struct player *p, const struct ref_version *v, bool is_all)
{
    struct err e = {0};
    const struct content content = {.size = v->made.size};
    struct content wanted = content;
    memcpy(wanted.sha256, v->made.sha256, HASH_LEN);
    scoped(content_closep) struct content_reader *r = NULL;
    if (files_open_content(p->o->files, &p->ws, &wanted, &r, &e))
        player_fail(p, "%s: open: %s", v->path, e.text);
    uint64_t from = is_all || !v->made.size ? 0 : dice_below(&p->dice, v->made.size);
    uint64_t most = is_all ? v->made.size : 1 + dice_below(&p->dice, v->made.size - from + 1);
    scoped(freep) uint8_t *bytes = made_bytes(&v->made);
    scoped(freep) uint8_t *got = malloc(most + 1);
    if (!got)
        abort();
    uint64_t len = 0;
    for (size_t n = 1; n > 0 && len < most; len += n)
        if (content_read(r, from + len, got + len, most - len, &n, &e))
            player_fail(p, "%s: read at %llu: %s", v->path,
                        (unsigned long long)from + (unsigned long long)len, e.text);
    uint64_t right = v->made.size - from < most ? v->made.size - from : most;
    if (len != right || memcmp(got, bytes + from, len) != 0)
        player_fail(p, "%s, version %llu: wrong bytes at %llu", v->path,
                    (unsigned long long)v->number, (unsigned long long)from);
    p->bytes_read += len;
}

static void read_path(struct player *p)
{
    char path[REF_PATH];
    struct err e = {0};
    struct version_row row;
    random_path(p, path);
    const struct ref_file *f = ref_live(&p->ref, path);
    int failed = files_stat(p->o->files, &p->ws, path, 0, &row, &e);
    if (failed && f)
        player_fail(p, "%s: not found: %s", path, e.text);
    if (!failed && !f && !ref_is_dir(&p->ref, path))
        player_fail(p, "%s: found, and not there", path);
    if (!failed && f)
        compare_version(p, ref_head(f), &row);
    if (!failed)
        version_row_done(&row);
    if (f)
        read_bytes(p, ref_head(f), false);
}

static void read_version(struct player *p)
{
    struct err e = {0};
    struct version_row row;
    if (!p->ref.count)
        return;
    const struct ref_file *f = &p->ref.files[dice_below(&p->dice, p->ref.count)];
    uint64_t number = 1 + dice_below(&p->dice, f->last + 1);
    const struct ref_version *v = ref_version(f, number);
    int failed = meta_version_get(opened_meta(p->o), f->id, number, &row, &e);
    if (!failed != (v != NULL))
        player_fail(p, "%s, version %llu: %s", f->path, (unsigned long long)number,
                    failed ? e.text : "found, and not there");
    if (failed)
        return;
    compare_version(p, v, &row);
    version_row_done(&row);
    if (v->has_content)
        read_bytes(p, v, false);
}

/* ---- lists ---- */

static int by_path(const void *a, const void *b)
{
    return strcmp((*(struct ref_file *const *)a)->path, (*(struct ref_file *const *)b)->path);
}

/* Live files below a prefix, sorted; the caller frees it. */
static const struct ref_file **expected_list(struct player *p, const char *prefix,
                                             size_t *ret_count)
{
    const struct ref_file **list = calloc(p->ref.count + 1, sizeof(struct ref_file *));
    if (!list)
        abort();
    size_t count = 0;
    for (size_t i = 0; i < p->ref.count; i++) {
        const struct ref_file *f = &p->ref.files[i];
        if (f->is_live && strncmp(f->path, prefix, strlen(prefix)) == 0)
            list[count++] = f;
    }
    qsort(list, count, sizeof(struct ref_file *), by_path);
    *ret_count = count;
    return list;
}

static void compare_row(const struct player *p, const struct ref_file *f,
                        const struct file_row *row)
{
    const struct ref_version *v = ref_head(f);
    if (strcmp(row->path, f->path) != 0 || strcmp(row->id, f->id) != 0)
        player_fail(p, "list: %s (%s) where %s (%s) is", row->path, row->id, f->path, f->id);
    if ((row->kind == FILE_DIR) != f->is_dir || row->version != f->last || row->rev != v->rev)
        player_fail(p, "list: %s: kind %d, version %llu, revision %llu; it is %d, %llu, %llu",
                    f->path, (int)row->kind, (unsigned long long)row->version,
                    (unsigned long long)row->rev, f->is_dir, (unsigned long long)f->last,
                    (unsigned long long)v->rev);
    if (!f->is_dir && memcmp(row->content.sha256, v->made.sha256, HASH_LEN) != 0)
        player_fail(p, "list: %s: another content", f->path);
}

static void read_list(struct player *p, const char *prefix, uint32_t limit)
{
    struct err e = {0};
    size_t count, at = 0;
    scoped(freep) const struct ref_file **list = expected_list(p, prefix, &count);
    char *after = NULL;
    do {
        const struct file_query query = {.prefix = prefix, .after = after, .limit = limit};
        struct file_rows rows;
        char *next = NULL;
        if (meta_file_list(opened_meta(p->o), p->ws.id, &query, &rows, &next, &e))
            player_fail(p, "list %s: %s", prefix, e.text);
        if (rows.count > limit || at + rows.count > count)
            player_fail(p, "list '%s': more than the %zu there are: %s", prefix, count,
                        rows.items[rows.count - 1].path);
        for (size_t i = 0; i < rows.count; i++)
            compare_row(p, list[at++], &rows.items[i]);
        file_rows_done(&rows);
        free(after);
        after = next;
    } while (after);
    if (at != count)
        player_fail(p, "list '%s': %zu of %zu: %s is missing", prefix, at, count, list[at]->path);
}

/* What changed since a revision. */
static void read_changes(struct player *p)
{
    struct err e = {0};
    uint64_t since = dice_below(&p->dice, p->ref.rev + 1), last = since;
    size_t right = 0, found = 0;
    for (size_t i = 0; i < p->ref.count; i++) {
        const struct ref_file *f = &p->ref.files[i];
        if (f->rev > since && (f->is_live || since))
            right++;
    }
    for (bool has_more = true; has_more;) {
        struct file_rows rows;
        if (meta_file_changes(opened_meta(p->o), p->ws.id, last, 50, &rows, &e))
            player_fail(p, "changes since %llu: %s", (unsigned long long)last, e.text);
        for (size_t i = 0; i < rows.count; i++) {
            const struct ref_file *f = ref_by_id(&p->ref, rows.items[i].id);
            bool is_left =
                rows.items[i].state == FILE_TRASHED && rows.items[i].change == CHANGE_MOVED;
            if (is_left) { /* the place that a file was moved from */
                if (ref_live(&p->ref, rows.items[i].path))
                    player_fail(p, "changes: %s was left, and is there", rows.items[i].path);
                continue;
            }
            if (!f || f->rev != rows.items[i].rev ||
                f->is_live != (rows.items[i].state == FILE_LIVE))
                player_fail(p, "changes: %s of revision %llu", rows.items[i].path,
                            (unsigned long long)rows.items[i].rev);
            last = rows.items[i].rev;
            found++;
        }
        has_more = rows.count > 0 && rows.has_more;
        file_rows_done(&rows);
        if (since == 0)
            return; /* the first page has no trashed ones, the others have: nothing to count */
    }
    if (found != right)
        player_fail(p, "%zu changes since %llu; there are %zu", found, (unsigned long long)since,
                    right);
}

void player_read(struct player *p)
{
    static const char *const prefixes[] = {"", "a", "a/", "b/", "c/a/", "data/", "x"};
    switch (dice_below(&p->dice, 8)) {
    case 0:
        read_list(p, prefixes[dice_below(&p->dice, 7)], 1 + (uint32_t)dice_below(&p->dice, 20));
        break;
    case 1: read_changes(p); break;
    case 2:
    case 3:
    case 4: read_version(p); break;
    default: read_path(p); break;
    }
    p->reads++;
}

/* ---- versions that are kept, and those that are not ---- */

static void pin(struct player *p, const struct ref_file *f, struct ref_version *v)
{
    struct err e = {0};
    bool is_pinned = !v->is_pinned;
    if (meta_version_pin(opened_meta(p->o), f->id, v->number, is_pinned, &e))
        player_fail(p, "pin %s %llu: %s", f->path, (unsigned long long)v->number, e.text);
    v->is_pinned = is_pinned;
}

void player_maintain(struct player *p)
{
    struct err e = {0};
    if (!p->ref.count)
        return;
    struct ref_file *f = &p->ref.files[dice_below(&p->dice, p->ref.count)];
    if (!f->count || f->is_dir)
        return;
    struct ref_version *v = &f->versions[dice_below(&p->dice, f->count)];
    if (dice_below(&p->dice, 3) == 0 && v->has_content) {
        pin(p, f, v);
        return;
    }
    uint64_t number = f->is_live || dice_below(&p->dice, 4) ? v->number : 0;
    bool has_pins = false;
    for (size_t i = 0; i < f->count; i++)
        has_pins |= f->versions[i].is_pinned;
    if ((number == 0 && has_pins) || (!f->is_live && number == f->last))
        return; /* the rules leave it open */
    bool is_kept = number && (v->is_pinned || (f->is_live && number == f->last));
    int failed = meta_purge(opened_meta(p->o), f->id, number, &e);
    if (!failed == is_kept || (failed && e.code != ERR_CONFLICT))
        player_fail(p, "purge %s %llu: %s", f->path, (unsigned long long)number,
                    failed ? e.text : "it worked");
    if (!failed)
        ref_purge(f, number);
}

/* ---- everything ---- */

static void compare_file(struct player *p, const struct ref_file *f, bool with_bytes)
{
    struct err e = {0};
    char cursor[CURSOR_SIZE] = "";
    size_t left = f->count;
    for (bool has_more = left > 0; has_more;) {
        const struct page page = {.limit = 100, .cursor = *cursor ? cursor : NULL};
        struct version_rows rows;
        if (meta_version_list(opened_meta(p->o), f->id, &page, &rows, &e))
            player_fail(p, "versions of %s: %s", f->path, e.text);
        if (rows.count > left)
            player_fail(p, "versions of %s: more than %zu", f->path, f->count);
        for (size_t i = 0; i < rows.count; i++) {
            const struct ref_version *v = &f->versions[--left];
            compare_version(p, v, &rows.items[i]);
            if (with_bytes && v->has_content)
                read_bytes(p, v, true);
        }
        has_more = rows.has_more;
        memcpy(cursor, rows.next, sizeof cursor);
        version_rows_done(&rows);
    }
    if (left)
        player_fail(p, "versions of %s: %zu are missing", f->path, left);
}

void player_compare(struct player *p, bool with_bytes)
{
    struct err e = {0};
    struct workspace_row ws;
    read_list(p, "", 1000);
    for (size_t i = 0; i < p->ref.count; i++)
        compare_file(p, &p->ref.files[i], with_bytes);
    if (meta_workspace_get(opened_meta(p->o), p->ws.id, &ws, &e))
        player_fail(p, "the workspace: %s", e.text);
    const struct ref_sums s = ref_sums(&p->ref);
    if (ws.files != s.files || ws.bytes != s.bytes || ws.kept_bytes != s.kept ||
        ws.rev != p->ref.rev)
        player_fail(
            p, "%llu files, %llu bytes, %llu kept, revision %llu; they are %llu, %llu, %llu, %llu",
            (unsigned long long)ws.files, (unsigned long long)ws.bytes,
            (unsigned long long)ws.kept_bytes, (unsigned long long)ws.rev,
            (unsigned long long)s.files, (unsigned long long)s.bytes, (unsigned long long)s.kept,
            (unsigned long long)p->ref.rev);
    workspace_row_done(&ws);
}
