/* maps.h -- reading /proc/self/maps.
 *
 *     const char *at = text;
 *     for (struct mapping m; maps_next(&at, end, &m) == 1;) ...
 *
 * Works on text in memory and touches nothing else, so it can be used where there is no C library.
 */
#ifndef IMAGE_MAPS_H
#define IMAGE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
    uint64_t start, end;
    uint64_t offset;
    uint64_t inode;  /* 0: no file */
    uint32_t device; /* major << 20 | minor */
    uint8_t prot;    /* PROT_* */
    bool is_shared;
    const char *name; /* a path or [heap] and the like, in the text, not terminated */
    size_t name_len;
};

/* 1 and the next line, 0 at the end of the text, -1 when a line is not one of that file. */
int maps_next(const char **at, const char *end, struct mapping *ret);

bool maps_is_named(const struct mapping *m, const char *name);

/* Belongs to the kernel of the OS, not to the process: vDSO, vvar, vsyscall and what may come. */
bool maps_is_special(const struct mapping *m);

/* The file has been removed (or replaced) since. */
bool maps_is_deleted(const struct mapping *m);

#endif
