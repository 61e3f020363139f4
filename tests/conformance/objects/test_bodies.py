"""Bodies with fields that nobody knows, that stand twice or that hold the wrong type are met alike."""

import json

import pytest

MAIN = {"name": "c", "image": "i"}
YAML = "application/yaml"


def config(**fields):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, **fields}


def deployment(**spec):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [MAIN]}}
    whole = {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": whole}


def pod(**spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"},
        "spec": {"containers": [MAIN], **spec},
    }


def inside(**container):
    return deployment(template={"spec": {"containers": [container]}})


def limits(amount):
    return pod(containers=[{**MAIN, "resources": {"limits": amount}}])


TWICE = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","name":"c"},"data":{"a":"1","a":"2"},"foo":1}'
TWICE_YAML = b'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  name: d\ndata: {a: "1"}\nfoo: 1\n'
DEEP = json.dumps(deployment()).replace('"image": "i"', '"image": "i", "image": "j", "nope": 1').encode()

BODIES = {
    "unknown fields": deployment(foo=1, bar={"x": 2}),
    "unknown metadata": config(metadata={"name": "c", "foo": 1}),
    "another case": config(Data={"a": "b"}),
    "repeated": TWICE,
    "repeated deep": DEEP,
    "a word for a number": deployment(replicas="x"),
    "a broken number": deployment(replicas=1.5),
    "too large a number": deployment(replicas=3_000_000_000),
    "a word for a truth": deployment(paused="x"),
    "a word for an object": deployment(template="x"),
    "a word for a list": deployment(template={"spec": {"containers": "x"}}),
    "a word for an entry": deployment(template={"spec": {"containers": ["a"]}}),
    "a number for a word": inside(name=1),
    "a number in a list in a list": inside(env=[{"name": "a", "value": 1}]),
    "a number in a map": config(data={"a": 1}),
    "a null in a map": config(data={"a": None}),
    "a list for a map": config(data=[1]),
    "an object in a map": config(data={"a": {"b": 1}}),
    "a number for a name": config(metadata={"name": 5}),
    "a number for a label": config(metadata={"name": "c", "labels": {"a": 1}}),
    "a word for metadata": config(metadata="c"),
    "no time": config(metadata={"name": "c", "creationTimestamp": "yesterday"}),
    "no base64": config(binaryData={"a": "###"}),
    "no amount": limits({"cpu": "abc"}),
    "a truth for an amount": limits({"cpu": True}),
    "a word for amounts": limits("x"),
    "a truth for a number or a word": deployment(strategy={"rollingUpdate": {"maxSurge": True}}),
    "a number for one of some words": pod(restartPolicy=3),
    "a word for a number that may be missing": pod(terminationGracePeriodSeconds="a"),
    "an object for a list": pod(tolerations={"a": 1}),
    "no metadata": config(metadata=None),
}
COLLECTIONS = {
    "ConfigMap": "/api/v1/{}/configmaps",
    "Pod": "/api/v1/{}/pods",
    "Deployment": "/apis/apps/v1/{}/deployments",
}


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_read_alike(pair, name, validation):
    body = BODIES[name]
    kind = (json.loads(body) if isinstance(body, bytes) else body)["kind"]
    path = COLLECTIONS[kind].format("namespaces/default")

    ours, theirs = pair.answers("POST", f"{path}?dryRun=All&fieldValidation={validation}", body)

    assert ours == theirs


@pytest.mark.parametrize("validation", ["Strict", "Warn"])
def test_repetitions_in_yaml_are_told_by_their_lines(pair, validation):
    path = f"/api/v1/namespaces/default/configmaps?dryRun=All&fieldValidation={validation}"

    ours, theirs = pair.answers("POST", path, TWICE_YAML, YAML)

    assert ours == theirs
