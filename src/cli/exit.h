/* exit.h -- how a command says with its exit code what happened. Documented in docs/cli.md; never
 * changed. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum {
    EXIT_DONE = 0,
    EXIT_ERROR = 1,       /* the code raised; doctor: weaker than the full tier */
    EXIT_USAGE = 2,       /* the command line is wrong */
    EXIT_DIFFERENT = 3,   /* what was run again came out otherwise */
    EXIT_LOCKED = 75,     /* somebody holds a lock: later it may work; EX_TEMPFAIL of sysexits */
    EXIT_DENIED = 77,     /* the server wants a key, or a better one; EX_NOPERM of sysexits */
    EXIT_TIMEOUT = 124,   /* as timeout(1) */
    EXIT_NO_JAIL = 125,   /* cicada itself failed: the code was not run, or its result is lost */
    EXIT_CANCELLED = 130, /* as a shell says it of SIGINT */
    EXIT_CRASHED = 134,   /* the interpreter died */
    EXIT_MEMORY = 137,    /* as a shell says it of the kernel's OOM killer */
    EXIT_DISK = 138,
    EXIT_OUTPUT_LIMIT = 139,
    EXIT_KILLED = 140,
    EXIT_NO_READER = 141, /* as a shell says it of SIGPIPE */
};

#endif
