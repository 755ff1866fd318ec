/* meta_fixture.h -- for tests of meta.h: how a store is opened, and rows to put into it.
 *
 * A test program defines the three functions; everything else is made of meta.h.
 */
#ifndef STORE_META_FIXTURE_H
#define STORE_META_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expect.h"
#include "store/meta.h"

struct meta *contract_open(void);             /* an empty one */
struct meta *contract_reopen(struct meta *m); /* as after a restart */
void contract_close(struct meta *m);

static inline void set_id(char to[ID_SIZE], const char *id)
{
    (void)snprintf(to, ID_SIZE, "%s", id);
}

static inline void add_principal(struct meta *m, const char *id, const char *workspace,
                                 const char *parent, const char *external, int64_t created_us)
{
    struct principal_row p = {.name = id, .created_us = created_us, .external = external};
    struct workspace_row w = {.name = "default", .created_us = created_us};
    set_id(p.id, id);
    set_id(p.parent, parent);
    set_id(p.workspace, workspace);
    set_id(w.id, workspace);
    set_id(w.owner, id);
    OK(meta_principal_insert(m, &p, &w, 4, e));
}

static inline struct session_row a_session(const char *id, const char *principal, int64_t created)
{
    struct session_row r = {.created_us = created, .used_us = created, .options = "{}"};
    set_id(r.id, id);
    set_id(r.principal, principal);
    set_id(r.workspace, principal[4] == 'b' ? "ws_b" : "ws_a");
    return r;
}

static inline struct run_row a_run(const char *id, const char *session, int64_t created)
{
    struct run_row r = {.created_us = created, .code = "1+1", .code_len = 3, .language = "python"};
    set_id(r.id, id);
    set_id(r.session, session);
    set_id(r.workspace, "ws_a");
    set_id(r.principal, "prn_a");
    return r;
}

static inline struct meta *with_people(void)
{
    struct meta *m = contract_open();
    add_principal(m, "prn_a", "ws_a", "", NULL, 1);
    add_principal(m, "prn_b", "ws_b", "", NULL, 2);
    return m;
}

static inline struct meta *with_session(void)
{
    struct meta *m = with_people();
    struct session_row s = a_session("ses_1", "prn_a", 10);
    OK(meta_session_insert(m, &s, META_NOW, e));
    return m;
}

#endif
