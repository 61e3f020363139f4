"""Kubernetes' own Jobs, by kube-controller-manager and by the embedded cluster's controllers."""

from typing import Any

import pytest

from tests.conformance.workloads.playground import Object, Playground, template

TRACKING = "batch.kubernetes.io/job-tracking"


def job(play: Playground, command: str, policy: str = "Never", **spec: Any) -> Object:
    return play.create(
        "jobs", "work", {"template": template(command, policy=policy, image="busybox"), **spec}
    )


def end(play: Playground, kind: str) -> Object:
    """Wait for the end of the job; returns its status."""
    play.wait_condition("jobs", "work", kind)
    status: Object = play.get("jobs", "work")["status"]
    return status


def test_job_makes_pods_until_it_has_its_completions(play: Playground) -> None:
    job(play, "exit 0", completions=3, parallelism=2)

    status = end(play, "Complete")

    kinds = [each["type"] for each in status["conditions"] if each["status"] == "True"]
    assert kinds == ["SuccessCriteriaMet", "Complete"]
    complete = play.condition("jobs", "work", "Complete")
    assert complete["reason"] == "CompletionsReached"
    assert complete["message"] == "Reached expected number of succeeded pods"
    assert status["succeeded"] == 3
    assert status["completionTime"]
    assert not status.get("active")
    assert status["uncountedTerminatedPods"] == {}
    pods = play.items("pods")
    assert len(pods) == 3
    play.wait(lambda: not any(p["metadata"].get("finalizers") for p in play.items("pods")), "free pods")
    play.wait(lambda: "Completed" in play.reasons("work"), "the event")


