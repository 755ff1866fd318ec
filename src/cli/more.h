/* more.h -- whether Python typed so far goes on in the next line.
 *
 * As at Python's own prompt: an open bracket, an open triple quote or a backslash at the end goes on;
 * so does a compound statement (a line that ends with a colon, a decorator) until a line that is
 * empty. It looks at characters only and may be wrong about code that is wrong; then Python says so.
 */
#ifndef CLI_MORE_H
#define CLI_MORE_H

#include <stdbool.h>
#include <stddef.h>

/* `text` is all lines so far, each with its line feed but the last. */
bool more_is_needed(const char *text, size_t len);

#endif
