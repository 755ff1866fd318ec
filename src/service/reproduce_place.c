/* reproduce_place.c -- where runs are repeated: a workspace with nothing but what they need, and sessions in
 * it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/may.h"
#include "service/options.h"
#include "service/reproduce_int.h"
#include "store/meta.h"
#include "workspace/rates.h"
#include "json/read.h"

enum { PIECE = 1 << 20 };

static const char prefix[] = "reproduce-"; /* of the workspaces' names */

/* ---- its life ---- */

/* One that nobody works in any more: its sessions are closed, and then it goes. */
static void remove_left(struct service *s, const struct who *who, const struct workspace_row *ws)
{
    struct session_rows rows;
    struct err ignored = {0}; /* the next one tries again */
    const struct page page = {.limit = PAGE_MAX};
    const struct session_filter filter = {.workspace = ws->id, .open = OPEN_ONLY};
    if (meta_session_list(s->o.meta, &filter, &page, &rows, &ignored))
        return;
    for (size_t i = 0; i < rows.count; i++) {
        scoped(seat_unrefp) struct seat *seat = NULL;
        if (seat_find(s, who, rows.items[i].id, &seat, &ignored) == 0)
            (void)seat_close(seat, "reproduced", &ignored);
    }
    session_rows_done(&rows);
    (void)files_workspace_delete(s->o.files, who, ws, &ignored);
}

/* What an earlier server left when it died: those of the caller that are old. */
static void sweep(struct service *s, const struct who *who)
{
    struct workspace_rows rows;
    struct err ignored = {0}; /* the next one tries again */
    const struct page page = {.limit = PAGE_MAX};
    int64_t before_us = clock_wall_us() - 2 * (int64_t)REPRODUCE_WALL_MS * 1000;
    if (meta_workspace_list(s->o.meta, who->principal, WORKSPACE_PLAIN, &page, &rows, &ignored))
        return;
    for (size_t i = 0; i < rows.count; i++) {
        const struct workspace_row *ws = &rows.items[i];
        bool is_left = strncmp(ws->name, prefix, sizeof prefix - 1) == 0 && ws->bytes_max == 0 &&
                       strcmp(ws->owner, who->principal) == 0 && ws->created_us < before_us;
        if (is_left && strncmp(ws->name + sizeof prefix - 1, "ws_", 3) == 0 &&
            strlen(ws->name) == sizeof prefix - 1 + strlen(ws->id))
            remove_left(s, who, ws);
    }
    workspace_rows_done(&rows);
}

int place_make(struct service *s, const struct who *who, const struct reproduction *wishes,
               struct place *ret, struct err *e)
{
    char id[ID_SIZE], name[sizeof prefix + ID_SIZE];
    *ret = (struct place){.service = s, .who = *who, .wishes = wishes};
    /* Only here, where nothing is but what they may read: its sessions have to read and write it. */
    ret->who.scopes |= SCOPE_FILES_READ | SCOPE_FILES_WRITE;
    sweep(s, &ret->who);
    if (id_make("ws_", id, e))
        return -1;
    (void)snprintf(name, sizeof name, "%s%s", prefix, id);
    return files_workspace_create(s->o.files, &ret->who, name, &ret->ws, e);
}

void place_done(struct place *p)
{
    struct err e = {0};
    for (size_t i = 0; i < p->actor_count; i++) {
        (void)seat_close(p->actors[i].seat, "reproduced", &e); /* its workspace goes in any case */
        seat_unref(p->actors[i].seat);
    }
    free(p->actors);
    for (size_t i = 0; i < p->used_count; i++)
        free(p->used[i].path);
    free(p->used);
    e = (struct err){0};
    if (*p->ws.id && files_workspace_delete(p->service->o.files, &p->who, &p->ws, &e))
        log_line(p->service->o.log, LOG_WARNING, "a workspace for a repeated run is left",
                 LOG_STR("workspace", p->ws.id), LOG_STR("why", e.text));
    workspace_row_done(&p->ws);
    *p = (struct place){0};
}

/* ---- files ---- */

static struct author author_of(const struct place *p)
{
    struct author author = {0};
    memcpy(author.principal, p->who.principal, ID_SIZE);
    memcpy(author.key, p->who.key, ID_SIZE);
    return author;
}

