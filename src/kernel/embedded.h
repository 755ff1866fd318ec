/* embedded.h -- the Python side of the kernel, carried inside the program as compiled code.
 *
 * tools/embed-py makes the table from the .py files beside this header at build time, so that a
 * jail needs no files of ours and a cold start compiles nothing. Each becomes a frozen module
 * called _cicada_NAME, which no file of a session can shadow. The table ends with an entry whose
 * name is NULL.
 *
 * Compiled code fits one version of Python only: embedded_magic is the number of the version it was
 * made with, and the kernel refuses to start when that is not its own.
 */
#ifndef KERNEL_EMBEDDED_H
#define KERNEL_EMBEDDED_H

struct embedded_module {
    const char *name;          /* "_cicada_" and the file's name without .py */
    const unsigned char *code; /* a marshalled code object */
    int len;
};

extern const struct embedded_module embedded_modules[];
extern const long embedded_magic; /* what PyImport_GetMagicNumber() has to return */

#endif
