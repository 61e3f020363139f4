"""Hypothesis strategies: small clusters, their objects, and streams of events.

Objects are drawn from few names and few values, so that they meet: selectors select, claims are claimed, nodes fill. A
stream gives every change a growing resourceVersion, as an API server does; what the cluster looks like in the
end is `Stream.objects`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests import builders
from vcray.api.meta import JsonObject, JsonValue
from vcray.cache.store import Event

NODES = ("n1", "n2", "n3", "n4")
GROUPS = ("g1", "g2", "g3")
NAMESPACES = ("default", "team")
IMAGES = ("train:1", "base", "registry/x:2")
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"

labels = st.dictionaries(st.sampled_from(["app", "tier", "job"]), st.sampled_from(["a", "b"]), max_size=3)
small = st.integers(0, 4)


def _selectors() -> st.SearchStrategy[JsonObject]:
    expressions = st.lists(
        st.one_of(
            st.builds(
                lambda key, operator, values: {"key": key, "operator": operator, "values": values},
                st.sampled_from(["app", "tier", "job"]),
                st.sampled_from(["In", "NotIn"]),
                st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2),
            ),
            st.builds(
                lambda key, operator: {"key": key, "operator": operator},
                st.sampled_from(["app", "tier", "job"]),
                st.sampled_from(["Exists", "DoesNotExist"]),
            ),
        ),
        max_size=1,
    )
    return st.builds(
        lambda match, more: {"matchLabels": match, "matchExpressions": more}, labels, expressions
    )


def _terms() -> st.SearchStrategy[JsonObject]:
    def build(
        key: str, selector: JsonObject | None, spaces: list[str], chosen: JsonObject | None
    ) -> JsonObject:
        term: JsonObject = {"topologyKey": key}
        if selector is not None:
            term["labelSelector"] = selector
        if spaces:
            term["namespaces"] = list(spaces)
        if chosen is not None:
            term["namespaceSelector"] = chosen
        return term

    return st.builds(
        build,
        st.sampled_from([HOSTNAME, ZONE]),
        st.one_of(st.none(), _selectors()),
        st.lists(st.sampled_from(NAMESPACES), max_size=1),
        st.one_of(st.none(), st.none(), st.builds(lambda found: {"matchLabels": found}, labels)),
    )


def _rules() -> st.SearchStrategy[JsonObject]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    weighted = st.builds(
        lambda weight, term: {"weight": weight, "podAffinityTerm": term}, st.integers(1, 100), _terms()
    )
    return st.builds(
        lambda must, may: {required: must, preferred: may},
        st.lists(_terms(), max_size=2),
        st.lists(weighted, max_size=1),
    )


@st.composite
def pod_specs(draw: st.DrawFn) -> dict[str, JsonValue]:
    """Spec fields beyond requests: affinity, spread, tolerations, node selector; mostly nothing."""
    spec: dict[str, JsonValue] = {}
    if draw(st.integers(0, 3)) == 0:
        spec["affinity"] = {"podAffinity": draw(_rules()), "podAntiAffinity": draw(_rules())}
    if draw(st.integers(0, 4)) == 0:
        spec["topologySpreadConstraints"] = [
            {
                "topologyKey": draw(st.sampled_from([HOSTNAME, ZONE])),
                "maxSkew": draw(st.integers(1, 2)),
                "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])),
                "labelSelector": draw(_selectors()),
                "matchLabelKeys": draw(st.lists(st.sampled_from(["job"]), max_size=1)),
            }
        ]
    if draw(st.integers(0, 4)) == 0:
        spec["nodeSelector"] = {"pool": draw(st.sampled_from(["a", "b"]))}
    if draw(st.integers(0, 4)) == 0:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return spec


@st.composite
def nodes(draw: st.DrawFn, name: str) -> JsonObject:
    """A node of that name."""
    zone = draw(st.sampled_from(["z1", "z2"]))
    pool = draw(st.sampled_from(["", "a", "b"]))
    return builders.node(
        name,
        cpu=draw(st.integers(1, 8)),
        memory=draw(st.integers(1, 8)),
        gpu=draw(st.one_of(st.none(), small)),
        labels={ZONE: zone} | ({"pool": pool, "vcray.io/node-pool": pool} if pool else {}),
        taints=[builders.taint("dedicated")] if draw(st.integers(0, 3)) == 0 else [],
        unschedulable=draw(st.integers(0, 5)) == 0,
        ready=draw(st.integers(0, 5)) != 0,
        images=dict.fromkeys(draw(st.lists(st.sampled_from(IMAGES), max_size=2, unique=True)), 2**26),
        annotations={"volcano.sh/oversubscription-cpu": "500"} if draw(st.booleans()) else None,
    )


@st.composite
def pods(draw: st.DrawFn, name: str, namespace: str) -> JsonObject:
    """A pod of that name: waiting, bound, running, leaving or ended, ours or (on a node) another scheduler's."""
    phase = draw(st.sampled_from(["Pending", "Pending", "Running", "Succeeded", "Failed"]))
    node = draw(st.sampled_from([*NODES, "unknown"])) if phase != "Pending" or draw(st.booleans()) else None
    return builders.pod(
        name,
        namespace=namespace,
        group=draw(st.sampled_from([None, *GROUPS])),
        cpu=draw(st.one_of(st.none(), st.integers(0, 3))),
        memory=draw(st.one_of(st.none(), small)),
        gpu=draw(st.one_of(st.none(), small)),
        node=node,
        phase=phase,
        role=draw(st.sampled_from([None, "worker", "ps"])),
        priority=draw(st.one_of(st.none(), small)),
        labels=draw(labels),
        scheduler="volcano" if node is None else draw(st.sampled_from(["volcano", "default-scheduler"])),
        image=draw(st.sampled_from(IMAGES)),
        ports=draw(st.lists(st.sampled_from([80, 443]), max_size=1)),
        claims=draw(st.lists(st.sampled_from(["c1", "c2"]), max_size=1)),
        gates=["wait"] if draw(st.integers(0, 5)) == 0 else [],
        nominated=draw(st.sampled_from([None, None, "n1"])),
        deleting=draw(st.integers(0, 4)) == 0,
        owner=draw(st.sampled_from([None, ("ReplicaSet", "rs1")])),
        spec=draw(pod_specs()),
        created=draw(small),
    )


