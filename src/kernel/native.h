/* native.h -- the built-in module _cicada: what the Python side of the kernel needs from C.
 *
 *     Stream                        raw stream for descriptors 1 and 2, see stream.h
 *     send(kind, fields, wait)      one frame to the engine; fields are (tag, bytes or int) pairs.
 *                                   With `wait` it returns after the ACK. False in a forked child
 *     input(prompt='')              the built-in, with a better error when no text was given
 *     give(flag)                    says whether this run came with a STDIN, for that error
 *     suggest(exception)            a name that is spelled nearly like the one that was not found
 *     look(...)                     has a copy of the process call a function, see look.h
 *     control(), pipes()            numbers of the control socket; (device, inode) of stdout and stderr
 *     mark(at, len, index)          bytes to be filled with random ones at birth, see birth.h
 *     reseed()                      fills those of generators now
 *     forget_sqlite()               SQLite's own generator starts anew
 *     stop_workers()                ends idle threads of libraries, see workers.h
 *     set_workers(count)
 *
 * and the numbers of frame kinds, field tags, forms and limits under their names in wire/.
 * Code of a session can import it and forge answers about its own run; that harms nobody else.
 */
#ifndef KERNEL_NATIVE_H
#define KERNEL_NATIVE_H

#include <Python.h>

PyObject *native_init(void); /* for PyImport_AppendInittab */

#endif
