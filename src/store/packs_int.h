/* packs_int.h -- what the files of packs share. */
#ifndef STORE_PACKS_INT_H
#define STORE_PACKS_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/pack_io.h"
#include "store/packs.h"

enum { VAULT_BUCKETS = 1024, PACK_PATH_SIZE = ID_SIZE + 32 };

/* A pack that nobody has leased and that may have room. */
struct spare {
    uint64_t number, end, records;
    bool is_known; /* end and records are right; otherwise it was found on the disk */
    bool is_made;  /* there is such a file */
    bool is_named; /* and its name is on the disk */
};

struct vault {
    struct vault *next;
    char name[ID_SIZE];
    bool is_loading; /* somebody reads its directory */
    bool is_loaded;
    _Atomic bool is_named; /* on the disk */
    uint64_t number_max;   /* of all packs there ever were, as far as known */
    struct spare *spares;
    size_t spare_count, spare_size;
    uint64_t *leased; /* numbers */
    size_t leased_count, leased_size;
};

struct packs {
    int dir_fd;
    const struct pack_io *io;
    struct packs_owner owner;
    _Atomic bool is_stopped;
    pthread_mutex_t lock; /* guards the vaults; never held while the disk works */
    pthread_cond_t loaded;
    struct vault *vaults[VAULT_BUCKETS];
};

struct lease {
    struct packs *packs;
    struct vault *vault; /* as long-lived as packs */
    struct spare pack;   /* end: with what is still in memory */
    int fd;
    uint64_t written, synced; /* up to where */
    uint64_t synced_records;
    bool is_failed;   /* a write failed: nothing more but release */
    uint8_t *waiting; /* PACK_WRITE bytes; what was not written yet */
    size_t waiting_len;
};

int vault_check_name(const char *vault, struct err *e);
void pack_path(char to[PACK_PATH_SIZE], const char *vault, uint64_t number);
int pack_open_read(struct packs *p, const char *vault, uint64_t number, int *ret_fd, struct err *e);
int pack_walk_fd(int fd, uint64_t number, pack_visit *visit, void *arg, struct pack_walked *ret,
                 struct err *e);

int sync_dir(struct packs *p, const char *path, struct err *e);

/* A vault's spares and leases (pack_vaults.c). What is taken counts as leased until it is given back: a
 * spare, or a number for a new one. vault_forget makes sure that nobody takes it any more, and fails
 * with ERR_BUSY when it is leased; vault_remember says that it may be taken. vault_next is a number
 * that no pack has, for whoever makes one; the vault is known (vault_forget). */
int vault_take(struct packs *p, const char *name, struct vault **ret, struct spare *ret_spare,
               struct err *e);
void vault_give(struct packs *p, struct vault *v, const struct spare *pack, bool has_room);
int vault_forget(struct packs *p, const char *name, uint64_t number, struct err *e);
uint64_t vault_next(struct packs *p, const char *name);
void vault_remember(struct packs *p, const char *name, uint64_t number);
void vaults_done(struct packs *p);

/* The failure of a call that writes: stops everything unless it is want of room. */
int packs_fail(struct packs *p, int errnum, const char *what, struct err *e);
bool is_want_of_room(int errnum);
int packs_check(struct packs *p, struct err *e); /* ERR_UNAVAILABLE when stopped */

/* Writes all of it, whatever the number of calls. 0, or errno. */
int write_all(const struct pack_io *io, int fd, struct iovec *pieces, int count, uint64_t offset);

/* Footer and sync of a full pack (pack_seal.c). */
void lease_seal(struct lease *l);

#endif
