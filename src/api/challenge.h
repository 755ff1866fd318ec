/* challenge.h -- what a client is told about how to get in: WWW-Authenticate (RFC 6750), which leads clients of
 * MCP to the description of this server (RFC 9728, well_known.c), and from there to who gives tokens.
 */
#ifndef API_CHALLENGE_H
#define API_CHALLENGE_H

#include <stdint.h>

struct buf;
struct call;

/* For an answer 401. error="invalid_token" when something was given that is not good; resource_metadata at the door of a
 * dialect. */
void challenge_unauthorized(struct call *c);

/* For an answer 403, when what they came with lacks a scope: `scopes` are all that are needed. */
void challenge_scope(struct call *c, uint32_t scopes);

/* Appends where clients find this server: as it was told, or as whoever asks does. "https://cicada.example.org" */
void write_base_url(const struct call *c, struct buf *out);

#endif
