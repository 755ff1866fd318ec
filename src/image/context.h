/* context.h -- leaving a process in one place and coming back in another.
 *
 *     if ((came = context_save(registers)) == 0)
 *         ... write everything down ...           the process that goes on
 *     else
 *         ... came is what context_load was given ...  the one that was put together again
 *
 * Saved is what a function call has to preserve: rbx rbp r12-r15, stack pointer, return address, the
 * modes of the SSE and x87 units. The frame that called context_save must still be there when
 * context_load returns into it.
 */
#ifndef IMAGE_CONTEXT_H
#define IMAGE_CONTEXT_H

#include <stdint.h>

enum { CONTEXT_STACK = 6 }; /* registers[] of the stack pointer */

uint64_t context_save(uint64_t registers[10]) __attribute__((returns_twice));
_Noreturn void context_load(const uint64_t registers[10], uint64_t came);

/* Goes on in `function` on another stack, whose highest address is `stack`. */
_Noreturn void context_move(void (*function)(void), void *stack);

#endif
