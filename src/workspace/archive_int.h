/* archive_int.h -- what reading and writing archives have in common. */
#ifndef WORKSPACE_ARCHIVE_INT_H
#define WORKSPACE_ARCHIVE_INT_H

#include <locale.h>
#include <stddef.h>

struct err;

enum { ARCHIVE_PIECE = 128 << 10 };

/* libarchive turns names into the charset of the thread's locale. In this one that is UTF-8, whatever
 * the process was started with. */
struct utf8_locale {
    locale_t mine, before;
};

int utf8_locale_begin(struct utf8_locale *l, struct err *e);
void utf8_locale_end(struct utf8_locale *l);

#endif
