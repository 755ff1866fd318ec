/* The contract of contents.h on the store as it is: packs on a disk, rows in SQLite. */
#include <sys/stat.h>

#include "base/scratch.h"
#include "store/contents_contract.h"
#include "store/meta_files.h"
#include "store/meta_fixture.h"
#include "store/store.h"

static struct scratch scratch;
static struct store *store;
static unsigned commits;

static struct contents *open_store(void)
{
    struct store_options o = {.dir = scratch.path};
    OK(store_open(&o, &store, e));
    return store_contents(store);
}

struct contents *contract_contents(void)
{
    scratch = scratch_new_fast();
    struct contents *c = open_store();
    add_principal(store_meta(store), "prn_a", "ws_a", "", NULL, 1);
    add_principal(store_meta(store), "prn_b", "ws_b", "", NULL, 2);
    return c;
}

struct contents *contract_contents_again(struct contents *c)
{
    (void)c;
    store_close(store);
    return open_store();
}

void contract_contents_done(struct contents *c)
{
    (void)c;
    store_close(store);
    scratch_done(&scratch);
}

/* With a change of no account: a transaction that does nothing else is not made. */
void contract_commit(struct contents *c, const struct batch *b)
{
    (void)c;
    struct chunk_set set;
    batch_chunks(b, &set);
    char path[32];
    (void)snprintf(path, sizeof path, "d%u", commits++);
    struct file_change change = {.op = OP_MKDIR, .path = path};
    struct commit_row commit = {.kind = COMMIT_EDIT, .created_us = 5};
    set_id(commit.workspace, strcmp(set.vault, "prn_a") == 0 ? "ws_a" : "ws_b");
    set_id(commit.author.principal, set.vault);
    uint64_t rev;
    OK(meta_commit(store_meta(store), &commit, &change, 1, b, &rev, e));
    free(change.ret_path);
}

uint8_t *contract_noise(size_t len, uint64_t seed)
{
    uint8_t *bytes = malloc(len);
    uint64_t x = seed + 1;
    for (size_t i = 0; i < len; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        bytes[i] = (uint8_t)(x >> 48);
    }
    return bytes;
}

uint8_t *contract_text(size_t len, uint64_t seed)
{
    uint8_t *bytes = contract_noise(len, seed);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)('a' + bytes[i] % 20);
    return bytes;
}

int main(void)
{
    const struct CMUnitTest tests[] = {CONTENTS_CONTRACT};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
