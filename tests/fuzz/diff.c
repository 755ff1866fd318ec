/* Fuzzes the comparison of two texts, cut at the first NUL: what the diff says, done to the one, makes
 * the other. And paths: what is clean stays as it is. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/meta_files.h"
#include "workspace/diff.h"
#include "workspace/diff_apply.h"
#include "workspace/paths.h"

#include "fuzz.h"

static void it_leads_there(struct str from, struct str to)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20), made = BUF_INIT(1 << 20);
    const struct diff_side a = {"a", from}, b = {"b", to};
    enum diff_outcome outcome;
    struct err e = {0};
    int failed = diff_text(&a, &b, &out, &outcome, &e);
    assert(!failed);
    if (outcome != DIFF_DIFFERENT)
        return;
    diff_apply(from, (struct str){out.bytes, out.len}, &made);
    assert(made.len == to.len && (to.len == 0 || memcmp(made.bytes, to.ptr, to.len) == 0));
}

static void a_clean_path_is_clean(const char *text)
{
    char once[PATH_BYTES_MAX + 1], twice[PATH_BYTES_MAX + 1];
    if (path_wrong(text, once))
        return;
    assert(*once != '/' && !strstr(once, "//"));
    const char *wrong = path_wrong(once, twice);
    assert(!wrong && strcmp(once, twice) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len > 4096)
        return 0;
    scoped(freep) char *text = malloc(len + 1);
    assert(text);
    if (len > 0)
        memcpy(text, bytes, len);
    text[len] = '\0';
    size_t cut = strlen(text);
    struct str rest = {text + cut + (cut < len), len - cut - (cut < len)};
    it_leads_there((struct str){text, cut}, rest);
    a_clean_path_is_clean(text);
    return 0;
}
