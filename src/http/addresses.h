/* addresses.h -- how many connections each address has. Not for more than one thread. */
#ifndef HTTP_ADDRESSES_H
#define HTTP_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct addresses;

enum { ADDRESS_LEN = 16 };

int addresses_new(struct addresses **ret, struct err *e);
void addresses_free(struct addresses *a);

/* One connection more, unless there are `max` already or no memory: false. */
bool addresses_add(struct addresses *a, const unsigned char address[ADDRESS_LEN], unsigned max);
void addresses_remove(struct addresses *a, const unsigned char address[ADDRESS_LEN]);

#endif
