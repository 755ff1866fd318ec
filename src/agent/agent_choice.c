/* agent_choice.c -- what may be called, what has to be, and who is meant. */
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "agent/agent_int.h"
#include "agent/prompt.h"

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static bool is(const json_t *object, const char *key, const char *value)
{
    return strcmp(text(object, key), value) == 0;
}

static const json_t *find_function(const struct agent_wishes *w, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(w->functions, i, one)
    {
        if (is(one, "name", name))
            return one;
    }
    return NULL;
}

static const struct agent_tool *find_tool(const struct agent_wishes *w, const char *name)
{
    for (size_t i = 0; i < w->tool_count; i++)
        if (strcmp(w->tools[i].name, name) == 0)
            return &w->tools[i];
    return NULL;
}

/* ---- the choice ---- */

static int read_word(const char *word, enum agent_mode *ret, struct err *e)
{
    static const char *const words[] = {"auto", "none", "required"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *ret = (enum agent_mode)i; /* they stand in this order */
            return 0;
        }
    return err_set(e, ERR_INVALID, "tool_choice: \"%.40s\" is none of auto, none, required", word);
}

static int read_named(const struct agent_wishes *w, const json_t *choice, struct agent_choice *ret,
                      struct err *e)
{
    bool is_code = is(choice, "type", "code_interpreter");
    const char *name = is_code ? prompt_python_name : text(choice, "name");
    if (is_code && !w->hands)
        return err_set(
            e, ERR_INVALID,
            "tool_choice: code_interpreter is chosen, but it is not among the tools; add it");
    if (!is_code && !find_function(w, name) && !find_tool(w, name))
        return err_set(e, ERR_INVALID,
                       "tool_choice: there is no function \"%.64s\" among the tools; add it", name);
    ret->mode = MODE_NAMED;
    ret->name = name;
    return 0;
}

int choice_read(const struct agent_wishes *w, struct agent_choice *ret, struct err *e)
{
    const json_t *choice = w->choice;
    *ret = (struct agent_choice){.mode = MODE_AUTO};
    if (w->hands && find_function(w, prompt_python_name))
        return err_set(e, ERR_INVALID,
                       "tools: a function cannot be called \"python\" while "
                       "code_interpreter is there; give it another name");
    if (!choice || json_is_null(choice))
        return 0;
    if (json_is_string(choice))
        return read_word(json_string_value(choice), &ret->mode, e);
    if (!is(choice, "type", "allowed_tools"))
        return read_named(w, choice, ret, e);
    ret->allowed = json_object_get(choice, "tools");
    return *text(choice, "mode") ? read_word(text(choice, "mode"), &ret->mode, e) : 0;
}

/* ---- what may be called ---- */

static bool is_allowed(const struct loop *l, const char *type, const char *name)
{
    size_t i;
    json_t *one;
    if (!l->choice.allowed)
        return true;
    json_array_foreach(l->choice.allowed, i, one)
    {
        if (is(one, "type", type) && (!name || is(one, "name", name)))
            return true;
    }
    return false;
}

bool choice_has_python(const struct loop *l)
{
    return l->w->hands && l->choice.mode != MODE_NONE &&
           is_allowed(l, "code_interpreter", /* name= */ NULL);
}

bool choice_allows(const struct loop *l, const char *function)
{
    return is_allowed(l, "function", function);
}

/* ---- who is meant ---- */

/* Names that models give to it out of habit. */
static bool is_like_python(const char *name)
{
    static const char *const names[] = {"python",       "code_interpreter", "python3",
                                        "ipython",      "run_python",       "execute_python",
                                        "execute_code", "run_code",         "python_interpreter"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

enum agent_target choice_target(const struct loop *l, const char *name,
                                const struct agent_tool **ret_tool)
{
    *ret_tool = find_tool(l->w, name);
    if (find_function(l->w, name))
        return TARGET_FUNCTION;
    if (*ret_tool)
        return TARGET_OURS;
    return choice_has_python(l) && is_like_python(name) ? TARGET_PYTHON : TARGET_UNKNOWN;
}
