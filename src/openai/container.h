/* container.h -- containers as cards: what openai_int.h promises of them is in container.c, and this is what the files about
 * containers share besides. */
#ifndef OPENAI_CONTAINER_H
#define OPENAI_CONTAINER_H

#include "openai/openai_int.h"

enum { CONTAINERS_MAX = 100000 }; /* of one principal */

/* The container, whether expired or not. ERR_NOT_FOUND. */
int container_card(struct openai *oa, const char *principal, const char *id, struct oa_card *ret,
                   struct err *e);
bool container_is_expired(const struct openai *oa, const struct oa_card *c);
/* Now; unless it has expired. */
void container_touch(struct openai *oa, struct oa_card *c);
/* As clients know it; NULL: no memory. */
struct json_t *container_object(const struct openai *oa, const struct oa_card *c);

/* The most memory that a session of theirs may have, in MiB; 0: not known. */
int64_t container_memory_max(const struct openai *oa, const struct who *who);

/* Links a File and gives the native file object of what came of it. `names` NULL: it takes the place of one with its name. */
int container_link(struct openai *oa, struct caller *k, const struct oa_container *to,
                   const char *file_id, struct json_t *names, struct json_t **ret_file,
                   struct err *e);

/* Closes what runs in it, deletes the workspace and the card. */
int container_delete(struct openai *oa, struct caller *k, struct oa_card *c, struct err *e);

/* container_object.c: the file of a container from a native file object; NULL: no memory. */
struct json_t *container_file_object(const char *container, const struct json_t *file);
/* The file of a container by its id here, as a native file object; also one in the trash (it has deleted_at). ERR_NOT_FOUND
 * when there never was one. */
int container_file_find(struct oa_call *o, const struct oa_container *in, const char *cfile_id,
                        struct json_t **ret, struct err *e);

#endif
