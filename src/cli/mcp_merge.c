#include "cli/mcp_merge.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/pick.h"

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

static int read_config(const char *text, size_t len, json_t **ret, struct err *e)
{
    json_error_t why;
    if (is_blank(text, len)) {
        *ret = json_object();
        return *ret ? 0 : err_set(e, ERR_NO_MEMORY, "make a configuration");
    }
    *ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!*ret)
        return err_set(
            e, ERR_INVALID,
            "it is not plain JSON (line %d: %.100s); put it right, or add by hand what is "
            "printed without --write",
            why.line, why.text);
    if (!json_is_object(*ret))
        return err_set(e, ERR_INVALID, "it is JSON, but not an object");
    return 0;
}

/* The object or array of that name, made if it is not there. Borrowed. */
static json_t *part(json_t *config, const char *name, json_t *(*make)(void), struct err *e)
{
    json_t *found = json_object_get(config, name), *made = NULL;
    if (!found && (!(made = make()) || json_object_set_new(config, name, made))) {
        (void)err_set(e, ERR_NO_MEMORY, "make a configuration");
        return NULL;
    }
    return found ? found : made;
}

static int add_inputs(json_t *config, const json_t *inputs, bool *is_new, struct err *e)
{
    json_t *all = part(config, "inputs", json_array, e);
    if (!json_is_array(all))
        return all ? err_set(e, ERR_INVALID, "`inputs` in it is not an array") : -1;
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        json_t *one = json_array_get(inputs, i);
        bool has_it = false;
        for (size_t k = 0; k < json_array_size(all) && !has_it; k++)
            has_it = strcmp(pick_text(json_array_get(all, k), "id"), pick_text(one, "id")) == 0;
        if (has_it)
            continue;
        *is_new = true;
        if (json_array_append(all, one))
            return err_set(e, ERR_NO_MEMORY, "make a configuration");
    }
    return 0;
}

int mcp_merge(const char *text, size_t len, const char *member, const char *name,
              struct json_t *entry, struct json_t *inputs, struct buf *out, bool *ret_is_new,
              struct err *e)
{
    scoped(json_decrefp) json_t *config = NULL;
    scoped(freep) char *dump = NULL;
    bool is_new = false;
    if (read_config(text, len, &config, e) || (inputs && add_inputs(config, inputs, &is_new, e)))
        return -1;
    json_t *servers = part(config, member, json_object, e);
    if (!json_is_object(servers))
        return servers ? err_set(e, ERR_INVALID, "`%s` in it is not an object", member) : -1;
    const json_t *old = json_object_get(servers, name);
    is_new = is_new || !old || !json_equal(old, entry);
    if (json_object_set(servers, name, entry) ||
        !(dump = json_dumps(config, JSON_INDENT(2) | JSON_REAL_PRECISION(17))))
        return err_set(e, ERR_NO_MEMORY, "make a configuration");
    buf_str(out, dump);
    buf_str(out, "\n");
    *ret_is_new = is_new;
    return buf_check(out, e);
}

/* Whether a line of the text is this one. */
static bool has_line(const char *text, const char *line, size_t len)
{
    for (const char *at = text; (at = strstr(at, line)); at += len)
        if ((at == text || at[-1] == '\n') && (!at[len] || strchr(" \t\r\n#", at[len])))
            return true;
    return false;
}

int mcp_merge_toml(const char *text, size_t len, const char *table, struct buf *out,
                   bool *ret_is_new, struct err *e)
{
    scoped(freep) char *whole = strndup(text, len), *head = strndup(table, strcspn(table, "\n"));
    if (!whole || !head)
        return err_set(e, ERR_NO_MEMORY, "make a configuration");
    *ret_is_new = !strstr(whole, table);
    if (*ret_is_new && has_line(whole, head, strlen(head)))
        return err_set(e, ERR_CONFLICT,
                       "it has another %s; change it by hand to what is printed without --write",
                       head);
    buf_add(out, text, len);
    if (*ret_is_new) {
        buf_str(out, len == 0 ? "" : text[len - 1] == '\n' ? "\n" : "\n\n");
        buf_str(out, table);
    }
    return buf_check(out, e);
}
