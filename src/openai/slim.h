/* slim.h -- items without the bytes that are in them, for what is too large to be kept as it is.
 *
 *     if (shape_size(output) > OA_KEPT_MAX)
 *         slim = oa_slim(output)
 *
 * Images of outputs, and images and files that came as data URLs, become a line that says what was there. The bytes are elsewhere: what
 * code wrote, and what came for code to read, is in its container. Everything else stays as it is. Pure.
 */
#ifndef OPENAI_SLIM_H
#define OPENAI_SLIM_H

struct json_t;

enum { OA_KEPT_MAX = 32 << 20 }; /* bytes of a response on its card, about */

/* A copy of an array of items; what is in them is shared. The caller's; NULL: no memory. */
struct json_t *oa_slim(const struct json_t *items);

#endif
