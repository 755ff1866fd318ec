/* `cicada files diff`: what changed between two versions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"

enum { DIFF_MAX = 128 << 20, LOOKED_AT_MAX = 100 };

const struct option files_diff_options[] = {VERB_IN_WORKSPACE, VERB_COMMON, {0}};

static int take_begin(void *arg, uint64_t from, struct err *e)
{
    (void)arg;
    (void)from;
    (void)e;
    return 0;
}

static int take_text(void *arg, const char *bytes, size_t len, struct err *e)
{
    struct buf *text = arg;
    buf_add(text, bytes, len);
    return buf_check(text, e);
}

/* How a line of a diff is shown. */
static const char *colour_of(const char *line, size_t len)
{
    if (len >= 4 && (strncmp(line, "--- ", 4) == 0 || strncmp(line, "+++ ", 4) == 0))
        return "\033[1m";
    switch (len ? line[0] : ' ') {
    case '+': return "\033[32m";
    case '-': return "\033[31m";
    case '@': return "\033[36m";
    default: return "";
    }
}

/* For a terminal: each line in its colour, and nothing in it that could steer the terminal. */
static void put_coloured(const struct buf *text, bool is_coloured, struct buf *out)
{
    for (size_t at = 0; at < text->len;) {
        const char *line = text->bytes + at, *end = memchr(line, '\n', text->len - at);
        size_t len = end ? (size_t)(end - line) : text->len - at;
        const char *colour = is_coloured ? colour_of(line, len) : "";
        buf_str(out, colour);
        for (size_t done = 0; done < len;) {
            size_t piece = 0;
            while (done + piece < len && line[done + piece] != '\t')
                piece++;
            printable(line + done, piece, out);
            done += piece;
            if (done < len) {
                buf_str(out, "\t");
                done++;
            }
        }
        buf_str(out, *colour ? "\033[0m\n" : "\n");
        at += len + 1;
    }
}

/* The number of the version that is `back` versions with content before the newest; 0: none is. */
static uint64_t version_with_content(const json_t *versions, size_t back)
{
    for (size_t i = 0; i < json_array_size(versions); i++) {
        const json_t *one = json_array_get(versions, i);
        if (strcmp(pick_text(one, "change"), "deleted") != 0 && back-- == 0)
            return pick_count(one, "version");
    }
    return 0;
}

/* The versions to compare: those that were named, or the newest and the one before. */
static int find_versions(struct remote *r, const struct verb_input *in, const char *path,
                         uint64_t *ret_from, uint64_t *ret_to, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *versions = NULL;
    *ret_from = *ret_to = 0;
    if (in->operand_count > 1 && parse_u64(in->operands[1], 1, INT64_MAX, ret_from, e))
        return err_wrap(e, "the version to compare");
    if (in->operand_count > 2 && parse_u64(in->operands[2], 1, INT64_MAX, ret_to, e))
        return err_wrap(e, "the version to compare with");
    if (*ret_from)
        return 0;
    fileref_url(verb_workspace(in), path, "", &url);
    if (buf_check(&url, e) || remote_list(r, url.bytes, "versions=true", LOOKED_AT_MAX, &versions,
                                          /* ret_has_more= */ NULL, e))
        return -1;
    *ret_from = version_with_content(versions, 1);
    *ret_to = version_with_content(versions, 0);
    return 0;
}

static int print(const struct verb_input *in, const struct buf *text)
{
    scoped(buf_done) struct buf shown = BUF_INIT(4 * (size_t)DIFF_MAX);
    const char *no_colour = getenv("NO_COLOR");
    if (verb_is_json(in)) {
        scoped(json_decrefp) json_t *object =
            json_pack("{s:s%}", "diff", text->bytes ? text->bytes : "", text->len);
        return object ? verb_print(in, object) : EXIT_NO_JAIL;
    }
    if (text->len == 0)
        return EXIT_DONE;
    if (terminal_width() == 0)
        return verb_print_text(text);
    put_coloured(text, !(no_colour && *no_colour), &shown);
    return shown.failed ? EXIT_NO_JAIL : verb_print_text(&shown);
}

int verb_file_diff(struct remote *r, const struct verb_input *in, struct err *e)
{
    char path[FILEREF_SIZE], query[96];
    uint64_t from, to;
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), text = BUF_INIT(DIFF_MAX);
    const struct call_taker taker = {take_begin, take_text, &text};
    if (fileref_clean(in->operands[0], path, /* ret_is_dir= */ NULL, e) ||
        find_versions(r, in, path, &from, &to, e))
        return -1;
    if (!from) {
        note(&r->notes, "%s has one version only", path);
        return EXIT_DONE;
    }
    int len = snprintf(query, sizeof query, "diff=%" PRIu64, from);
    if (to)
        (void)snprintf(query + len, sizeof query - (size_t)len, "&to=%" PRIu64, to);
    fileref_url(verb_workspace(in), path, query, &url);
    const struct call call = {.path = url.bytes, .taker = &taker};
    if (buf_check(&url, e) || client_call(r->client, &call, /* ret= */ NULL, e))
        return -1;
    if (text.len == 0)
        note(&r->notes, "no difference");
    return print(in, &text);
}
