/* look.h -- a copy of this process that is asked about objects, and thrown away.
 *
 * Whatever shows an object runs code of the session: __repr__, __dir__, properties. Such code may not
 * end, take all memory, or take the process along. So it runs in a copy:
 *
 *     kernel                                 copy
 *     clone                          ------> closes every descriptor but the pipe, streams to /dev/null,
 *                                            limits, fence; then calls the function
 *     listens, one record at a time  <------ tell(record), again and again
 *     kills it when a budget is used up
 *     waits for its end              <------ exit
 *
 * The copy can read what the session can read. It has no descriptor of the session's; by Landlock it
 * opens no file for writing and, from Linux 6.12 on, signals no process but itself. It starts no process and
 * no thread. What it prints is seen by nobody. Where there is no Landlock there is no copy.
 *
 * Before Linux 6.12 code that means to can end its own kernel from here, by a signal to its parent. Without
 * copies no object of a library could be looked at on such systems, which are many; and who writes that
 * code ends what is theirs.
 *
 * What it can still change is memory that the session has mapped as shared (mmap, np.memmap "r+"): what
 * is written there is written for all who share it, and into the file. A read-only mapping would be no
 * fence, for code can make it writable again; such code can only spoil what is the session's own.
 *
 * The budgets:
 *
 *     time     so much for each record, so much for all of them; more records than were asked for end it
 *     memory   LOOK_MEMORY_MAX, and never so much that the session could come near its limit: if every
 *              page that the copy shares with the kernel were written to, it would still be below. Where
 *              that does not leave LOOK_MEMORY_MIN, there is no copy. Its mappings are limited by it, and
 *              every few milliseconds it is looked at what it has filled, of shared memory too
 *     text     LOOK_RECORD_MAX for each record, LOOK_TEXT_MAX for all; ask.py sees that all copies which are
 *              made for one answer stay within that together
 *
 * With other threads of Python alive the copy has only the one that asks. A lock which another thread
 * held at that moment is never released there; then the time is used up.
 */
#ifndef KERNEL_LOOK_H
#define KERNEL_LOOK_H

#include <Python.h>

enum {
    LOOK_MEMORY_MAX = 256 << 20,
    LOOK_MEMORY_MIN = 32 << 20,
    LOOK_RECORD_MAX = 512 << 10,
    LOOK_TEXT_MAX = 4 << 20,
};

/* look(function, count, each_ms, all_ms, room_kib, limit_kib): ([record, ...], why). In a copy the function
 * is called with one argument, tell; each call tell(bytes) is a record, of which there are at most `count`.
 * `why` is None when the function came to its end, otherwise a sentence: what ended it. OSError, with another
 * sentence, when there could be no copy. `room_kib` is what the session may still use as far as the engine
 * knows, `limit_kib` its limit; 0: there is none. */
PyObject *native_look(PyObject *module, PyObject *args);

#endif
