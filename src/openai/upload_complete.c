/* upload_complete.c -- the parts of an upload, one behind the other, as a File.
 *
 * They are read in pieces and written through the operation that makes files; nothing is there unless all of it came and has the
 * length, and the MD5, that it should.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <openssl/evp.h>

#include "base/clock.h"
#include "base/scope.h"
#include "openai/file.h"
#include "openai/upload.h"

enum { PIECE = 4 << 20, MD5_LEN = 16 };

/* ---- one at a time ---- */

struct oa_completing {
    struct oa_completing *next;
    const char *id;
};

/* Two requests that complete the same upload at the same moment would make two Files; one that cancels it would say so of one whose
 * File is there. */
static bool claim(struct openai *oa, struct oa_completing *mine)
{
    bool is_free = true;
    pthread_mutex_lock(&oa->lock);
    for (const struct oa_completing *at = oa->completing; at; at = at->next)
        is_free = is_free && strcmp(at->id, mine->id) != 0;
    if (is_free) {
        mine->next = oa->completing;
        oa->completing = mine;
    }
    pthread_mutex_unlock(&oa->lock);
    return is_free;
}

static void unclaim(struct openai *oa, const struct oa_completing *mine)
{
    pthread_mutex_lock(&oa->lock);
    struct oa_completing **at = &oa->completing;
    while (*at != mine)
        at = &(*at)->next;
    *at = mine->next;
    pthread_mutex_unlock(&oa->lock);
}

/* ---- reading the parts ---- */

struct joining {
    struct oa_call *o;
    const struct oa_card *upload;
    const json_t *part_ids;
    const char *workspace, *md5; /* md5 NULL: any */
    EVP_MD_CTX *sum;
    size_t index;      /* of the part that is read */
    int64_t at, size;  /* in it; size -1: not known yet */
    struct buf piece;  /* of it */
    size_t piece_used; /* of that */
};

static void joining_done(struct joining *j)
{
    EVP_MD_CTX_free(j->sum);
    buf_done(&j->piece);
}

static const char *part_at(const struct joining *j, size_t index)
{
    return json_string_value(json_array_get(j->part_ids, index));
}

static int part_bytes(const struct joining *j, size_t index, int64_t *ret, struct err *e)
{
    scoped(oa_card_done) struct oa_card part = {0};
    const char *id = part_at(j, index);
    struct err why = {.code = ERR_NOT_FOUND};
    bool is_known = id && strlen(id) < ID_SIZE &&
                    oa_card_get(j->o->oa, j->o->c->who.principal, CARD_PART, id, &part, &why) == 0;
    if (!is_known && why.code != ERR_NOT_FOUND) {
        *e = why;
        return -1;
    }
    if (!is_known || strcmp(part.card.parent, j->upload->card.id) != 0)
        return oa_fail(j->o, e, ERR_INVALID, "part_ids", "invalid_value",
                       "Upload %s has no part '%.64s'.", j->upload->card.id, id ? id : "");
    *ret = oa_card_int(&part, "bytes");
    return 0;
}

static int check_sum_of_bytes(const struct joining *j, struct err *e)
{
    int64_t sum = 0, want = oa_card_int(j->upload, "bytes");
    for (size_t i = 0; i < json_array_size(j->part_ids); i++) {
        int64_t size = 0;
        if (part_bytes(j, i, &size, e))
            return -1;
        sum += size;
    }
    if (sum == want)
        return 0;
    return oa_fail(j->o, e, ERR_INVALID, "part_ids", "invalid_value",
                   "The parts have %lld bytes together, but the upload was announced with %lld.",
                   (long long)sum, (long long)want);
}

/* The next piece of the part; empty at its end. */
static int fetch(struct joining *j, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    char path[PATH_BYTES_MAX + 1], range[64];
    int64_t end = j->at + PIECE < j->size ? j->at + PIECE : j->size;
    oa_upload_path(j->upload->card.id, part_at(j, j->index), path);
    (void)snprintf(range, sizeof range, "bytes=%lld-%lld", (long long)j->at, (long long)end - 1);
    native_workspace(&n, j->workspace);
    native_text(&n, "/files/");
    native_path(&n, path);
    native_header(&n, "Range", range);
    n.is_raw = true;
    n.max = PIECE + 1;
    if (oa_perform(j->o, &n, e))
        return -1;
    if (n.answer.out.len != (size_t)(end - j->at))
        return err_set(e, ERR_DAMAGED, "a part is not as long as it was");
    buf_done(&j->piece);
    j->piece = n.answer.out;
    n.answer.out = BUF_INIT(1);
    j->piece_used = 0;
    j->at = end;
    return 0;
}

/* Makes piece not empty, or index the number of parts. */
static int advance(struct joining *j, struct err *e)
{
    size_t count = json_array_size(j->part_ids);
    while (j->index < count && j->piece_used == j->piece.len) {
        if (j->size < 0 && part_bytes(j, j->index, &j->size, e))
            return -1;
        if (j->at < j->size)
            return fetch(j, e);
        j->index++;
        j->at = 0;
        j->size = -1;
    }
    return 0;
}

static int check_md5(struct joining *j, struct err *e)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    char hex[2 * MD5_LEN + 1];
    unsigned len = 0;
    if (!j->md5)
        return 0;
    if (EVP_DigestFinal_ex(j->sum, digest, &len) != 1 || len != MD5_LEN)
        return err_set(e, ERR_INTERNAL, "end an MD5");
    for (size_t i = 0; i < MD5_LEN; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    if (strcasecmp(hex, j->md5) == 0)
        return 0;
    return oa_fail(j->o, e, ERR_INVALID, "md5", "invalid_value",
                   "The parts together have the MD5 %s, not the one that was sent.", hex);
}

