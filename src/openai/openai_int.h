/* openai_int.h -- what the files of openai/ share. */
#ifndef OPENAI_OPENAI_INT_H
#define OPENAI_OPENAI_INT_H

#include <pthread.h>

#include "api/native_call.h"
#include "api/op.h"
#include "base/err.h"
#include "openai/openai.h"
#include "workspace/cards.h"
#include "workspace/files.h"

struct json_t;
struct json_writer;

enum { OA_PIECES_MAX = 2, OA_BODY_MAX = 64 << 20, OA_CONVERSATION_LOCKS = 64 };

#define OA_VIA "openai" /* in the audit */
#define OA_VERSION "2020-10-01"

struct oa_completing;

struct openai {
    struct openai_options o;
    pthread_mutex_t lock;             /* protects the next */
    struct oa_completing *completing; /* uploads that are being put together (upload_complete.c) */
    pthread_mutex_t conversations[OA_CONVERSATION_LOCKS]; /* protect their cards (conversation.h) */
};

/* One request at this door. */
struct oa_call {
    struct openai *oa;
    struct call *c;
    const struct oa_op *op;
    char piece[OA_PIECES_MAX][OP_PARAM_SIZE]; /* {…} of its address, decoded */
    struct buf body;                          /* as it came, if oa_body read it */
    struct json_t *json;                      /* the same; owned */
    struct caller *caller;                    /* oa_caller's; owned */
};

/* Where a request goes (route.c): "containers/{id}/files/{id}/content", without the prefix. */
struct oa_op {
    const char *method, *path;
    unsigned scope; /* that the key must have (enum scope); 0: what it calls sees to it */
    int (*run)(struct oa_call *o, struct err *e);
};
struct oa_table {
    const struct oa_op *ops;
    size_t count;
};
extern const struct oa_table oa_containers, oa_container_files, oa_files,
    oa_uploads; /* containers.c, ... */
extern const struct oa_table oa_responses, oa_conversations;
extern const struct oa_table oa_models, oa_chat;

/* ---- errors (errors.c) ----
 * {"error":{"message","type","param","code"}}, all four always. A handler fails as everybody does, with e; these say more, and
 * return -1 too. They live with the call until it is answered. */
