#include "player.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"

enum { WISHES_MAX = 5 };

void player_fail(const struct player *p, const char *format, ...)
{
    va_list more;
    fprintf(stderr,
            "after %llu changes, %llu refusals and %llu reads of %s: ", (unsigned long long)p->done,
            (unsigned long long)p->refused, (unsigned long long)p->reads, p->ws.id);
    va_start(more, format);
    (void)vfprintf(stderr, format, more);
    va_end(more);
    (void)fputc('\n', stderr);
    abort();
}

/* ---- contents and paths ---- */

uint8_t *made_bytes(const struct made *m)
{
    uint8_t *bytes = malloc(m->size + 1);
    if (!bytes)
        abort();
    size_t at = 0;
    for (size_t i = 0; i < REF_PARTS; i++) {
        struct dice d = {.state = m->parts[i].seed};
        dice_fill(&d, m->parts[i].seed % 2 == 0, bytes + at, m->parts[i].len);
        at += m->parts[i].len;
    }
    return bytes;
}

/* Mostly small; some of many chunks, which share parts with others. */
static struct made random_made(struct player *p)
{
    struct made m = {0};
    uint64_t roll = dice_below(&p->dice, 100);
    for (size_t i = 0; i < REF_PARTS; i++) {
        uint64_t most = roll < 60 ? 200 : roll < 90 ? 20000 : roll < 97 ? 90000 : 400000;
        m.parts[i].seed = dice_below(&p->dice, roll < 90 ? 100000 : 12);
        m.parts[i].len = (uint32_t)(roll < 90 ? dice_below(&p->dice, most) : most);
        m.size += m.parts[i].len;
    }
    if (roll == 0)
        m = (struct made){0}; /* empty */
    struct err e = {0};
    scoped(freep) uint8_t *bytes = made_bytes(&m);
    scoped(hash_done) struct hash h = {0};
    if (hash_init(&h, &e) || hash_add(&h, bytes, m.size, &e) || hash_end(&h, m.sha256, &e))
        die("hash", &e);
    return m;
}

/* Of few, in which files and directories get into each other's way. */
void random_path(struct player *p, char ret[REF_PATH])
{
    static const char *const names[] = {"a", "b", "c", "data", "x.csv", "y.txt", "z \xc3\xa9.png",
                                        "A"};
    size_t depth = 1 + (size_t)dice_below(&p->dice, 3), len = 0;
    for (size_t i = 0; i < depth; i++) {
        const char *name = names[dice_below(&p->dice, i + 1 < depth ? 4 : 8)];
        len += (size_t)snprintf(ret + len, REF_PATH - len, "%s%s", i ? "/" : "", name);
    }
}

/* A live file or directory, if there is any. */
static void random_existing(struct player *p, char ret[REF_PATH])
{
    for (int tries = 0; tries < 20 && p->ref.count; tries++) {
        const struct ref_file *f = &p->ref.files[dice_below(&p->dice, p->ref.count)];
        if (!f->is_live)
            continue;
        memcpy(ret, f->path, REF_PATH);
        char *cut = strrchr(ret, '/');
        if (cut && dice_below(&p->dice, 10) == 0)
            *cut = '\0'; /* the directory it is in */
        return;
    }
    random_path(p, ret);
}

/* ---- wishes ---- */

static void expect_something(struct player *p, struct wish *w)
{
    const struct ref_file *f = ref_live(&p->ref, w->path);
    uint64_t roll = dice_below(&p->dice, 10);
    if (roll == 0)
        w->expect = EXPECT_ABSENT;
    if (roll == 1 && f && f->last > 1) {
        w->expect = EXPECT_VERSION;
        memcpy(w->expected_file, f->id, ID_SIZE);
        w->expected_version = f->last - dice_below(&p->dice, 2);
    }
}

static void wish_untrash(struct player *p, struct wish *w)
{
    for (int tries = 0; tries < 30; tries++) {
        const struct ref_file *f = &p->ref.files[dice_below(&p->dice, p->ref.count)];
        if (f->is_live)
            continue;
        memcpy(w->file, f->id, ID_SIZE);
        memcpy(w->path, f->path, REF_PATH);
        memcpy(w->to, f->path, REF_PATH); /* where it was: whatever is put there goes on with it */
        if (dice_below(&p->dice, 2))
            random_path(p, w->path);
        w->op = OP_UNTRASH;
        return;
    }
}

static struct wish random_wish(struct player *p)
{
    struct wish w = {.op = OP_PUT};
    uint64_t roll = dice_below(&p->dice, 100);
    if (roll < 45) {
        if (roll < 25)
            random_existing(p, w.path);
        else
            random_path(p, w.path);
        w.made = random_made(p);
        expect_something(p, &w);
        return w;
    }
    random_existing(p, w.path);
    random_path(p, w.to);
    w.is_overwriting = dice_below(&p->dice, 2);
    if (roll < 60) {
        w.op = OP_DELETE;
        expect_something(p, &w);
    } else if (roll < 72) {
        w.op = OP_MOVE;
    } else if (roll < 84) {
        w.op = OP_COPY;
    } else if (roll < 88) {
        random_path(p, w.path);
        w.op = OP_MKDIR;
    } else if (roll < 94) {
        const struct ref_file *f = ref_live(&p->ref, w.path);
        w.op = OP_RESTORE;
        w.version = 1 + dice_below(&p->dice, f ? f->last + 1 : 3);
    } else {
        random_path(p, w.path);
        w.made = random_made(p);
        if (p->ref.count)
            wish_untrash(p, &w);
    }
    return w;
}

