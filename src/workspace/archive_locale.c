#include <errno.h>

#include "base/err.h"
#include "workspace/archive_int.h"

int utf8_locale_begin(struct utf8_locale *l, struct err *e)
{
    *l = (struct utf8_locale){.mine = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL)};
    if (!l->mine)
        return err_sys(e, errno, "this system has no C.UTF-8 locale, which names in archives need");
    l->before = uselocale(l->mine);
    return 0;
}

void utf8_locale_end(struct utf8_locale *l)
{
    if (!l->mine)
        return;
    (void)uselocale(l->before);
    freelocale(l->mine);
}
