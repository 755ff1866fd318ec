/* file_list_tell.c -- list_files: entries as a table to be read, and as structured content. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "mcp/file_list_int.h"
#include "mcp/mcp_int.h"
#include "json/write.h"

static void put_row(struct mcp_call *m, const json_t *entry)
{
    struct file_facts f;
    file_facts(entry, &f);
    struct buf *text = &m->reply.text;
    if (f.is_dir)
        buf_fmt(text, "%12s  %-16s  %7s  %s/\n", "dir", "", "", f.path);
    else
        buf_fmt(text, "%12" PRIu64 "  %.10s %.5s  %7" PRIu64 "  %s%s%s\n", f.size, f.modified,
                strlen(f.modified) > 16 ? f.modified + 11 : "", f.version, f.path,
                json_object_get(entry, "deleted_at") ? "  file_id=" : "",
                json_object_get(entry, "deleted_at") ? f.id : "");
}

static void put_entry(struct json_writer *w, const json_t *entry)
{
    struct file_facts f;
    file_facts(entry, &f);
    jw_object(w);
    jw_key(w, "path");
    jw_text(w, f.path);
    if (f.is_dir) {
        jw_key(w, "directory");
        jw_bool(w, true);
    } else {
        jw_key(w, "version");
        jw_u64(w, f.version);
        jw_key(w, "size");
        jw_u64(w, f.size);
        jw_key(w, "modified_at");
        jw_text(w, f.modified);
    }
    if (json_object_get(entry, "deleted_at")) {
        jw_key(w, "file_id");
        jw_text(w, f.id);
    }
    jw_end_object(w);
}

size_t list_fitting(const json_t *const *order, size_t count)
{
    size_t text = FILE_ROOM, structured = FILE_ROOM, fits = 0;
    for (; fits < count; fits++) {
        size_t len = strlen(file_text(order[fits], "path"));
        text += len + 80;
        structured += 2 * len + 110; /* characters may be escaped */
        if (fits > 0 && (text > REPLY_TEXT_MAX || structured > REPLY_STRUCTURED_MAX))
            break;
    }
    return fits;
}

static void put_head(struct mcp_call *m, const struct asked *a, size_t count)
{
    const struct list_args *in = m->in;
    const char *place = *a->prefix.bytes ? a->prefix.bytes : "/";
    struct buf *text = &m->reply.text;
    buf_fmt(text, "%s%s%s%s: ", in->deleted ? "Trash, below " : "", place, in->glob ? ", " : "",
            in->glob ? in->glob : "");
    if (count == 0) {
        buf_fmt(text, "nothing.\n%s",
                in->deleted ? ""
                : in->glob  ? "A pattern without `/` looks only into the directory itself unless "
                              "recursive is true; case matters.\n"
                           : "write_file and run_code (in /mnt/data) make files; transfer_url lets "
                             "somebody upload one.\n");
        return;
    }
    buf_fmt(text, "%zu shown.\n%12s  %-16s  %7s  path\n", count, "size", "modified (UTC)",
            "version");
}

void list_tell(struct mcp_call *m, const struct asked *a, json_t *const *order, size_t count,
               const char *next)
{
    struct json_writer *w = &m->reply.w;
    put_head(m, a, count);
    jw_key(w, "files");
    jw_array(w);
    for (size_t i = 0; i < count; i++) {
        put_row(m, order[i]);
        put_entry(w, order[i]);
    }
    jw_end_array(w);
    jw_key(w, "next_cursor");
    jw_text(w, next);
    if (next)
        buf_fmt(&m->reply.text, "There are more: call again with cursor=\"%s\".\n", next);
}
