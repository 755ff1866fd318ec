/* meta_model.h -- for tests: what meta_files.h promises, as simply as it can be said. Files are a list,
 * and everything is found by looking at all of it.
 *
 * Each model_x changes the model and says how the store has to answer: the code of the failure, or the
 * outcome.
 */
#ifndef STORE_META_MODEL_H
#define STORE_META_MODEL_H

#include "store/meta_files_fixture.h"

enum { MODEL_FILES = 20000, MODEL_PATH = 256, MODEL_TREE = 256 };

struct model_version {
    uint64_t version, rev;
    char path[MODEL_PATH];
    char letter; /* of its content; 0: none */
    uint64_t size, cost;
    enum change change;
    bool is_pinned, is_gone;
};

struct model_file {
    char id[ID_SIZE]; /* "": not known yet */
    bool is_gone;
    enum file_kind kind;
    enum file_state state;
    char path[MODEL_PATH];
    struct model_version *versions;
    size_t count, cap;
};

struct model {
    struct model_file *files;
    size_t count;
    uint64_t rev; /* of the change under way */
    bool has_changed;
};

struct answer {
    enum err_code code;
    enum outcome outcome;
};

static inline struct answer failed(enum err_code code)
{
    return (struct answer){.code = code};
}

static inline struct answer did(enum outcome outcome)
{
    return (struct answer){.outcome = outcome};
}

static inline struct model_version *head(struct model_file *f)
{
    return &f->versions[f->count - 1];
}

/* The newest version with a content that is not purged. */
static inline struct model_version *last_content(struct model_file *f)
{
    for (size_t i = f->count; i-- > 0;)
        if (f->versions[i].letter && !f->versions[i].is_gone)
            return &f->versions[i];
    return NULL;
}

static inline bool is_live(const struct model_file *f)
{
    return !f->is_gone && f->state == FILE_LIVE;
}

static inline struct model_file *model_live(struct model *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++)
        if (is_live(&m->files[i]) && strcmp(m->files[i].path, path) == 0)
            return &m->files[i];
    return NULL;
}

static inline bool is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static inline bool model_has_below(struct model *m, const char *dir)
{
    for (size_t i = 0; i < m->count; i++)
        if (is_live(&m->files[i]) && is_in(m->files[i].path, dir))
            return true;
    return false;
}

/* Something new cannot be there: a file above it, or it is a directory. */
static inline bool is_blocked(struct model *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++)
        if (is_live(&m->files[i]) && m->files[i].kind == FILE_REGULAR &&
            is_in(path, m->files[i].path))
            return true;
    return model_has_below(m, path);
}

static inline void add_version(struct model *m, struct model_file *f, enum change change,
                               char letter, uint64_t size, uint64_t cost)
{
    if (f->count == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 4;
        f->versions = reallocarray(f->versions, f->cap, sizeof *f->versions);
        assert_non_null(f->versions);
    }
    struct model_version *v = &f->versions[f->count++];
    *v = (struct model_version){.version = f->count,
                                .rev = m->rev,
                                .letter = letter,
                                .size = size,
                                .cost = cost,
                                .change = change};
    memcpy(v->path, f->path, sizeof v->path);
    m->has_changed = true;
}

static inline void set_place(struct model_file *f, const char *path)
{
    size_t len = strlen(path);
    assert_true(len < sizeof f->path);
    memcpy(f->path, path, len + 1);
}

/* A new file, or the newest of the trash there goes on. */
static inline void model_make(struct model *m, const char *path, enum file_kind kind, char letter,
                              uint64_t size)
{
    struct model_file *f = NULL;
    for (size_t i = 0; i < m->count; i++) {
        struct model_file *g = &m->files[i];
        if (!g->is_gone && g->state == FILE_TRASHED && g->kind == kind &&
            strcmp(g->path, path) == 0 && (!f || head(g)->rev >= head(f)->rev))
            f = g;
    }
    if (!f) {
        assert_true(m->count < MODEL_FILES);
        f = &m->files[m->count++];
        *f = (struct model_file){.kind = kind};
        set_place(f, path);
    }
    f->state = FILE_LIVE;
    add_version(m, f, CHANGE_CREATED, letter, size, size);
}

