/* run.h -- one piece of code executed: what was asked, what happened, how it ended.
 *
 * A `struct run` is a record. The engine (session/kernel.h) fills it while the code runs; whoever
 * asked for the run owns it afterwards and frees it with run_done. Everything in it that came from
 * the kernel is bytes of a stranger: not checked to be UTF-8, not to be trusted, but bounded.
 */
#ifndef SESSION_RUN_H
#define SESSION_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/capture.h"
#include "session/keep.h"
#include "session/names.h"
#include "wire/frame.h"
#include "wire/limits.h"

enum run_end {
    END_OK,
    END_ERROR,        /* the code raised; run.error says what */
    END_TIMEOUT,      /* longer than its wall clock limit */
    END_MEMORY,       /* the session went over its memory limit and was killed */
    END_OUTPUT_LIMIT, /* printed more than is read at all */
    END_DISK,         /* /mnt/data grew over its limit and the session was killed; or into what the
                         server's disk keeps in reserve: run.is_disk_full */
    END_CANCELLED,    /* somebody asked */
    END_CRASHED,      /* the interpreter died: run.crash says of what */
    END_KILLED,       /* ended from outside for another reason */
    END_COUNT
};

enum run_state {
    STATE_FRESH, /* the first run of a new kernel */
    STATE_KEPT,  /* the variables are those the previous run left */
    STATE_WOKEN, /* they are, and slept on disk in between; run.lost names those that are not */
    STATE_LOST,  /* they are gone: the kernel died, in this run or before it */
    STATE_COUNT
};

struct mime {
    char *type; /* "image/png"; NUL-terminated, shaped like a MIME type without parameters */
    enum field_form form;
    char *bytes; /* text as UTF-8 (unchecked), binary as is, JSON as text; NUL-terminated */
    size_t len;
};

struct display {
    struct mime *entries;
    size_t count;
    char *id; /* display_id, or NULL */
};

/* Texts are bounded (see below) and NUL-terminated; a NUL in them was made U+2400, its picture. */
struct run_error {
    char *name;      /* "ZeroDivisionError"; NULL: there was no error */
    char *message;   /* "division by zero"; may be empty */
    char *traceback; /* as Python prints it, all lines; may be empty */
    uint32_t line;   /* of the code, from 1; 0: not known */
};

struct run_spec {
    const char *code;
    size_t code_len;
    enum run_language language; /* wire/frame.h; all but Python are one process for each run */
    const char *name;           /* shown in tracebacks as the file's name; NULL: "<cell N>" */
    const char *stdin_text;     /* for input(); NULL: input() is an error */
    size_t stdin_len;
    const char *const *env; /* NULL-ended "NAME=value" for this run only; NULL: none */
    uint32_t wall_ms;       /* 0: the session's limit */
    /* True ends the run as cancelled, also before it has begun: whoever sets it calls
     * session_cancel (kernel_cancel) afterwards, and no matter when, it is not missed. May be NULL. */
    const atomic_bool *cancel;
    /* True: whoever runs it looks for changed files (working.h), and run.files stays empty. So it
     * does with an overlay, whatever this says. */
    bool leaves_files;
};

/* What a run has read below /mnt/data, as the kernel says: paths that may be there or not, once each. */
struct run_reads {
    struct run_read {
        char *path;      /* relative, clean, NUL-terminated */
        bool is_guessed; /* a child process was told of it */
    } * items;
    size_t count, bytes;
    bool is_told;    /* the kernel has said anything of it */
    bool is_partial; /* there may be others */
};

struct run {
    enum run_end end;
    enum run_state state;
    enum run_language language;
    struct names lost;    /* variables and files that did not survive sleeping, as "name: why" */
    struct keep out, err; /* stdout and stderr, head and tail */
    struct display *displays;
    size_t display_count;
    size_t displays_dropped; /* over DISPLAYS_MAX or DISPLAY_BYTES_MAX */
    struct display result;   /* count 0: none */
    struct run_error error;
    int crash_signal; /* END_CRASHED: the signal, or 0 and crash_code counts */
    int crash_code;
    struct capture files;
    struct run_reads reads;
    int64_t started_wall_us;
    uint64_t duration_us;
    uint64_t cpu_us;
    uint64_t memory_peak;
    uint64_t disk_bytes, disk_files; /* of a run that the end of its jail ended */
    bool is_disk_full;               /* END_DISK: not the session's limit, the server's disk */
    struct limits limits;            /* in force */
    char hint[512];                  /* what to do next; empty: nothing */
};

/* What happens while a run goes on, in order. The bytes are borrowed during the call. */
enum run_event_kind { RUN_STDOUT, RUN_STDERR, RUN_DISPLAY, RUN_CLEAR, RUN_RESULT, RUN_ERROR };

struct run_event {
    enum run_event_kind kind;
    const char *bytes; /* RUN_STDOUT, RUN_STDERR */
    size_t len;
    const struct display *display; /* RUN_DISPLAY, RUN_RESULT */
    const struct run_error *error; /* RUN_ERROR */
};

/* Where events go. A put that returns non-zero cancels the run. It may block: the run waits. */
struct run_sink {
    int (*put)(void *arg, const struct run_event *event);
    void *arg;
};

enum {
    DISPLAY_ENTRIES_MAX = 32, /* of one bundle; later ones are left out */
    DISPLAY_ID_MAX = 256,     /* bytes of a display_id; the rest is cut off */
    ERROR_NAME_MAX = 256,
    ERROR_MESSAGE_MAX = 64 << 10, /* longer ones keep head and tail, and so do tracebacks */
};

/* All three leave an empty record behind, on which they may be called again. */
void run_done(struct run *run);
void display_done(struct display *display);
void run_error_done(struct run_error *error);

/* Copies the bundle of a DISPLAY or RESULT frame. Entries with an implausible MIME type, an unknown
 * form or no data are left out, as are second entries of a type; the result may be empty. Fails
 * with ERR_NO_MEMORY. */
int display_from_frame(const struct frame *frame, struct display *ret, struct err *e);

/* Adds what a READS frame names, up to READS_MAX and READS_BYTES_MAX over all frames. What is no path is left
 * out, and then the list is partial. Fails with ERR_NO_MEMORY. */
int run_reads_from_frame(const struct frame *frame, struct run_reads *reads, struct err *e);
void run_reads_done(struct run_reads *reads);

/* Copies an ERROR frame; ret->name is never NULL. Fails with ERR_NO_MEMORY. */
int run_error_from_frame(const struct frame *frame, struct run_error *ret, struct err *e);

/* Whether what it says is that memory was refused: a MemoryError, of Python itself or of a library, or the like. */
bool run_error_is_memory(const struct run_error *error);

/* Bytes that all entries of a display hold together: what DISPLAY_BYTES_MAX counts. */
size_t display_bytes(const struct display *display);

const char *run_end_name(enum run_end end);       /* "ok", "output_limit": what clients see */
const char *run_state_name(enum run_state state); /* "fresh", "kept", "woken", "lost" */
const char *run_language_name(enum run_language language); /* "python", "bash", "javascript" */

/* The language of that name. Fails with ERR_INVALID and the names there are. */
int run_language_parse(const char *name, enum run_language *ret, struct err *e);

/* The language of a file by how its name ends: ".sh", ".bash", ".js", ".mjs", ".cjs"; Python's for
 * all others. */
enum run_language run_language_of_file(const char *name);

#endif
