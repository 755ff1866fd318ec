/* native.h -- what the files of the native dialect share: /api/v1. */
#ifndef API_NATIVE_H
#define API_NATIVE_H

#include "json/fields.h"

struct call;
struct json_writer;
struct key_row;
struct err;

extern const struct json_field native_limits[]; /* of struct limit_wishes */

/* From here on the caller is one of its own users, if it named one. */
int native_behalf(struct call *c, const char *name, struct err *e);

/* A key as JSON; `secret` NULL: nobody is told. */
void native_put_key(struct json_writer *w, const struct key_row *row, const char *secret);

/* "reasons":["disk"]: why the server is degraded. */
void native_put_reasons(struct json_writer *w);

/* Checks JSON that a kernel gave and makes it the answer. */
int native_embed(struct call *c, const char *json, struct err *e);

#endif
