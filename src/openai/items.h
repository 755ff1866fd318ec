/* items.h -- what a request brings as `input`, as items of a conversation.
 *
 *     oa_items_read(json_string("Plot it"), "input", &items, &refusal)
 *     [{"id":"msg_...","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"Plot it"}]}]
 *
 * Every item gets an id if it has none, or one that another before it has: pages of items go by their ids. A message gets a list of
 * parts. What came out of a response before may be sent in again, with all that is on it. {"type":"item_reference","id"} stays what
 * it is: chain.h finds what it stands for. Pure but for the ids.
 */
#ifndef OPENAI_ITEMS_H
#define OPENAI_ITEMS_H

#include "base/str.h"

struct buf;
struct err;
struct json_t;
struct refusal;

enum { OA_ITEMS_MAX = 20000, OA_PARTS_MAX = 1000 }; /* of an input; of one content */
/* Ids of calls are the endpoint's, and some have kilobytes of notes to themselves in them. As long as they may be when they come
 * from there (MODEL_ID_MAX), as long they may be when they are sent in again. */
enum { OA_CALL_ID_MAX = 64 << 10 };

/* `input` is a text or an array, at `at`. *ret is an array, the caller's. */
int oa_items_read(const struct json_t *input, const char *at, struct json_t **ret,
                  struct refusal *r);

/* An id for something of that type: "msg_...", "ci_...", "rs_...", "fc_...". Fails as id_make does. */
int oa_item_id(const char *type, char *ret, struct err *e);

/* The container that code of these items ran in last; "": none did. */
const char *oa_items_container(const struct json_t *items);

/* Of "data:image/png;base64,...": what it is and its bytes. Without "data:" all of it is base64 and *ret_type is "". Fails with
 * ERR_INVALID. */
int oa_data_url(struct str text, char ret_type[64], struct buf *ret, struct err *e);

#endif
