#include "spawn/environment.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "wire/limits.h"

static void add_variable(struct environment *env, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add_variable(struct environment *env, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t room = sizeof env->text - env->used;
    int len = vsnprintf(env->text + env->used, room, fmt, ap);
    va_end(ap);
    assert(len >= 0 && (size_t)len < room && env->count < VARIABLES_MAX);
    env->list[env->count++] = env->text + env->used;
    env->used += (size_t)len + 1;
}

void environment_init(struct environment *env, const struct limits *limits, const char *home,
                      int control_at)
{
    static const char *const fixed[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                        "LANG=C.UTF-8",
                                        "LC_ALL=C.UTF-8",
                                        "TZ=UTC",
                                        "USER=user",
                                        "LOGNAME=user",
                                        "SHELL=/bin/sh",
                                        "PYTHONNOUSERSITE=1",
                                        "PYTHONDONTWRITEBYTECODE=1"};
    /* Libraries that count the host's cores would start more threads than the session may run. */
    static const char *const threads[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                          "NUMEXPR_NUM_THREADS", "MKL_NUM_THREADS"};
    static const char *const places[][2] = {{"HOME", ""},
                                            {"TMPDIR", ""},
                                            {"XDG_CACHE_HOME", "/.cache"},
                                            {"MPLCONFIGDIR", "/.cache/matplotlib"},
                                            {"IPYTHONDIR", "/.ipython"}};
    env->count = env->used = 0;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        add_variable(env, "%s", fixed[i]);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        add_variable(env, "%s=%u", threads[i], (limits->cpu_milli + 999) / 1000);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        add_variable(env, "%s=%s%s", places[i][0], home, places[i][1]);
    add_variable(env, "CICADA_CONTROL_FD=%d", control_at);
    env->list[env->count] = NULL;
}
