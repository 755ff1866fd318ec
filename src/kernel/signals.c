#include "kernel/signals.h"

#include <Python.h>

sigset_t signals_hold(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigdelset(&all, crashes[i]);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    return before;
}

void signals_let(sigset_t before)
{
    sigdelset(&before, SIGINT);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void signals_drop_stale(void)
{
    if (PyErr_CheckSignals())
        PyErr_Clear();
}
