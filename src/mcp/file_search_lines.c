/* file_search_lines.c -- search_files with mode regex: text files read and looked at line by line.
 *
 * The index knows words; this is for what is no word. It reads the files themselves, as read_file does,
 * and so its work is bounded: bytes, files and time. What it did not reach it says. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/file_read.h"
#include "mcp/file_regex.h"
#include "mcp/file_search.h"
#include "mcp/file_source.h"
#include "mcp/mcp_int.h"

enum {
    FILES_MAX = 2000,
    WALL_S = 15,
    TELL_US = 3000000,
    LINE_MAX_BYTES = 16 << 10, /* of a line that are looked at */
    SHOWN_MAX = 300,           /* and shown */
    SNIPPET_MAX = 2000,
    CONTEXT_MAX = 10,
    LINES_AT_ONCE = 16, /* between looks at the clock */
};

struct past { /* a line that may be shown before one that fits */
    uint64_t number;
    size_t len;
    char text[SHOWN_MAX];
};

struct scan {
    struct mcp_call *m;
    struct regex *regex;
    json_t *hits;
    const json_t *file; /* that is being read */
    size_t limit, context;
    uint64_t line;   /* of the file, that ended last */
    struct buf held; /* the line that has not ended */
    struct past past[CONTEXT_MAX];
    size_t past_count, past_at;
    json_t *hit; /* to which lines still belong; borrowed */
    uint64_t hit_until;
    struct buf snippet;
    uint64_t files, bytes;        /* that were looked at */
    int64_t deadline_us, told_us; /* told_us: when the client heard last that it goes on */
    bool is_cut;                  /* not all of it was looked at */
    bool is_late;
};

/* ---- lines ---- */

static void show(struct scan *s, uint64_t number, const char *text, size_t len, char mark)
{
    if (s->snippet.len + len + 32 > SNIPPET_MAX)
        return;
    buf_fmt(&s->snippet, "%" PRIu64 "%c ", number, mark);
    utf8_clean(text, len < SHOWN_MAX ? len : utf8_cut(text, SHOWN_MAX), &s->snippet);
    buf_str(&s->snippet, len > SHOWN_MAX ? " ...\n" : "\n");
}

static void close_hit(struct scan *s)
{
    if (s->hit)
        (void)json_object_set_new(s->hit, "snippet",
                                  json_string(s->snippet.bytes ? s->snippet.bytes : ""));
    s->hit = NULL;
    buf_done(&s->snippet);
}

static void remember(struct scan *s, const char *text, size_t len)
{
    if (s->context == 0)
        return;
    struct past *p = &s->past[s->past_at];
    p->number = s->line;
    p->len = len < SHOWN_MAX ? len : utf8_cut(text, SHOWN_MAX);
    memcpy(p->text, text, p->len);
    s->past_at = (s->past_at + 1) % s->context;
    if (s->past_count < s->context)
        s->past_count++;
}

static void show_past(struct scan *s)
{
    for (size_t i = 0; i < s->past_count; i++) {
        size_t at = (s->past_at + s->context - s->past_count + i) % s->context;
        show(s, s->past[at].number, s->past[at].text, s->past[at].len, '-');
    }
    s->past_count = 0;
}

static int begin_hit(struct scan *s, struct err *e)
{
    s->hit = search_hit(s->hits, s->file, "regex", 1);
    if (!s->hit || json_object_set_new(s->hit, "line_start", json_integer((json_int_t)s->line)))
        return err_set(e, ERR_NO_MEMORY, "search");
    show_past(s);
    return 0;
}

static bool is_done(const struct scan *s)
{
    return !s->hit && json_array_size(s->hits) >= s->limit;
}

static int take_line(struct scan *s, const char *text, size_t len, struct err *e)
{
    s->line++;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    bool has_room = s->hit || json_array_size(s->hits) < s->limit;
    int fits =
        has_room ? regex_fits(s->regex, text, len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES, e) : 0;
    if (fits < 0)
        return -1;
    if (!fits && s->hit && s->line > s->hit_until)
        close_hit(s);
    if (fits && !s->hit && begin_hit(s, e))
        return -1;
    if (fits) {
        s->hit_until = s->line + s->context;
        (void)json_object_set_new(s->hit, "line_end", json_integer((json_int_t)s->line));
    }
    if (s->hit)
        show(s, s->line, text, len, fits ? ':' : '-');
    else
        remember(s, text, len);
    return 0;
}

/* Some patterns take long on every line. */
static bool is_late(struct scan *s)
{
    s->is_late = s->is_late || clock_us() > s->deadline_us || mcp_is_cancelled(s->m);
    return s->is_late;
}

