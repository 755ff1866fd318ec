/* reproduce_compare.c -- whether the version that was made again is the same. What is in files is a stranger's:
 * it is read and compared by compare.py in a session of its own, in which nothing else has run. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "service/reproduce_int.h"
#include "json/read.h"
#include "json/write.h"

extern const char service_compare[]; /* compare.py */

static void free_json(json_t **o)
{
    json_decref(*o);
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

/* What compare.py printed. */
static int take_answer(const json_t *run, struct verdict *ret, struct err *e)
{
    const char *out = text_of(run, "stdout");
    scoped(free_json) json_t *answer = NULL;
    if (strcmp(text_of(run, "end"), "ok") != 0 || json_read(out, strlen(out), &answer, e)) {
        *e = (struct err){0};
        *ret = (struct verdict){.is_same = false};
        (void)snprintf(ret->detail, sizeof ret->detail,
                       "the bytes differ, and the two files could not be compared otherwise (%s)",
                       text_of(run, "end"));
        return 0;
    }
    ret->is_same = json_is_true(json_object_get(answer, "is_same"));
    (void)snprintf(ret->how, sizeof ret->how, "%s", text_of(answer, "how"));
    (void)snprintf(ret->detail, sizeof ret->detail, "%s", text_of(answer, "detail"));
    return 0;
}

/* With names that end as the file's does. */
static int compare_inside(struct place *p, const struct version_row *made, struct verdict *ret,
                          struct err *e)
{
    const char *path = p->wishes->of->path, *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    char a[160], b[160], id[ID_SIZE];
    scoped(buf_done) struct buf question = BUF_INIT(4096);
    struct json_writer w = JSON_WRITER(&question);
    scoped(free_json) json_t *run = NULL;
    struct seat *seat;
    (void)snprintf(a, sizeof a, ".compare/original%.100s", dot ? dot : "");
    (void)snprintf(b, sizeof b, ".compare/repeated%.100s", dot ? dot : "");
    jw_object(&w);
    jw_key(&w, "a");
    jw_text(&w, a);
    jw_key(&w, "b");
    jw_text(&w, b);
    jw_end_object(&w);
    const struct repeat_code code = {.code = service_compare,
                                     .code_len = strlen(service_compare),
                                     .stdin_text = question.bytes,
                                     .language = LANGUAGE_PYTHON,
                                     .name = "<compare>"};
    if (buf_check(&question, e) || place_put(p, a, p->wishes->of, /* is_own= */ false, e) ||
        place_put(p, b, made, /* is_own= */ true, e) || place_seat(p, NULL, &seat, e) ||
        place_run(p, seat, &code, id, &run, e))
        return err_wrap(e, "compare the two");
    return take_answer(run, ret, e);
}

int place_compare(struct place *p, struct verdict *ret, struct err *e)
{
    const struct version_row *of = p->wishes->of;
    struct version_row made;
    *ret = (struct verdict){0};
    if (files_stat(p->service->o.files, &p->ws, of->path, 0, &made, e)) {
        if (e->code != ERR_NOT_FOUND)
            return -1;
        *e = (struct err){0};
        (void)snprintf(ret->detail, sizeof ret->detail, "the file was not written this time");
        return 0;
    }
    int failed = 0;
    if (made.content.size == of->content.size &&
        memcmp(made.content.sha256, of->content.sha256, HASH_LEN) == 0) {
        *ret = (struct verdict){.is_same = true, .how = "bytes", .detail = "the same bytes"};
    } else {
        failed = compare_inside(p, &made, ret, e);
    }
    version_row_done(&made);
    return failed;
}
