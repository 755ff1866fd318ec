/* search.c -- who may see what; what is still there; filters. */
#include "workspace/search.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/files.h"
#include "workspace/search_int.h"
#include "workspace/search_meaning.h"

const char *const search_match_names[] = {"keyword", "semantic", "both", NULL};

int search_new(const struct search_options *options, struct search **ret, struct err *e)
{
    struct search *s = malloc(sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "open the search");
    *s = (struct search){.o = *options};
    *ret = s;
    return 0;
}

void search_free(struct search *s)
{
    free(s);
}

struct text_index *search_index(struct search *s)
{
    return s->o.index;
}

void search_results_done(struct search_results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->items[i].path);
        free(r->items[i].snippet);
    }
    free(r->items);
    *r = (struct search_results){0};
}

/* ---- where to look ---- */

struct places {
    char (*ids)[ID_SIZE];
    size_t count;
};

static void places_done(struct places *p)
{
    free(p->ids);
}

static int add_place(struct places *p, const char *id, struct err *e)
{
    if (p->count % 64 == 0) {
        char(*more)[ID_SIZE] = realloc(p->ids, (p->count + 64) * sizeof *more);
        if (!more)
            return err_set(e, ERR_NO_MEMORY, "search");
        p->ids = more;
    }
    (void)snprintf(p->ids[p->count++], ID_SIZE, "%s", id);
    return 0;
}

