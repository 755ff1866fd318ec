#include "base/filetype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_ending_says_what_a_file_is(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a.json", "application/json"},
        {"dir.csv/b.tar.gz", "application/gzip"},
        {"PLOT.PNG", "image/png"},
        {"t.parquet", "application/vnd.apache.parquet"},
        {"n.ipynb", "application/x-ipynb+json"},
        {"README.md", "text/markdown"},
        {"x.svg", "image/svg+xml"},
        {"x.webp", "image/webp"},
        {"x.zip", "application/zip"},
        {"x.pdf", "application/pdf"},
        {"x.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
        {"x.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        {"x.pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
        {"x.jsonl", "application/jsonl"},
        {"x.mp4", "video/mp4"},
        {"x.wav", "audio/wav"},
        {"x.html", "text/html"},
        {"x.py", "text/x-python"},
        {"x.sh", "application/x-sh"},
        {"x.js", "text/javascript"},
        {"x.css", "text/css"},
        {"x.npy", "application/x-npy"},
        {"x.7z", "application/x-7z-compressed"}, /* the first and the last of the table */
        {"x.zst", "application/zstd"},
        {"x.3gp", "video/3gpp"},
        {"x.zsh", "application/x-sh"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_string_equal(filetype_of(pairs[i][0]), pairs[i][1]);
}

static void what_is_not_known_is_bytes(void **state)
{
    (void)state;
    static const char *const paths[] = {"c", ".png",      "d.unknown", "e.",
                                        "",  "dir.csv/f", "a.csv/",    "\xFF.\xFF"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_string_equal(filetype_of(paths[i]), "application/octet-stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ending_says_what_a_file_is),
        cmocka_unit_test(what_is_not_known_is_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
