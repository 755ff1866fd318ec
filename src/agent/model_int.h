/* model_int.h -- what the files of the model share. */
#ifndef AGENT_MODEL_INT_H
#define AGENT_MODEL_INT_H

#include <stdatomic.h>

#include "agent/model.h"
#include "agent/model_line.h"
#include "agent/model_trouble.h"

struct curl_slist;

enum {
    MODEL_BODY_MAX = 64 << 20, /* of an answer that is not streamed */
    MODEL_EVENT_MAX = 32 << 20,
    MODEL_ERROR_MAX = 1 << 20, /* of what comes with a refusal; the rest is left out */
    MODEL_URL_MAX = 2000,
    MODEL_WHOLE_MS = 4 * 3600 * 1000, /* for one try, however much is said */
};

struct model {
    char *url, *name, *key; /* owned; url without a slash at the end, key "": none */
    struct curl_slist *headers;
    enum model_api api;
    uint32_t timeout_ms, whole_ms, retries;
    bool has_images;
    atomic_uint
        without; /* what it was found not to take (model_write.h); relaxed: to know it late costs a try */
    struct lines lines;
    struct {
        atomic_ullong answered, failed, tries, input, output;
    } counts; /* relaxed: figures */
};

/* "{url}/{path}"; the caller's. */
int model_address(const struct model *m, const char *path, char **ret, struct err *e);

/* What is to be said when there was no answer at all, or none to its end. Returns -1. */
int model_silence(const struct model *m, const struct line_end *end, struct err *e);

/* How long to wait before try number `tries` + 1. */
uint32_t model_pause_ms(unsigned tries, uint32_t asked_ms);

#endif
