/* The schema of meta.db, step by step. A step that was released is never changed: add another.
 *
 * Times are microseconds since 1970. Ids, names and paths are TEXT, what else a stranger wrote is BLOB. Numbers
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

/* Files. The tables that grow are keyed by small numbers of our own instead of ids: of workspaces,
 * vaults and files. Those of workspaces and vaults are never used twice.
 *
 * A file's row says what its newest version is, once more, so that a list reads one table. A
 * version's author is that of its commit. `cost` is what a version adds to the workspace's
 * kept_bytes: its size, or 0 when it has the content of the version with content before it because
 * nothing but its place changed. `kept` counts the versions of a file that are left. */
static const char files[] =
    "CREATE TABLE vaults ("
    "  number INTEGER PRIMARY KEY,"
    "  name TEXT NOT NULL UNIQUE"
    ") STRICT;"
    "INSERT INTO vaults (name) SELECT DISTINCT owner FROM workspaces;"

    "ALTER TABLE workspaces ADD COLUMN number INTEGER;"
    "ALTER TABLE workspaces ADD COLUMN vault INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE workspaces ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;" /* 0: it is there */
    "ALTER TABLE workspaces ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE workspaces ADD COLUMN files INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE workspaces ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE workspaces ADD COLUMN kept_bytes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE workspaces ADD COLUMN files_max INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE workspaces ADD COLUMN bytes_max INTEGER NOT NULL DEFAULT 0;"
    "UPDATE workspaces SET number = rowid,"
    "  vault = (SELECT v.number FROM vaults AS v WHERE v.name = owner);"
    "UPDATE workspaces SET name = name || ' ' || id WHERE EXISTS (SELECT 1 FROM workspaces AS w"
    "  WHERE w.owner = workspaces.owner AND w.name = workspaces.name"
    "  AND w.number < workspaces.number);"
    "CREATE UNIQUE INDEX workspaces_number ON workspaces (number);"
    "CREATE UNIQUE INDEX workspaces_name ON workspaces (owner, name) WHERE deleted = 0;"
    "DROP INDEX workspaces_created;"
    "DROP INDEX workspaces_owner;"
    "CREATE INDEX workspaces_there ON workspaces (created, id) WHERE deleted = 0;"
    "CREATE INDEX workspaces_of ON workspaces (owner, created, id) WHERE deleted = 0;"
    "CREATE INDEX workspaces_deleted ON workspaces (deleted) WHERE deleted > 0;"

    "CREATE TABLE commits ("
    "  workspace INTEGER NOT NULL,"
    "  rev INTEGER NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  principal TEXT,"
    "  key_id TEXT,"
    "  session TEXT,"
    "  run TEXT,"
    "  created INTEGER NOT NULL,"
    "  PRIMARY KEY (workspace, rev)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX commits_run ON commits (run) WHERE run IS NOT NULL;"

    "CREATE TABLE files ("
    "  number INTEGER PRIMARY KEY,"
    "  id TEXT NOT NULL UNIQUE,"
    "  workspace INTEGER NOT NULL,"
    "  path TEXT NOT NULL," /* bytes as they are; compared as such */
    "  kind INTEGER NOT NULL,"
    "  state INTEGER NOT NULL," /* 0: live, 1: in the trash, 2: purged, and only its name is left */
    "  version INTEGER NOT NULL,"
    "  rev INTEGER NOT NULL,"
    "  sha256 BLOB," /* of its newest content, also in the trash; NULL: a directory */
    "  size INTEGER NOT NULL,"
    "  change INTEGER NOT NULL,"
    "  kept INTEGER NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  changed INTEGER NOT NULL"
    ") STRICT;"
    "CREATE UNIQUE INDEX files_live ON files (workspace, path) WHERE state = 0;"
    "CREATE INDEX files_trash ON files (workspace, changed) WHERE state = 1;"
    "CREATE INDEX files_trashed ON files (workspace, path, kind, rev) WHERE state = 1;"
    "CREATE INDEX files_rev ON files (workspace, rev);"
    "CREATE INDEX files_kept ON files (kept) WHERE kept > 1;"

    "CREATE TABLE versions ("
    "  file INTEGER NOT NULL,"
    "  version INTEGER NOT NULL,"
    "  workspace INTEGER NOT NULL,"
    "  vault INTEGER NOT NULL,"
    "  rev INTEGER NOT NULL,"
    "  path TEXT NOT NULL,"
    "  sha256 BLOB," /* NULL: a deletion, or a directory */
    "  size INTEGER NOT NULL,"
    "  cost INTEGER NOT NULL,"
    "  change INTEGER NOT NULL,"
    "  pinned INTEGER NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  PRIMARY KEY (file, version)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX versions_path ON versions (workspace, path, rev);"
    "CREATE INDEX versions_rev ON versions (workspace, rev);"
    "CREATE INDEX versions_content ON versions (vault, sha256, size, workspace)"
    "  WHERE sha256 IS NOT NULL;"

    "CREATE TABLE chunks ("
    "  vault INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  pack INTEGER NOT NULL,"
    "  offset INTEGER NOT NULL,"
    "  stored_len INTEGER NOT NULL,"
    "  raw_len INTEGER NOT NULL,"
    "  flags INTEGER NOT NULL,"
    "  dead INTEGER NOT NULL," /* since when nobody needs it; 0: somebody does */
    "  PRIMARY KEY (vault, sha256, kind)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX chunks_pack ON chunks (vault, pack, offset, stored_len);"
    "CREATE INDEX chunks_dead ON chunks (vault, dead) WHERE dead > 0;"

    "ALTER TABLE sessions ADD COLUMN base INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE session_paths ("
    "  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,"
    "  path TEXT NOT NULL,"
    "  rev INTEGER NOT NULL,"
    "  aside TEXT,"
    "  PRIMARY KEY (session, path)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE uploads ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  workspace TEXT NOT NULL REFERENCES workspaces (id),"
    "  path TEXT NOT NULL,"
    "  size INTEGER NOT NULL," /* -1: not announced */
    "  condition TEXT,"
    "  principal TEXT,"
    "  key_id TEXT,"
    "  session TEXT,"
    "  run TEXT,"
    "  created INTEGER NOT NULL,"
    "  used INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX uploads_created ON uploads (created, id);"
    "CREATE INDEX uploads_workspace ON uploads (workspace, created, id);";