int oa_fail(struct oa_call *o, struct err *e, enum err_code status, const char *param,
            const char *code, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
int oa_unknown_parameter(struct oa_call *o, struct err *e, const char *param);
int oa_missing(struct oa_call *o, struct err *e, const char *param);
/* In what goes on without a request: *e becomes something that a client or a model may be told; what it was is in the log. */
void oa_plain(struct openai *oa, const char *id, struct err *e);
/* "No such File object: file-x" and the like: 404. */
int oa_not_found(struct oa_call *o, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The type that goes with an error of ours: "invalid_request_error", "rate_limit_error", "server_error", ... */
const char *oa_type(enum err_code code);

/* What a native operation hinted at, after it failed: the client is told it, too. */
void oa_hint(struct oa_call *o, const struct native *n);

/* ---- bodies and answers (bodies.c) ---- */

/* Who asks, for what is written for callers. Lives as long as o. */
int oa_caller(struct oa_call *o, struct caller **ret, struct err *e);
/* native_perform for who asks, and oa_hint. */
int oa_perform(struct oa_call *o, struct native *n, struct err *e);
/* Whether an object has no members but those. `prefix` is where it stands in the body: "", "expires_after.". */
int oa_only(struct oa_call *o, const struct json_t *object, const char *prefix,
            const char *const *names, struct err *e);

/* Reads the body as one JSON object, into o->json. Without a body it is {}. */
int oa_body(struct oa_call *o, struct err *e);
/* A parameter of the query, decoded; "": there is none. Also name[]=. */
int oa_query(struct oa_call *o, const char *name, char *to, size_t size, struct err *e);
/* limit, order, after, before as lists take them. */
struct oa_page {
    uint32_t limit;
    bool is_ascending;
    char after[ID_SIZE];
};
int oa_page(struct oa_call *o, uint32_t preset, uint32_t max, struct oa_page *ret, struct err *e);
/* Answers 200 with it. */
int oa_answer(struct oa_call *o, const struct json_t *json, struct err *e);
/* The same, and it is given away, perhaps NULL for want of memory. */
int oa_answer_take(struct oa_call *o, struct json_t *json, struct err *e);
/* Answers with the bytes that are at a native address without a query: ranges, ETags and HEAD are as there. */
int oa_forward(struct oa_call *o, struct native *n, struct err *e);
/* {"object":"list","data":[...],"first_id","last_id","has_more"}; `data` is given away. */
int oa_answer_list(struct oa_call *o, struct json_t *data, bool has_more, struct err *e);
/* {"id","object","deleted":true} */
int oa_answer_deleted(struct oa_call *o, const char *id, const char *object, struct err *e);

/* ---- cards and their bodies (keep.c) ---- */

struct oa_card {
    struct card card;
    struct json_t *body; /* an object; owned */
};
void oa_card_done(struct oa_card *c);
int oa_card_get(struct openai *oa, const char *principal, enum card_kind kind, const char *id,
                struct oa_card *ret, struct err *e);
/* The body is written from ->body. `max` as in card_insert. */
int oa_card_insert(struct openai *oa, struct oa_card *c, uint64_t max, struct err *e);
int oa_card_save(struct openai *oa, struct oa_card *c, struct err *e);
/* One of a list, as it came from there. */
int oa_card_of(const struct card *row, struct oa_card *ret, struct err *e);
const char *oa_card_text(const struct oa_card *c, const char *name); /* "": there is none */
int64_t oa_card_int(const struct oa_card *c, const char *name);

/* ---- containers, for responses (containers.c) ---- */

struct oa_container {
    char id[ID_SIZE], workspace[ID_SIZE], session[ID_SIZE]; /* session "": none yet */
    int64_t memory_mb;
};
struct oa_container_wishes {
    const char *name; /* NULL: "auto" */
    const struct json_t *memory_limit, *expires_after, *network_policy,
        *file_ids;        /* as sent, checked here; NULL: none */
    struct json_t *names; /* given out in this request (names.h); NULL: none yet */
};
struct caller;
/* `k` because it may be in a thread of its own. */
int oa_container_make(struct openai *oa, struct caller *k, const struct oa_container_wishes *w,
                      struct oa_container *ret, struct err *e);
/* Finds it, wakes it up from being expired (or fails with "Container is expired." when is_strict), and notes that it is used. */
int oa_container_use(struct openai *oa, struct caller *k, const char *id, struct oa_container *ret,
                     struct err *e);
/* Its session is another one now. */
int oa_container_session(struct openai *oa, struct caller *k, const char *id, const char *session,
                         struct err *e);
/* The content of a File appears in /mnt/data under its own name, or one like it: `names` are those given out in this request. */
int oa_container_link(struct openai *oa, struct caller *k, const struct oa_container *to,
                      const char *file_id, struct json_t *names, struct err *e);
/* Bytes appear there. `name` as a client gave it; ret_path: what became of it. */
int oa_container_put(struct openai *oa, struct caller *k, const struct oa_container *to,
                     const char *name, struct str bytes, struct json_t *names,
                     char ret_path[PATH_BYTES_MAX + 1], struct err *e);
/* The id that a file of the workspace has here: "cfile_..." from the native file's id. */
void oa_cfile_id(const char *file_id, char ret[ID_SIZE]);
/* Name and bytes of a File, for who shows it to a model: at most `max` bytes (ERR_TOO_LARGE). */
int oa_file_read(struct openai *oa, struct caller *k, const char *file_id, size_t max,
                 struct buf *ret, char ret_name[256], struct err *e);

#endif
