/* file.h -- Files: a card each, and its bytes in the hidden workspace of their principal at "ID/NAME". */
#ifndef OPENAI_FILE_H
#define OPENAI_FILE_H

#include "openai/names.h"
#include "openai/openai_int.h"

enum { FILES_MAX = 100000 }; /* of one principal */

#define FILE_WORKSPACE ".openai-files" /* its name */

/* The hidden workspace, made when it is not there yet. */
int file_workspace(struct openai *oa, struct caller *k, char ret[ID_SIZE], struct err *e);

/* A File that is there and has not expired; ERR_NOT_FOUND. */
int file_card(struct openai *oa, const char *principal, const char *id, struct oa_card *ret,
              struct err *e);
/* As clients know it; NULL: no memory. */
struct json_t *file_object(const struct oa_card *c);

/* What a client said of a File that is to be. */
struct file_plan {
    char id[ID_SIZE], workspace[ID_SIZE];
    char filename[NAME_SIZE]; /* as it was given, but plain */
    char path[PATH_BYTES_MAX + 1];
    const char *purpose; /* one of those there are; static */
    int64_t expires_s;   /* 0: never */
};
/* Chooses id and path. */
int file_begin(struct openai *oa, struct caller *k, const char *filename, struct file_plan *ret,
               struct err *e);
/* Checks and notes purpose and expires_after, each as sent. On failure *ret_param says which. */
int file_terms(const struct json_t *purpose, const struct json_t *expires_after,
               struct file_plan *plan, const char **ret_param, struct err *e);
/* Its bytes are there, `file` is the native file object: the card. */
int file_finish(struct openai *oa, struct caller *k, const struct file_plan *plan,
                const struct json_t *file, struct oa_card *ret, struct err *e);

/* Forgets bytes in that workspace for good. What is not there is fine. */
int file_forget(struct caller *k, const char *workspace, const char *path, struct err *e);
/* The same for everything of that workspace that was deleted. */
int file_empty_trash(struct caller *k, const char *workspace, struct err *e);

#endif