static int add_all(struct search *s, const struct who *who, struct places *p, struct err *e)
{
    char cursor[CURSOR_SIZE] = "";
    for (bool has_more = true; has_more && p->count < SEARCH_WORKSPACES_MAX;) {
        struct workspace_rows rows;
        const struct page page = {.limit = PAGE_MAX, .cursor = *cursor ? cursor : NULL};
        int failed = 0;
        if (files_workspace_list(s->o.files, who, WORKSPACE_PLAIN, &page, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && !failed; i++)
            failed = add_place(p, rows.items[i].id, e);
        has_more = rows.has_more;
        memcpy(cursor, rows.next, sizeof cursor);
        workspace_rows_done(&rows);
        if (failed)
            return -1;
    }
    return 0;
}

/* ---- filters ---- */

struct filter_texts {
    char suffix[64];
};

/* "csv" and ".csv" are endings of names, "text/csv" and "image/" are types. */
static void set_type(struct text_filter *f, const char *type, struct filter_texts *own)
{
    if (!type || !*type)
        return;
    if (strchr(type, '/')) {
        f->mime = type;
        return;
    }
    (void)snprintf(own->suffix, sizeof own->suffix, ".%s", type + (*type == '.'));
    for (char *at = own->suffix; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    f->suffix = own->suffix;
}

static struct text_filter filter_of(const struct who *who, const struct search_question *q,
                                    struct filter_texts *own)
{
    struct text_filter f = {.kind = q->kind,
                            .principal = !(who->scopes & SCOPE_RUN) ? "nobody" /* who has no runs */
                                         : who->is_admin            ? NULL
                                                                    : who->principal,
                            .after_us = q->after_us,
                            .before_us = q->before_us};
    if (q->path && *q->path && strpbrk(q->path, "*?["))
        f.glob = q->path;
    else if (q->path && *q->path)
        f.prefix = q->path;
    set_type(&f, q->type, own);
    return f;
}

/* ---- what is still there ---- */

/* 1: the file is there, under that name. */
static int check_file(struct search *s, const struct text_hit *hit, struct search_result *ret,
                      struct err *e)
{
    struct file_row row;
    struct err why = {0};
    if (meta_file_by_id(files_meta(s->o.files), hit->doc.id, &row, &why)) {
        if (why.code == ERR_NOT_FOUND)
            return 0;
        *e = why;
        return -1;
    }
    bool is_there = row.state == FILE_LIVE && strcmp(row.workspace, hit->doc.workspace) == 0;
    ret->path = is_there ? strdup(row.path) : NULL;
    ret->is_old = row.version != hit->doc.version;
    ret->changed_us = row.changed_us;
    file_row_done(&row);
    return is_there;
}

static int check_run(struct search *s, const struct text_hit *hit, struct search_result *ret,
                     struct err *e)
{
    struct run_row row;
    struct err why = {0};
    if (meta_run_get(files_meta(s->o.files), hit->doc.id, &row, &why)) {
        if (why.code == ERR_NOT_FOUND)
            return 0;
        *e = why;
        return -1;
    }
    run_row_done(&row);
    ret->path = strdup(hit->doc.path);
    return 1;
}

static int add_result(struct search *s, struct text_reader *r, const struct query *q,
                      const struct text_hit *hit, enum search_match match,
                      struct search_results *to, struct err *e)
{
    struct search_result it = {.kind = hit->doc.kind,
                               .match = match,
                               .version = hit->doc.version,
                               .score = hit->score,
                               .changed_us = hit->doc.changed_us};
    int is_there = it.kind == DOC_FILE ? check_file(s, hit, &it, e) : check_run(s, hit, &it, e);
    if (is_there != 1)
        return is_there;
    if (!it.path)
        return err_set(e, ERR_NO_MEMORY, "search");
    memcpy(it.workspace, hit->doc.workspace, ID_SIZE);
    memcpy(it.id, hit->doc.id, ID_SIZE);
    if (search_snippet(r, q, hit, &it.snippet, &it.cite, e)) {
        free(it.path);
        return -1;
    }
    to->items[to->count++] = it;
    return 0;
}

static int show(struct search *s, struct text_reader *r, const struct query *q,
                const struct text_hits *hits, const enum search_match *match,
                struct search_results *ret, struct err *e)
{
    struct search_results list = {
        .items = calloc(hits->count ? hits->count : 1, sizeof(struct search_result))};
    if (!list.items)
        return err_set(e, ERR_NO_MEMORY, "search");
    for (size_t i = 0; i < hits->count; i++)
        if (add_result(s, r, q, &hits->items[i], match[i], &list, e)) {
            search_results_done(&list);
            return -1;
        }
    *ret = list;
    return 0;
}

/* ---- all of it ---- */

static int ask(struct search *s, struct text_reader *r, const struct workspace_row *ws,
               const struct search_question *question, struct search_results *ret, struct err *e)
{
    scoped(query_done) struct query q = {0};
    scoped(text_hits_done) struct text_hits hits = {0};
    scoped(freep) enum search_match *match = NULL;
    char notice[SEARCH_NOTICE_SIZE];
    const struct mean_question mean = {
        .text = question->text, .limit = question->limit, .is_wanted = ws && ws->has_intelligence};
    if (query_parse(r, question->text, &q, e) ||
        search_rank(r, &q, search_depth(s, question->limit), &hits, e) ||
        search_mean(s, r, &mean, &hits, &match, notice, e) || show(s, r, &q, &hits, match, ret, e))
        return -1;
    memcpy(ret->notice, notice, sizeof notice);
    return 0;
}

int search_ask(struct search *s, const struct who *who, const struct workspace_row *ws,
               const struct search_question *question, struct search_results *ret, struct err *e)
{
    scoped(places_done) struct places places = {0};
    struct filter_texts own;
    const struct text_filter filter = filter_of(who, question, &own);
    if (!s->o.index)
        return err_set(e, ERR_UNAVAILABLE,
                       "this server keeps no index: set search.index = on in its configuration");
    if (ws ? add_place(&places, ws->id, e) : add_all(s, who, &places, e))
        return -1;
    struct text_reader *r;
    if (text_reader_begin(s->o.index, (const char(*)[ID_SIZE])places.ids, places.count, &filter, &r,
                          e))
        return -1;
    int failed = ask(s, r, ws, question, ret, e);
    text_reader_end(r);
    return failed;
}
