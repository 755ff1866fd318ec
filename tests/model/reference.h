/* reference.h -- a workspace as it ought to be: everything in memory, everything by looking at all of it.
 *
 * Whoever drives the real one asks first what has to become of a change (ref_may), makes it, and tells
 * what came back (ref_apply), which is held against what is known. What the rules leave open (whether a
 * file that is made where one was deleted goes on with its history) is learnt from the answer.
 */
#ifndef MODEL_REFERENCE_H
#define MODEL_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/meta_files.h"

enum { REF_PARTS = 3, REF_PATH = 96 };

/* What a file holds: parts of noise or text, the same for the same seed, so that contents share them. */
struct made {
    struct {
        uint64_t seed;
        uint32_t len;
    } parts[REF_PARTS];
    uint64_t size;
    uint8_t sha256[HASH_LEN];
};

struct ref_version {
    uint64_t number, rev;
    char path[REF_PATH];
    enum change change;
    bool has_content, is_pinned;
    uint64_t source; /* the version that brought the content; others of the same only moved it */
    struct made made;
};

struct ref_file {
    char id[ID_SIZE];
    char path[REF_PATH];
    bool is_live, is_dir, is_gone; /* gone: purged */
    struct ref_version *versions;  /* owned; in order */
    size_t count;
    uint64_t last; /* number */
    uint64_t rev;  /* of the last change; stays when the file is purged */
};

struct reference {
    struct ref_file *files; /* owned */
    size_t count;
    uint64_t rev;
};

struct wish {                  /* one change to be made */
    struct made made;          /* OP_PUT */
    uint64_t version;          /* OP_RESTORE */
    uint64_t expected_version; /* EXPECT_VERSION */
    enum change_op op;
    enum expectation expect;
    char path[REF_PATH], to[REF_PATH];
    char file[ID_SIZE]; /* OP_UNTRASH */
    char expected_file[ID_SIZE];
    bool is_overwriting;
};

void ref_done(struct reference *r);

struct ref_file *ref_live(const struct reference *r,
                          const char *path); /* a file, not a directory */
struct ref_file *ref_by_id(const struct reference *r, const char *id);
struct ref_version *ref_version(const struct ref_file *f, uint64_t number);
struct ref_version *ref_head(const struct ref_file *f); /* NULL without any */
bool ref_is_dir(const struct reference *r,
                const char *path); /* made, or because of what is below */
bool ref_is_below(const char *path, const char *dir);

/* The errors of which one has to come, as bits 1 << code; 0: it has to work. REF_OPEN: the rules leave it
 * open, so it is better not tried. */
#define REF_OPEN UINT64_MAX
uint64_t ref_may(const struct reference *r, const struct wish *w);

/* What meta_commit said of it. NULL, or what is wrong with that. */
const char *ref_apply(struct reference *r, const struct wish *w, const struct file_change *said,
                      uint64_t rev);

void ref_purge(struct ref_file *f, uint64_t number); /* 0: all of it */

struct ref_sums {
    uint64_t files, bytes; /* live ones; directories that were made count as files */
    uint64_t kept;         /* of all contents that were brought and have a version left */
};
struct ref_sums ref_sums(const struct reference *r);

#endif
