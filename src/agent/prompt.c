#include "agent/prompt.h"

#include <stdlib.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/scope.h"

const char prompt_python_name[] = "python";

const char prompt_python_tool[] =
    "{\"name\":\"python\",\"description\":\"Runs Python code in an interpreter that keeps its "
    "variables from call to call, and returns what it printed, the value of its last line, or the "
    "traceback. Files are in /mnt/data, the working directory. No internet.\",\"parameters\":"
    "{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\",\"description\":\"Python "
    "code\"}},\"required\":[\"code\"],\"additionalProperties\":false}}";

static const char by_tool[] =
    "You can run Python code with the tool `python`. What the code printed and the value of its last line, or its "
    "traceback, come back to you.\n";

static const char by_fence[] =
    "You can run Python code. To run it, end your message with one block of it:\n"
    "```python\nprint(1 + 1)\n```\n"
    "and stop there: write nothing after the block, and do not make up its output. What the code printed and the value of its "
    "last line, or its traceback, are in the next message. Do this as often as you need. When you know the answer, "
    "give it in a message that has no block of Python.\n";

static const char rules[] =
    "- It is one interpreter that goes on: variables, imports and functions stay from call to call.\n"
    "- The working directory is /mnt/data; files of the user are there. There is no internet.\n"
    "- Print what you need to see. Figures of matplotlib are shown to the user.\n"
    "- When code fails, read the traceback, mend the code and run it again.\n"
    "- Compute instead of guessing: every number in your answer rests on output that you have seen. If something could not "
    "be computed, say so.\n"
    "- Save files for the user in /mnt/data and link them in the answer as [name](sandbox:/mnt/data/name).\n";

static void write_functions(const json_t *functions, struct buf *out)
{
    size_t i;
    json_t *one;
    if (json_array_size(functions) == 0)
        return;
    buf_str(out,
            "You can call functions. To call one, end your message with a block like this:\n"
            "```tool_call\n{\"name\": \"...\", \"arguments\": {...}}\n```\n"
            "and stop there; what comes of it is in the next message. The functions, with JSON "
            "schemas of their arguments:\n");
    json_array_foreach(functions, i, one)
    {
        scoped(freep) char *text = json_dumps(one, JSON_COMPACT);
        buf_fmt(out, "%s\n", text ? text : "");
    }
}

void prompt_write(const struct prompt *p, struct buf *out)
{
    if (p->has_python) {
        buf_str(out, p->is_fenced ? by_fence : by_tool);
        buf_str(out, rules);
        if (p->is_fenced && p->must_run)
            buf_str(out, "Your next message has to end with a block of Python.\n");
    }
    if (p->is_fenced)
        write_functions(p->functions, out);
    if (p->own && *p->own) {
        buf_str(out, out->len ? "\n" : "");
        buf_str(out, p->own);
    }
}