int place_begin(struct place *p, struct commit **ret, struct err *e)
{
    const struct author author = author_of(p);
    struct workspace_row now;
    if (files_workspace_known(p->service->o.files, p->ws.id, &now, e))
        return -1;
    workspace_row_done(&p->ws);
    p->ws = now;
    return commit_new(p->service->o.files, &p->ws, &author, COMMIT_UPLOAD, ret, e);
}

/* The bytes of a content of another vault. */
static int pour(struct place *p, struct commit *c, const char *path, const struct content *content,
                struct err *e)
{
    scoped(content_closep) struct content_reader *r = NULL;
    scoped(freep) char *piece = malloc(PIECE);
    size_t len = 1;
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "put %.200s", path);
    if (files_open_content(p->service->o.files, p->wishes->ws, content, &r, e) ||
        commit_put(c, path, &(struct how){0}, content->size, e))
        return -1;
    for (uint64_t at = 0; len > 0; at += len)
        if (content_read(r, at, piece, PIECE, &len, e) ||
            (len > 0 && commit_write(c, piece, len, e)))
            return -1;
    return commit_end(c, e);
}

int place_add(struct place *p, struct commit *c, const char *path, const struct content *content,
              bool is_own, struct err *e)
{
    bool is_near = is_own || strcmp(p->ws.vault, p->wishes->ws->vault) == 0;
    return is_near ? commit_put_content(c, path, &(struct how){0}, content, e)
                   : pour(p, c, path, content, e);
}

int place_put(struct place *p, const char *path, const struct version_row *v, bool is_own,
              struct err *e)
{
    scoped(commit_freep) struct commit *c = NULL;
    return place_begin(p, &c, e) || place_add(p, c, path, &v->content, is_own, e) ||
                   commit_finish(c, e)
               ? -1
               : 0;
}

static bool is_there(struct place *p, const char *path, const struct content *content)
{
    struct version_row v;
    struct err ignored = {0};
    if (files_stat(p->service->o.files, &p->ws, path, 0, &v, &ignored))
        return false;
    bool is_same =
        v.content.size == content->size && memcmp(v.content.sha256, content->sha256, HASH_LEN) == 0;
    version_row_done(&v);
    return is_same;
}

/* For the answer: which version was used, and is there a newer one? */
static int note_used(struct place *p, const struct version_row *v, uint64_t newest, struct err *e)
{
    for (size_t i = 0; i < p->used_count; i++)
        if (strcmp(p->used[i].path, v->path) == 0 && p->used[i].version == v->version)
            return 0;
    struct used_file *grown = realloc(p->used, (p->used_count + 1) * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "put a file");
    p->used = grown;
    grown[p->used_count] =
        (struct used_file){.path = strdup(v->path), .version = v->version, .newest = newest};
    return grown[p->used_count++].path ? 0 : err_set(e, ERR_NO_MEMORY, "put a file");
}

static int put_input(struct place *p, struct commit *c, const struct version_row *recorded,
                     struct err *e)
{
    struct version_row newest = {0};
    struct err ignored = {0};
    bool has_newest =
        files_stat(p->service->o.files, p->wishes->ws, recorded->path, 0, &newest, &ignored) == 0;
    const struct version_row *v = has_newest && p->wishes->is_latest ? &newest : recorded;
    int failed = note_used(p, v, has_newest ? newest.version : 0, e);
    if (!failed && !is_there(p, v->path, &v->content))
        failed = place_add(p, c, v->path, &v->content, /* is_own= */ false, e);
    if (has_newest)
        version_row_done(&newest);
    return failed;
}

static int make_folder(struct commit *c, const char *path, size_t len, struct err *e)
{
    scoped(freep) char *folder = strndup(path, len);
    return folder ? commit_mkdir(c, folder, e) : err_set(e, ERR_NO_MEMORY, "make a directory");
}

/* The directories it wrote to, which somebody may have made long before; each once, as they are sorted. */
static int make_folders(struct place *p, struct commit *c, const struct step *step, struct err *e)
{
    struct version_rows made;
    const char *last = "";
    size_t last_len = 0;
    int failed = 0;
    if (meta_version_of_run(p->service->o.meta, step->run.id, &made, e))
        return -1;
    for (size_t i = 0; i < made.count && !failed; i++) {
        const char *path = made.items[i].path, *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;
        if (len == 0 || (len == last_len && memcmp(path, last, len) == 0))
            continue;
        failed = make_folder(c, path, len, e);
        last = path;
        last_len = len;
    }
    version_rows_done(&made);
    return failed;
}