def test_pods_are_held_by_a_finalizer_and_labelled_with_their_job(play: Playground) -> None:
    made = job(play, "sleep 100")

    play.wait_status("jobs", "work", active=1, ready=1)
    [pod] = play.pods()

    assert pod["metadata"]["finalizers"] == [TRACKING]
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "work"
    assert pod["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] == made["metadata"]["uid"]


def test_job_fails_beyond_its_backoff_limit(play: Playground) -> None:
    job(play, "exit 1", backoffLimit=0)

    status = end(play, "Failed")

    failed = play.condition("jobs", "work", "Failed")
    assert failed["reason"] == "BackoffLimitExceeded"
    assert failed["message"] == "Job has reached the specified backoff limit"
    assert play.condition("jobs", "work", "FailureTarget")["status"] == "True"
    assert status["failed"] == 1
    play.wait(lambda: "BackoffLimitExceeded" in play.reasons("work"), "the event")


def test_containers_that_restart_too_often_fail_the_job(play: Playground) -> None:
    job(play, "exit 1", policy="OnFailure", backoffLimit=1)

    end(play, "Failed")

    assert play.condition("jobs", "work", "Failed")["reason"] == "BackoffLimitExceeded"


def test_job_that_is_active_for_too_long_fails_when_its_pods_are_gone(play: Playground) -> None:
    job(play, "sleep 100", activeDeadlineSeconds=1)

    status = end(play, "Failed")

    assert play.condition("jobs", "work", "Failed")["reason"] == "DeadlineExceeded"
    assert (status.get("active"), status.get("terminating")) == (None, 0)
    play.wait(lambda: not play.pods("Running"), "no running pods")


def test_suspended_job_has_no_pods_and_starts_anew_when_it_is_resumed(play: Playground) -> None:
    job(play, "sleep 100")
    play.wait_status("jobs", "work", ready=1)

    play.patch("jobs", "work", {"spec": {"suspend": True}})

    suspended = play.wait_condition("jobs", "work", "Suspended")
    play.wait(lambda: not play.items("pods"), "the pods to go")
    assert (suspended["reason"], suspended["message"]) == ("JobSuspended", "Job suspended")
    assert not play.get("jobs", "work")["status"].get("failed")
    play.patch("jobs", "work", {"spec": {"suspend": False}})
    resumed = play.wait_condition("jobs", "work", "Suspended", "False")
    assert resumed["reason"] == "JobResumed"
    play.wait_status("jobs", "work", ready=1)


def test_indexed_job_numbers_its_pods(play: Playground) -> None:
    job(play, "exit 0", completions=3, parallelism=3, completionMode="Indexed")

    status = end(play, "Complete")

    assert status["completedIndexes"] == "0-2"
    by_index = {
        p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: p
        for p in play.items("pods")
    }
    assert sorted(by_index) == ["0", "1", "2"]
    pod = by_index["1"]
    assert pod["spec"]["hostname"] == "work-1"
    assert pod["metadata"]["generateName"] == "work-1-"
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "1"
    [variable] = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    path = variable["valueFrom"]["fieldRef"]["fieldPath"]
    assert path == "metadata.labels['batch.kubernetes.io/job-completion-index']"


def test_failures_of_one_index_do_not_end_the_others(play: Playground) -> None:
    script = '[ "$JOB_COMPLETION_INDEX" = 1 ] && exit 1; exit 0'
    job(play, script, completions=3, parallelism=1, completionMode="Indexed", backoffLimitPerIndex=0)

    status = end(play, "Failed")

    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1")
    assert play.condition("jobs", "work", "Failed")["reason"] == "FailedIndexes"


def indexes(play: Playground, phase: str = "") -> list[str]:
    """The completion indexes of pods that are not being deleted."""
    name = "batch.kubernetes.io/job-completion-index"
    return sorted(pod["metadata"]["annotations"][name] for pod in play.pods(phase))


def test_indexed_job_grows_and_shrinks_with_its_parallelism(play: Playground) -> None:
    script = '[ "$JOB_COMPLETION_INDEX" = 2 ] && exit 0; sleep 100'
    job(play, script, completions=2, parallelism=2, completionMode="Indexed")
    play.wait_status("jobs", "work", ready=2)

    play.patch("jobs", "work", {"spec": {"completions": 4, "parallelism": 4}})
    grown = play.wait_status("jobs", "work", ready=3, succeeded=1)["status"]
    assert grown["completedIndexes"] == "2"
    assert indexes(play, "Running") == ["0", "1", "3"]
    play.patch("jobs", "work", {"spec": {"completions": 1, "parallelism": 1}})

    shrunk = play.wait_status("jobs", "work", active=1, succeeded=None, terminating=None)["status"]
    assert not shrunk.get("completedIndexes")
    assert not shrunk.get("failed")
    assert indexes(play, "Running") == ["0"]


def test_index_that_may_not_be_retried_and_too_many_of_them_end_the_job(play: Playground) -> None:
    script = '[ "$JOB_COMPLETION_INDEX" = 0 ] && sleep 100; exit 42'
    codes = {"containerName": "main", "operator": "In", "values": [42]}
    policy = {"rules": [{"action": "FailIndex", "onExitCodes": codes}]}
    more: Object = {"backoffLimitPerIndex": 3, "maxFailedIndexes": 1, "podFailurePolicy": policy}
    job(play, script, completions=4, parallelism=2, completionMode="Indexed", **more)

    status = end(play, "Failed")

    assert (status.get("completedIndexes"), status["failedIndexes"]) == (None, "1,2")
    failed = play.condition("jobs", "work", "Failed")
    assert failed["reason"] == "MaxFailedIndexesExceeded"
    assert failed["message"] == "Job has exceeded the specified maximal number of failed indexes"
    assert status["failed"] == 3  # the pod that was stopped counts too


def test_pod_is_replaced_when_it_has_really_ended_if_the_job_says_so(play: Playground) -> None:
    script = "trap 'sleep 1; exit 1' TERM; sleep 100"
    job(play, script, completions=1, completionMode="Indexed", podReplacementPolicy="Failed")
    play.wait_status("jobs", "work", ready=1)
    [first] = play.pods("Running")

    play.client.delete(play.path("pods", first["metadata"]["name"]))

    waiting = play.wait_status("jobs", "work", terminating=1, active=None)["status"]
    assert not waiting.get("failed")
    assert play.pods() == []


def test_long_names_leave_room_for_the_index(play: Playground) -> None:
    name = "n" * 60
    pod = template("exit 0", policy="Never", image="busybox")
    play.create("jobs", name, {"template": pod, "completions": 1, "completionMode": "Indexed"})

    play.wait(lambda: bool(play.items("pods")), "the pod")

    [made] = play.items("pods")
    assert made["metadata"]["generateName"] == "n" * 55 + "-0-"
    assert made["spec"]["hostname"] == f"{name}-0"


def test_enough_successes_end_a_job_with_a_success_policy(play: Playground) -> None:
    script = '[ "$JOB_COMPLETION_INDEX" = 0 ] && exit 0; sleep 100'
    policy = {"rules": [{"succeededIndexes": "0"}]}
    job(play, script, completions=2, parallelism=2, completionMode="Indexed", successPolicy=policy)

    status = end(play, "Complete")

    assert status["completedIndexes"] == "0"
    met = play.condition("jobs", "work", "SuccessCriteriaMet")
    assert (met["reason"], met["message"]) == ("SuccessPolicy", "Matched rules at index 0")
    assert play.condition("jobs", "work", "Complete")["reason"] == "SuccessPolicy"


@pytest.mark.parametrize(
    ("rule", "kind", "reason"),
    [
        ({"action": "FailJob"}, "Failed", "PodFailurePolicy"),
        ({"action": "Count"}, "Failed", "BackoffLimitExceeded"),
    ],
)
def test_failure_policy_says_what_an_exit_code_means(
    play: Playground, rule: Object, kind: str, reason: str
) -> None:
    codes = {"containerName": "main", "operator": "In", "values": [42]}
    policy = {"rules": [{**rule, "onExitCodes": codes}]}
    job(play, "exit 42", backoffLimit=0, podFailurePolicy=policy)

    end(play, kind)

    found = play.condition("jobs", "work", kind)
    assert found["reason"] == reason
    if reason == "PodFailurePolicy":
        [pod] = play.items("pods")
        assert found["message"] == (
            f"Container main for pod {play.namespace}/{pod['metadata']['name']} failed with exit code 42 "
            "matching FailJob rule at index 0"
        )


def test_ignored_failures_do_not_count(play: Playground) -> None:
    codes = {"containerName": "main", "operator": "In", "values": [42]}
    policy = {"rules": [{"action": "Ignore", "onExitCodes": codes}]}
    job(play, "exit 42", backoffLimit=0, podFailurePolicy=policy)

    play.wait(lambda: bool(play.pods("Failed")), "a failed pod")
    play.wait(
        lambda: not any(p["metadata"].get("finalizers") for p in play.pods("Failed")), "it to be looked at"
    )

    assert not play.get("jobs", "work")["status"].get("failed")
    assert not play.condition("jobs", "work", "FailureTarget")


def test_finished_job_goes_after_its_time(play: Playground) -> None:
    job(play, "exit 0", ttlSecondsAfterFinished=1)

    play.wait(lambda: not play.exists("jobs", "work") and not play.items("pods"), "job and pods to go")


def test_deleted_job_takes_its_pods_along(play: Playground) -> None:
    job(play, "sleep 100", parallelism=2)
    play.wait_status("jobs", "work", ready=2)

    play.client.delete(play.path("jobs", "work"))

    play.wait(lambda: not play.items("pods"), "the pods to go")


def test_parallelism_zero_deletes_the_active_pods_without_failures(play: Playground) -> None:
    job(play, "sleep 100", parallelism=2, completions=4)
    play.wait_status("jobs", "work", active=2)

    play.patch("jobs", "work", {"spec": {"parallelism": 0}})

    status = play.wait_status("jobs", "work", active=None)["status"]
    assert not status.get("failed")


def test_job_of_another_controller_is_left_alone(play: Playground) -> None:
    job(play, "exit 0", managedBy="example.com/mine")
    play.create("jobs", "other", {"template": template("exit 0", policy="Never", image="busybox")})

    play.wait_condition("jobs", "other", "Complete")

    assert all(pod["metadata"]["labels"]["job-name"] == "other" for pod in play.items("pods"))
    assert not play.get("jobs", "work").get("status")
