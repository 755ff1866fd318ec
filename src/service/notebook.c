#include "service/notebook.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "service/ipynb.h"
#include "service/lineage.h"
#include "service/may.h"
#include "service/notebook_int.h"
#include "service/object.h"
#include "service/service_int.h"
#include "store/meta.h"
#include "store/meta_lineage.h"
#include "json/read.h"
#include "json/write.h"

static void free_json(json_t **o)
{
    json_decref(*o);
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

/* An object too large to be read again: the code is there at least. */
static void put_outputs(struct json_writer *w, const struct run_row *run, size_t number)
{
    struct err ignored = {0};
    scoped(free_json) json_t *object = NULL;
    if (run->object)
        (void)json_read(run->object, run->object_len, &object, &ignored);
    ipynb_outputs(w, object, number);
}

/* ---- cells ---- */

/* A list of lines, each with its end. */
static void put_source(struct json_writer *w, const struct run_row *run)
{
    bool is_bash = run->language && strcmp(run->language, "bash") == 0;
    bool is_node = run->language && strcmp(run->language, "javascript") == 0;
    jw_key(w, "source");
    jw_array(w);
    if (is_bash || is_node)
        jw_text(w, is_bash ? "%%bash\n" : "%%script node\n");
    for (size_t at = 0; at < run->code_len;) {
        const char *line = run->code + at, *end = memchr(line, '\n', run->code_len - at);
        size_t len = end ? (size_t)(end - line) + 1 : run->code_len - at;
        jw_str(w, line, len);
        at += len;
    }
    jw_end_array(w);
}

static void put_cell(struct json_writer *w, const struct run_row *run, size_t number)
{
    jw_object(w);
    put_text(w, "cell_type", "code");
    put_text(w, "id", run->id);
    jw_key(w, "execution_count");
    jw_u64(w, number);
    jw_key(w, "metadata");
    jw_object(w);
    jw_key(w, "cicada");
    jw_object(w);
    put_text(w, "run_id", run->id);
    put_text(w, "session_id", run->session);
    put_text(w, "end", run->end);
    object_time(w, "started_at", run->started_us);
    jw_end_object(w);
    jw_end_object(w);
    put_source(w, run);
    put_outputs(w, run, number);
    jw_end_object(w);
}

/* ---- the runs ---- */

struct run_ids {
    char (*items)[ID_SIZE]; /* newest first */
    size_t count;
};

/* The session's own; *ret_before: the run whose state the oldest of them began with. */
static int list_own(struct service *s, const struct session_row *session, struct run_ids *ret,
                    char ret_before[ID_SIZE], struct err *e)
{
    char cursor[CURSOR_SIZE] = "";
    memcpy(ret_before, session->state_run, ID_SIZE);
    do {
        struct run_rows rows;
        const struct run_filter filter = {.session = session->id, .is_brief = true};
        const struct page page = {.limit = PAGE_MAX, .cursor = *cursor ? cursor : NULL};
        if (meta_run_list(s->o.meta, &filter, &page, &rows, e))
            return -1;
        for (size_t i = 0; i < rows.count && ret->count < NOTEBOOK_RUNS_MAX; i++) {
            const struct run_row *run = &rows.items[i];
            if (run->started_us == 0 || run->status != RUN_DONE || run->undone_us > 0)
                continue;
            memcpy(ret->items[ret->count++], run->id, ID_SIZE);
            memcpy(ret_before, run->previous, ID_SIZE);
        }
        memcpy(cursor, rows.next, sizeof cursor);
        run_rows_done(&rows);
    } while (*cursor && ret->count < NOTEBOOK_RUNS_MAX);
    return 0;
}

/* That run and its history. */
static int list_history(struct service *s, const char *id, struct run_ids *ret, struct err *e)
{
    scoped(run_row_done) struct run_row run = {0};
    struct run_rows chain;
    if (ret->count == NOTEBOOK_RUNS_MAX)
        return 0;
    if (meta_run_code(s->o.meta, id, /* code_max= */ 0, &run, e)) {
        bool is_forgotten = e->code == ERR_NOT_FOUND;
        if (is_forgotten)
            *e = (struct err){0};
        return is_forgotten ? 0 : -1;
    }
    memcpy(ret->items[ret->count++], run.id, ID_SIZE);
    if (lineage_chain(s, &run, NOTEBOOK_RUNS_MAX - ret->count, &chain, e))
        return -1;
    for (size_t i = 0; i < chain.count; i++)
        memcpy(ret->items[ret->count++], chain.items[i].id, ID_SIZE);
    run_rows_done(&chain);
    return 0;
}

static int list_runs(struct service *s, const struct session_row *session, struct run_ids *ret,
                     struct err *e)
{
    char before[ID_SIZE];
    ret->items = calloc(NOTEBOOK_RUNS_MAX, sizeof *ret->items);
    if (!ret->items)
        return err_set(e, ERR_NO_MEMORY, "export a session");
    if (list_own(s, session, ret, before, e))
        return -1;
    return *session->parent && *before ? list_history(s, before, ret, e) : 0;
}

static int put_all(struct service *s, const char *session, const struct run_ids *runs,
                   enum notebook_format format, struct buf *out, struct err *e)
{
    struct json_writer w = JSON_WRITER(out);
    if (format == NOTEBOOK_IPYNB)
        ipynb_begin(&w);
    for (size_t i = 0; i < runs->count; i++) {
        struct run_row run;
        if (meta_run_get(s->o.meta, runs->items[runs->count - 1 - i], &run, e))
            return -1;
        if (format == NOTEBOOK_IPYNB)
            put_cell(&w, &run, i + 1);
        else
            script_run(out, &run, session, i + 1);
        run_row_done(&run);
    }
    if (format == NOTEBOOK_IPYNB)
        ipynb_end(&w);
    return 0;
}

/* Its id, if the caller may see it. */
static int find(struct service *s, const struct who *who, const char *id_or_name, char ret[ID_SIZE],
                struct err *e)
{
    scoped(buf_done) struct buf shown = BUF_INIT(64 << 10);
    struct json_writer w = JSON_WRITER(&shown);
    scoped(free_json) json_t *session = NULL;
    if (seat_show(s, who, id_or_name, &w, e) || buf_check(&shown, e) ||
        json_read(shown.bytes, shown.len, &session, e))
        return -1;
    (void)snprintf(ret, ID_SIZE, "%s", json_string_value(json_object_get(session, "id")));
    return 0;
}

int notebook_write(struct service *s, const struct who *who, const char *session,
                   enum notebook_format format, struct buf *out, struct err *e)
{
    char id[ID_SIZE];
    struct run_ids runs = {0};
    scoped(session_row_done) struct session_row row = {0};
    if (find(s, who, session, id, e) || meta_settle(s->o.meta, e) ||
        meta_session_get(s->o.meta, id, &row, e))
        return -1;
    if (format == NOTEBOOK_SCRIPT)
        script_begin(out, id);
    int failed = list_runs(s, &row, &runs, e) || put_all(s, id, &runs, format, out, e);
    free(runs.items);
    return failed ? -1 : 0;
}
