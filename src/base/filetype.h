/* filetype.h -- what a file is, by the ending of its name alone.
 *
 * The content is never looked at: whoever wrote it is not believed, and whoever hands it out says
 * nosniff. Text types come without a charset; that is said by who sends them.
 */
#ifndef BASE_FILETYPE_H
#define BASE_FILETYPE_H

/* "text/csv" for "plots/a.CSV"; "application/octet-stream" for what is not known. Static, never
 * NULL. */
const char *filetype_of(const char *path);

#endif
