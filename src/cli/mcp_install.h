/* mcp_install.h -- what belongs into the configuration of an MCP client, printed or put there. */
#ifndef CLI_MCP_INSTALL_H
#define CLI_MCP_INSTALL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct buf;
struct err;
struct json_t;

struct mcp_install {
    const char *client;    /* NULL: list them */
    const char *url;       /* of a server elsewhere; NULL: the client starts `cicada mcp` */
    const char *workspace; /* NULL: the default one */
    const char *profile;   /* NULL: the preset one */
    bool is_write;
};

/* Returns an exit code. */
int mcp_install_main(const struct mcp_install *in);

/* ---- mcp_clients.c: what each client wants to read ---- */

/* What is to be said, in whatever form. */
struct mcp_setup {
    const char *program; /* path of this one */
    const char *words;   /* of its command line, as a JSON array: ["mcp"] */
    const char *base;    /* of a server elsewhere, without /mcp; NULL: none */
    const char *url;     /* of its /mcp */
    const char *key;     /* that goes into a file with it; NULL: a word that says so */
};

enum mcp_form {
    MCP_FORM_JSON, /* an object below `member`: can be written */
    MCP_FORM_TOML, /* a table: can be appended */
    MCP_FORM_TEXT, /* code or another language: only printed */
};

struct mcp_client {
    const char *name, *title;
    enum mcp_form form;
    const char *file;   /* "~/..." or below the current directory; NULL: none */
    const char *member; /* MCP_FORM_JSON: of the file, that holds the servers */
    const char *also;   /* what else can be done, for people; NULL: nothing */
    /* MCP_FORM_JSON: the entry, owned by the caller; NULL: no memory. */
    struct json_t *(*entry)(const struct mcp_setup *s);
    /* The others: the text. */
    void (*text)(const struct mcp_setup *s, struct buf *out);
};

extern const struct mcp_client mcp_clients[];
extern const size_t mcp_client_count;

/* What of a file besides `member` a client needs, or NULL; owned. */
struct json_t *mcp_client_inputs(const struct mcp_client *c, const struct mcp_setup *s);

/* ---- mcp_install_file.c: configuration files of clients ---- */

/* The path of `file`, with "~" and $XDG_CONFIG_HOME filled in; a link is followed. */
int install_find(const char *file, char ret[PATH_MAX], struct err *e);
/* What is there; *ret_mode is 0 if there is nothing. */
int install_read(const char *path, struct buf *ret, mode_t *ret_mode, struct err *e);
/* To path + suffix, under another name first: whoever reads it sees the old or the new, and never half
 * of it. Directories above it are made. */
int install_write(const char *path, const char *suffix, const struct buf *text, mode_t mode,
                  struct err *e);

#endif