/* As http_read gives a body; fails at its end when it is not what was announced. */
static int read_joined(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    struct joining *j = arg;
    *ret_len = 0;
    if (advance(j, e))
        return -1;
    size_t left = j->piece.len - j->piece_used, len = left < size ? left : size;
    if (len == 0)
        return check_md5(j, e);
    memcpy(to, j->piece.bytes + j->piece_used, len);
    j->piece_used += len;
    if (j->md5 && EVP_DigestUpdate(j->sum, to, len) != 1)
        return err_set(e, ERR_INTERNAL, "go on with an MD5");
    *ret_len = len;
    return 0;
}

/* ---- the File ---- */

static int begin_md5(struct joining *j, struct err *e)
{
    j->md5 = json_string_value(json_object_get(j->o->json, "md5"));
    if (!j->md5)
        return 0;
    j->sum = EVP_MD_CTX_new();
    if (!j->sum || EVP_DigestInit_ex(j->sum, EVP_md5(), /* engine= */ NULL) != 1)
        return err_set(e, ERR_UNAVAILABLE, "there is no MD5 here; leave 'md5' out");
    return 0;
}

static int put(struct joining *j, const struct file_plan *plan, json_t **ret, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("PUT");
    const struct inner_body body = {.read = read_joined,
                                    .arg = j,
                                    .has_length = true,
                                    .length = (uint64_t)oa_card_int(j->upload, "bytes")};
    native_workspace(&n, plan->workspace);
    native_text(&n, "/files/");
    native_path(&n, plan->path);
    n.stream = &body;
    n.type = "application/octet-stream";
    if (oa_perform(j->o, &n, e))
        return -1;
    *ret = take(n.json);
    return 0;
}

static int make_file(struct joining *j, struct caller *k, struct oa_card *ret, struct err *e)
{
    struct file_plan plan;
    const char *param;
    scoped(json_decrefp) json_t *file = NULL;
    if (file_begin(j->o->oa, k, oa_card_text(j->upload, "filename"), &plan, e) ||
        file_terms(json_object_get(j->upload->body, "purpose"),
                   json_object_get(j->upload->body, "expires_after"), &plan, &param, e))
        return -1;
    j->workspace = plan.workspace;
    if (begin_md5(j, e) || put(j, &plan, &file, e))
        return -1;
    if (file_finish(j->o->oa, k, &plan, file, ret, e) == 0)
        return 0;
    struct err ignored = {0}; /* bytes that nobody knows of are only a waste of space */
    (void)file_forget(k, plan.workspace, plan.path, &ignored);
    return -1;
}

static int join(struct oa_call *o, struct oa_card *upload, struct oa_card *ret_file, struct err *e)
{
    struct caller *k;
    scoped(joining_done) struct joining j = {.o = o,
                                             .upload = upload,
                                             .part_ids = json_object_get(o->json, "part_ids"),
                                             .size = -1,
                                             .piece = BUF_INIT(PIECE + 1)};
    if (check_sum_of_bytes(&j, e) || oa_caller(o, &k, e) || make_file(&j, k, ret_file, e))
        return -1;
    struct err ignored = {0}; /* the File is there; parts that stay are tidied up with the upload */
    if (json_object_set_new(upload->body, "file_id", json_string(ret_file->card.id)))
        return err_set(e, ERR_NO_MEMORY, "note a file");
    (void)oa_upload_end(o->oa, k, upload, "completed", &ignored);
    return 0;
}

static int check_body(struct oa_call *o, struct err *e)
{
    static const char *const names[] = {"part_ids", "md5", NULL};
    const json_t *ids, *md5;
    if (oa_body(o, e) || oa_only(o, o->json, "", names, e))
        return -1;
    ids = json_object_get(o->json, "part_ids");
    md5 = json_object_get(o->json, "md5");
    if (!ids)
        return oa_missing(o, e, "part_ids");
    if (!json_is_array(ids) || json_array_size(ids) > UPLOAD_PARTS_MAX)
        return oa_fail(o, e, ERR_INVALID, "part_ids", "invalid_type",
                       "Invalid type for 'part_ids': expected an array of ids.");
    if (md5 && !json_is_null(md5) && !json_is_string(md5))
        return oa_fail(o, e, ERR_INVALID, "md5", "invalid_type",
                       "Invalid type for 'md5': expected a string.");
    return 0;
}

/* Whoever did not get the answer asks again, and is told the same. */
static int complete(struct oa_call *o, struct err *e)
{
    scoped(oa_card_done) struct oa_card upload = {0}, file = {0};
    if (oa_upload_find(o, &upload, e))
        return -1;
    if (strcmp(oa_upload_status(&upload, clock_wall_us()), "completed") == 0) {
        if (file_card(o->oa, o->c->who.principal, oa_card_text(&upload, "file_id"), &file, e))
            return -1;
        return oa_answer_take(o, oa_upload_object(&upload, &file), e);
    }
    oa_card_done(&upload);
    upload = (struct oa_card){0};
    if (oa_upload_find_pending(o, &upload, e) || join(o, &upload, &file, e))
        return -1;
    return oa_answer_take(o, oa_upload_object(&upload, &file), e);
}

int oa_upload_alone(struct oa_call *o, int (*act)(struct oa_call *, struct err *), struct err *e)
{
    struct oa_completing mine = {.id = o->piece[0]};
    if (!claim(o->oa, &mine))
        return oa_fail(o, e, ERR_CONFLICT, NULL, NULL,
                       "Upload %.64s is being completed by another request.", o->piece[0]);
    int failed = act(o, e);
    unclaim(o->oa, &mine);
    return failed;
}

int oa_upload_complete(struct oa_call *o, struct err *e)
{
    return check_body(o, e) || oa_upload_alone(o, complete, e) ? -1 : 0;
}