/* The team: who else may, locks, links, what happened, what was made from what. Secrets (tokens,
 * passwords) are kept as hashes only, but for those of webhooks, which sign what is sent. */
static const char team[] =
    "CREATE TABLE members (" /* the owner is none of them */
    "  workspace INTEGER NOT NULL,"
    "  principal TEXT NOT NULL REFERENCES principals (id),"
    "  role INTEGER NOT NULL,"
    "  added_by TEXT,"
    "  created INTEGER NOT NULL,"
    "  PRIMARY KEY (workspace, principal)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX members_of ON members (principal, workspace);"

    "CREATE TABLE logins (" /* people who sign in by a name and a password */
    "  principal TEXT PRIMARY KEY NOT NULL REFERENCES principals (id),"
    "  name TEXT NOT NULL UNIQUE,"
    "  password TEXT NOT NULL," /* argon2id, as libsodium writes it */
    "  created INTEGER NOT NULL,"
    "  changed INTEGER NOT NULL"
    ") STRICT;"

    "CREATE TABLE tickets (" /* what can be used once: invitations, claims */
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL UNIQUE," /* of the token */
    "  workspace INTEGER NOT NULL,"
    "  role INTEGER NOT NULL,"
    "  name TEXT NOT NULL,"
    "  made_by TEXT NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL,"
    "  used INTEGER NOT NULL," /* 0: not yet */
    "  used_by TEXT,"
    "  revoked INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX tickets_workspace ON tickets (workspace, kind, created, id);"

    "ALTER TABLE principals ADD COLUMN bytes_max INTEGER NOT NULL DEFAULT 0;" /* of all it owns */
    "ALTER TABLE keys ADD COLUMN max_runs_per_month INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE keys ADD COLUMN max_cpu_s_per_month INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE workspace_usage ("
    "  workspace TEXT NOT NULL,"
    "  day INTEGER NOT NULL,"
    "  runs INTEGER NOT NULL,"
    "  cpu_us INTEGER NOT NULL,"
    "  PRIMARY KEY (workspace, day)"
    ") STRICT, WITHOUT ROWID;"

    "ALTER TABLE workspaces ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;" /* of the last lock */
    "CREATE TABLE locks ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  workspace INTEGER NOT NULL,"
    "  path TEXT NOT NULL," /* '': all of it */
    "  is_tree INTEGER NOT NULL,"
    "  is_shared INTEGER NOT NULL,"
    "  holder TEXT NOT NULL,"
    "  principal TEXT NOT NULL,"
    "  session TEXT,"                /* with which it ends */
    "  sha256 BLOB NOT NULL UNIQUE," /* of the token */
    "  ttl_s INTEGER NOT NULL,"
    "  fence INTEGER NOT NULL,"
    "  conflicts INTEGER NOT NULL DEFAULT 0," /* files of sessions that it kept away */
    "  created INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX locks_path ON locks (workspace, path);"
    "CREATE INDEX locks_workspace ON locks (workspace, created, id);"
    "CREATE INDEX locks_expires ON locks (expires);"
    "CREATE INDEX locks_session ON locks (session) WHERE session IS NOT NULL;"

    "CREATE TABLE shares ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  sha256 BLOB NOT NULL UNIQUE," /* of the token */
    "  workspace INTEGER NOT NULL,"
    "  path TEXT NOT NULL,"
    "  is_folder INTEGER NOT NULL,"
    "  file TEXT,"                /* pinned: its id */
    "  version INTEGER NOT NULL," /* pinned; 0: the newest */
    "  rights INTEGER NOT NULL,"
    "  password TEXT,"
    "  note TEXT NOT NULL,"
    "  max_downloads INTEGER NOT NULL,"
    "  views INTEGER NOT NULL,"
    "  downloads INTEGER NOT NULL,"
    "  uploads INTEGER NOT NULL,"
    "  made_by TEXT NOT NULL,"
    "  is_by_server INTEGER NOT NULL," /* its maker's right was that of a server's admin */
    "  created INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL," /* 0: never */
    "  used INTEGER NOT NULL,"
    "  revoked INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX shares_workspace ON shares (workspace, created, id);"
    "CREATE INDEX shares_version ON shares (file, version) WHERE version > 0;"

    /* `record` is what is hashed; the columns repeat what is looked for. */
    "CREATE TABLE audit ("
    "  seq INTEGER PRIMARY KEY,"
    "  at INTEGER NOT NULL,"
    "  workspace TEXT,"
    "  principal TEXT,"
    "  event TEXT NOT NULL,"
    "  result INTEGER NOT NULL,"
    "  is_read INTEGER NOT NULL,"
    "  record TEXT NOT NULL,"
    "  hash BLOB NOT NULL"
    ") STRICT;"
    "CREATE INDEX audit_workspace ON audit (workspace, seq);"
    "CREATE INDEX audit_principal ON audit (principal, seq);"
    "CREATE INDEX audit_events ON audit (workspace, seq) WHERE is_read = 0 AND result = 0;"
    "CREATE TABLE checkpoints ("
    "  seq INTEGER PRIMARY KEY,"
    "  at INTEGER NOT NULL,"
    "  hash BLOB NOT NULL,"
    "  signature BLOB NOT NULL,"
    "  key BLOB NOT NULL" /* public */
    ") STRICT;"

    "CREATE TABLE webhooks ("
    "  id TEXT PRIMARY KEY NOT NULL,"
    "  workspace TEXT NOT NULL REFERENCES workspaces (id),"
    "  url TEXT NOT NULL,"
    "  secret TEXT NOT NULL,"
    "  events TEXT NOT NULL," /* separated by commas; '': all */
    "  made_by TEXT NOT NULL,"
    "  is_by_server INTEGER NOT NULL," /* its maker's right was that of a server's admin */
    "  created INTEGER NOT NULL,"
    "  seq INTEGER NOT NULL,"      /* of the audit, up to which all was delivered */
    "  failures INTEGER NOT NULL," /* in a row */
    "  failing INTEGER NOT NULL,"  /* since when; 0: it is not */
    "  next INTEGER NOT NULL,"     /* not before */
    "  last INTEGER NOT NULL,"
    "  last_status INTEGER NOT NULL,"
    "  last_error TEXT,"
    "  paused INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX webhooks_workspace ON webhooks (workspace, created, id);"

    "ALTER TABLE runs ADD COLUMN trace INTEGER NOT NULL DEFAULT 0;" /* of what it read */
    "CREATE TABLE run_reads (" /* versions that a run had before it when it read a path */
    "  run TEXT NOT NULL,"
    "  file INTEGER NOT NULL,"
    "  version INTEGER NOT NULL,"
    "  guessed INTEGER NOT NULL,"
    "  PRIMARY KEY (run, file, version)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX run_reads_version ON run_reads (file, version);"
    "CREATE TRIGGER runs_forgotten AFTER DELETE ON runs"
    "  BEGIN DELETE FROM run_reads WHERE run = old.id; END;"
    "CREATE TRIGGER files_forgotten AFTER DELETE ON files" /* its number may be another's then */
    "  BEGIN DELETE FROM run_reads WHERE file = old.number; END;"

    "ALTER TABLE workspaces ADD COLUMN intelligence INTEGER NOT NULL DEFAULT 0;";

