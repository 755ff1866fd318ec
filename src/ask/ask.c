#include "ask/ask.h"

#include <stdlib.h>

#include "ask/answer.h"
#include "base/err.h"

int ask_open(const struct ask_options *options, struct ask **ret, struct err *e)
{
    struct ask *a = calloc(1, sizeof *a);
    if (!a)
        return err_set(e, ERR_NO_MEMORY, "prepare for questions");
    a->o = *options;
    if (alarms_open(&a->alarms, e)) {
        free(a);
        return -1;
    }
    *ret = a;
    return 0;
}

int ask_handle(void *ask, int op, struct call *c, struct err *e)
{
    return answer_op(ask, op, c, e);
}

void ask_close(struct ask *a)
{
    if (!a)
        return;
    alarms_close(a->alarms);
    free(a);
}
