/* tell.h -- short frames to the engine, from C. All need the GIL and let go of it while they send. */
#ifndef KERNEL_TELL_H
#define KERNEL_TELL_H

#include <Python.h>

#include "wire/frame.h"

/* A frame without fields. */
void tell(enum frame_kind kind);

/* A frame that was begun at `mark` and is sent as it is; without its fields where they did not fit. */
void tell_frame(struct buf *out, enum frame_kind kind, size_t mark);

/* A frame with one field of text. */
void tell_text(enum frame_kind kind, enum field_tag tag, const char *text);

/* A frame with one field for each string in `texts`, a list or NULL; `version` in front, unless
 * NULL. What is no string or cannot be encoded is left out. */
void tell_all(enum frame_kind kind, const char *version, enum field_tag tag, PyObject *texts);

/* What the run has read, and DONE, as one. */
void tell_done(void);

#endif
