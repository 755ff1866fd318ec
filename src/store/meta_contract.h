/* meta_contract.h -- what an implementation of meta.h has to do, as tests.
 *
 * A test program defines the functions of meta_fixture.h, includes this, and runs META_CONTRACT.
 * Each test begins with an empty store.
 */
#ifndef STORE_META_CONTRACT_H
#define STORE_META_CONTRACT_H

#include "store/meta_contract_history.h"
#include "store/meta_contract_members.h"
#include "store/meta_contract_people.h"
#include "store/meta_contract_runs.h"
#include "store/meta_contract_sessions.h"

#define META_CONTRACT                                                                  \
    cmocka_unit_test(a_principal_comes_back_as_it_went_in_with_its_workspace),         \
        cmocka_unit_test(an_external_name_is_unique_per_parent),                       \
        cmocka_unit_test(a_setting_is_what_it_was_set_to_last),                        \
        cmocka_unit_test(a_workspace_needs_an_owner),                                  \
        cmocka_unit_test(a_member_comes_back_and_has_the_role_that_was_set_last),      \
        cmocka_unit_test(members_are_principals_and_not_the_owner_and_not_too_many),   \
        cmocka_unit_test(workspaces_are_listed_for_owners_and_members_page_by_page),   \
        cmocka_unit_test(a_workspace_that_is_deleted_loses_its_members),               \
        cmocka_unit_test(a_key_is_kept_used_and_revoked_once),                         \
        cmocka_unit_test(usage_adds_up_per_key_and_day),                               \
        cmocka_unit_test(a_session_comes_back_as_it_went_in),                          \
        cmocka_unit_test(a_name_is_unique_among_the_open_sessions_of_a_principal),     \
        cmocka_unit_test(no_more_sessions_are_open_than_may_be),                       \
        cmocka_unit_test(a_session_is_closed_once_and_stays_as_it_was),                \
        cmocka_unit_test(what_is_written_soon_is_there_after_settling),                \
        cmocka_unit_test(sessions_are_listed_by_any_filter),                           \
        cmocka_unit_test(pages_are_stable_while_rows_are_added),                       \
        cmocka_unit_test(a_page_of_exactly_the_limit_has_no_more),                     \
        cmocka_unit_test(a_run_comes_back_as_it_went_in),                              \
        cmocka_unit_test(runs_are_listed_by_any_filter),                               \
        cmocka_unit_test(a_restart_ends_the_runs_that_were_under_way),                 \
        cmocka_unit_test(a_run_begins_with_the_state_of_the_one_before),               \
        cmocka_unit_test(a_rollback_marks_runs_and_goes_back_to_the_state_before),     \
        cmocka_unit_test(runs_of_an_earlier_life_are_not_undone),                      \
        cmocka_unit_test(what_a_killed_server_left_is_undone_with_what_was_before_it), \
        cmocka_unit_test(a_rollback_that_was_not_marked_is_seen_by_the_next_run),      \
        cmocka_unit_test(a_fork_begins_with_the_state_its_parent_has),                 \
        cmocka_unit_test(an_idempotency_key_belongs_to_the_first_who_takes_it),        \
        cmocka_unit_test(what_failed_may_be_tried_again_with_the_same_key),            \
        cmocka_unit_test(old_rows_are_forgotten_step_by_step)

#endif
