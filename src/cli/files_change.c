/* `cicada files rm`, `mv`, `cp` and `mkdir`. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "json/write.h"

/* clang-format off */
const struct option files_rm_options[] = {
    {FILES_DEEP, 'r', "recursive", NULL, "also directories, with everything in them"},
    VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};
const struct option files_mv_options[] = {
    {FILES_FORCE, 'f', "force", NULL, "replace a file that is there; its versions are kept"},
    VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};
const struct option files_cp_options[] = {
    {FILES_FORCE, 'f', "force", NULL, "replace a file that is there; its versions are kept"},
    {FILES_VERSION, 'v', "version", "N", "copy this version, not the newest"},
    VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};
const struct option files_mkdir_options[] = {VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};
/* clang-format on */

static int delete (struct remote *r, const char *workspace, const char *path, bool is_deep,
                   struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    fileref_url(workspace, path, is_deep ? "recursive=true" : "", &url);
    const struct call call = {.method = "DELETE", .path = url.bytes};
    return buf_check(&url, e) ? -1 : client_call(r->client, &call, /* ret= */ NULL, e);
}

/* Removes what fits, file by file. */
static int rm_fitting(struct remote *r, const struct verb_input *in, const char *path,
                      struct err *e)
{
    scoped(found_done) struct found found = {0};
    char flag[96];
    if (files_find(r, verb_workspace(in), path, &found, e))
        return -1;
    size_t count = json_array_size(found.files);
    for (size_t i = 0; i < count; i++)
        if (delete (r, verb_workspace(in), pick_text(json_array_get(found.files, i), "path"),
                    /* is_deep= */ false, e))
            return -1;
    note(&r->notes, "moved %zu file%s to the trash; `cicada files trash%s` lists them", count,
         count == 1 ? "" : "s", files_flag(in, flag));
    return 0;
}

static int rm_one(struct remote *r, const struct verb_input *in, const char *word, struct err *e)
{
    char path[FILEREF_SIZE], flag[96];
    scoped(json_decrefp) json_t *file = NULL;
    struct err missing = {0};
    bool is_deep = in->values[FILES_DEEP];
    if (fileref_clean(word, path, /* ret_is_dir= */ NULL, e))
        return -1;
    if (!*path)
        return err_set(e, ERR_INVALID,
                       "name what to remove; a workspace as a whole goes with "
                       "`cicada workspaces rm`");
    if (verb_file_stat(r, verb_workspace(in), path, /* version= */ 0, &file, &missing)) {
        if (missing.code == ERR_NOT_FOUND && fileref_is_pattern(path))
            return rm_fitting(r, in, path, e);
        *e = missing;
        return -1;
    }
    bool is_directory = file_is_directory(file);
    if (is_directory && !is_deep)
        return err_set(e, ERR_INVALID, "%.150s is a directory; -r removes it with everything in it",
                       path);
    if (delete (r, verb_workspace(in), path, is_directory, e))
        return -1;
    if (is_directory)
        note(&r->notes, "moved all of %s to the trash; `cicada files trash%s` lists it", path,
             files_flag(in, flag));
    else
        note(&r->notes, "moved %s to the trash; `cicada files restore%s %s` brings it back", path,
             files_flag(in, flag), path);
    return 0;
}

int files_rm(struct remote *r, const struct verb_input *in, struct err *e)
{
    for (size_t i = 0; i < in->operand_count; i++)
        if (rm_one(r, in, in->operands[i], e))
            return -1;
    return EXIT_DONE;
}

/* Where the last operand leads: *ret_is_dir if what comes there keeps its name. */
static int find_target(struct remote *r, const struct verb_input *in, char ret[FILEREF_SIZE],
                       bool *ret_is_dir, struct err *e)
{
    scoped(json_decrefp) json_t *there = NULL;
    struct err ignored = {0};
    if (fileref_clean(in->operands[in->operand_count - 1], ret, ret_is_dir, e))
        return -1;
    if (!*ret_is_dir &&
        verb_file_stat(r, verb_workspace(in), ret, /* version= */ 0, &there, &ignored) == 0)
        *ret_is_dir = file_is_directory(there);
    if (!*ret_is_dir && in->operand_count > 2)
        return err_set(e, ERR_INVALID,
                       "%.150s is no directory; several things go to one, written %.150s/", ret,
                       ret);
    return 0;
}

static void put_request(const char *from, const char *to, unsigned long long version,
                        bool is_forced, struct buf *body)
{
    struct json_writer w = JSON_WRITER(body);
    jw_object(&w);
    jw_key(&w, "from");
    jw_text(&w, from);
    jw_key(&w, "to");
    jw_text(&w, to);
    if (version) {
        jw_key(&w, "version");
        jw_u64(&w, version);
    }
    if (is_forced) {
        jw_key(&w, "overwrite");
        jw_bool(&w, true);
    }
    jw_end_object(&w);
    jw_finish(&w);
}

struct relocation {
    const char *door, *done;
    unsigned long long version;
};

static int relocate_one(struct remote *r, const struct verb_input *in, const char *word,
                        const char *target, bool is_dir, const struct relocation *how,
                        struct err *e)
{
    char from[FILEREF_SIZE], to[FILEREF_SIZE];
    scoped(buf_done) struct buf body = BUF_INIT(FILES_BODY_MAX);
    scoped(json_decrefp) json_t *file = NULL;
    if (fileref_clean(word, from, /* ret_is_dir= */ NULL, e) ||
        fileref_join(target, is_dir ? fileref_base(from) : "", to, e))
        return -1;
    put_request(from, to, how->version, in->values[FILES_FORCE], &body);
    if (files_post(r, verb_workspace(in), how->door, &body, &file, e)) {
        if (e->code == ERR_CONFLICT && !in->values[FILES_FORCE])
            note(&r->notes, "--force replaces what is there; its versions are kept");
        return -1;
    }
    if (verb_is_json(in))
        return verb_print(in, file);
    note(&r->notes, "%s %s to %s", how->done, from, to);
    return EXIT_DONE;
}

static int relocate(struct remote *r, const struct verb_input *in, const struct relocation *how,
                    struct err *e)
{
    char target[FILEREF_SIZE];
    bool is_dir;
    int code = EXIT_DONE;
    if (find_target(r, in, target, &is_dir, e))
        return -1;
    for (size_t i = 0; code == EXIT_DONE && i + 1 < in->operand_count; i++)
        code = relocate_one(r, in, in->operands[i], target, is_dir, how, e);
    return code;
}

int files_mv(struct remote *r, const struct verb_input *in, struct err *e)
{
    return relocate(r, in, &(struct relocation){"move", "moved", 0}, e);
}

int files_cp(struct remote *r, const struct verb_input *in, struct err *e)
{
    struct relocation how = {"copy", "copied", 0};
    if (files_version(in, &how.version, e))
        return -1;
    return relocate(r, in, &how, e);
}

int files_mkdir(struct remote *r, const struct verb_input *in, struct err *e)
{
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < in->operand_count; i++) {
        char path[FILEREF_SIZE];
        scoped(buf_done) struct buf body = BUF_INIT(FILES_BODY_MAX);
        scoped(json_decrefp) json_t *made = NULL;
        if (fileref_clean(in->operands[i], path, /* ret_is_dir= */ NULL, e))
            return -1;
        verb_put_one("path", path, &body);
        if (files_post(r, verb_workspace(in), "mkdir", &body, &made, e))
            return -1;
        if (verb_is_json(in))
            code = verb_print(in, made);
        else
            note(&r->notes, "made the directory %s", path);
    }
    return code;
}
