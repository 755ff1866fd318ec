#include "reference.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void ref_done(struct reference *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->files[i].versions);
    free(r->files);
    *r = (struct reference){0};
}

bool ref_is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

struct ref_file *ref_live(const struct reference *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++) {
        struct ref_file *f = &r->files[i];
        if (f->is_live && !f->is_dir && strcmp(f->path, path) == 0)
            return f;
    }
    return NULL;
}

struct ref_file *ref_by_id(const struct reference *r, const char *id)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->files[i].id, id) == 0)
            return &r->files[i];
    return NULL;
}

struct ref_version *ref_version(const struct ref_file *f, uint64_t number)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->versions[i].number == number)
            return &f->versions[i];
    return NULL;
}

struct ref_version *ref_head(const struct ref_file *f)
{
    return f->count ? &f->versions[f->count - 1] : NULL;
}

static struct ref_file *made_dir(const struct reference *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++) {
        struct ref_file *f = &r->files[i];
        if (f->is_live && f->is_dir && strcmp(f->path, path) == 0)
            return f;
    }
    return NULL;
}

static bool has_below(const struct reference *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->files[i].is_live && ref_is_below(r->files[i].path, path))
            return true;
    return false;
}

bool ref_is_dir(const struct reference *r, const char *path)
{
    return made_dir(r, path) || has_below(r, path);
}

static bool has_file_above(const struct reference *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->files[i].is_live && !r->files[i].is_dir && ref_is_below(path, r->files[i].path))
            return true;
    return false;
}

/* ---- what has to become of it ---- */

#define BIT(code) (UINT64_C(1) << (code))

static uint64_t may_expect(const struct ref_file *f, const struct wish *w)
{
    bool holds = true;
    if (w->expect == EXPECT_ABSENT)
        holds = !f;
    if (w->expect == EXPECT_VERSION)
        holds = f && strcmp(f->id, w->expected_file) == 0 && f->last == w->expected_version;
    return holds ? 0 : BIT(ERR_PRECONDITION);
}

/* A file is to appear at that path. */
static uint64_t may_place(const struct reference *r, const char *path, bool is_overwriting)
{
    if (has_file_above(r, path) || ref_is_dir(r, path))
        return BIT(ERR_CONFLICT);
    return ref_live(r, path) && !is_overwriting ? BIT(ERR_CONFLICT) : 0;
}

/* Whether no path becomes longer than we can hold. */
static bool fits(const struct reference *r, const struct wish *w)
{
    for (size_t i = 0; i < r->count; i++)
        if (ref_is_below(r->files[i].path, w->path) &&
            strlen(r->files[i].path) - strlen(w->path) + strlen(w->to) >= REF_PATH)
            return false;
    return true;
}

static uint64_t may_two(const struct reference *r, const struct wish *w)
{
    const struct ref_file *f = ref_live(r, w->path);
    if (strcmp(w->path, w->to) == 0 || (w->op == OP_COPY && ref_is_dir(r, w->path)))
        return REF_OPEN;
    if (ref_is_below(w->to, w->path))
        return BIT(ERR_INVALID);
    if (f)
        return may_place(r, w->to, w->is_overwriting);
    if (!ref_is_dir(r, w->path))
        return BIT(ERR_NOT_FOUND);
    /* A directory: only to where nothing is. */
    if (ref_live(r, w->to) || ref_is_dir(r, w->to) || !fits(r, w))
        return REF_OPEN;
    return has_file_above(r, w->to) ? BIT(ERR_CONFLICT) : 0;
}

static uint64_t may_restore(const struct reference *r, const struct wish *w)
{
    const struct ref_file *f = ref_live(r, w->path);
    if (!f)
        return BIT(ERR_NOT_FOUND);
    const struct ref_version *v = ref_version(f, w->version);
    if (!v)
        return BIT(ERR_NOT_FOUND);
    return v->has_content ? 0 : REF_OPEN;
}

static uint64_t may_untrash(const struct reference *r, const struct wish *w)
{
    const struct ref_file *f = ref_by_id(r, w->file);
    if (!f || f->is_live || f->is_gone)
        return BIT(ERR_NOT_FOUND);
    if (f->is_dir)
        return REF_OPEN;
    bool has_any = false;
    for (size_t i = 0; i < f->count; i++)
        has_any |= f->versions[i].has_content;
    return has_any ? may_place(r, w->path, w->is_overwriting) : REF_OPEN;
}

