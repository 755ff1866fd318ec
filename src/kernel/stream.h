/* stream.h -- what sys.stdout and sys.stderr write through.
 *
 * Text goes to the pipes at descriptors 1 and 2 at once, as with `python -u`: subprocesses inherit
 * the same pipes, so within each stream the order is exact, and nothing is lost when the process
 * dies. Across the two streams the order would be lost, because the engine reads two pipes. So
 * before a write to one while the other still holds something, the engine is asked to read (SYNC).
 */
#ifndef KERNEL_STREAM_H
#define KERNEL_STREAM_H

#include <Python.h>
#include <sys/types.h>

/* The type _cicada.Stream: an io.FileIO whose write() takes everything and keeps that order.
 * New reference, or NULL with an exception. */
PyObject *stream_type(void);

/* The engine's pipes, as fstat knows them. A descriptor that has the same numbers is one of them. */
struct stream_pipe {
    dev_t device;
    ino_t inode;
};

/* Looks what is behind descriptors 1 and 2 before any code can put something else there. */
void stream_note(void);
struct stream_pipe stream_pipe(int fd); /* 1 or 2 */

#endif