/* Principals who are not let in any more, whatever they come with. */
static const char disabled[] =
    "ALTER TABLE principals ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;" /* 0: they are */
    "CREATE INDEX principals_disabled ON principals (disabled) WHERE disabled > 0;";

/* What doors keep of the things they gave names to (workspace/cards.h), and the workspaces they need for them. */
static const char doors[] =
    "ALTER TABLE workspaces ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;" /* 0: somebody made it */
    "CREATE INDEX workspaces_kinds ON workspaces (owner, kind, created, id) WHERE deleted = 0;"
    "CREATE TABLE cards ("
    "  id TEXT PRIMARY KEY NOT NULL," /* begins with the time: its order is that of making */
    "  kind INTEGER NOT NULL,"
    "  principal TEXT NOT NULL,"
    "  parent TEXT,"
    "  name TEXT NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  used INTEGER NOT NULL,"
    "  expires INTEGER NOT NULL," /* 0: never */
    "  packing INTEGER NOT NULL,"
    "  body BLOB NOT NULL"
    ") STRICT;"
    "CREATE INDEX cards_of ON cards (principal, kind, id);"
    "CREATE INDEX cards_parent ON cards (parent, kind, id) WHERE parent IS NOT NULL;"
    "CREATE INDEX cards_expiring ON cards (kind, expires) WHERE expires > 0;";

/* Which runs made a state. Beside the runs, whose rows are large: undoing one rewrites a small row.
 *
 * `previous` is the run that left what this one began with, also one of the session that its session was
 * forked from; '': it began with nothing. `state_run` is that of the next run. NULL: not known, since it was
 * before this table. */
static const char history[] =
    "CREATE TABLE run_history ("
    "  run TEXT PRIMARY KEY NOT NULL,"
    "  number INTEGER NOT NULL," /* of its session's runs; after a rollback given again */
    "  previous TEXT,"
    "  undone INTEGER NOT NULL" /* 0: it was not */
    ") STRICT, WITHOUT ROWID;"
    "CREATE TRIGGER runs_forgotten_history AFTER DELETE ON runs"
    "  BEGIN DELETE FROM run_history WHERE run = old.id; END;"
    "ALTER TABLE sessions ADD COLUMN state_run TEXT;"
    "ALTER TABLE sessions ADD COLUMN parent TEXT;"      /* that it was forked from */
    "ALTER TABLE sessions ADD COLUMN parent_run TEXT;"; /* whose state it began with */

const char *const meta_migrations[] = {people, work, files, team, disabled, doors, history};
const size_t meta_migration_count = sizeof meta_migrations / sizeof *meta_migrations;
