"""Deployments, by kube-controller-manager and by the embedded cluster's controllers."""

from typing import Any

from tests.conformance.workloads.playground import Object, Playground, template

LABELS = {"app": "web"}
REVISION = "deployment.kubernetes.io/revision"


def deploy(play: Playground, replicas: int = 2, image: str = "nginx", **spec: Any) -> None:
    play.create(
        "deployments",
        "web",
        {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": template(labels=LABELS, image=image),
            **spec,
        },
    )


def complete(play: Playground, replicas: int) -> None:
    def done() -> bool:
        found = play.get("deployments", "web")
        status = found.get("status") or {}
        counters = [status.get(each) for each in ("replicas", "updatedReplicas", "availableReplicas")]
        return (
            status.get("observedGeneration") == found["metadata"]["generation"] and counters == [replicas] * 3
        )

    play.wait(done, f"a rollout of {replicas}")


def new_image(play: Playground, image: str) -> None:
    spec = {"template": template(labels=LABELS, image=image)}
    play.patch("deployments", "web", {"spec": spec})


def sets(play: Playground) -> dict[str, tuple[str, int]]:
    """Image -> revision and size."""
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: (
            each["metadata"]["annotations"][REVISION],
            each["spec"]["replicas"],
        )
        for each in play.items("replicasets")
    }


def test_deployment_makes_a_set_named_and_labelled_by_its_template(play: Playground) -> None:
    deploy(play)

    complete(play, 2)
    [made] = play.items("replicasets")
    mark = made["metadata"]["labels"]["pod-template-hash"]
    assert made["metadata"]["name"] == f"web-{mark}"
    assert made["spec"]["selector"]["matchLabels"] == {**LABELS, "pod-template-hash": mark}
    assert made["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] == "2"
    assert made["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "3"
    assert play.get("deployments", "web")["metadata"]["annotations"][REVISION] == "1"
    available = play.wait_condition("deployments", "web", "Available")
    progressing = play.wait_condition("deployments", "web", "Progressing")
    assert (available["reason"], progressing["reason"]) == (
        "MinimumReplicasAvailable",
        "NewReplicaSetAvailable",
    )
    assert progressing["message"] == f'ReplicaSet "web-{mark}" has successfully progressed.'
    play.wait(lambda: "ScalingReplicaSet" in play.reasons("web"), "the event")


def test_new_template_moves_the_pods_to_a_new_set(play: Playground) -> None:
    deploy(play)
    complete(play, 2)

    new_image(play, "nginx:2")

    complete(play, 2)
    assert sets(play) == {"nginx": ("1", 0), "nginx:2": ("2", 2)}
    assert play.get("deployments", "web")["metadata"]["annotations"][REVISION] == "2"


def test_old_template_again_takes_up_its_old_set_as_a_new_revision(play: Playground) -> None:
    deploy(play, 1)
    complete(play, 1)
    new_image(play, "nginx:2")
    complete(play, 1)

    new_image(play, "nginx")

    play.wait(lambda: sets(play) == {"nginx": ("3", 1), "nginx:2": ("2", 0)}, "the old set")
    [old] = [each for each in play.items("replicasets") if each["spec"]["replicas"]]
    assert old["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


def _image(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def test_recreate_ends_all_old_pods_before_the_first_new_one(play: Playground) -> None:
    deploy(play, 2, strategy={"type": "Recreate"})
    complete(play, 2)
    seen_together = False

    new_image(play, "nginx:2")

    def rolled() -> bool:
        nonlocal seen_together
        pods = play.items("pods")
        going_on = [each for each in pods if each["status"].get("phase") not in ("Succeeded", "Failed")]
        seen_together |= len({_image(each) for each in going_on}) > 1
        return {_image(each) for each in pods} == {"nginx:2"}

    play.wait(rolled, "new pods only")
    complete(play, 2)
    assert not seen_together


def test_rollout_that_cannot_go_on_keeps_what_is_available_and_times_out(play: Playground) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    deploy(play, 2, strategy={"type": "RollingUpdate", "rollingUpdate": rolling}, progressDeadlineSeconds=2)
    complete(play, 2)

    never = template(labels=LABELS, image="nginx:2")
    never["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["/bin/false"]}}
    play.patch("deployments", "web", {"spec": {"template": never}})

    condition = play.wait_condition("deployments", "web", "Progressing", "False")
    assert condition["reason"] == "ProgressDeadlineExceeded"
    assert sets(play) == {"nginx": ("1", 2), "nginx:2": ("2", 1)}
    assert play.get("deployments", "web")["status"]["availableReplicas"] == 2


def test_paused_deployment_is_scaled_but_not_rolled_out(play: Playground) -> None:
    deploy(play, 1)
    complete(play, 1)
    play.patch("deployments", "web", {"spec": {"paused": True}})
    assert play.wait_condition("deployments", "web", "Progressing", "Unknown")["reason"] == "DeploymentPaused"

    new_image(play, "nginx:2")
    play.patch("deployments", "web", {"spec": {"replicas": 3}})

    play.wait(lambda: sets(play) == {"nginx": ("1", 3)}, "the old set to grow")
    play.patch("deployments", "web", {"spec": {"paused": False}})
    play.wait(lambda: sets(play) == {"nginx": ("1", 0), "nginx:2": ("2", 3)}, "the rollout")


def test_history_is_cut_at_its_limit(play: Playground) -> None:
    deploy(play, 1, revisionHistoryLimit=0)
    complete(play, 1)

    new_image(play, "nginx:2")

    play.wait(lambda: sets(play) == {"nginx:2": ("2", 1)}, "the old set to go")


def test_deleting_a_deployment_in_the_background_takes_sets_and_pods_along(play: Playground) -> None:
    deploy(play, 2)
    complete(play, 2)

    play.client.delete(play.path("deployments", "web"))

    play.wait(lambda: not play.items("replicasets") and not play.items("pods"), "nothing to be left")


def test_orphaned_set_is_adopted_by_the_deployment_that_comes_again(play: Playground) -> None:
    deploy(play, 1)
    complete(play, 1)
    [made] = play.items("replicasets")

    play.client.delete(play.path("deployments", "web"), policy="Orphan")
    play.wait(lambda: not play.exists("deployments", "web"), "the deployment to go")
    assert not play.get("replicasets", made["metadata"]["name"])["metadata"].get("ownerReferences")
    deploy(play, 1)

    complete(play, 1)
    [kept] = play.items("replicasets")
    assert kept["metadata"]["uid"] == made["metadata"]["uid"]
    assert kept["metadata"]["ownerReferences"][0]["name"] == "web"


def test_scaling_amid_a_rollout_is_shared_between_the_sets(play: Playground) -> None:
    rolling = {"maxSurge": 2, "maxUnavailable": 2}
    deploy(play, 8, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    complete(play, 8)
    never = template(labels=LABELS, image="nginx:2")
    never["spec"]["containers"][0]["readinessProbe"] = {"exec": {"command": ["/bin/false"]}}
    play.patch("deployments", "web", {"spec": {"template": never}})
    play.wait(
        lambda: {image: size for image, (_, size) in sets(play).items()} == {"nginx": 6, "nginx:2": 4},
        "a stuck rollout",
    )

    play.patch("deployments", "web", {"spec": {"replicas": 18}})

    play.wait(
        lambda: {image: size for image, (_, size) in sets(play).items()} == {"nginx": 12, "nginx:2": 8},
        "equal shares",
    )
