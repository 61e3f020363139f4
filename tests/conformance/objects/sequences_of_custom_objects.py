"""What is done to objects of a custom kind."""

from __future__ import annotations

from typing import Any

from tests.conformance.objects.steps import APPLY, JSON_PATCH, MERGE, Step, patch


def custom_objects(namespace: str) -> list[Step]:
    """Applies, patches and statuses of a custom kind with lists and maps of every sort."""
    group = f"{namespace}.example.com"
    many = f"/apis/{group}/v1/namespaces/{namespace}/things"
    t = f"{many}/t"
    text, number = {"type": "string"}, {"type": "integer"}
    entry = {"type": "object", "required": ["n"], "properties": {"n": {**text, "default": "d"}, "v": number}}
    fields = {
        "replicas": number,
        "a": number,
        "m": {"type": "object", "additionalProperties": text},
        "am": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": number, "y": number}},
        "s": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
        "l": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n"],
            "items": entry,
        },
        "al": {"type": "array", "items": {"type": "object", "properties": {"q": number}}},
        "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "ios": {"x-kubernetes-int-or-string": True},
        "def": {**text, "default": "dd"},
    }
    status = {"type": "object", "properties": {"x": text, "replicas": number}}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": fields}, "status": status},
    }
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "subresources": {"status": {}, "scale": paths}}],
        },
    }

    def thing(spec: Any, name: str = "t", **metadata: Any) -> dict[str, Any]:
        body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name, **metadata}}
        return {**body, "spec": spec}

    first = {
        "a": 1,
        "m": {"k": "1"},
        "am": {"x": 1},
        "s": ["a", "b"],
        "l": [{"n": "p", "v": 1}, {"v": 2}],
        "al": [{"q": 1}],
        "raw": {"deep": {"er": 1}},
        "ios": "5",
    }
    reported = {**{key: value for key, value in thing({}).items() if key != "spec"}, "status": {"x": "2"}}
    wrong = {"a": "x", "l": [{"n": "a"}, {"n": "a"}], "s": ["a", "a"]}
    return [
        Step("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, serves=many),
        patch(t, "one", thing(first), APPLY),
        patch(
            t,
            "two",
            thing({"m": {"k2": "1"}, "s": ["c", "a"], "l": [{"n": "z", "v": 3}], "raw": {"other": {"b": 2}}}),
            APPLY,
        ),
        *(
            patch(t, "two", thing(spec), APPLY)
            for spec in ({"am": {"y": 1}}, {"al": [{"q": 2}]}, {"raw": {"deep": {"er": 2}}})
        ),
        patch(t, "two&force=true", thing({"am": {"y": 1}, "raw": {"deep": {"er": 2}}}), APPLY),
        patch(t, "one", thing({"a": 1, "s": ["b"]}), APPLY),
        patch(t, "u", {"spec": {"m": {"n": "1"}, "s": ["a", "q"], "l": [{"n": "p", "v": 5}]}}, MERGE),
        patch(
            f"{t}/status",
            "st",
            {"status": {"x": "1"}, "spec": {"a": 99}, "metadata": {"labels": {"a": "b"}}},
            MERGE,
        ),
        patch(f"{t}/status", "sta", reported, APPLY),
        patch(f"{t}/status", "sta&force=true", reported, APPLY),
        patch(f"{t}/scale", "sc", {"spec": {"replicas": 4}}, MERGE),
        Step("GET", t),
        patch(t, "two", thing({"s": ["a", "a"]}), APPLY),
        patch(t, "two", thing({"zz": 1}), APPLY),
        Step("PUT", f"{t}?fieldManager=p", thing({"a": 3})),
        Step(
            "POST",
            f"{many}?fieldManager=c",
            {**thing({"m": {}, "s": [], "l": [{"v": 1}]}, "n"), "status": {"x": "no"}},
        ),
        Step("POST", f"{many}?fieldManager=c", thing(wrong, "wrong", labels={"bad key!": "b"})),
        Step(
            "POST",
            f"{many}?fieldValidation=Strict",
            thing({"zz": 1, "l": [{"n": "a", "u": 2}]}, "unknown", foo=1),
        ),
        patch(f"{many}/n", "c", {"spec": {"def": None, "m": None}}, MERGE),
        patch(f"{many}/n", "j", [{"op": "add", "path": "/spec/s/-", "value": "end"}], JSON_PATCH),
    ]


def scales_of_custom_objects(namespace: str) -> list[Step]:
    """Replicas of a custom kind that are below zero, absent or no number, by its scale and by itself."""
    group = f"{namespace}.scales.example.com"
    many = f"/apis/{group}/v1/namespaces/{namespace}/sizes"
    t, none = f"{many}/t", f"{many}/none"
    open_ = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": open_, "status": open_}}
    scale = {
        "specReplicasPath": ".spec.inner.wanted",
        "statusReplicasPath": ".status.there",
        "labelSelectorPath": ".status.chosen",
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sizes.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "sizes", "kind": "Size"},
            "versions": [{**version, "subresources": {"status": {}, "scale": scale}}],
        },
    }

    def size(name: str, spec: Any, **more: Any) -> dict[str, Any]:
        return {"apiVersion": f"{group}/v1", "kind": "Size", "metadata": {"name": name}, "spec": spec, **more}

    def of(name: str, spec: Any) -> dict[str, Any]:
        return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": spec}

    odd = ({"inner": {"wanted": -1}}, {"inner": {"wanted": 2**31}}, {"inner": {"wanted": "2"}}, {"inner": 3})
    return [
        Step("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, serves=many),
        Step("POST", f"{many}?fieldManager=c", size("t", {"inner": {"wanted": 2}})),
        Step("POST", f"{many}?fieldManager=c", size("none", {})),
        *(Step("POST", f"{many}?fieldManager=c", size("odd", spec)) for spec in odd),
        *(patch(t, "u", {"spec": spec}, MERGE) for spec in odd[:3]),
        Step("GET", f"{t}/scale"),
        Step("GET", f"{none}/scale"),
        patch(f"{t}/scale", "s", {"spec": {"replicas": -1}}, MERGE),
        Step("PUT", f"{t}/scale?fieldManager=s", of("t", {"replicas": -2})),
        patch(f"{t}/scale", "s", {"spec": {"replicas": None}}, MERGE),
        patch(f"{none}/scale", "s", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        patch(f"{none}/scale", "s", {"spec": {"replicas": -1}}, MERGE),
        patch(f"{none}/scale", "s", {"spec": {"replicas": 3}}, MERGE),
        Step("GET", f"{none}/scale"),
        *(
            patch(f"{t}/status", "st", {"status": told}, MERGE)
            for told in ({"there": -1}, {"there": "1"}, {"chosen": 5}, {"there": 1, "chosen": "a=b"})
        ),
        Step("GET", f"{t}/scale"),
    ]
