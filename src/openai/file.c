#include "openai/file.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "workspace/files.h"

enum {
    EXPIRES_MIN_S = 3600,
    EXPIRES_MAX_S = 30 * 86400,
};
static const char *const purposes[] = {"assistants", "batch", "fine-tune", "vision",
                                       "user_data",  "evals", NULL};

/* ---- where they are ---- */

/* Their own, whatever their key may do with it. */
static int find_workspace(struct openai *oa, struct caller *k, char ret[ID_SIZE], struct err *e)
{
    scoped(workspace_row_done) struct workspace_row ws = {0};
    if (files_workspace(oa->o.files, caller_who(k), FILE_WORKSPACE, RIGHT_WRITE, &ws, e))
        return -1;
    memcpy(ret, ws.id, ID_SIZE);
    return 0;
}

static int make_workspace(struct caller *k, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    native_text(&n, "/api/v1/workspaces");
    n.body = str_of("{\"name\":\"" FILE_WORKSPACE "\",\"kind\":\"files\"}");
    return native_perform(&n, /* c= */ NULL, k, OA_VIA, e);
}

int file_workspace(struct openai *oa, struct caller *k, char ret[ID_SIZE], struct err *e)
{
    struct err why = {0};
    if (find_workspace(oa, k, ret, &why) == 0)
        return 0;
    if (why.code != ERR_NOT_FOUND) {
        *e = why;
        return -1;
    }
    if (make_workspace(k, e) && e->code != ERR_CONFLICT) /* somebody else was faster */
        return -1;
    return find_workspace(oa, k, ret, e);
}

/* ---- cards ---- */

static int no_such_file(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "No such File object: %.64s", id);
}

int file_card(struct openai *oa, const char *principal, const char *id, struct oa_card *ret,
              struct err *e)
{
    struct oa_card c = {0};
    if (strlen(id) >= ID_SIZE)
        return no_such_file(id, e);
    if (oa_card_get(oa, principal, CARD_FILE, id, &c, e))
        return e->code == ERR_NOT_FOUND ? no_such_file(id, e) : -1;
    if (c.card.expires_us && c.card.expires_us <= clock_wall_us()) {
        oa_card_done(&c);
        return no_such_file(id, e);
    }
    *ret = c;
    return 0;
}

struct json_t *file_object(const struct oa_card *c)
{
    const struct card *card = &c->card;
    json_t *expires = card->expires_us ? json_integer(card->expires_us / 1000000) : json_null();
    return json_pack("{s:s, s:s, s:I, s:I, s:o, s:s, s:s, s:s, s:n}", "id", card->id, "object",
                     "file", "bytes", (json_int_t)oa_card_int(c, "bytes"), "created_at",
                     (json_int_t)(card->created_us / 1000000), "expires_at", expires, "filename",
                     oa_card_text(c, "filename"), "purpose", card->name, "status", "processed",
                     "status_details");
}

/* ---- making one ---- */

int file_begin(struct openai *oa, struct caller *k, const char *filename, struct file_plan *ret,
               struct err *e)
{
    *ret = (struct file_plan){0};
    name_plain(filename, ret->filename);
    if (card_make_id("file-", ret->id, e) || file_workspace(oa, k, ret->workspace, e))
        return -1;
    (void)snprintf(ret->path, sizeof ret->path, "%s/%s", ret->id, ret->filename);
    return 0;
}

static int take_purpose(const json_t *purpose, struct file_plan *plan, struct err *e)
{
    const char *text = json_string_value(purpose);
    if (!text)
        return err_set(e, ERR_INVALID, "Missing required parameter: 'purpose'.");
    for (size_t i = 0; purposes[i]; i++)
        if (strcmp(text, purposes[i]) == 0)
            plan->purpose = purposes[i];
    return plan->purpose ? 0
                         : err_set(e, ERR_INVALID,
                                   "'%.40s' is not one of ['assistants', 'batch', 'fine-tune', "
                                   "'vision', 'user_data', 'evals'] - 'purpose'",
                                   text);
}

/* A number, or one as a form writes it. */
static int64_t seconds_of(const json_t *value)
{
    int64_t seconds = 0;
    const char *text = json_string_value(value);
    if (!text)
        return json_is_integer(value) ? json_integer_value(value) : -1;
    for (size_t i = 0; text[i]; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 9)
            return -1;
        seconds = seconds * 10 + (text[i] - '0');
    }
    return *text ? seconds : -1;
}

