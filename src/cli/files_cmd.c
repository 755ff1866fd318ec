/* `cicada files`: the files of a workspace, by hand. */
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/files_int.h"

/* clang-format off */
static const struct verb verbs[] = {
    {"ls", "[PATH|PATTERN...]", 0, VERB_OPERANDS_MAX, files_ls_options, "list files and directories", files_ls},
    {"get", "PATH|PATTERN... [-o DEST]", 1, VERB_OPERANDS_MAX, files_get_options, "fetch files; goes on with what it began", files_get},
    {"put", "FILE|DIR|-... [-t PATH]", 1, VERB_OPERANDS_MAX, files_put_options, "store files; goes on with what it began", files_put},
    {"cat", "PATH...", 1, VERB_OPERANDS_MAX, files_cat_options, "print files to standard output", files_cat},
    {"rm", "PATH|PATTERN...", 1, VERB_OPERANDS_MAX, files_rm_options, "move files to the trash", files_rm},
    {"mv", "FROM... TO", 2, VERB_OPERANDS_MAX, files_mv_options, "move or rename; the versions go along", files_mv},
    {"cp", "FROM... TO", 2, VERB_OPERANDS_MAX, files_cp_options, "copy, within the workspace", files_cp},
    {"mkdir", "PATH...", 1, VERB_OPERANDS_MAX, files_mkdir_options, "make directories, also above it", files_mkdir},
    {"history", "PATH", 1, 1, files_history_options, "list the versions of a file, newest first", files_history},
    {"diff", "PATH [FROM [TO]]", 1, 3, files_diff_options, "what changed between two versions", verb_file_diff},
    {"why", "PATH", 1, 1, files_why_options, "where a file comes from: runs, and what they read", files_why},
    {"reproduce", "PATH", 1, 1, files_reproduce_options, "make a file once more: is it the same?", files_reproduce},
    {"restore", "PATH...", 1, VERB_OPERANDS_MAX, files_restore_options, "from the trash, or an old version", files_restore},
    {"trash", "[ls|restore NAME...|empty]", 0, VERB_OPERANDS_MAX, files_trash_options, "what was removed", files_trash},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "files",
    .about =
        "The files of a workspace: what code sees as /mnt/data. Every change makes a version,\n"
        "and what is removed goes to the trash. A PATH is relative to the workspace; a PATTERN\n"
        "has * and ? within a name, ** across directories, [a-z]; quote it. -w NAME is another\n"
        "workspace than your default one.",
    .verbs = verbs,
    .examples = "  cicada files put data.csv plots/ -t input/\n"
                "  cicada files ls -l 'input/**/*.csv'\n"
                "  cicada files get report.pdf\n"
                "  pg_dump db | cicada files put - -t dump.sql\n"
                "  cicada files history report.pdf\n"
                "  cicada files why chart.png\n"
                "  cicada files restore report.pdf --version 3\n"};

int files_main(int argc, char **argv)
{
    return verbs_main(&command, argc, argv);
}

void files_help(struct buf *out)
{
    verbs_help(&command, out);
}
