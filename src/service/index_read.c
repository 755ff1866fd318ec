/* index_read.c -- the text of a document that has none yet: known already, read in the jail, or none. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/filetype.h"
#include "base/scope.h"
#include "service/indexer_int.h"
#include "session/spawner.h"
#include "wire/jail.h"
#include "workspace/files.h"

/* Types in which there are no words for us. */
static const char *const wordless[] = {
    "audio/",
    "video/",
    "font/",
    "application/zip",
    "application/gzip",
    "application/x-tar",
    "application/x-7z",
    "application/vnd.apache.parquet",
    "application/wasm",
    NULL,
};

static bool is_wordless(const char *path)
{
    const char *mime = filetype_of(path);
    for (size_t i = 0; wordless[i]; i++)
        if (strncmp(mime, wordless[i], strlen(wordless[i])) == 0)
            return true;
    return false;
}

static void set_extractor(struct indexer *ix, struct extractor *x)
{
    pthread_mutex_lock(&ix->lock);
    ix->extractor = x;
    pthread_mutex_unlock(&ix->lock);
}

void index_drop_extractor(struct indexer *ix)
{
    struct extractor *x = ix->extractor;
    set_extractor(ix, NULL);
    extractor_close(x);
}

/* One for that vault. */
static int need_extractor(struct indexer *ix, const char *vault, struct err *e)
{
    const struct jail_hello *hello = spawner_hello(ix->o.spawner);
    const struct extractor_options options = {.spawner = ix->o.spawner,
                                              .current = ix->o.current,
                                              .files = ix->o.files,
                                              .live_fd = ix->o.live_fd,
                                              .file_max = ix->o.file_max,
                                              .can_use_images = hello->tier == TIER_FULL &&
                                                                hello->failure[MECH_IMAGE] == 0,
                                              .is_stopping = &ix->is_stopping};
    struct extractor *x;
    if (ix->extractor && strcmp(extractor_vault(ix->extractor), vault) == 0 &&
        !extractor_is_spent(ix->extractor))
        return 0;
    index_drop_extractor(ix);
    if (extractor_open(&options, vault, &x, e))
        return -1;
    set_extractor(ix, x);
    return 0;
}

static int keep(struct indexer *ix, const struct text_doc *doc, const struct extracted *text,
                struct err *e)
{
    if (text->state == DOC_READY)
        return text_index_fill(ix->o.index, doc, text->chunks, text->count, e);
    return text_index_settle(ix->o.index, doc, text->state, text->reason, e);
}

static int read_file(struct indexer *ix, const struct text_doc *doc, struct err *e)
{
    struct content content = {.size = doc->size};
    struct workspace_row ws;
    struct extracted text;
    memcpy(content.sha256, doc->sha256, HASH_LEN);
    if (need_extractor(ix, doc->vault, e))
        return -1;
    if (files_workspace_known(ix->o.files, doc->workspace, &ws, e))
        return e->code == ERR_NOT_FOUND ? text_index_remove(ix->o.index, DOC_FILE, doc->id, e) : -1;
    int failed = extractor_read(ix->extractor, &ws, &content, doc->path, &text, e);
    workspace_row_done(&ws);
    if (failed && e->code == ERR_DAMAGED) { /* that stays so, and others wait behind it */
        *e = (struct err){0};
        index_drop_extractor(ix);
        return text_index_settle(ix->o.index, doc, DOC_FAILED, "its content is damaged", e);
    }
    if (failed || ix->is_stopping) { /* read again at the next start: it was cut short */
        if (!failed)
            extracted_done(&text);
        return failed;
    }
    failed = keep(ix, doc, &text, e);
    extracted_done(&text);
    return failed;
}

static int settle_early(struct indexer *ix, const struct text_doc *doc, bool *ret, struct err *e)
{
    char reason[DOC_REASON_MAX + 1];
    *ret = true;
    if (doc->size == 0)
        return text_index_settle(ix->o.index, doc, DOC_SKIPPED, "it is empty", e);
    if (is_wordless(doc->path))
        return text_index_settle(ix->o.index, doc, DOC_SKIPPED, "no text in files of this kind", e);
    if (doc->size > ix->o.file_max) {
        (void)snprintf(reason, sizeof reason, "it is larger than %llu MB",
                       (unsigned long long)(ix->o.file_max >> 20));
        return text_index_settle(ix->o.index, doc, DOC_FAILED, reason, e);
    }
    *ret = false;
    return 0;
}

static int read_run(struct indexer *ix, const struct text_doc *doc, struct err *e)
{
    struct run_row row;
    struct extracted text;
    struct err why = {0};
    if (meta_run_get(files_meta(ix->o.files), doc->id, &row, &why)) {
        if (why.code == ERR_NOT_FOUND)
            return text_index_remove(ix->o.index, DOC_RUN, doc->id, e);
        *e = why;
        return -1;
    }
    int failed = index_run_text(&row, &text, e);
    run_row_done(&row);
    if (failed)
        return -1;
    failed = keep(ix, doc, &text, e);
    extracted_done(&text);
    return failed;
}

int index_read_next(struct indexer *ix, struct err *e)
{
    struct text_doc doc;
    bool is_settled = false;
    const char *vault =
        ix->extractor && !extractor_is_spent(ix->extractor) ? extractor_vault(ix->extractor) : NULL;
    int got = text_index_next(ix->o.index, vault, &doc, e);
    if (got != 1)
        return got;
    if (doc.kind == DOC_RUN)
        return read_run(ix, &doc, e) ? -1 : 1;
    if (settle_early(ix, &doc, &is_settled, e))
        return -1;
    if (is_settled)
        return 1;
    int is_reused = text_index_reuse(ix->o.index, &doc, e);
    if (is_reused < 0)
        return -1;
    return is_reused || read_file(ix, &doc, e) == 0 ? 1 : -1;
}