/* Whether two wishes cannot have to do with each other. */
static bool are_apart(const struct wish *v, const struct wish *w)
{
    const char *ours[] = {v->path, v->to}, *theirs[] = {w->path, w->to};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            if (*ours[i] && *theirs[k] && strcspn(ours[i], "/") == strcspn(theirs[k], "/") &&
                strncmp(ours[i], theirs[k], strcspn(ours[i], "/")) == 0)
                return false;
    return true;
}

static size_t random_wishes(struct player *p, struct wish wishes[WISHES_MAX])
{
    size_t wanted = dice_below(&p->dice, 4) ? 1 : 2 + (size_t)dice_below(&p->dice, WISHES_MAX - 1);
    size_t count = 0;
    for (int tries = 0; count < wanted && tries < 40; tries++) {
        struct wish w = random_wish(p);
        uint64_t may = ref_may(&p->ref, &w);
        bool fits = may != REF_OPEN;
        for (size_t i = 0; i < count; i++)
            fits = fits && are_apart(&wishes[i], &w) && may == 0;
        if (fits)
            wishes[count++] = w;
        if (count && ref_may(&p->ref, &wishes[0]) != 0)
            break; /* one that has to fail is alone */
    }
    return count;
}

/* ---- the real thing ---- */

static int put(struct player *p, struct commit *c, const struct wish *w, const struct how *how,
               struct err *e)
{
    scoped(freep) uint8_t *bytes = made_bytes(&w->made);
    bool is_announced = dice_below(&p->dice, 2);
    if (commit_put(c, w->path, how, is_announced ? w->made.size : 0, e))
        return -1;
    for (size_t at = 0; at < w->made.size;) {
        size_t piece = 1 + (size_t)dice_below(&p->dice, 100000);
        if (piece > w->made.size - at)
            piece = w->made.size - at;
        if (commit_write(c, bytes + at, piece, e))
            return -1;
        at += piece;
    }
    return commit_end(c, e);
}

static int add(struct player *p, struct commit *c, const struct wish *w, struct err *e)
{
    const struct how how = {.expect = w->expect,
                            .expected_file = w->expected_file,
                            .expected_version = w->expected_version,
                            .is_overwriting = w->is_overwriting};
    switch (w->op) {
    case OP_PUT: return put(p, c, w, &how, e);
    case OP_DELETE: return commit_delete(c, w->path, &how, e);
    case OP_MOVE: return commit_move(c, w->path, w->to, &how, e);
    case OP_COPY: return commit_copy(c, w->path, w->to, &how, e);
    case OP_MKDIR: return commit_mkdir(c, w->path, e);
    case OP_RESTORE: return commit_restore(c, w->path, w->version, &how, e);
    case OP_UNTRASH: return commit_untrash(c, w->file, w->path, &how, e);
    }
    return -1;
}

static void describe(const struct wish *w, char *to, size_t size)
{
    static const char *const names[] = {"put",   "delete",  "move",   "copy",
                                        "mkdir", "restore", "untrash"};
    (void)snprintf(to, size, "%s %s %s %llu bytes, version %llu, expect %d%s", names[w->op],
                   w->path, w->op == OP_UNTRASH ? w->file : w->to, (unsigned long long)w->made.size,
                   (unsigned long long)w->version, (int)w->expect,
                   w->is_overwriting ? ", overwriting" : "");
}

static void refused(struct player *p, const struct wish *w, uint64_t may, const struct err *e)
{
    char text[400];
    describe(w, text, sizeof text);
    if (!(may & (UINT64_C(1) << e->code)))
        player_fail(p, "%s: refused: %s: %s", text, err_wire(e->code), e->text);
    p->refused++;
}

void player_change(struct player *p)
{
    struct wish wishes[WISHES_MAX];
    size_t count = random_wishes(p, wishes);
    if (count == 0)
        return;
    uint64_t may = ref_may(&p->ref, &wishes[0]);
    struct err e = {0};
    const struct author author = opened_author(p->o);
    scoped(commit_freep) struct commit *c = NULL;
    if (commit_new(p->o->files, &p->ws, &author, COMMIT_EDIT, &c, &e))
        die("commit_new", &e);
    for (size_t i = 0; i < count; i++) {
        if (add(p, c, &wishes[i], &e)) {
            refused(p, &wishes[i], may, &e);
            return;
        }
    }
    if (commit_finish(c, &e)) {
        refused(p, &wishes[0], may, &e);
        return;
    }
    char text[400];
    describe(&wishes[0], text, sizeof text);
    if (may != 0)
        player_fail(p, "%s: it worked", text);
    for (size_t i = 0; i < count; i++) {
        const char *why = ref_apply(&p->ref, &wishes[i], commit_change(c, i), commit_rev(c));
        describe(&wishes[i], text, sizeof text);
        if (why)
            player_fail(p, "%s: %s (outcome %d, made %d, version %llu)", text, why,
                        (int)commit_change(c, i)->outcome, (int)commit_change(c, i)->made,
                        (unsigned long long)commit_change(c, i)->ret_version);
    }
    p->done += count;
}
