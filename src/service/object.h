/* object.h -- runs, and what happens in them, as JSON. docs/cli.md explains the fields.
 *
 * Everything in a run came from hostile code. Here it becomes valid JSON on one line: text is made
 * UTF-8, bytes become base64, and JSON is checked before it is embedded. Nothing here fails by
 * itself: ask the buf at the end.
 */
#ifndef SERVICE_OBJECT_H
#define SERVICE_OBJECT_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct display;
struct captured_file;
struct desk_inputs;
struct json_writer;
struct limits;
struct run;
struct run_error;

/* What is known of a run from outside of it. */
struct run_card {
    const char *id, *session_id;
    const char *workspace_id; /* NULL: null */
    const char *tier;
    const char *language;
    const char *name;   /* NULL: null */
    int64_t created_us; /* when it was asked for; 0: that is left out */
    const char *code;   /* NULL: it and the name are left out */
    size_t code_len;
    const struct desk_inputs *inputs; /* what it read; NULL: it is left out */
};

/* One that has ended. */
void object_run(struct json_writer *w, const struct run_card *card, const struct run *run);

/* One that has not: status is "queued" or "running". `started_us` 0: not yet. */
void object_open_run(struct json_writer *w, const struct run_card *card, const char *status,
                     int64_t started_us, const struct limits *limits);

/* One of which nothing is left but that it was begun: the server was restarted under it. */
void object_lost_run(struct json_writer *w, const struct run_card *card, int64_t started_us,
                     const char *hint);

/* Adds that a rollback undid it, then, to a run object that `out` ends with. 0: none did, and nothing is added. */
void object_undone(struct buf *out, int64_t undone_us);

void object_bundle(struct json_writer *w, const struct display *d); /* {mime: content} */
void object_error(struct json_writer *w, const struct run_error *error);
/* `workspace` NULL: it is kept nowhere. */
void object_file(struct json_writer *w, const char *workspace, const struct captured_file *f);
void object_limits(struct json_writer *w, const struct limits *l);

/* RFC 3339 with milliseconds: "2026-01-31T12:00:00.123Z". 0 is null. */
void object_time(struct json_writer *w, const char *key, int64_t wall_us);

#endif