static int take_piece(struct scan *s, struct str piece, struct err *e)
{
    while (piece.len > 0 && !is_done(s) && (s->line % LINES_AT_ONCE || !is_late(s))) {
        const char *end = memchr(piece.ptr, '\n', piece.len);
        size_t len = end ? (size_t)(end - piece.ptr) : piece.len;
        size_t room = 2 * LINE_MAX_BYTES - s->held.len;
        bool is_held = s->held.len > 0 || !end;
        if (is_held)
            buf_add(&s->held, piece.ptr, len < room ? len : room);
        if (end) {
            if (take_line(s, is_held ? s->held.bytes : piece.ptr, is_held ? s->held.len : len, e))
                return -1;
            buf_done(&s->held);
        }
        size_t used = end ? len + 1 : len;
        piece = (struct str){piece.ptr + used, piece.len - used};
    }
    return 0;
}

/* ---- files ---- */

static bool is_worth_it(const struct file_facts *f)
{
    static const char *const others[] = {"image/", "audio/", "video/", "font/", "model/"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(f->mime, others[i], strlen(others[i])) == 0 && !strstr(f->mime, "+xml"))
            return false;
    return !f->is_dir && f->size > 0 && !is_document(f->path);
}

static int scan_file(struct scan *s, const struct file_facts *f, struct err *e)
{
    scoped(source_done) struct file_source source = SOURCE(s->m, f);
    source.most = FILE_SCAN_MAX - s->bytes; /* something is left */
    s->line = s->past_count = s->past_at = 0;
    while (!source.is_over && !source.is_given_up && !is_done(s) && !is_late(s)) {
        struct str piece;
        if (source_next(&source, &piece, e))
            return -1;
        if (source.decoder.encoding == ENCODING_BINARY)
            break;
        if (take_piece(s, piece, e))
            return -1;
    }
    if (s->held.len > 0 && take_line(s, s->held.bytes, s->held.len, e))
        return -1;
    buf_done(&s->held);
    close_hit(s);
    s->bytes += source.at;
    s->is_cut = s->is_cut || source.is_given_up || is_late(s);
    s->files++;
    return 0;
}

static void tell_progress(struct scan *s)
{
    if (clock_us() - s->told_us < TELL_US)
        return;
    s->told_us = clock_us();
    mcp_progress(s->m, (double)s->files, /* total= */ 0, "files were looked at");
    mcp_keep_alive(s->m);
}

static int scan_page(struct scan *s, const json_t *data, struct err *e)
{
    size_t i;
    json_t *file;
    json_array_foreach(data, i, file)
    {
        struct file_facts f;
        file_facts(file, &f);
        if (is_done(s) || !is_worth_it(&f))
            continue;
        if (s->files >= FILES_MAX || s->bytes >= FILE_SCAN_MAX || is_late(s)) {
            s->is_cut = true;
            return 0;
        }
        tell_progress(s);
        s->file = file;
        struct err why = {0}; /* one that was deleted meanwhile is none */
        if (scan_file(s, &f, &why) && why.code != ERR_NOT_FOUND) {
            *e = why;
            return -1;
        }
    }
    return 0;
}

static int scan_all(struct scan *s, struct err *e)
{
    scoped(freep) char *cursor = NULL;
    do {
        scoped(native_done) struct native n = NATIVE("GET");
        if (search_files_page(s->m, &cursor, &n, e) ||
            scan_page(s, json_object_get(n.json, "data"), e))
            return -1;
    } while (cursor && !s->is_cut && !is_done(s));
    return 0;
}

int search_lines(struct mcp_call *m, json_t *hits, struct err *e)
{
    const struct search_args *in = m->in;
    scoped(regex_freep) struct regex *regex = NULL;
    if (regex_new(in->query, &regex, e))
        return -1;
    struct scan s = {.m = m,
                     .regex = regex,
                     .hits = hits,
                     .limit = (size_t)in->limit,
                     .context = (size_t)in->context_lines,
                     .held = BUF_INIT(2 * LINE_MAX_BYTES),
                     .snippet = BUF_INIT(2 * SNIPPET_MAX),
                     .told_us = clock_us(),
                     .deadline_us = clock_us() + (int64_t)WALL_S * 1000000};
    int failed = scan_all(&s, e);
    buf_done(&s.held);
    buf_done(&s.snippet);
    if (!failed && s.is_cut)
        buf_fmt(&m->reply.text,
                "Not everything was looked at, only %" PRIu64 " files with %" PRIu64
                " bytes: narrow it with path_glob, or use run_code.\n",
                s.files, s.bytes);
    return failed;
}
