/* client_int.h -- inside client.h: one transfer, as curl makes it. */
#ifndef CLI_CLIENT_INT_H
#define CLI_CLIENT_INT_H

#include <curl/curl.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/address.h"
#include "cli/answer.h"
#include "cli/client.h"
#include "cli/sse_read.h"

struct client {
    struct address address;
    struct notes *notes;
    CURLM *multi;
    CURL *easy;  /* for calls */
    CURL *aside; /* for client_aside; NULL: not needed so far */
    struct watch watch;
    const char *lock_tokens; /* NULL: none */
    bool is_waiting;         /* for a server that is full */
    char hint[ANSWER_HINT_SIZE];
    char curl_text[CURL_ERROR_SIZE];
};

/* One attempt, and what came of it. */
struct transfer {
    struct client *client;
    const struct call *call;
    const struct sse_sink *sink; /* NULL: the answer is not a stream */
    struct buf body;             /* of the answer, or of the refusal of a stream */
    struct sse_reader events;
    long status;
    unsigned retry_s;
    struct err sink_err; /* why sink, source or taker ended it; ERR_NONE: they did not */
    uint64_t from;       /* where in the whole the raw bytes of the answer begin */
    bool is_taken;       /* the taker has been told */
    bool is_events;      /* the answer is a stream of events */
    CURLcode result;     /* CURLE_ABORTED_BY_CALLBACK: the watch cancelled it */
};

/* Prepares `easy` for the call. The caller frees *ret_headers after the transfer. */
int transfer_prepare(struct transfer *t, CURL *easy, const struct call *call,
                     struct curl_slist **ret_headers, struct err *e);

/* Makes `easy` talk to that server, and to nobody else. */
void transfer_reach(CURL *easy, const struct address *a);

/* Appends a line, or "name: value", to the list, which is freed and NULL when there is no memory. */
bool transfer_add_line(struct curl_slist **list, const char *line);
bool transfer_add_header(struct curl_slist **list, const char *name, const char *value);

/* The value of a header line if it has that name; NULL otherwise. Copied to `space`, cut if need be. */
enum { TRANSFER_VALUE_SIZE = 128 };
const char *transfer_value(const char *line, size_t len, const char *name,
                           char space[TRANSFER_VALUE_SIZE]);

/* Tells the taker of an answer that is being given, once. Fails as the taker does. */
int transfer_begin(struct transfer *t);

/* Makes it, looking after the client's watch. Blocks. */
void transfer_run(struct transfer *t);

#endif
