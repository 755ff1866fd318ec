/* Fuzzes what forms of OpenAI's clients call their files and fields: whatever a file is called becomes one component of a path that
 * the workspace takes, and doing it twice changes nothing more; a field's name is split in place or left alone. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openai/form.h"
#include "openai/names.h"
#include "workspace/files.h"
#include "workspace/paths.h"

#include "fuzz.h"

static void check_name(const char *raw)
{
    char name[NAME_SIZE], again[NAME_SIZE], path[PATH_BYTES_MAX + 1], clean[PATH_BYTES_MAX + 1];
    name_plain(raw, name);
    assert(*name && !strchr(name, '/') && strlen(name) <= COMPONENT_BYTES_MAX);
    (void)snprintf(path, sizeof path, "file-1/%s", name);
    assert(!path_wrong(path, clean) && strcmp(path, clean) == 0);
    name_plain(name, again); /* "%2522" is unescaped once more, which is a name as well */
    assert(*again);
}

static void check_field(const char *raw)
{
    char *name = strdup(raw);
    const char *member = NULL;
    assert(name);
    if (form_split(name, &member)) {
        assert(*name && !strchr(name, '['));
        assert(!member || (!strchr(member, '[') && !strchr(member, ']')));
        assert(strncmp(name, raw, strlen(name)) == 0);
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = calloc(1, len + 1);
    assert(text);
    if (len > 0)
        memcpy(text, bytes, len);
    check_name(text);
    check_field(text);
    free(text);
    return 0;
}
