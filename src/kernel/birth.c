#include "kernel/birth.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include "base/err.h"

static struct {
    struct mark {
        uint8_t *bytes;
        size_t len;
        int32_t *index;
        int32_t index_value;
    } marks[BIRTH_MARKS_MAX];
    size_t count;
} birth;

void outside_note(struct outside *o)
{
    *o = (struct outside){.signal_stack = {.ss_flags = SS_DISABLE}};
    (void)sigaltstack(NULL, &o->signal_stack); /* neither can fail */
    (void)prctl(PR_GET_NAME, o->name, 0, 0, 0);
}

void outside_restore(const struct outside *o)
{
    /* A stack that cannot be set is missed only when a stack has overflowed. */
    (void)sigaltstack(&o->signal_stack, NULL);
    (void)prctl(PR_SET_NAME, o->name, 0, 0, 0);
}

bool birth_mark(void *bytes, size_t len, int32_t *index, int32_t index_value)
{
    if (birth.count == BIRTH_MARKS_MAX)
        return false;
    birth.marks[birth.count++] =
        (struct mark){.bytes = bytes, .len = len, .index = index, .index_value = index_value};
    return true;
}

static int fill(uint8_t *bytes, size_t len, struct err *e)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = getrandom(bytes + at, len - at, 0);
        if (n < 0 && errno != EINTR)
            return err_sys(e, errno, "get random numbers");
        if (n > 0)
            at += (size_t)n;
    }
    return 0;
}

int birth_reseed(enum birth_which which, struct err *e)
{
    for (size_t i = 0; i < birth.count; i++) {
        const struct mark *m = &birth.marks[i];
        if (which == BIRTH_GENERATORS && !m->index)
            continue;
        if (fill(m->bytes, m->len, e))
            return -1;
        if (m->index)
            *m->index = m->index_value;
    }
    return 0;
}

void birth_forget_sqlite(void)
{
    void *library = dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return;
    void (*randomness)(int, void *) = (void (*)(int, void *))dlsym(library, "sqlite3_randomness");
    if (randomness)
        randomness(0, NULL);
    (void)dlclose(library);
}
