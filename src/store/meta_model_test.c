/* Random operations on the store and on a model of it, which have to agree on every answer and read. */
#include "store/meta_model.h"
#include "store/meta_sqlite.h"

enum { STEPS = 24000, LOOK_EVERY = 200 };

static const char *const places[] = {"a",   "b",   "c",     "d",       "a/x",   "a/y", "a/x/1",
                                     "b/x", "b-x", "b/x/1", "b/x/2/3", "c/x/1", "c.x", "d/x"};
enum { PLACES = sizeof places / sizeof *places };

/* A generator of our own, so that a seed means the same everywhere. */
static uint64_t seed;
static unsigned chance(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static const char *a_place(void)
{
    return places[chance(PLACES)];
}

static struct model_file *a_file(struct model *m)
{
    return m->count ? &m->files[m->count - 1 - chance(m->count < 30 ? (unsigned)m->count : 30)]
                    : NULL;
}

static uint64_t a_version(const struct model_file *f)
{
    unsigned back = chance(6);
    return f->count >= back ? f->count - back : 1;
}

/* ---- one step ---- */

static struct answer ask(struct meta *m, struct file_change *c)
{
    struct commit_row k = a_commit(100);
    struct err e = {0};
    uint64_t rev;
    if (meta_commit_set(m, &k, c, 1, NULL, &rev, &e))
        return failed(e.code);
    return did(c->outcome);
}

static struct answer ask_change(struct model *w, struct file_change *c)
{
    switch (c->op) {
    case OP_PUT:
        return model_put(w, c->path, (char)c->content.sha256[0], c->content.size, CHANGE_MODIFIED);
    case OP_DELETE: return model_delete(w, c->path);
    case OP_MOVE: return model_move(w, c->path, c->to, c->is_overwriting);
    case OP_COPY: return model_copy(w, c->path, c->to, c->version, c->is_overwriting);
    case OP_MKDIR: return model_mkdir(w, c->path);
    case OP_RESTORE: return model_restore(w, c->path, c->version);
    case OP_UNTRASH: break;
    }
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->files[i].id, c->file) == 0)
            return model_untrash(w, &w->files[i], c->path, c->is_overwriting);
    return failed(ERR_NOT_FOUND);
}

/* Copies of directories in directories would go on growing. */
static bool is_crowded(const struct model *w)
{
    size_t live = 0, longest = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (!is_live(&w->files[i]))
            continue;
        size_t len = strlen(w->files[i].path);
        live++;
        longest = len > longest ? len : longest;
    }
    return live > 40 || longest > 60;
}

static struct file_change a_random_change(struct model *w)
{
    static const enum change_op ops[] = {OP_PUT,  OP_PUT,  OP_PUT,     OP_PUT,     OP_DELETE,
                                         OP_MOVE, OP_COPY, OP_RESTORE, OP_UNTRASH, OP_MKDIR};
    char letter = (char)('A' + chance(20));
    struct file_change c = {.op = ops[chance(10)],
                            .path = a_place(),
                            .to = a_place(),
                            .content = a_content(letter, (uint64_t)(letter % 7) * 10),
                            .is_overwriting = chance(2)};
    if (is_crowded(w)) {
        c.op = OP_DELETE;
        c.path = places[chance(4)];
    }
    struct model_file *f = a_file(w), *live = model_live(w, c.path);
    if (f)
        set_id(c.file, f->id);
    if (live && (c.op == OP_RESTORE || (c.op == OP_COPY && chance(2))))
        c.version = a_version(live);
    return c;
}

static void step_change(struct meta *m, struct model *w, int step)
{
    struct file_change c = a_random_change(w);
    w->rev++;
    w->has_changed = false;
    struct answer wanted = ask_change(w, &c), got = ask(m, &c);
    if (!w->has_changed)
        w->rev--;
    if (got.code != wanted.code || got.outcome != wanted.outcome)
        fail_msg("step %d: op %d %s %s: %s %d, not %s %d", step, (int)c.op, c.path, c.to,
                 err_wire(got.code), (int)got.outcome, err_wire(wanted.code), (int)wanted.outcome);
    for (size_t i = 0; i < w->count; i++) {
        struct model_file *f = &w->files[i];
        struct file_row row;
        if (*f->id || !is_live(f))
            continue;
        OK(meta_file_get(m, "ws_a", f->path, &row, e)); /* it was made just now */
        set_id(f->id, row.id);
        file_row_done(&row);
    }
}

static void step_purge(struct meta *m, struct model *w)
{
    struct model_file *f = a_file(w);
    if (!f)
        return;
    uint64_t version = chance(3) ? a_version(f) : 0;
    struct answer wanted = model_purge(f, version);
    struct err e = {0};
    if (meta_purge(m, f->id, version, &e) ? e.code != wanted.code : wanted.code != 0)
        fail_msg("purge %s %d: %s, not %s", f->path, (int)version, err_wire(e.code),
                 err_wire(wanted.code));
}

static void step_pin(struct meta *m, struct model *w)
{
    struct model_file *f = a_file(w);
    if (!f)
        return;
    uint64_t version = a_version(f);
    bool is_there = !f->is_gone && version >= 1 && !f->versions[version - 1].is_gone;
    bool is_pinned = chance(4) == 0;
    if (is_there) {
        OK(meta_version_pin(m, f->id, version, is_pinned, e));
        f->versions[version - 1].is_pinned = is_pinned;
    } else {
        FAILS(ERR_NOT_FOUND, meta_version_pin(m, f->id, version, is_pinned, e));
    }
}

