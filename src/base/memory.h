/* memory.h -- how much memory this host still has. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdint.h>

/* MemAvailable: what can be given out without swapping, in bytes. 0 when the system does not say,
 * which makes whoever asks careful. */
uint64_t memory_available(void);

#endif