def _cluster_objects() -> st.SearchStrategy[JsonObject]:
    space = st.sampled_from(NAMESPACES)
    amounts = st.dictionaries(
        st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "example.com/x"]), small, max_size=2
    )
    groups = st.builds(
        lambda name, minimum, namespace, queue, phase, resources, members, priority: builders.podgroup(
            name,
            minimum,
            namespace=namespace,
            queue=queue,
            phase=phase,
            min_resources=resources,
            min_task_member=members,
            priority_class=priority,
        ),
        st.sampled_from(GROUPS),
        small,
        space,
        st.sampled_from(["default", "q1", "nowhere"]),
        st.sampled_from([None, "Pending", "Inqueue", "Running"]),
        st.one_of(st.none(), amounts),
        st.one_of(st.none(), st.dictionaries(st.sampled_from(["worker", "chief"]), small, max_size=2)),
        st.sampled_from([None, "high", "low"]),
    )
    queues = st.builds(
        lambda name, weight, parent, state, capability: builders.queue(
            name, weight=weight, parent=parent, state=state, capability=capability
        ),
        st.sampled_from(["root", "default", "q1", "q2"]),
        small,
        st.sampled_from([None, "root", "q1"]),
        st.sampled_from([None, "Open", "Closed"]),
        st.one_of(st.none(), amounts),
    )
    claims = st.builds(
        lambda name, namespace, phase, kind: builders.claim(
            name, namespace=namespace, phase=phase, storage_class=kind
        ),
        st.sampled_from(["c1", "c2"]),
        space,
        st.sampled_from(["Bound", "Pending", "Lost"]),
        st.sampled_from([None, "late"]),
    )
    classes = st.builds(
        lambda name, value, default: builders.priority_class(name, value, default=default),
        st.sampled_from(["high", "low"]),
        small,
        st.booleans(),
    )
    storage = st.builds(builders.storage_class, st.just("late"), waits=st.booleans())
    namespaces = st.builds(lambda name, found: builders.namespace(name, labels=found), space, labels)
    services = st.builds(
        lambda name, found, namespace: builders.service(name, found, namespace=namespace),
        st.sampled_from(["s1", "s2"]),
        labels,
        space,
    )
    owners = st.builds(
        lambda found, namespace: builders.replica_set("rs1", found, namespace=namespace), labels, space
    )
    return st.one_of(groups, groups, queues, claims, classes, storage, namespaces, services, owners)


def objects() -> st.SearchStrategy[JsonObject]:
    """Any object that the cache reads."""
    names = st.sampled_from(["a", "b", "train-worker-1", "train-worker-2"])
    some_pods = st.tuples(names, st.sampled_from(NAMESPACES)).flatmap(lambda item: pods(*item))
    some_nodes = st.sampled_from(NODES).flatmap(nodes)
    return st.one_of(some_pods, some_pods, some_nodes, _cluster_objects())


@dataclass
class Stream:
    """Events in the order in which they happened, and the objects that are there in the end."""

    events: list[Event] = field(default_factory=list)
    objects: dict[tuple[str, str], JsonObject] = field(default_factory=dict)


def _identity(item: JsonObject) -> tuple[str, str]:
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    return str(item["kind"]), f"{metadata.get('namespace', '')}/{metadata['name']}"


def _versioned(item: JsonObject, version: int) -> JsonObject:
    metadata = item["metadata"]
    assert isinstance(metadata, dict)
    return item | {"metadata": metadata | {"resourceVersion": str(version)}}


@st.composite
def streams(draw: st.DrawFn, max_size: int = 20) -> Stream:
    """Creations, changes and deletions; an object deleted and made again has another UID."""
    stream = Stream()
    for version in range(1, draw(st.integers(1, max_size)) + 1):
        if stream.objects and draw(st.integers(0, 4)) == 0:
            identity = draw(st.sampled_from(sorted(stream.objects)))
            item = _versioned(stream.objects.pop(identity), version)
            stream.events.append(Event("DELETED", identity[0], item))
            continue
        item = draw(objects())
        identity = _identity(item)
        metadata = item["metadata"]
        assert isinstance(metadata, dict)
        known = stream.objects.get(identity)
        uid = known["metadata"]["uid"] if known else f"{metadata['uid']}-{version}"  # type: ignore[index, call-overload]
        metadata["uid"] = uid
        item = _versioned(item, version)
        stream.events.append(Event("MODIFIED" if known else "ADDED", identity[0], item))
        stream.objects[identity] = item
    return stream


@st.composite
def clusters(draw: st.DrawFn, max_size: int = 40) -> list[JsonObject]:
    """Objects of a small cluster, each name once."""
    found = {_identity(item): item for item in draw(st.lists(objects(), max_size=max_size))}
    return list(found.values())
