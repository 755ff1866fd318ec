/* `cicada reproduce`, also a verb of `cicada files`: makes a file once more, elsewhere, and says whether it comes
 * out the same. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "json/write.h"

enum { WAIT_S = 1000, ARGS_MAX = 64, TEXT_MAX = 1 << 20 };

/* clang-format off */
const struct option files_reproduce_options[] = {
    {FILES_VERSION, 'v', "version", "N", "this version (the newest)"},
    {FILES_LATEST, 0, "latest-inputs", NULL, "from its inputs as they are today, over all runs in between"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
/* clang-format on */

static int ask(struct remote *r, const struct verb_input *in, json_t **ret, struct err *e)
{
    char path[FILEREF_SIZE];
    unsigned long long version;
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(FILES_BODY_MAX);
    struct json_writer w = JSON_WRITER(&body);
    if (fileref_clean(in->operands[0], path, /* ret_is_dir= */ NULL, e) ||
        files_version(in, &version, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "path");
    jw_text(&w, path);
    jw_key(&w, "inputs");
    jw_text(&w, in->values[FILES_LATEST] ? "latest" : "recorded");
    if (version) {
        jw_key(&w, "version");
        jw_u64(&w, version);
    }
    jw_end_object(&w);
    workspace_url(verb_workspace(in), "reproduce", &url);
    const struct call call = {.path = url.bytes, .body = &body, .timeout_s = WAIT_S};
    return buf_check(&url, e) || buf_check(&body, e) ? -1 : client_call(r->client, &call, ret, e);
}

/* Inputs that are others by now: what was made from them may be out of date. */
static void tell_changed(struct remote *r, const json_t *answer)
{
    const json_t *inputs = json_object_get(answer, "inputs");
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *one = json_array_get(inputs, i);
        uint64_t version = pick_count(one, "version"), newest = pick_count(one, "newest_version");
        if (newest == 0)
            note(&r->notes, "%s was read in version %" PRIu64 " and is gone by now",
                 pick_text(one, "path"), version);
        else if (newest != version)
            note(&r->notes,
                 "%s was read in version %" PRIu64 " and has version %" PRIu64
                 " by now; --latest-inputs uses that",
                 pick_text(one, "path"), version, newest);
    }
}

static int tell(struct remote *r, const json_t *answer)
{
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    const char *result = pick_text(answer, "result"), *detail = pick_text(answer, "detail");
    const char *traceback = pick_text(json_object_get(answer, "error"), "traceback");
    bool is_same = strcmp(result, "same") == 0;
    buf_fmt(&text, "%s: ", result);
    printable(detail, strlen(detail), &text);
    buf_str(&text, "\n");
    for (const char *at = traceback; *at;) {
        size_t len = strcspn(at, "\n");
        printable(at, len, &text);
        buf_str(&text, "\n");
        at += len + (at[len] == '\n');
    }
    int code = verb_print_text(&text);
    tell_changed(r, answer);
    if (!pick_is_true(answer, "complete"))
        note(&r->notes, "what the runs read is not all known: something may have been missing");
    return code != EXIT_DONE ? code : is_same ? EXIT_DONE : EXIT_ERROR;
}

int files_reproduce(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *answer = NULL;
    if (ask(r, in, &answer, e))
        return -1;
    if (!verb_is_json(in))
        return tell(r, answer);
    int code = verb_print(in, answer);
    bool is_same = strcmp(pick_text(answer, "result"), "same") == 0;
    return code == EXIT_DONE && !is_same ? EXIT_ERROR : code;
}

int reproduce_main(int argc, char **argv)
{
    static char verb[] = "reproduce";
    char *words[ARGS_MAX + 1] = {verb};
    if (argc > ARGS_MAX)
        return usage_error("reproduce", "too many words");
    for (int i = 0; i < argc; i++)
        words[i + 1] = argv[i];
    return files_main(argc + 1, words);
}

void reproduce_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada reproduce PATH [--version N] [--latest-inputs] [-w NAME] [--json]\n\n"
        "Repeats the run that made a file, in a fresh session and a workspace of its own with\n"
        "nothing but what the run read, and says whether the file comes out the same: byte by\n"
        "byte, or its pixels or values within a tolerance. Nobody's files are changed. The exit\n"
        "status is 0 for the same, 1 for different and failed.\n\n");
    args_help(files_reproduce_options, out);
    buf_str(out, "\nexamples:\n"
                 "  cicada reproduce chart.png\n"
                 "  cicada reproduce chart.png --latest-inputs    # is it up to date?\n");
}
