"""Mirrors of the controllers: old news changes nothing, and nothing comes back from the dead."""

from __future__ import annotations

from vcray.actors.objects import ObjectMirrors
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS


def pod(name: str, version: int, uid: str = "", owner: str = "", namespace: str = "default") -> JsonObject:
    owners: list[JsonObject] = [{"uid": owner}] if owner else []
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "ownerReferences": list(owners),
        }
    }


def test_an_event_that_follows_the_answer_of_a_write_is_old_news() -> None:
    mirrors = ObjectMirrors([PODS])

    first = mirrors.put(PODS, pod("a", 5))
    again = mirrors.put(PODS, pod("a", 5))
    older = mirrors.put(PODS, pod("a", 4))

    assert first is not None
    assert first.old is None
    assert again is None
    assert older is None


def test_an_answer_that_a_deletion_overtook_does_not_bring_the_object_back() -> None:
    mirrors = ObjectMirrors([PODS])
    mirrors.put(PODS, pod("a", 5))

    gone = mirrors.remove(PODS, pod("a", 7))
    late = mirrors.put(PODS, pod("a", 6))

    assert gone is not None
    assert gone.new is None
    assert late is None
    assert mirrors.get(PODS, "default", "a") is None


def test_a_new_object_of_the_same_name_is_another_one() -> None:
    mirrors = ObjectMirrors([PODS])
    mirrors.put(PODS, pod("a", 5, uid="old"))
    mirrors.remove(PODS, pod("a", 7, uid="old"))

    assert mirrors.put(PODS, pod("a", 8, uid="new")) is not None
    assert mirrors.remove(PODS, pod("a", 9, uid="old")) is None
    assert mirrors.get(PODS, "default", "a") is not None


def test_an_answer_of_a_delete_only_replaces_what_is_held() -> None:
    mirrors = ObjectMirrors([PODS])

    assert mirrors.put(PODS, pod("a", 5), only_if_held=True) is None

    mirrors.put(PODS, pod("a", 5))
    assert mirrors.put(PODS, pod("a", 6), only_if_held=True) is not None


def test_lists_are_by_namespace_and_name_and_owned_ones_by_owner() -> None:
    mirrors = ObjectMirrors([PODS])
    for name, namespace, owner in (("b", "x", "o1"), ("a", "y", "o1"), ("c", "x", "o2"), ("a", "x", "o1")):
        mirrors.put(PODS, pod(name, 1, uid=f"{namespace}/{name}", owner=owner, namespace=namespace))

    def names(objects: object) -> list[str]:
        assert isinstance(objects, list)
        return [each["metadata"]["namespace"] + "/" + each["metadata"]["name"] for each in objects]

    assert names(mirrors.list(PODS)) == ["x/a", "x/b", "x/c", "y/a"]
    assert names(mirrors.list(PODS, "x")) == ["x/a", "x/b", "x/c"]
    assert names(mirrors.owned(PODS, "o1")) == ["x/a", "x/b", "y/a"]

    mirrors.put(PODS, pod("a", 2, uid="x/a", owner="o2", namespace="x"))
    assert names(mirrors.owned(PODS, "o1")) == ["x/b", "y/a"]
    assert names(mirrors.owned(PODS, "o2")) == ["x/a", "x/c"]
