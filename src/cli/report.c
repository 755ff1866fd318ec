#include "cli/report.h"

#include "base/buf.h"
#include "base/err.h"
#include "service/object.h"
#include "session/run.h"
#include "json/write.h"

void report_run(const struct report *r, const struct run *run, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    const struct run_card card = {.id = r->id,
                                  .session_id = r->session_id,
                                  .tier = r->tier,
                                  .language = run_language_name(run->language)};
    object_run(&w, &card, run);
    jw_finish(&w);
    buf_str(out, "\n");
}

static void put_field(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

void report_failure(const struct err *failure, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    put_field(&w, "code", err_wire(failure->code));
    put_field(&w, "message", failure->text);
    put_field(&w, "hint", "The code was not run. `cicada doctor` says what this host can do.");
    jw_end_object(&w);
    jw_end_object(&w);
    jw_finish(&w);
    buf_str(out, "\n");
}