/* ---- looking at everything ---- */

static void compare_usage(struct meta *m, struct model *w)
{
    uint64_t files = 0, bytes = 0, kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        struct model_file *f = &w->files[i];
        files += is_live(f);
        bytes += is_live(f) ? head(f)->size : 0;
        for (size_t k = 0; !f->is_gone && k < f->count; k++)
            kept += f->versions[k].is_gone ? 0 : f->versions[k].cost;
    }
    struct workspace_row row;
    OK(meta_workspace_get(m, "ws_a", &row, e));
    assert_int_equal(row.rev, w->rev);
    assert_int_equal(row.files, files);
    assert_int_equal(row.bytes, bytes);
    assert_int_equal(row.kept_bytes, kept);
    workspace_row_done(&row);
}

/* The file at every place, and what was there at some time. */
static void compare_places(struct meta *m, struct model *w)
{
    for (size_t i = 0; i < PLACES; i++) {
        struct model_file *f = model_live(w, places[i]);
        struct file_row row;
        if (!f) {
            FAILS(ERR_NOT_FOUND, meta_file_get(m, "ws_a", places[i], &row, e));
            continue;
        }
        OK(meta_file_get(m, "ws_a", places[i], &row, e));
        assert_string_equal(row.id, f->id);
        assert_int_equal(row.kind, f->kind);
        assert_int_equal(row.version, f->count);
        assert_int_equal(row.rev, head(f)->rev);
        assert_int_equal(row.content.sha256[9], head(f)->letter);
        assert_int_equal(row.content.size, head(f)->size);
        assert_int_equal(row.change, head(f)->change);
        file_row_done(&row);
    }
}

static void compare_lists(struct meta *m, struct model *w)
{
    struct model_file *all[MODEL_TREE];
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++)
        if (is_live(&w->files[i]))
            all[count++] = &w->files[i];
    qsort(all, count, sizeof(void *), by_file_path);
    char wanted[MODEL_TREE * 64] = "";
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(wanted);
        (void)snprintf(wanted + len, sizeof wanted - len, "%s%s%s", len ? " " : "", all[i]->path,
                       all[i]->kind == FILE_DIR ? "/" : "");
    }
    struct file_query q = {.prefix = "", .limit = 1 + chance(9)};
    assert_listed(m, &q, wanted);

    size_t trashed = 0, listed = 0;
    for (size_t i = 0; i < w->count; i++)
        trashed += !w->files[i].is_gone && w->files[i].state == FILE_TRASHED;
    q = (struct file_query){.prefix = "", .state = FILE_TRASHED, .limit = 50};
    char *next = NULL, *before = NULL;
    do {
        struct file_rows rows;
        OK(meta_file_list(m, "ws_a", &q, &rows, &next, e));
        listed += rows.count;
        file_rows_done(&rows);
        free(before);
        before = next;
        q.after = next;
    } while (next);
    assert_int_equal(listed, trashed);
}

static void compare_versions(struct meta *m, struct model_file *f)
{
    struct version_rows rows;
    struct page page = {.limit = 100};
    if (f->is_gone) {
        FAILS(ERR_NOT_FOUND, meta_version_list(m, f->id, &page, &rows, e));
        return;
    }
    OK(meta_version_list(m, f->id, &page, &rows, e));
    size_t at = 0;
    for (size_t i = f->count; i-- > 0 && at < rows.count;) {
        const struct model_version *v = &f->versions[i];
        if (v->is_gone)
            continue;
        const struct version_row *row = &rows.items[at++];
        assert_int_equal(row->version, v->version);
        assert_int_equal(row->rev, v->rev);
        assert_string_equal(row->path, v->path);
        assert_int_equal(row->content.sha256[3], v->letter);
        assert_int_equal(row->content.size, v->size);
        assert_int_equal(row->change, v->change);
        assert_int_equal(row->is_pinned, v->is_pinned);
    }
    assert_int_equal(at, rows.count);
    version_rows_done(&rows);
}

static void compare_all(struct meta *m, struct model *w)
{
    compare_places(m, w);
    compare_lists(m, w);
    for (int i = 0; i < 20 && w->count; i++)
        compare_versions(m, a_file(w));
    OK(meta_check_files(m, e));
}

static void the_store_does_what_the_model_does(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct model w = {.files = calloc(MODEL_FILES, sizeof *w.files)};
    assert_non_null(w.files);
    seed = 20240601;
    for (int step = 0; step < STEPS; step++) {
        switch (chance(12)) {
        case 0: step_purge(m, &w); break;
        case 1: step_pin(m, &w); break;
        default: step_change(m, &w, step);
        }
        compare_usage(m, &w);
        if (step % LOOK_EVERY == 0)
            compare_all(m, &w);
        if (step % 5000 == 4999)
            m = contract_reopen(m);
    }
    compare_all(m, &w);
    for (size_t i = 0; i < w.count; i++)
        free(w.files[i].versions);
    free(w.files);
    contract_close(m);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(the_store_does_what_the_model_does),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