uint64_t ref_may(const struct reference *r, const struct wish *w)
{
    const struct ref_file *f = ref_live(r, w->path);
    switch (w->op) {
    case OP_PUT: /* a directory is in the way either way */
        return may_place(r, w->path, true) | may_expect(f ? f : made_dir(r, w->path), w);
    case OP_DELETE:
        if (!f && !ref_is_dir(r, w->path))
            return BIT(ERR_NOT_FOUND) | may_expect(f, w);
        return f ? may_expect(f, w) : 0;
    case OP_MOVE:
    case OP_COPY: return may_two(r, w);
    case OP_MKDIR:
        if (f || has_file_above(r, w->path))
            return BIT(ERR_CONFLICT);
        return !made_dir(r, w->path) && has_below(r, w->path) ? REF_OPEN : 0;
    case OP_RESTORE: return may_restore(r, w);
    case OP_UNTRASH: return may_untrash(r, w);
    }
    return REF_OPEN;
}

/* ---- what became of it ---- */

static struct ref_file *add_file(struct reference *r, const char *id)
{
    struct ref_file *files = realloc(r->files, (r->count + 1) * sizeof *files);
    assert(files);
    r->files = files;
    struct ref_file *f = &files[r->count++];
    *f = (struct ref_file){0};
    (void)snprintf(f->id, sizeof f->id, "%s", id);
    return f;
}

static struct ref_version *add_version(struct ref_file *f, enum change change, uint64_t rev)
{
    struct ref_version *versions = realloc(f->versions, (f->count + 1) * sizeof *versions);
    assert(versions);
    f->versions = versions;
    struct ref_version *v = &versions[f->count++];
    f->rev = rev;
    *v = (struct ref_version){.number = ++f->last, .rev = rev, .change = change};
    memcpy(v->path, f->path, sizeof v->path);
    return v;
}

static void set_content(struct ref_version *v, const struct made *made, uint64_t source)
{
    v->has_content = true;
    v->made = *made;
    v->source = source;
}

/* The newest version of a file that holds something. */
static const struct ref_version *last_content(const struct ref_file *f)
{
    for (size_t i = f->count; i > 0; i--)
        if (f->versions[i - 1].has_content)
            return &f->versions[i - 1];
    return NULL;
}

static void trash(struct ref_file *f, uint64_t rev)
{
    (void)add_version(f, CHANGE_DELETED, rev);
    f->is_live = false;
}

/* The file that a change put at `path`: that which is there, one that was there, or a new one. */
static const char *place(struct reference *r, const char *path, const struct file_change *said,
                         struct ref_file **ret)
{
    struct ref_file *f = ref_live(r, path), *g = ref_by_id(r, said->ret_file);
    if (!*said->ret_file)
        return "no file was named";
    if (f && f != g)
        return "another file than that which was there";
    if (g && !f && (g->is_live || g->is_gone || g->is_dir || strcmp(g->path, path) != 0))
        return "the history of a file that was never there";
    if (!g) {
        g = add_file(r, said->ret_file);
        (void)snprintf(g->path, sizeof g->path, "%s", path);
    }
    g->is_live = true;
    *ret = g;
    return NULL;
}

static bool is_head(const struct reference *r, const char *path, const struct made *made)
{
    const struct ref_file *f = ref_live(r, path);
    const struct ref_version *v = f ? ref_head(f) : NULL;
    return v && v->has_content && v->made.size == made->size &&
           memcmp(v->made.sha256, made->sha256, HASH_LEN) == 0;
}

/* A content comes to `path`. */
static const char *apply_content(struct reference *r, const char *path, const struct made *made,
                                 const struct file_change *said, uint64_t rev, bool is_restored)
{
    if (is_head(r, path, made))
        return said->outcome == OUTCOME_SAME ? NULL : "the same content made a version";
    if (said->outcome != OUTCOME_DONE)
        return "another outcome than done";
    bool was_there = ref_live(r, path) != NULL;
    struct ref_file *f = NULL;
    const char *why = place(r, path, said, &f);
    if (why)
        return why;
    enum change change = is_restored ? CHANGE_RESTORED
                         : was_there ? CHANGE_MODIFIED
                                     : CHANGE_CREATED;
    if (said->made != change)
        return "another kind of change";
    const struct made copy = *made; /* it may lie in what add_version moves */
    struct ref_version *v = add_version(f, change, rev);
    set_content(v, &copy, v->number);
    return f->last == said->ret_version ? NULL : "another number of the version";
}

static void delete_below(struct reference *r, const char *path, uint64_t rev)
{
    for (size_t i = 0; i < r->count; i++) {
        struct ref_file *f = &r->files[i];
        if (f->is_live && (ref_is_below(f->path, path) || strcmp(f->path, path) == 0))
            trash(f, rev);
    }
}

static void move_file(struct ref_file *f, const char *to, uint64_t rev)
{
    const struct ref_version *head = last_content(f);
    const struct ref_version before = head ? *head : (struct ref_version){0};
    size_t len = strlen(to);
    assert(len < REF_PATH);
    memcpy(f->path, to, len + 1);
    struct ref_version *v = add_version(f, CHANGE_MOVED, rev);
    if (head)
        set_content(v, &before.made, before.source);
}

