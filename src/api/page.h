/* page.h -- HTML out of a template: blocks of text, in which {{names}} are filled in.
 *
 *     <!--[row]--><td>{{name}}</td><!--[/row]-->
 *
 *     page_block(out, html, "row", PAGE_WITH({"name", row->path}));
 *
 * Everything that is filled in is escaped, for text as for an attribute in quotes; there is no way
 * around it. Bytes that are no UTF-8, control characters, and those that turn the direction of writing
 * become U+FFFD: a name cannot look like another. A block or a name that is missing is our bug.
 */
#ifndef API_PAGE_H
#define API_PAGE_H

#include <stddef.h>

struct buf;

struct page_value {
    const char *name, *text;
};

#define PAGE_WITH(...)          \
    (const struct page_value[]) \
    {                           \
        __VA_ARGS__,            \
        { /* name= */           \
            NULL, NULL          \
        }                       \
    }

/* `values` ends with one without a name; NULL: none. Text that is NULL is empty. */
void page_block(struct buf *out, const char *html, const char *block,
                const struct page_value *values);

void page_escape(struct buf *out, const char *bytes, size_t len);

/* "1.5 MB", as people write it. */
void page_size(struct buf *out, unsigned long long bytes);

#endif