static inline void model_trash(struct model *m, struct model_file *f)
{
    f->state = FILE_TRASHED;
    add_version(m, f, CHANGE_DELETED, 0, 0, 0);
}

static inline struct answer model_put(struct model *m, const char *path, char letter, uint64_t size,
                                      enum change change)
{
    struct model_file *f = model_live(m, path);
    if (f && f->kind == FILE_DIR)
        return failed(ERR_CONFLICT);
    if (f && head(f)->letter == letter && head(f)->size == size)
        return did(OUTCOME_SAME);
    if (!f && is_blocked(m, path))
        return failed(ERR_CONFLICT);
    if (f)
        add_version(m, f, change, letter, size, size);
    else
        model_make(m, path, FILE_REGULAR, letter, size);
    return did(OUTCOME_DONE);
}

static inline int by_file_path(const void *a, const void *b)
{
    return strcmp((*(struct model_file *const *)a)->path, (*(struct model_file *const *)b)->path);
}

/* A directory with everything below, by path. */
static inline size_t model_tree(struct model *m, const char *path, struct model_file **ret)
{
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct model_file *f = &m->files[i];
        if (!is_live(f) || (strcmp(f->path, path) != 0 && !is_in(f->path, path)))
            continue;
        assert_true(count < MODEL_TREE);
        ret[count++] = f;
    }
    qsort(ret, count, sizeof(void *), by_file_path);
    return count;
}

static inline struct answer model_delete(struct model *m, const char *path)
{
    struct model_file *tree[MODEL_TREE];
    size_t count = model_tree(m, path, tree);
    for (size_t i = 0; i < count; i++)
        model_trash(m, tree[i]);
    return count ? did(OUTCOME_DONE) : failed(ERR_NOT_FOUND);
}

/* Whether something may come to `to`, from which a file goes away when `over`. */
static inline bool may_come(struct model *m, const char *to, bool over, struct model_file **ret)
{
    *ret = model_live(m, to);
    if (*ret)
        return over && (*ret)->kind == FILE_REGULAR;
    return !is_blocked(m, to);
}

static inline struct answer model_move(struct model *m, const char *path, const char *to, bool over)
{
    struct model_file *tree[MODEL_TREE], *there;
    size_t count = model_tree(m, path, tree);
    if (count == 0)
        return failed(ERR_NOT_FOUND);
    if (strcmp(path, to) == 0)
        return did(OUTCOME_SAME);
    if (is_in(to, path) || !may_come(m, to, over, &there))
        return failed(ERR_CONFLICT);
    if (there)
        model_trash(m, there);
    for (size_t i = 0; i < count; i++) {
        char place[2 * MODEL_PATH];
        (void)snprintf(place, sizeof place, "%s%s", to, tree[i]->path + strlen(path));
        set_place(tree[i], place);
        add_version(m, tree[i], CHANGE_MOVED, head(tree[i])->letter, head(tree[i])->size, 0);
    }
    return did(OUTCOME_DONE);
}

/* 0, or why the version has nothing to give. */
static inline enum err_code content_at(struct model_file *f, uint64_t version,
                                       struct model_version *ret)
{
    if (version < 1 || version > f->count || f->versions[version - 1].is_gone)
        return ERR_NOT_FOUND;
    *ret = f->versions[version - 1];
    return ret->letter ? 0 : ERR_CONFLICT;
}

