/* fuzz.h -- the one function of a fuzz target, called by libFuzzer and by replay.c. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#endif
