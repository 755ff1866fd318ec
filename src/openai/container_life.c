#include "openai/container_life.h"

#include <jansson.h>
#include <string.h>

#include "base/err.h"

static const struct {
    const char *name;
    int64_t mb;
} sizes[] = {{"1g", 1 << 10}, {"4g", 4 << 10}, {"16g", 16 << 10}, {"64g", 64 << 10}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int plan_memory(const json_t *limit, int64_t max_mb, struct container_plan *plan,
                       struct err *e)
{
    const char *text = !limit || json_is_null(limit) ? sizes[0].name : json_string_value(limit);
    for (size_t i = 0; text && i < SIZES; i++)
        if (strcmp(text, sizes[i].name) == 0) {
            plan->memory_limit = sizes[i].name;
            plan->memory_mb = max_mb && sizes[i].mb > max_mb ? max_mb : sizes[i].mb;
            return 0;
        }
    return err_set(e, ERR_INVALID,
                   "Invalid value: '%.40s'. Supported values are: '1g', '4g', '16g', and '64g'.",
                   text ? text : "(not a string)");
}

static int plan_expiry(const json_t *after, struct container_plan *plan, const char **ret_param,
                       struct err *e)
{
    plan->minutes = CONTAINER_MINUTES;
    *ret_param = "expires_after";
    if (!after || json_is_null(after))
        return 0;
    if (!json_is_object(after))
        return err_set(e, ERR_INVALID, "Invalid type for 'expires_after': expected an object.");
    const char *anchor = json_string_value(json_object_get(after, "anchor"));
    const json_t *minutes = json_object_get(after, "minutes");
    *ret_param = "expires_after.anchor";
    if (!anchor || strcmp(anchor, "last_active_at") != 0)
        return err_set(e, ERR_INVALID, "Invalid 'expires_after.anchor': it is 'last_active_at'.");
    *ret_param = "expires_after.minutes";
    int64_t count = json_integer_value(minutes);
    if (!json_is_integer(minutes) || count < 1 || count > CONTAINER_MINUTES_MAX)
        return err_set(e, ERR_INVALID,
                       "Invalid 'expires_after.minutes': expected an integer from 1 to %d.",
                       CONTAINER_MINUTES_MAX);
    plan->minutes = count;
    return 0;
}

static int plan_network(const json_t *policy, const char **ret_param, struct err *e)
{
    *ret_param = "network_policy";
    if (!policy || json_is_null(policy))
        return 0;
    const char *type = json_string_value(json_object_get(policy, "type"));
    *ret_param = "network_policy.type";
    if (type && strcmp(type, "disabled") == 0)
        return 0;
    if (type && strcmp(type, "allowlist") == 0)
        return err_set(e, ERR_INVALID,
                       "Containers of this server have no network, so there is nothing to allow. "
                       "Leave out 'network_policy', or send {\"type\":\"disabled\"}.");
    return err_set(e, ERR_INVALID, "Invalid 'network_policy.type': it is 'disabled'.");
}

int container_plan(const struct json_t *memory_limit, const struct json_t *expires_after,
                   const struct json_t *network_policy, int64_t memory_max_mb,
                   struct container_plan *ret, const char **ret_param, struct err *e)
{
    *ret_param = "memory_limit";
    if (plan_memory(memory_limit, memory_max_mb, ret, e) ||
        plan_expiry(expires_after, ret, ret_param, e) || plan_network(network_policy, ret_param, e))
        return -1;
    *ret_param = NULL;
    return 0;
}

bool container_has_expired(int64_t used_us, int64_t minutes, bool is_strict, int64_t now_us)
{
    return is_strict && now_us - used_us >= minutes * 60 * 1000000;
}
