/* write.h -- JSON text, appended to a buf piece by piece.
 *
 * The writer puts the commas, checks the order of calls and makes any bytes into a valid string, so
 * that what comes out is JSON whatever went in. It allocates nothing of its own; the buf bounds the
 * size, and its failure is asked for once at the end (buf_check). A call out of order is our bug
 * and asserts: a value without a key in an object, a key in an array, a close that does not match,
 * more than JSON_DEPTH_MAX levels.
 *
 *     struct json_writer w = JSON_WRITER(&out);
 *     jw_object(&w);
 *     jw_key(&w, "name");   jw_text(&w, "report.csv");
 *     jw_key(&w, "sizes");  jw_array(&w);  jw_u64(&w, 12);  jw_end_array(&w);
 *     jw_end_object(&w);
 *     jw_finish(&w);
 *
 * The functions are called jw_ because jansson owns the names that begin with json_.
 */
#ifndef JSON_WRITE_H
#define JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { JSON_DEPTH_MAX = 64 };

struct json_writer {
    struct buf *out;
    unsigned depth;     /* open objects and arrays */
    uint64_t is_object; /* bit d: level d + 1 is an object, not an array */
    bool needs_comma;   /* a value stands before this point on this level */
    bool has_key;       /* a key waits for its value */
    bool is_begun;      /* the outermost value has been started */
};

#define JSON_WRITER(buf_ptr) ((struct json_writer){.out = (buf_ptr)})

void jw_object(struct json_writer *w);
void jw_end_object(struct json_writer *w);
void jw_array(struct json_writer *w);
void jw_end_array(struct json_writer *w);

/* A key may be any bytes, like a string. Nobody checks that it is new. */
void jw_key(struct json_writer *w, const char *key);
void jw_key_str(struct json_writer *w, const char *bytes, size_t len);

/* A string of any bytes. What is not UTF-8 becomes U+FFFD; control characters, U+2028 and U+2029
 * are escaped, so that the text is also one line and valid JavaScript. */
void jw_str(struct json_writer *w, const char *bytes, size_t len);
void jw_text(struct json_writer *w, const char *text); /* NULL is written as null */

/* A string that holds the bytes as base64. */
void jw_base64(struct json_writer *w, const void *bytes, size_t len);

void jw_u64(struct json_writer *w, uint64_t v);
void jw_i64(struct json_writer *w, int64_t v);

/* v / 10^places as a decimal fraction, exactly and without trailing zeros: (1500, 3) is 1.5.
 * At most 9 places. */
void jw_decimal(struct json_writer *w, uint64_t v, unsigned places);

void jw_bool(struct json_writer *w, bool v);
void jw_null(struct json_writer *w);

/* A value that is JSON already. The caller vouches for it: json_compact made it (json/read.h). */
void jw_raw(struct json_writer *w, const char *json, size_t len);

/* Asserts that exactly one value was written and everything opened is closed. */
void jw_finish(const struct json_writer *w);

#endif
