/* Fuzzes what is looked for in the text of an answer: numbers, figures in outputs, reference marks; and whether two outputs are
 * the same. Up to the first NUL it is the answer, after it the output. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include "ask/figures.h"
#include "ask/marks.h"
#include "ask/numbers.h"
#include "ask/same.h"
#include "base/err.h"
#include "base/utf8.h"

#include "fuzz.h"

static void check_numbers(struct str text)
{
    struct number n;
    size_t before = 0;
    for (size_t at = 0; number_next(text.ptr, text.len, &at, &n); before = n.end) {
        bool is_exact;
        assert(n.start >= before && n.start < n.end && n.end <= text.len && n.end == at);
        assert(n.value > -1e101 && n.value < 1e101 && n.unit >= 0);
        assert(number_is_said(&n, &n, &is_exact) && is_exact);
    }
}

static void check_marks(struct str text, size_t points)
{
    const struct mark_place one = {"ws_1", "a.pdf", 1, 2, ""},
                            two = {"ws_1", "b.md", 3, 0, "line 3"};
    struct marks m = {0};
    struct err e = {0};
    size_t number, i;
    json_t *citations = NULL, *unknown = NULL, *each;
    assert(marks_add(&m, &one, &number, &e) == 0 && marks_add(&m, &two, &number, &e) == 0);
    assert(marks_cite(&m, text, &citations, &unknown, &e) == 0);
    json_array_foreach(citations, i, each)
    {
        json_int_t start = json_integer_value(json_object_get(each, "start"));
        json_int_t end = json_integer_value(json_object_get(each, "end"));
        assert(start >= 0 && start < end && (size_t)end <= points);
    }
    json_decref(citations);
    json_decref(unknown);
    marks_done(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *text = (const char *)bytes, *nul = len ? memchr(text, '\0', len) : NULL;
    struct str answer = {text ? text : "", nul ? (size_t)(nul - text) : len};
    struct str output = nul ? (struct str){nul + 1, len - answer.len - 1} : (struct str){"", 0};
    const struct figure_source sources[] = {{"run_1", output}, {NULL, answer}};
    struct difference d;
    struct err e = {0};
    json_t *figures = NULL;
    size_t points = 0;
    for (size_t i = 0; i < answer.len; i++)
        points += ((unsigned char)answer.ptr[i] & 0xc0) != 0x80;
    check_numbers(answer);
    check_numbers(output);
    check_marks(answer, points);
    if (utf8_is_valid(answer.ptr, answer.len)) {
        assert(figures_find(answer, sources, 2, &figures, &e) == 0);
        assert(json_array_size(figures) <= FIGURES_MAX);
        json_decref(figures);
    }
    assert(texts_are_same(answer, answer, &d));
    if (!texts_are_same(answer, output, &d))
        assert(d.line > 0 && d.was.len <= SAME_LINE_MAX && d.is.len <= SAME_LINE_MAX);
    return 0;
}
