/* team_list.c -- pages of lists, as lines and as items (team_common.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/team_common.h"

enum {
    ROW_MAX = 32 << 10,                       /* of one row, as a line or as an item */
    TEXT_ROOM = REPLY_TEXT_MAX - (4 << 10),   /* for rows: the rest is for what is said of them */
    ITEMS_ROOM = REPLY_STRUCTURED_MAX - 2048, /* the same */
    CURSOR_SHOWN_MAX = 1024,
};

/* False: there is no room for it. */
static bool add_row(struct mcp_call *m, const struct team_list *list, const struct json_t *row)
{
    struct mcp_reply *r = &m->reply;
    scoped(buf_done) struct buf line = BUF_INIT(ROW_MAX);
    scoped(buf_done) struct buf item = BUF_INIT(ROW_MAX);
    struct json_writer w = JSON_WRITER(&item);
    list->row(row, &line, &w);
    if (line.failed || item.failed || r->text.len + line.len > TEXT_ROOM ||
        r->structured.len + item.len > ITEMS_ROOM)
        return false;
    buf_add(&r->text, line.bytes, line.len);
    buf_str(&r->text, "\n");
    jw_raw(&r->w, item.bytes, item.len);
    return true;
}

/* Where the next page begins; "": there is none, or nobody can say it. */
static void find_cursor(const struct team_list *list, const struct json_t *page, size_t shown,
                        size_t count, char ret[CURSOR_SHOWN_MAX])
{
    const json_t *last = shown ? json_array_get(json_object_get(page, "data"), shown - 1) : NULL;
    const char *cursor = team_text(page, "next_cursor");
    ret[0] = '\0';
    if (shown < count && list->number && last)
        (void)snprintf(ret, CURSOR_SHOWN_MAX, "%" PRIu64, team_number(last, list->number));
    else if (shown == count && strlen(cursor) < CURSOR_SHOWN_MAX)
        (void)snprintf(ret, CURSOR_SHOWN_MAX, "%s", cursor);
}

static void end_list(struct mcp_call *m, const char *cursor, size_t shown, size_t count,
                     bool has_more)
{
    struct mcp_reply *r = &m->reply;
    jw_key(&r->w, "has_more");
    jw_bool(&r->w, has_more);
    jw_key(&r->w, "next_cursor");
    jw_text(&r->w, *cursor ? cursor : NULL);
    if (*cursor)
        buf_fmt(&r->text, "more: repeat with cursor=\"%s\"\n", cursor);
    else if (shown < count)
        buf_fmt(&r->text, "more: only %zu of %zu fit here; repeat with limit=%zu\n", shown, count,
                shown ? shown : 1);
    else if (has_more)
        buf_str(&r->text, "more: repeat with a larger limit\n");
}

size_t team_list(struct mcp_call *m, const struct team_list *list, const struct json_t *page)
{
    struct mcp_reply *r = &m->reply;
    const json_t *rows = json_object_get(page, "data");
    size_t count = json_array_size(rows), shown = 0;
    char cursor[CURSOR_SHOWN_MAX];
    buf_fmt(&r->text, "%s\n", count ? list->columns : list->empty);
    jw_key(&r->w, list->key);
    jw_array(&r->w);
    while (shown < count && add_row(m, list, json_array_get(rows, shown)))
        shown++;
    jw_end_array(&r->w);
    find_cursor(list, page, shown, count, cursor);
    end_list(m, cursor, shown, count, shown < count || team_true(page, "has_more"));
    return count;
}
