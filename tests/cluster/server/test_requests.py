"""Reading requests: paths, wishes, forms, times."""

from __future__ import annotations

import pytest

from vcray.clock import ManualClock
from vcray.cluster.objects.store import Store
from vcray.cluster.protobuf.codec import PROTOBUF
from vcray.cluster.server.attributes import Attributes, attributes_of
from vcray.cluster.server.discovery import version_rank
from vcray.cluster.server.forms import PARTIAL, TABLE, Form, form_of
from vcray.cluster.server.options import timeout_of
from vcray.cluster.server.paths import UnknownPath, parse
from vcray.cluster.server.requests import JSON, YAML, NotAcceptable, Request
from vcray.kube.errors import BadRequest, ResourceMissing

CATALOG = Store(ManualClock()).catalog
PODS, JOBS = CATALOG.at("", "v1", "pods"), CATALOG.at("batch.volcano.sh", "v1alpha1", "jobs")


@pytest.mark.parametrize(
    ("path", "namespace", "plural", "name", "subresource"),
    [
        ("/api/v1/pods", "", "pods", "", ""),
        ("/api/v1/namespaces/n/pods/p/status", "n", "pods", "p", "status"),
        ("/api/v1/namespaces/n", "", "namespaces", "n", ""),
        ("/api/v1/namespaces/n/finalize", "", "namespaces", "n", "finalize"),
        ("/api/v1/watch/namespaces/n/pods", "n", "pods", "", ""),
        ("/apis/apps/v1/namespaces/n/deployments/d/scale", "n", "deployments", "d", "scale"),
    ],
)
def test_a_path_names_its_target(path: str, namespace: str, plural: str, name: str, subresource: str) -> None:
    target = parse(CATALOG, path)

    assert (target.namespace, target.resource.plural) == (namespace, plural)
    assert (target.name, target.subresource) == (name, subresource)


def test_a_path_of_a_group_that_nobody_serves_is_told_apart_from_a_missing_resource() -> None:
    with pytest.raises(UnknownPath):
        parse(CATALOG, "/apis/nope.io/v1/things")
    with pytest.raises(ResourceMissing) as missing:
        parse(CATALOG, "/apis/apps/v1/things")

    assert not isinstance(missing.value, UnknownPath)


@pytest.mark.parametrize(
    ("method", "path", "query", "wish"),
    [
        ("GET", "/version", {}, Attributes("get", "/version")),
        (
            "GET",
            "/api/v1/pods",
            {"watch": "1"},
            Attributes("watch", "/api/v1/pods", "", "v1", "pods"),
        ),
        (
            "DELETE",
            "/api/v1/namespaces/n/pods",
            {},
            Attributes("deletecollection", "/api/v1/namespaces/n/pods", "", "v1", "pods", "", "n"),
        ),
        (
            "PUT",
            "/apis/apps/v1/namespaces/n/deployments/d/scale",
            {},
            Attributes(
                "update",
                "/apis/apps/v1/namespaces/n/deployments/d/scale",
                "apps",
                "v1",
                "deployments",
                "scale",
                "n",
                "d",
            ),
        ),
    ],
)
def test_a_request_is_a_wish(method: str, path: str, query: dict[str, str], wish: Attributes) -> None:
    assert attributes_of(Request(method, path, query)) == wish


def wanted(accept: str, custom: bool = False) -> Form:
    return form_of(Request("GET", "/", accept=accept), JOBS if custom else PODS, (TABLE, PARTIAL))


def test_the_first_wish_that_can_be_met_is() -> None:
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"

    assert wanted("").plain
    assert wanted("*/*").plain
    assert wanted(f"{PROTOBUF},{JSON}") == Form(PROTOBUF)
    assert wanted(f"{PROTOBUF},{JSON}", custom=True).plain
    assert wanted("application/json;as=Poem;v=v1;g=meta.k8s.io,application/yaml") == Form(YAML)
    assert wanted(f"{table},{JSON}") == Form(JSON, TABLE)
    assert wanted(f"{JSON};q=0.1,{YAML};q=0.9") == Form(YAML)


def test_wishes_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(NotAcceptable):
        wanted("text/csv")
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        wanted(PROTOBUF, custom=True)


def test_a_watch_is_told_by_its_query_or_by_the_old_paths_alone() -> None:
    def watches(path: str, **query: str) -> bool:
        return Request("GET", path, query).watches

    assert watches("/api/v1/pods", watch="true")
    assert watches("/api/v1/watch/namespaces/n/pods")
    assert watches("/apis/apps/v1/watch/deployments")
    assert not watches("/api/v1/namespaces/watch/pods")
    assert not watches("/api/v1/pods", watch="false")


def test_a_request_may_limit_its_own_time() -> None:
    def seconds(text: str) -> float | None:
        return timeout_of(Request("GET", "/", {"timeout": text}))

    assert seconds("") is None
    assert seconds("0s") is None
    assert seconds("1m30s") == 60
    assert seconds("500ms") == 0.5
    with pytest.raises(TimeoutError):
        seconds("1ns")
    with pytest.raises(BadRequest, match='time: invalid duration "soon"'):
        seconds("soon")


def test_stable_versions_come_first_then_newer_ones() -> None:
    versions = ["v1alpha1", "other", "v1", "v2beta1", "v2", "v1beta2", "v1beta1"]

    assert sorted(versions, key=version_rank) == [
        "v2",
        "v1",
        "v2beta1",
        "v1beta2",
        "v1beta1",
        "v1alpha1",
        "other",
    ]
