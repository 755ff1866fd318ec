/* The contract about webhooks on SQLite. */
#include "store/meta_contract_webhooks.h"
#include "store/meta_sqlite.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        WEBHOOKS_CONTRACT,
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
