/* container_list.h -- the files of a container, newest first or oldest, page by page. */
#ifndef OPENAI_CONTAINER_LIST_H
#define OPENAI_CONTAINER_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "openai/openai_int.h"

struct json_t;

enum { CONTAINER_FILES_MAX = 100000 }; /* that are sorted; more are ERR_LIMIT */

/* Answers with it. */
int container_list(struct oa_call *o, const struct oa_container *in, struct err *e);

/* Where something stands in the order: when it was made, then its id. Both are texts that sort as they should; borrowed. */
struct file_place {
    const char *created, *id;
};
int file_place_compare(const struct file_place *a, const struct file_place *b);

#endif
