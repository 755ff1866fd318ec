/* reproduce_step.c -- one run made again, and whether it ended as it had. */
#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "service/reproduce_int.h"

int place_repeat(struct place *p, const struct plan *plan, struct step *step, json_t **ret,
                 struct err *e)
{
    struct seat *seat;
    enum run_language language = LANGUAGE_PYTHON;
    scoped(run_row_done) struct run_row whole = {0};
    if (step->run.language && run_language_parse(step->run.language, &language, e))
        return -1;
    if (meta_run_code(p->service->o.meta, step->run.id, CODE_MAX, &whole, e))
        return -1;
    const struct repeat_code code = {.code = whole.code ? whole.code : "",
                                     .code_len = whole.code ? whole.code_len : 0,
                                     .language = language,
                                     .name = whole.name};
    return place_prepare(p, plan, step, e) || place_seat(p, step, &seat, e) ||
                   place_run(p, seat, &code, step->repeated_as, ret, e)
               ? -1
               : 0;
}

bool step_went_well(const struct step *step, const json_t *run)
{
    const char *end = json_string_value(json_object_get(run, "end"));
    bool was_fine = step->run.end && strcmp(step->run.end, "ok") == 0;
    bool is_fine = end && strcmp(end, "ok") == 0;
    bool is_raised = end && strcmp(end, "error") == 0;
    return is_fine || (!was_fine && is_raised);
}
