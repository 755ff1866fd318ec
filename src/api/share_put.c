/* share_put.c -- files that come by a link: into its folder, never over what is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "api/share_door.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "http/exchange.h"
#include "http/multipart.h"
#include "workspace/locks.h"
#include "json/write.h"

enum { FILES_MAX = 100, NAMES_MAX = 1000 }; /* of one form; tried for one file */

/* Browsers and other systems send whole paths; what counts is the last name of it. */
static const char *last_name(const char *filename)
{
    const char *name = filename;
    for (const char *at = filename; *at; at++)
        if (*at == '/' || *at == '\\')
            name = at + 1;
    return name;
}

/* ---- under which name ---- */

static bool is_in(const struct commit *commit, const char *path)
{
    for (size_t i = 0; i < commit_count(commit); i++)
        if (strcmp(commit_change(commit, i)->path, path) == 0)
            return true;
    return false;
}

static int is_taken(struct call *c, const struct commit *commit, const char *path, bool *ret,
                    struct err *e)
{
    struct file_row row;
    struct err why = {0};
    *ret = true;
    if (is_in(commit, path))
        return 0;
    if (!meta_file_get(files_meta(c->api->o.files), c->share->ws.id, path, &row, &why)) {
        file_row_done(&row);
        return 0;
    }
    if (why.code == ERR_NOT_FOUND)
        return look_below(c, &c->share->ws, path, ret, e);
    *e = why;
    return -1;
}

/* "report.csv", "report (2).csv", ...; what gets too long is cut before the number. */
static void number_name(const char *name, unsigned number, char ret[COMPONENT_BYTES_MAX + 1])
{
    char label[16] = "";
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name || strlen(dot) > 32)
        dot = name + strlen(name);
    if (number > 1)
        (void)snprintf(label, sizeof label, " (%u)", number);
    size_t room = COMPONENT_BYTES_MAX - strlen(label) - strlen(dot), len = (size_t)(dot - name);
    if (len > room)
        len = utf8_cut(name, room);
    (void)snprintf(ret, COMPONENT_BYTES_MAX + 1, "%.*s%s%s", (int)len, name, label, dot);
}

static int choose(struct call *c, const struct commit *commit, const char *name,
                  char ret[PATH_BYTES_MAX + 1], struct err *e)
{
    char numbered[COMPONENT_BYTES_MAX + 1], clean[PATH_BYTES_MAX + 1];
    bool taken = true;
    if (path_clean(name, clean, e))
        return -1;
    for (unsigned i = 1; taken && i <= NAMES_MAX; i++) {
        number_name(clean, i, numbered);
        if (shares_path(&c->share->share, numbered, ret, e) || is_taken(c, commit, ret, &taken, e))
            return -1;
    }
    return taken ? err_set(e, ERR_CONFLICT, "too many files have that name: choose another") : 0;
}

/* ---- taking it ---- */

static int copy(struct multipart *m, struct commit *commit, struct err *e)
{
    scoped(freep) char *piece = malloc(TRANSFER_SIZE);
    size_t len = 1;
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "take a file");
    while (len)
        if (multipart_read(m, piece, TRANSFER_SIZE, &len, e) ||
            (len && commit_write(commit, piece, len, e)))
            return -1;
    return 0;
}

/* Whoever had the link: no principal, and nothing that gets past a lock. */
static struct author author_of(const struct call *c)
{
    struct author a = {0};
    (void)snprintf(a.key, sizeof a.key, "%s", c->share->share.id);
    return a;
}

static int take_one(struct call *c, struct multipart *m, struct commit *commit, const char *name,
                    struct err *e)
{
    const struct author author = author_of(c);
    char path[PATH_BYTES_MAX + 1];
    if (commit_count(commit) == FILES_MAX)
        return err_set(e, ERR_TOO_LARGE, "at most %d files at once", FILES_MAX);
    if (choose(c, commit, name, path, e) ||
        lock_check(c->api->o.files, &c->share->ws, path, &author, e))
        return -1;
    /* Whoever takes the name meanwhile keeps it: then this one goes beside. */
    const struct how how = {.expect = EXPECT_SINCE, .since = c->share->ws.rev, .mark = "2"};
    return commit_put(commit, path, &how, /* size= */ 0, e) || copy(m, commit, e) ||
                   commit_end(commit, e)
               ? -1
               : 0;
}

static int take_all(struct call *c, struct multipart *m, struct commit *commit, struct err *e)
{
    const struct multipart_part *part;
    for (;;) {
        if (multipart_next(m, &part, e))
            return -1;
        if (!part)
            break;
        bool is_file = strcmp(part->name, "file") == 0 && part->filename;
        if (is_file && *last_name(part->filename) &&
            take_one(c, m, commit, last_name(part->filename), e))
            return -1;
    }
    return commit_count(commit) ? 0 : err_set(e, ERR_INVALID, "file: the form has none");
}

/* ---- the answer ---- */

/* Who may not see the folder does not learn either which names were taken in it. */
static void show(struct call *c, const struct commit *commit)
{
    bool may_see = c->share->share.rights & SHARE_VIEW;
    struct json_writer w = JSON_WRITER(&c->out);
    jw_object(&w);
    jw_key(&w, "count");
    jw_u64(&w, commit_count(commit));
    jw_key(&w, "files");
    jw_array(&w);
    for (size_t i = 0; may_see && i < commit_count(commit); i++) {
        const struct file_change *change = commit_change(commit, i);
        jw_object(&w);
        jw_key(&w, "name");
        jw_text(&w, last_name(change->ret_path ? change->ret_path : change->path));
        jw_key(&w, "size");
        jw_u64(&w, change->content.size);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_end_object(&w);
}

static void answer(struct call *c, const struct commit *commit)
{
    share_page_headers(c);
    if (share_wants_json(c)) {
        show(c, commit);
        return;
    }
    http_add_header(c->x, "Location", "/s/%s?uploaded=%zu", c->param[0], commit_count(commit));
    c->status = 303;
    c->type = "text/html; charset=utf-8";
}

int share_upload(struct call *c, struct err *e)
{
    scoped(multipart_freep) struct multipart *m = NULL;
    scoped(commit_freep) struct commit *commit = NULL;
    const struct author author = author_of(c);
    struct err ignored = {0}; /* what was not counted is there all the same */
    if (share_may(c, SHARE_UPLOAD, e) || files_check_space(c->api->o.files, e) ||
        multipart_new(http_header_get(c->request, "Content-Type"), read_request, c->x, &m, e) ||
        commit_new(c->api->o.files, &c->share->ws, &author, COMMIT_UPLOAD, &commit, e) ||
        take_all(c, m, commit, e) || commit_finish(commit, e))
        return -1;
    (void)meta_share_uploaded(files_meta(c->api->o.files), c->share->share.id, commit_count(commit),
                              clock_wall_us(), &ignored);
    answer(c, commit);
    return 0;
}
