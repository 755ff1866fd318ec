/* options.h -- the limits of a session, from wishes; and what its row says of them and of its pen, as text. */
#ifndef SERVICE_OPTIONS_H
#define SERVICE_OPTIONS_H

struct buf;
struct err;
struct limit_wishes;
struct limits;
struct pen;
struct service_options;

/* What a session gets that asks for this. Fails with ERR_INVALID and the range. `memory_max_mb` is
 * what the key allows; 0: everything. */
int options_limits(const struct service_options *o, const struct limit_wishes *wishes,
                   unsigned memory_max_mb, struct limits *ret, struct err *e);

void options_write(const struct limits *l, const struct pen *pen, struct buf *out);

/* What cannot be understood, or is no longer allowed, becomes the default: a row that was written by
 * another version must not cost anybody a session. One from before there were pens had every right, and
 * ret_pen->principal is "". */
void options_read(const char *text, struct limits *ret, struct pen *ret_pen);

#endif