static int take_expiry(const json_t *after, struct file_plan *plan, const char **ret_param,
                       struct err *e)
{
    plan->expires_s = strcmp(plan->purpose, "batch") == 0 ? EXPIRES_MAX_S : 0;
    if (!after || json_is_null(after))
        return 0;
    const char *anchor = json_string_value(json_object_get(after, "anchor"));
    int64_t seconds = seconds_of(json_object_get(after, "seconds"));
    *ret_param = "expires_after.anchor";
    if (!anchor || strcmp(anchor, "created_at") != 0)
        return err_set(e, ERR_INVALID, "Invalid 'expires_after.anchor': it is 'created_at'.");
    *ret_param = "expires_after.seconds";
    if (seconds < EXPIRES_MIN_S || seconds > EXPIRES_MAX_S)
        return err_set(e, ERR_INVALID,
                       "Invalid 'expires_after.seconds': expected an integer from %d to %d.",
                       EXPIRES_MIN_S, EXPIRES_MAX_S);
    plan->expires_s = seconds;
    return 0;
}

int file_terms(const struct json_t *purpose, const struct json_t *expires_after,
               struct file_plan *plan, const char **ret_param, struct err *e)
{
    *ret_param = "purpose";
    return take_purpose(purpose, plan, e) || take_expiry(expires_after, plan, ret_param, e) ? -1
                                                                                            : 0;
}

int file_finish(struct openai *oa, struct caller *k, const struct file_plan *plan,
                const struct json_t *file, struct oa_card *ret, struct err *e)
{
    struct oa_card c = {.card = {.kind = CARD_FILE, .name = plan->purpose}};
    json_int_t size = json_integer_value(json_object_get(file, "size"));
    c.card.created_us = c.card.used_us = clock_wall_us();
    c.card.expires_us = plan->expires_s ? c.card.created_us + plan->expires_s * 1000000 : 0;
    memcpy(c.card.id, plan->id, ID_SIZE);
    memcpy(c.card.principal, caller_who(k)->principal, ID_SIZE);
    c.body =
        json_pack("{s:s, s:s, s:I}", "filename", plan->filename, "path", plan->path, "bytes", size);
    if (!c.body)
        return err_set(e, ERR_NO_MEMORY, "note a file");
    if (oa_card_insert(oa, &c, FILES_MAX, e)) {
        oa_card_done(&c);
        return -1;
    }
    *ret = c;
    return 0;
}

/* ---- forgetting ---- */

/* The id of what is at the path; "": nothing. */
static int file_id_at(struct caller *k, const char *workspace, const char *path, char ret[ID_SIZE],
                      struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    struct err why = {0};
    native_workspace(&n, workspace);
    native_text(&n, "/files/");
    native_path(&n, path);
    native_query(&n, "stat", "true");
    *ret = '\0';
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, &why)) {
        *e = why;
        return why.code == ERR_NOT_FOUND ? 0 : -1;
    }
    const char *id = json_string_value(json_object_get(n.json, "id"));
    (void)snprintf(ret, ID_SIZE, "%s", id ? id : "");
    return 0;
}

static int purge(struct caller *k, const char *workspace, struct str what, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    native_workspace(&n, workspace);
    native_text(&n, "/purge");
    n.body = what;
    return native_perform(&n, /* c= */ NULL, k, OA_VIA, e);
}

int file_empty_trash(struct caller *k, const char *workspace, struct err *e)
{
    return purge(k, workspace, str_of("{\"trash\":true}"), e);
}

int file_forget(struct caller *k, const char *workspace, const char *path, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    scoped(buf_done) struct buf what = BUF_INIT(256);
    char id[ID_SIZE];
    if (file_id_at(k, workspace, path, id, e))
        return -1;
    if (!*id)
        return 0;
    native_workspace(&n, workspace);
    native_text(&n, "/files/");
    native_path(&n, path);
    buf_fmt(&what, "{\"file_id\":\"%s\"}", id); /* an id of ours */
    return native_perform(&n, /* c= */ NULL, k, OA_VIA, e) ||
                   purge(k, workspace, (struct str){what.bytes, what.len}, e)
               ? -1
               : 0;
}

/* ---- for others ---- */

int oa_file_read(struct openai *oa, struct caller *k, const char *file_id, size_t max,
                 struct buf *ret, char ret_name[256], struct err *e)
{
    scoped(oa_card_done) struct oa_card c = {0};
    scoped(native_done) struct native n = NATIVE("GET");
    char workspace[ID_SIZE];
    if (file_card(oa, caller_who(k)->principal, file_id, &c, e) ||
        file_workspace(oa, k, workspace, e))
        return -1;
    if ((uint64_t)oa_card_int(&c, "bytes") > max)
        return err_set(e, ERR_TOO_LARGE, "The file %.64s has %lld bytes; at most %zu fit here.",
                       file_id, (long long)oa_card_int(&c, "bytes"), max);
    native_workspace(&n, workspace);
    native_text(&n, "/files/");
    native_path(&n, oa_card_text(&c, "path"));
    n.is_raw = true;
    n.max = max + 1;
    if (native_perform(&n, /* c= */ NULL, k, OA_VIA, e))
        return -1;
    (void)snprintf(ret_name, 256, "%s", oa_card_text(&c, "filename"));
    buf_add(ret, n.answer.out.bytes, n.answer.out.len);
    return buf_check(ret, e);
}
