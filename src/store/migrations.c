/* The schema of meta.db, step by step. A step that was released is never changed: add another.
 *
 * Times are microseconds since 1970. Ids and names are TEXT, what a stranger wrote is BLOB. Numbers
 * for kind, status and packing are those of rows.h and pack.h.
 */
#include "store/meta_int.h"

static const char people[] =
    "CREATE TABLE principals ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  name TEXT NOT NULL,"
    "  parent TEXT REFERENCES principals (id),"
    "  external TEXT," /* what the parent calls it */
    "  workspace TEXT NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  CHECK ((parent IS NULL) = (external IS NULL))"
    ") STRICT;"
    "CREATE UNIQUE INDEX principals_external ON principals (parent, external)"
    "  WHERE parent IS NOT NULL;"
    "CREATE INDEX principals_created ON principals (created, id);"
    "CREATE INDEX principals_parent ON principals (parent, created, id);"

    "CREATE TABLE workspaces ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  owner TEXT NOT NULL REFERENCES principals (id),"
    "  name TEXT NOT NULL,"
    "  created INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX workspaces_created ON workspaces (created, id);"
    "CREATE INDEX workspaces_owner ON workspaces (owner, created, id);"

    "CREATE TABLE keys ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  principal TEXT NOT NULL REFERENCES principals (id),"
    "  sha256 BLOB NOT NULL UNIQUE,"
    "  name TEXT NOT NULL,"
    "  scopes INTEGER NOT NULL,"
    "  max_sessions INTEGER NOT NULL,"
    "  max_runs_per_minute INTEGER NOT NULL,"
    "  max_cpu_s_per_day INTEGER NOT NULL,"
    "  max_memory_mb INTEGER NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL,"
    "  revoked INTEGER NOT NULL,"
    "  used INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX keys_created ON keys (created, id);"
    "CREATE INDEX keys_principal ON keys (principal, created, id);"

    "CREATE TABLE settings (" /* what the server has to remember about itself */
    "  name TEXT PRIMARY KEY NOT NULL,"
    "  value TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE usage ("
    "  key_id TEXT NOT NULL,"
    "  day INTEGER NOT NULL,"
    "  runs INTEGER NOT NULL,"
    "  cpu_us INTEGER NOT NULL,"
    "  PRIMARY KEY (key_id, day)"
    ") STRICT, WITHOUT ROWID;";

/* Of the many sessions and runs only few are open, under way, or ended otherwise than well: the
 * partial indexes for those stay small and cost nothing in the usual case. */
static const char work[] =
    "CREATE TABLE sessions ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  principal TEXT NOT NULL REFERENCES principals (id),"
    "  workspace TEXT NOT NULL REFERENCES workspaces (id),"
    "  key_id TEXT,"
    "  name TEXT,"
    "  options TEXT NOT NULL," /* JSON */
    "  tz TEXT,"
    "  idle_s INTEGER NOT NULL,"
    "  snapshots INTEGER NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  used INTEGER NOT NULL,"
    "  closed INTEGER NOT NULL," /* 0: open */
    "  closed_why TEXT"
    ") STRICT;"
    "CREATE UNIQUE INDEX sessions_name ON sessions (principal, name)"
    "  WHERE closed = 0 AND name IS NOT NULL;"
    "CREATE INDEX sessions_created ON sessions (created, id);"
    "CREATE INDEX sessions_principal ON sessions (principal, created, id);"
    "CREATE INDEX sessions_workspace ON sessions (workspace, created, id);"
    "CREATE INDEX sessions_open ON sessions (created, id) WHERE closed = 0;"
    "CREATE INDEX sessions_open_principal ON sessions (principal, created, id) WHERE closed = 0;"
    "CREATE INDEX sessions_open_key ON sessions (key_id, created, id) WHERE closed = 0;"
    "CREATE INDEX sessions_closed ON sessions (closed) WHERE closed > 0;"

    "CREATE TABLE runs ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  session TEXT NOT NULL REFERENCES sessions (id),"
    "  workspace TEXT NOT NULL,"
    "  principal TEXT NOT NULL,"
    "  key_id TEXT,"
    "  request TEXT,"
    "  status INTEGER NOT NULL,"
    "  outcome TEXT," /* the API's `end` */
    "  state TEXT,"
    "  language TEXT,"
    "  name TEXT,"
    "  hint TEXT,"
    "  created INTEGER NOT NULL,"
    "  started INTEGER NOT NULL,"
    "  duration_us INTEGER NOT NULL,"
    "  cpu_us INTEGER NOT NULL,"
    "  peak INTEGER NOT NULL,"
    "  packing INTEGER NOT NULL," /* of object */
    "  code BLOB NOT NULL,"
    "  object BLOB" /* JSON */
    ") STRICT;"
    "CREATE INDEX runs_created ON runs (created, id);"
    "CREATE INDEX runs_principal ON runs (principal, created, id);"
    "CREATE INDEX runs_workspace ON runs (workspace, created, id);"
    "CREATE INDEX runs_session ON runs (session, created, id);"
    "CREATE INDEX runs_undone ON runs (created, id) WHERE status < 2;"
    "CREATE INDEX runs_bad ON runs (outcome, created, id) WHERE outcome <> 'ok';"
    "CREATE INDEX runs_bad_principal ON runs (principal, outcome, created, id)"
    "  WHERE outcome <> 'ok';"
    "CREATE INDEX runs_bad_workspace ON runs (workspace, outcome, created, id)"
    "  WHERE outcome <> 'ok';"

    "CREATE TABLE idempotency ("
    "  principal TEXT NOT NULL,"
    "  idem_key TEXT NOT NULL," /* as the client gave it */
    "  operation TEXT NOT NULL,"
    "  sha256 BLOB NOT NULL,"    /* of the request */
    "  subject TEXT,"            /* id of what it makes */
    "  status INTEGER NOT NULL," /* 0: not answered yet */
    "  body BLOB,"
    "  created INTEGER NOT NULL,"
    "  PRIMARY KEY (principal, idem_key)"
    ") STRICT;"
    "CREATE INDEX idempotency_created ON idempotency (created);"
    "CREATE INDEX idempotency_pending ON idempotency (status) WHERE status = 0;";

const char *const meta_migrations[] = {people, work};
const size_t meta_migration_count = sizeof meta_migrations / sizeof *meta_migrations;