int place_prepare(struct place *p, const struct plan *plan, const struct step *step, struct err *e)
{
    scoped(commit_freep) struct commit *c = NULL;
    if (place_begin(p, &c, e) || make_folders(p, c, step, e))
        return -1;
    for (size_t i = 0; i < step->inputs.count; i++) {
        const struct version_row *v = &step->inputs.items[i].version;
        /* What an earlier line has changed by now is as it was, too. */
        bool is_made = plan_makes(plan, v->author.run) && (!step->is_again || p->wishes->is_latest);
        if (!is_made && put_input(p, c, v, e))
            return err_wrap(e, "put %.200s", v->path);
    }
    return commit_count(c) > 0 ? commit_finish(c, e) : 0;
}

/* ---- sessions ---- */

/* With the limits and the time zone of the session that is repeated. */
static int open_seat(struct place *p, const char *session, struct seat **ret, struct err *e)
{
    struct session_row row = {0};
    struct err ignored = {0};
    struct limits limits;
    struct pen pen;
    struct seat_wishes wishes = {
        .workspace = p->ws.id, .idle_s = -1, .snapshots = 0, .is_one_shot = true};
    bool has_row = session && meta_session_get(p->service->o.meta, session, &row, &ignored) == 0;
    if (has_row) {
        options_read(row.options, &limits, &pen);
        wishes.tz = row.tz;
        wishes.limits = (struct limit_wishes){.memory_mb = (int64_t)(limits.memory_bytes / MIB),
                                              .cpu = limits.cpu_milli,
                                              .wall_s = limits.wall_ms,
                                              .pids = limits.pids,
                                              .output_bytes = (int64_t)limits.output_bytes,
                                              .disk_mb = (int64_t)(limits.disk_bytes / MIB)};
    }
    int failed = seat_create(p->service, &p->who, &wishes, ret, e);
    if (failed && has_row && e->code == ERR_INVALID) { /* more than this key may have */
        *e = (struct err){0};
        wishes.limits = (struct limit_wishes){0};
        failed = seat_create(p->service, &p->who, &wishes, ret, e);
    }
    if (has_row)
        session_row_done(&row);
    return failed;
}

static int add_actor(struct place *p, size_t line, const char *session, struct seat **ret,
                     struct err *e)
{
    struct actor *grown = realloc(p->actors, (p->actor_count + 1) * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "open a session");
    p->actors = grown;
    struct actor *a = &grown[p->actor_count];
    *a = (struct actor){.line = line};
    if (open_seat(p, session, &a->seat, e))
        return -1;
    p->actor_count++;
    *ret = a->seat;
    return 0;
}

int place_seat(struct place *p, const struct step *step, struct seat **ret, struct err *e)
{
    for (size_t i = 0; step && i < p->actor_count; i++)
        if (p->actors[i].line == step->line) {
            *ret = p->actors[i].seat;
            return seat_refresh(*ret, &p->who, e);
        }
    return add_actor(p, step ? step->line : SIZE_MAX, step ? step->run.session : NULL, ret, e);
}

int place_run(struct place *p, struct seat *seat, const struct repeat_code *what,
              char ret_id[ID_SIZE], json_t **ret, struct err *e)
{
    scoped(job_unrefp) struct job *j = NULL;
    scoped(buf_done) struct buf object = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    const struct job_wishes wishes = {.code = {what->code, what->code_len},
                                      .language = (int)what->language,
                                      .name = what->name,
                                      .stdin_text =
                                          what->stdin_text ? str_of(what->stdin_text) : STR_NONE};
    int64_t wait_ms;
    /* The first was counted with the request. */
    if (p->run_count++ > 0 && rates_run_begin(p->service->o.rates, &p->who, &wait_ms, e))
        return -1;
    if (job_new(seat, &p->who, &wishes, p->wishes->request, &j, e))
        return -1;
    if (p->watch && p->watch(p->watch_arg, j)) {
        job_cancel(j);
        (void)job_execute(j, e);
        return err_set(e, ERR_GONE, "it was called off");
    }
    int failed = job_execute(j, e);
    if (p->watch && p->watch(p->watch_arg, NULL)) {
        job_settle(j);
        return err_set(e, ERR_GONE, "it was called off");
    }
    if (failed)
        return -1;
    job_object(j, &object);
    job_settle(j);
    memcpy(ret_id, job_id(j), ID_SIZE);
    return buf_check(&object, e) || json_read(object.bytes, object.len, ret, e) ? -1 : 0;
}