static inline struct answer model_copy(struct model *m, const char *path, const char *to,
                                       uint64_t version, bool over)
{
    struct model_file *tree[MODEL_TREE], *there, *f = model_live(m, path);
    struct model_version v;
    if (f && f->kind == FILE_REGULAR) {
        v = *head(f);
        enum err_code code = version ? content_at(f, version, &v) : 0;
        if (code)
            return failed(code);
        if (!may_come(m, to, over, &there))
            return failed(ERR_CONFLICT);
        return model_put(m, to, v.letter, v.size, CHANGE_MODIFIED);
    }
    size_t count = model_tree(m, path, tree);
    if (count == 0)
        return failed(ERR_NOT_FOUND);
    if (strcmp(path, to) == 0 || is_in(to, path) || !may_come(m, to, over, &there))
        return failed(ERR_CONFLICT);
    if (there)
        model_trash(m, there);
    for (size_t i = 0; i < count; i++) {
        char place[2 * MODEL_PATH];
        (void)snprintf(place, sizeof place, "%s%s", to, tree[i]->path + strlen(path));
        model_make(m, place, tree[i]->kind, head(tree[i])->letter, head(tree[i])->size);
    }
    return did(OUTCOME_DONE);
}

static inline struct answer model_mkdir(struct model *m, const char *path)
{
    struct model_file *f = model_live(m, path);
    if (f)
        return f->kind == FILE_DIR ? did(OUTCOME_SAME) : failed(ERR_CONFLICT);
    if (model_has_below(m, path))
        return did(OUTCOME_SAME);
    if (is_blocked(m, path))
        return failed(ERR_CONFLICT);
    model_make(m, path, FILE_DIR, 0, 0);
    return did(OUTCOME_DONE);
}

static inline struct answer model_restore(struct model *m, const char *path, uint64_t version)
{
    struct model_file *f = model_live(m, path);
    struct model_version v;
    if (!f || f->kind == FILE_DIR)
        return failed(ERR_NOT_FOUND);
    enum err_code code = content_at(f, version, &v);
    return code ? failed(code) : model_put(m, path, v.letter, v.size, CHANGE_RESTORED);
}

static inline struct answer model_untrash(struct model *m, struct model_file *f, const char *to,
                                          bool over)
{
    struct model_file *there;
    if (f->is_gone)
        return failed(ERR_NOT_FOUND);
    if (f->state == FILE_LIVE || !may_come(m, to, over, &there))
        return failed(ERR_CONFLICT);
    if (there)
        model_trash(m, there);
    struct model_version *v = last_content(f);
    set_place(f, to);
    f->state = FILE_LIVE;
    add_version(m, f, CHANGE_RESTORED, v ? v->letter : 0, v ? v->size : 0, 0);
    return did(OUTCOME_DONE);
}

/* What a version costs goes to the next with a content, if that has the same for nothing. */
static inline void pass_on(struct model_file *f, struct model_version *v)
{
    for (size_t i = v->version; v->cost && i < f->count; i++) {
        struct model_version *n = &f->versions[i];
        if (!n->letter || n->is_gone)
            continue;
        if (n->cost == 0)
            n->cost = n->size;
        return;
    }
}

static inline struct answer model_purge(struct model_file *f, uint64_t version)
{
    bool has_pin = false;
    for (size_t i = 0; i < f->count; i++)
        has_pin |= f->versions[i].is_pinned && !f->versions[i].is_gone;
    if (f->is_gone)
        return failed(ERR_NOT_FOUND);
    if (version == 0) {
        if (f->state == FILE_LIVE || has_pin)
            return failed(ERR_CONFLICT);
        f->is_gone = true;
        return did(OUTCOME_DONE);
    }
    if (version > f->count || f->versions[version - 1].is_gone)
        return failed(ERR_NOT_FOUND);
    struct model_version *v = &f->versions[version - 1];
    if (version == f->count || v->is_pinned)
        return failed(ERR_CONFLICT);
    v->is_gone = true;
    if (v->letter && f->state == FILE_TRASHED && !last_content(f)) { /* nothing could come back */
        v->is_gone = !has_pin;
        f->is_gone = !has_pin;
        return has_pin ? failed(ERR_CONFLICT) : did(OUTCOME_DONE);
    }
    pass_on(f, v);
    return did(OUTCOME_DONE);
}

#endif