static void move_all(struct reference *r, const char *path, const char *to, uint64_t rev)
{
    size_t len = strlen(path);
    for (size_t i = 0; i < r->count; i++) {
        struct ref_file *f = &r->files[i];
        if (!f->is_live || (!ref_is_below(f->path, path) && strcmp(f->path, path) != 0))
            continue;
        char there[2 * REF_PATH];
        (void)snprintf(there, sizeof there, "%s%s", to, f->path + len);
        move_file(f, there, rev);
    }
}

static const char *apply_move(struct reference *r, const struct wish *w,
                              const struct file_change *said, uint64_t rev)
{
    if (said->outcome != OUTCOME_DONE)
        return "another outcome than done";
    struct ref_file *there = ref_live(r, w->to);
    if (there)
        trash(there, rev);
    const struct ref_file *f = ref_live(r, w->path);
    move_all(r, w->path, w->to, rev);
    if (f && (strcmp(f->id, said->ret_file) != 0 || f->last != said->ret_version))
        return "another file or version";
    return NULL;
}

static const char *apply_mkdir(struct reference *r, const struct wish *w,
                               const struct file_change *said, uint64_t rev)
{
    if (made_dir(r, w->path))
        return said->outcome == OUTCOME_SAME ? NULL : "a directory that was there was made";
    struct ref_file *f = ref_by_id(r, said->ret_file);
    if (!f)
        f = add_file(r, said->ret_file);
    else if (!f->is_dir || f->is_live)
        return "a directory with the history of something else";
    (void)snprintf(f->path, sizeof f->path, "%s", w->path);
    f->is_dir = f->is_live = true;
    (void)add_version(f, CHANGE_CREATED, rev);
    return NULL;
}

static const char *apply_untrash(struct reference *r, const struct wish *w,
                                 const struct file_change *said, uint64_t rev)
{
    struct ref_file *f = ref_by_id(r, w->file);
    if (said->outcome != OUTCOME_DONE || strcmp(said->ret_file, w->file) != 0)
        return "not the file of the trash";
    struct ref_file *there = ref_live(r, w->path);
    if (there)
        trash(there, rev);
    const struct ref_version before = *last_content(f);
    (void)snprintf(f->path, sizeof f->path, "%s", w->path);
    f->is_live = true;
    set_content(add_version(f, CHANGE_RESTORED, rev), &before.made, before.source);
    return f->last == said->ret_version ? NULL : "another number of the version";
}

static const char *apply(struct reference *r, const struct wish *w, const struct file_change *said,
                         uint64_t rev)
{
    switch (w->op) {
    case OP_PUT: return apply_content(r, w->path, &w->made, said, rev, false);
    case OP_DELETE:
        delete_below(r, w->path, rev);
        return said->outcome == OUTCOME_DONE ? NULL : "another outcome than done";
    case OP_MOVE: return apply_move(r, w, said, rev);
    case OP_COPY:
        return apply_content(r, w->to, &ref_head(ref_live(r, w->path))->made, said, rev, false);
    case OP_MKDIR: return apply_mkdir(r, w, said, rev);
    case OP_RESTORE: {
        const struct ref_version *v = ref_version(ref_live(r, w->path), w->version);
        return apply_content(r, w->path, &v->made, said, rev, true);
    }
    case OP_UNTRASH: return apply_untrash(r, w, said, rev);
    }
    return "no such operation";
}

const char *ref_apply(struct reference *r, const struct wish *w, const struct file_change *said,
                      uint64_t rev)
{
    const char *why = apply(r, w, said, rev);
    r->rev = rev;
    return why;
}

void ref_purge(struct ref_file *f, uint64_t number)
{
    struct ref_version *v = ref_version(f, number);
    bool had_content = v && v->has_content;
    if (v) {
        size_t index = (size_t)(v - f->versions);
        memmove(v, v + 1, (f->count - index - 1) * sizeof *v);
        f->count--;
    }
    /* What is in the trash and could not come back any more is nothing. */
    if (number == 0 || (!f->is_live && had_content && !last_content(f))) {
        f->is_gone = true;
        f->count = 0;
    }
}

/* Whether no earlier version is left that has the content from the same source. */
static bool is_first_of(const struct ref_file *f, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (f->versions[i].has_content && f->versions[i].source == f->versions[index].source)
            return false;
    return f->versions[index].has_content;
}

struct ref_sums ref_sums(const struct reference *r)
{
    struct ref_sums s = {0};
    for (size_t i = 0; i < r->count; i++) {
        const struct ref_file *f = &r->files[i];
        if (f->is_live)
            s.files++;
        if (f->is_live && !f->is_dir)
            s.bytes += ref_head(f)->made.size;
        for (size_t k = 0; k < f->count; k++)
            s.kept += is_first_of(f, k) ? f->versions[k].made.size : 0;
    }
    return s;
}
