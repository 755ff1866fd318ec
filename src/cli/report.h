/* report.h -- the run object: one run as JSON, for programs. docs/cli.md explains its fields.
 *
 * Everything in a run came from hostile code. Here it becomes valid JSON on one line: text is made
 * UTF-8, bytes become base64, and JSON is checked before it is embedded.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

struct buf;
struct err;
struct run;

struct report {
    const char *id, *session_id;
    const char *tier;
};

/* Appends the object and a line feed. Fails by `out` alone (buf_check). */
void report_run(const struct report *r, const struct run *run, struct buf *out);

/* Appends {"error": {code, message, hint}} and a line feed: there was no run. */
void report_failure(const struct err *failure, struct buf *out);

#endif
