/* The contract about cards on SQLite. */
#include "store/meta_contract_cards.h"
#include "store/meta_sqlite.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        CARDS_CONTRACT,
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
