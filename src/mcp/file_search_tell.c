/* file_search_tell.c -- search_files: hits as text with citations, and as structured content. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/file_common.h"
#include "mcp/file_search.h"
#include "mcp/mcp_int.h"
#include "mcp/uri.h"
#include "json/write.h"

enum {
    HIT_BYTES = 150
}; /* of a hit in the structured content, besides path, address and snippet */

static void put_snippet(struct buf *text, const char *snippet)
{
    while (*snippet) {
        size_t len = strcspn(snippet, "\n");
        buf_str(text, "   ");
        buf_add(text, snippet, len);
        buf_str(text, "\n");
        snippet += len + (snippet[len] == '\n');
    }
}

static void put_hit(struct buf *text, size_t number, const json_t *hit)
{
    uint64_t first = file_number(hit, "line_start"), last = file_number(hit, "line_end");
    buf_fmt(text, "%zu. %s", number, file_text(hit, "path"));
    if (first)
        buf_fmt(text, ":%" PRIu64 "-%" PRIu64, first, last);
    else if (*file_text(hit, "cite"))
        buf_fmt(text, ", %s", file_text(hit, "cite"));
    buf_fmt(text, " (version %" PRIu64 "%s, %s)\n", file_number(hit, "version"),
            json_is_false(json_object_get(hit, "is_newest")) ? ", not the newest" : "",
            file_text(hit, "match"));
    put_snippet(text, file_text(hit, "snippet"));
}

static void write_hit(struct json_writer *w, const json_t *hit, size_t snippet_max)
{
    static const char *const numbers[] = {"version", "line_start", "line_end", "page"};
    scoped(buf_done) struct buf uri = BUF_INIT(URI_LEN_MAX);
    const char *snippet = file_text(hit, "snippet");
    size_t len = strlen(snippet);
    double score = json_real_value(json_object_get(hit, "score"));
    uri_write_file(&uri, file_text(hit, "workspace_id"), file_text(hit, "path"), 0);
    jw_object(w);
    jw_key(w, "path");
    jw_text(w, file_text(hit, "path"));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!json_object_get(hit, numbers[i]))
            continue;
        jw_key(w, numbers[i]);
        jw_u64(w, file_number(hit, numbers[i]));
    }
    if (*file_text(hit, "cite")) {
        jw_key(w, "cite");
        jw_text(w, file_text(hit, "cite"));
    }
    jw_key(w, "match");
    jw_text(w, file_text(hit, "match"));
    jw_key(w, "score");
    jw_decimal(w, score > 0 ? (uint64_t)(score * 1e4 + 0.5) : 0, 4);
    jw_key(w, "snippet");
    jw_str(w, snippet, len <= snippet_max ? len : utf8_cut(snippet, snippet_max));
    jw_key(w, "uri");
    jw_text(w, uri.bytes ? uri.bytes : "");
    jw_end_object(w);
}

/* How many bytes of each snippet there is room for. */
static size_t snippet_room(const json_t *hits)
{
    size_t used = 1 << 10, i, count = json_array_size(hits);
    json_t *hit;
    json_array_foreach(hits, i, hit)
    {
        used += HIT_BYTES + 3 * strlen(file_text(hit, "path"));
    }
    return count && used < REPLY_STRUCTURED_MAX ? (REPLY_STRUCTURED_MAX - used) * 3 / (4 * count)
                                                : 0;
}

static void tell_none(struct mcp_call *m)
{
    static const char *const advice[] = {
        [SEARCH_AUTO] =
            "Try fewer or other words, mode \"regex\" for an exact piece of text, or list_files.",
        [SEARCH_TEXT] =
            "Try fewer or other words, mode \"auto\" (which also goes by meaning), or mode "
            "\"regex\" for an exact piece of text.",
        [SEARCH_SEMANTIC] = "Say it in a sentence, or use mode \"auto\", which goes by words, too.",
        [SEARCH_NAME] =
            "Use a shorter part of the name, or mode \"auto\" for what is in the files. "
            "list_files with deleted=true shows the trash.",
        [SEARCH_REGEX] =
            "Case matters unless it begins with (?i); a pattern is for one line. Mode \"auto\" "
            "goes by words, and also looks into PDF and Office files.",
    };
    const struct search_args *in = m->in;
    buf_fmt(&m->reply.text, "Nothing found for %s.\n%s\n", in->query, advice[in->mode]);
    if (in->path_glob)
        buf_fmt(&m->reply.text, "Only files that fit path_glob %s were looked at.\n",
                in->path_glob);
}

void search_tell(struct mcp_call *m, const json_t *hits)
{
    size_t i, room = snippet_room(hits), count = json_array_size(hits);
    struct buf *text = &m->reply.text;
    struct json_writer *w = &m->reply.w;
    json_t *hit;
    if (count == 0)
        tell_none(m);
    else
        buf_fmt(text, "%zu hit%s:\n", count, count == 1 ? "" : "s");
    jw_key(w, "hits");
    jw_array(w);
    json_array_foreach(hits, i, hit)
    {
        put_hit(text, i + 1, hit);
        write_hit(w, hit, room);
    }
    jw_end_array(w);
}
