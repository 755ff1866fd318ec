/* model_trouble.h -- what an endpoint says when it refuses, made fit to be passed on.
 *
 * Everybody has a form of their own for it: {"error":{"message","type","code","param"}}, {"error":"..."}, {"message"}, {"detail"},
 * or the first in an array. The key is taken out of it wherever it stands.
 */
#ifndef AGENT_MODEL_TROUBLE_H
#define AGENT_MODEL_TROUBLE_H

#include <stdbool.h>

#include "base/str.h"

struct buf;
struct err;
struct json_t;

enum { MODEL_MESSAGE_MAX = 300 };

struct model_trouble {
    int status;                          /* of HTTP; 0: it came with a 200 */
    char message[MODEL_MESSAGE_MAX + 1]; /* one line; "": it says nothing */
    char code[64], type[64], param[64];  /* "": none */
};

enum { MODEL_KEY_MAX = 4000 };

/* The key, if it looks like a secret; "" for what is put there because something has to be ("ollama", "EMPTY", "not-needed"), which
 * may well be a word of an answer. */
const char *model_secret(const char *key);

/* The same bytes with "***" where the key stands. */
void model_mask(struct str text, const char *key, struct buf *out);
/* How many bytes at the end may be the beginning of the key. */
size_t model_key_begun(struct str text, const char *key);

/* From parsed JSON. True if there is an error in it. */
bool model_trouble_find(const struct json_t *root, const char *key, struct model_trouble *ret);
/* From a body, whatever it is. */
void model_trouble_read(struct str body, const char *key, struct model_trouble *ret);

/* It refused because of the tools that were offered. */
bool model_trouble_is_tools(const struct model_trouble *t);
/* It names this parameter. */
bool model_trouble_names(const struct model_trouble *t, const char *param);
/* To ask again may help. */
bool model_trouble_passes(const struct model_trouble *t);

/* Sets e to what is to be said of it. Returns -1. */
int model_trouble_say(const struct model_trouble *t, struct err *e);

#endif
