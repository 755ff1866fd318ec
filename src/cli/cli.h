/* cli.h -- the commands of `cicada`. Each gets the words after its name and returns an exit code
 * (exit.h). They print to standard output and standard error and read standard input. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

struct buf;

struct command {
    const char *name;
    const char *summary;
    int (*main)(int argc, char **argv);
    void (*help)(struct buf *out);
};

/* Finds the command and calls it. `argv[0]` is the program's name. */
int cli_main(int argc, char **argv);

int run_main(int argc, char **argv);
void run_help(struct buf *out);
int serve_main(int argc, char **argv);
void serve_help(struct buf *out);
int mcp_main(int argc, char **argv);
void mcp_help(struct buf *out);
int repl_main(int argc, char **argv);
void repl_help(struct buf *out);
int sessions_main(int argc, char **argv);
void sessions_help(struct buf *out);
int runs_main(int argc, char **argv);
void runs_help(struct buf *out);
int files_main(int argc, char **argv);
void files_help(struct buf *out);
int reproduce_main(int argc, char **argv);
void reproduce_help(struct buf *out);
int lock_main(int argc, char **argv);
void lock_help(struct buf *out);
int unlock_main(int argc, char **argv);
void unlock_help(struct buf *out);
int locks_main(int argc, char **argv);
void locks_help(struct buf *out);
int events_main(int argc, char **argv);
void events_help(struct buf *out);
int webhooks_main(int argc, char **argv);
void webhooks_help(struct buf *out);
int workspaces_main(int argc, char **argv);
void workspaces_help(struct buf *out);
int share_main(int argc, char **argv);
void share_help(struct buf *out);
int invite_main(int argc, char **argv);
void invite_help(struct buf *out);
int claim_main(int argc, char **argv);
void claim_help(struct buf *out);
int usage_main(int argc, char **argv);
void usage_help(struct buf *out);
int audit_main(int argc, char **argv);
int store_main(int argc, char **argv);
void audit_help(struct buf *out);
void store_help(struct buf *out);
int ask_main(int argc, char **argv);
void ask_help(struct buf *out);
int eval_main(int argc, char **argv);
void eval_help(struct buf *out);
int search_main(int argc, char **argv);
void search_help(struct buf *out);
int stats_main(int argc, char **argv);
void stats_help(struct buf *out);
int gc_main(int argc, char **argv);
void gc_help(struct buf *out);
int backup_main(int argc, char **argv);
void backup_help(struct buf *out);
int fsck_main(int argc, char **argv);
void fsck_help(struct buf *out);
int key_main(int argc, char **argv);
void key_help(struct buf *out);
int principal_main(int argc, char **argv);
void principal_help(struct buf *out);
int bake_main(int argc, char **argv);
void bake_help(struct buf *out);
int bench_main(int argc, char **argv);
void bench_help(struct buf *out);
int config_main(int argc, char **argv);
void config_help(struct buf *out);
int doctor_main(int argc, char **argv);
void doctor_help(struct buf *out);

/* Prints a help text to standard output; returns the exit code, as print_exit does. */
int print_help(void (*help)(struct buf *out));

/* All of it to standard output. Returns `code` when it is there, EXIT_NO_READER when nobody reads it, EXIT_NO_JAIL
 * when it could not be written, which it tells. */
int print_exit(const struct buf *text, int code);

/* All of it to standard output. Returns 0 or the errno. */
int print_out(const struct buf *text);

/* Tells what is wrong with the command line and where help is; returns the exit code. */
int usage_error(const char *command, const char *message);

const char *cli_version(void);

#endif
