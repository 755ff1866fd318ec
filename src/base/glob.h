/* glob.h -- patterns for paths.
 *
 *     *       any characters of one component        **      any characters, '/' too; with a '/'
 *     ?       one character of one component                 behind it also no directory at all
 *     [a-z]   one of these; [!a-z] none of these     others  themselves; a backslash too
 *
 * Case matters. A '[' without its ']' is itself. Text is UTF-8: a character is a code point.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the whole of `path` fits. Never recursive; the work is bounded by the length of the path
 * times that of its longest component times that of the pattern. */
bool glob_fits(const char *pattern, const char *path);

/* How many bytes of the pattern stand for themselves before the first that does not: whatever fits
 * begins with them. */
size_t glob_literal_len(const char *pattern);

#endif
