"""Each behaviour that a simple re-implementation gets wrong (api-controllers.md 10) has a test that says so by name.

The table leads from an item to its tests. Items that vcray decides otherwise are tested as docs/differences.md has them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]

ITEMS: Final[dict[str, str]] = {
    "1": "controllers/test_job_core.py::test_pods_are_made_once_the_podgroup_is_admitted",
    "2": "controllers/test_job_subtleties.py::test_10_02_podgroup_keeps_the_status_it_is_made_with_and_has_no_status_to_patch",
    "3": "webhooks/test_jobs_defaults.py::test_a_zero_written_out_becomes_the_default",
    "4": "controllers/test_job_subtleties.py::test_10_04_schema_refuses_unlimited_restarts_and_0_is_3",
    "5": "controllers/test_job_policies.py::test_max_retry_n_gives_one_restart_less_and_ends_failed_through_restarting",
    "6": "controllers/test_job_subtleties.py::test_10_06_on_the_last_attempt_a_restart_keeps_pods_that_ended",
    "7": "controllers/test_job_core.py::test_completed_job_keeps_its_pods_but_neither_podgroup_nor_counters",
    "8": "controllers/test_job_core.py::test_first_write_of_completed_has_the_counters",
    "9": "controllers/test_job_subtleties.py::test_10_09_full_kills_move_the_version_targeted_ones_and_later_events_do_not",
    "10": "controllers/test_job_commands.py::test_scale_down_meets_a_policy_on_evictions",
    "11": "controllers/test_job_subtleties.py::test_10_11_pod_that_begins_to_run_masks_the_restarts_of_its_task",
    "12": "controllers/test_job_subtleties.py::test_10_12_exit_code_is_the_first_containers_and_matches_beside_another_event",
    "13": "controllers/test_job_policies.py::test_job_policy_answers_what_the_tasks_does_not",
    "14": "controllers/test_job_subtleties.py::test_10_14_any_event_is_none_of_these",
    "15": "controllers/test_job_subtleties.py::test_10_15_unknown_has_no_task_so_targeted_restarts_meet_no_pod",
    "16": "controllers/test_job_subtleties.py::test_10_16_delayed_action_meets_the_state_that_there_is_when_it_is_due",
    "17": "controllers/test_job_commands.py::test_resume_of_a_running_or_terminated_job_does_not_move_it",
    "18": "controllers/test_garbage.py::test_ended_job_goes_when_its_time_is_over_o_060",
    "19": "controllers/test_job_subtleties.py::test_10_19_any_counter_moves_the_time_of_the_last_change",
    "20": "controllers/test_job_subtleties.py::test_10_20_running_duration_comes_with_a_kill_and_goes_when_pods_are_counted_again",
    "21": "controllers/test_job_core.py::test_conditions_hold_each_phase_once_latest_last",
    "22": "controllers/test_job_subtleties.py::test_10_22_restart_needs_the_scheduler_to_let_the_new_group_in",
    "23": "controllers/test_job_subtleties.py::test_10_23_targeted_restart_makes_the_plugins_set_up_what_is_missing_again",
    "24": "controllers/test_job_subtleties.py::test_10_24_minimum_of_the_job_decides_how_minresources_are_summed",
    "25": "controllers/test_job_core.py::test_minimum_of_0_that_is_stated_counts",
    "26": "controllers/test_job_subtleties.py::test_10_26_job_that_fell_back_to_pending_is_set_up_again_without_harm",
    "27": "controllers/test_job_subtleties.py::test_10_27_dependency_that_fails_later_takes_nothing_down",
    "28": "controllers/test_job_subtleties.py::test_10_28_tasks_that_wait_for_others_count_in_the_gang",
    "29": "controllers/test_jobplugin_hcclrank.py::test_masters_come_first_then_workers_and_others_have_no_rank",
    "30": "controllers/test_jobplugins.py::test_arguments_are_read_up_to_the_first_that_does_not_fit",
    "31": "controllers/test_jobplugins.py::test_svc_dresses_pods_with_names_variables_and_the_mount",
    "32": "controllers/test_job_commands.py::test_command_is_deleted_before_it_acts_and_told",
    "33": "webhooks/test_job_updates.py::test_allowed_changes_pass",
    "34": "controllers/test_job_core.py::test_job_with_a_missing_queue_waits_and_runs_once_the_queue_is_there_o_069",
    "35": "controllers/test_podgroup.py::test_plain_pod_gets_a_group_of_its_own",
    "36": "controllers/test_podgroup.py::test_owner_annotations_set_the_minimum_and_are_inherited",
    "37": "controllers/test_podgroup.py::test_pods_of_one_controller_share_a_group_it_owns",
    "38": "controllers/test_queue.py::test_state_is_applied_to_the_status_alone_and_without_force",
    "39": "actors/test_admission.py::test_queue_and_its_job_may_come_in_one_file",
    "40": "cluster/admission/test_volcano.py::test_status_of_a_closing_queue_is_written_but_its_spec_is_not",
    "41": "controllers/test_queue.py::test_queue_waits_for_its_parent_to_exist",
    "42": "webhooks/test_queue_tree.py::test_device_that_the_parent_does_not_list_is_refused_even_at_zero",
    "43": "actors/test_admission.py::test_deletion_comes_without_an_object",
    "44": "controllers/test_queue.py::test_closing_queue_is_closed_when_its_last_group_goes_o_068",
    "45": "controllers/test_cronjob_events.py::test_forbid_starts_the_latest_missed_time_when_the_job_ends",
    "46": "controllers/test_jobflow.py::test_patch_and_probe_are_not_looked_at",
    "47": "controllers/test_hypernode_count.py::test_members_are_counted_once_each",
    "48": "controllers/test_job_subtleties.py::test_10_48_status_that_a_nodeshard_is_made_with_is_dropped",
    "49": "cluster/admission/test_volcano.py::test_job_is_given_its_defaults_but_not_in_system_namespaces",
    "50": "actors/test_admission_of_pods.py::test_outage_of_ours_stops_nobodys_pods",
    "51": "webhooks/test_jobs.py::test_problems_are_told_in_order_and_together",
    "52": "actors/test_controllerseries.py::test_a_job_that_completes_or_fails_counts_each_time_it_does_until_it_is_gone",
    "53": "controllers/test_job_subtleties.py::test_10_53_annotations_of_the_job_go_to_its_group_once_and_all",
    "54": "controllers/test_job_subtleties.py::test_10_54_priority_of_the_job_goes_to_pods_that_state_none_and_alone_to_the_group",
    "55": "controllers/test_queue.py::test_empty_queue_closes_at_once_and_opens_again",
    "56": "cli/test_vcctl_commands.py::test_job_view_shows_the_job_and_events_of_its_name",
    "57": "controllers/test_job_policies.py::test_timeouts_are_armed_again_after_a_restart_of_the_controller",
    "58": "controllers/test_job_core.py::test_job_made_again_waits_for_the_old_pods_names_o_057",
    "58b": "controllers/test_job_subtleties.py::test_10_58b_unknown_counts_only_before_the_first_full_kill",
    "58c": "controllers/test_jobflow.py::test_a_name_that_stands_twice_means_one_job_and_the_flow_ends_o_062",
    "58d": "webhooks/test_job_policies.py::test_first_fault_of_a_list_is_told_with_the_choices",
    "59": "controllers/test_partitions.py::test_pods_carry_the_number_of_their_partition",
    "60": "controllers/test_jobplugins.py::test_foreign_service_survives_the_job_o_063",
    "61": "controllers/test_jobplugins.py::test_objects_of_plugins_go_when_the_job_ends",
}

PARTS: Final = {
    "phases that a watch shows": "conformance/test_phase_sequences.py::test_watch_shows_the_phases_of_every_case",
    "figures of the controllers": "actors/test_controllerseries.py::test_a_pod_that_is_made_tells_how_long_after_its_job",
}
"""The two tables that the section ends with."""

NUMBERS: Final = [*(str(number) for number in range(1, 59)), "58b", "58c", "58d", "59", "60", "61"]


def says(item: str) -> re.Pattern[str]:
    """How a test says that it is an item's: in its name, or in its docstring as 10.item."""
    return re.compile(rf"test_10_{item.rjust(2, '0')}_|\b10\.{item}\b")


def test_every_item_has_its_place() -> None:
    assert list(ITEMS) == NUMBERS


def function_at(place: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The one function of a module, `file::name`."""
    file, name = place.split("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    (found,) = [node for node in functions if node.name == name]
    return found


@pytest.mark.parametrize("place", PARTS.values(), ids=PARTS)
def test_tables_of_the_section_have_a_test(place: str) -> None:
    assert "api-controllers.md 10." in (ast.get_docstring(function_at(place)) or "")


@pytest.mark.parametrize("item", ITEMS)
def test_item_has_a_test_that_says_so(item: str) -> None:
    found = function_at(ITEMS[item])

    assert says(item).search(f"{found.name} {ast.get_docstring(found) or ''}"), ITEMS[item]
