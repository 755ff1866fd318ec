/* limits.h -- everything that is bounded, and by how much, in one place.
 *
 * The first block are the limits of a session: what it gets by default and the most and least that
 * may be asked for. The second are sizes of our own messages.
 */
#ifndef WIRE_LIMITS_H
#define WIRE_LIMITS_H

#include <stdint.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* What one session may use. Every field is set; 0 is never "no limit". */
struct limits {
    uint64_t
        memory_bytes;    /* of all its processes together; with a cgroup also what lies in tmpfs */
    uint64_t disk_bytes; /* that /mnt/data may grow by, deleted but open files included */
    uint64_t file_bytes; /* of one file */
    uint64_t tmp_bytes;  /* of /tmp; /dev/shm gets as much again */
    uint64_t output_bytes; /* of stdout and of stderr, each, that are kept (head and tail) */
    uint64_t drain_bytes;  /* of output that is read at all before the run is ended */
    uint32_t cpu_milli;    /* thousandths of a core */
    uint32_t pids;         /* processes and threads */
    uint32_t files;        /* files and directories /mnt/data may grow by */
    uint32_t open_files;   /* descriptors per process */
    uint32_t wall_ms;      /* of one run */
};

#define LIMITS_DEFAULT                        \
    ((struct limits){.memory_bytes = GIB,     \
                     .disk_bytes = 256 * MIB, \
                     .file_bytes = 256 * MIB, \
                     .tmp_bytes = 128 * MIB,  \
                     .output_bytes = MIB,     \
                     .drain_bytes = 64 * MIB, \
                     .cpu_milli = 1000,       \
                     .pids = 128,             \
                     .files = 20000,          \
                     .open_files = 512,       \
                     .wall_ms = 60000})

/* The range that may be asked for. */
#define LIMITS_MIN                             \
    ((struct limits){.memory_bytes = 32 * MIB, \
                     .disk_bytes = MIB,        \
                     .file_bytes = MIB,        \
                     .tmp_bytes = MIB,         \
                     .output_bytes = KIB,      \
                     .drain_bytes = KIB,       \
                     .cpu_milli = 10,          \
                     .pids = 4,                \
                     .files = 16,              \
                     .open_files = 32,         \
                     .wall_ms = 100})
#define LIMITS_MAX                               \
    ((struct limits){.memory_bytes = 1024 * GIB, \
                     .disk_bytes = 1024 * GIB,   \
                     .file_bytes = 1024 * GIB,   \
                     .tmp_bytes = 64 * GIB,      \
                     .output_bytes = 64 * MIB,   \
                     .drain_bytes = 64 * GIB,    \
                     .cpu_milli = 1024000,       \
                     .pids = 32768,              \
                     .files = 10000000,          \
                     .open_files = 4096,         \
                     .wall_ms = 86400000})

enum {
    INTERRUPT_GRACE_MS = 2000, /* from the first SIGINT to the kill; a second one halfway */
    START_TIMEOUT_MS = 20000,  /* from the request for a jail to the kernel's first word */

    FRAME_PAYLOAD_MAX = 32 << 20, /* of one frame between engine and kernel */
    CODE_MAX = 4 << 20,           /* of the code of one run */
    STDIN_MAX = 16 << 20,         /* of the text given to input() */
    DISPLAYS_MAX = 256,           /* displays kept of one run; later ones are counted only */
    DISPLAY_BYTES_MAX = 64 << 20, /* of all displays of one run together */
    TRACEBACK_MAX = 256 << 10,    /* of one error's traceback */
    CAPTURE_DEPTH_MAX = 64,       /* directory levels that are looked at below /mnt/data */
    READS_MAX = 1000,             /* files that are noted as read by one run */
    READS_BYTES_MAX = 1 << 20,    /* of their paths together */
    READ_PATH_MAX = 1024,         /* of one of them: no file of a workspace has a longer one */
};

#endif
