"""/healthz, /livez, /readyz, /version and /metrics: what operators and probes ask."""

from __future__ import annotations

from vcray.api.meta import JsonObject

VERSION: JsonObject = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.1",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "vcray/embedded",
}

PROBES = ("healthz", "livez", "readyz")

_CHECKS = (
    "ping",
    "log",
    "etcd",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
"""What a real server's probes check; here all of it is ready as soon as the server answers."""

_READY = ("etcd-readiness", "informer-sync", "shutdown")


def probe(path: str, verbose: bool, ready: bool) -> tuple[int, str] | None:
    """Status and text of a probe's path; None if it is none. `ready` false makes /readyz fail, as while stopping."""
    name, _, check = path.strip("/").partition("/")
    if name not in PROBES:
        return None
    checks = (*_CHECKS, *_READY) if name == "readyz" else _CHECKS
    if check:
        return (200, "ok") if check in checks else None
    failed = name == "readyz" and not ready
    if not (verbose or failed):
        return 200, "ok"
    lines = [
        "[-]shutdown failed: reason withheld" if failed and each == "shutdown" else f"[+]{each} ok"
        for each in checks
    ]
    lines.append(f"{name} check {'failed' if failed else 'passed'}")
    return (500 if failed else 200), "\n".join(lines) + "\n"
