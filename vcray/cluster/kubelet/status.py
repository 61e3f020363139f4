"""The status that a kubelet writes for a pod, as a patch of its own fields."""

from __future__ import annotations

from functools import lru_cache

from vcray.api.meta import JsonObject, JsonValue
from vcray.clock import rfc3339
from vcray.cluster.kubelet.boxes import Box, End, Stage
from vcray.cluster.kubelet.lifecycle import DEADLINE, Life, PodLife

_DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return rfc3339(seconds)


def _time(seconds: float) -> str:
    return _second(int(seconds))


def status_patch(pod: PodLife, now: float) -> JsonObject:
    """The strategic merge patch of the pod's status; refused by the server if the pod is another one by now."""
    status: JsonObject = {
        "phase": _phase(pod),
        "conditions": _conditions(pod),
        "startTime": _time(pod.started_at),
        "hostIP": pod.node_ip,
        "hostIPs": [{"ip": pod.node_ip}],
        "podIP": pod.ip,
        "podIPs": [{"ip": pod.ip}],
        "containerStatuses": [_container(pod, box, now) for box in pod.mains],
    }
    if pod.inits:
        status["initContainerStatuses"] = [_container(pod, box, now) for box in pod.inits]
    if pod.reason:
        status["reason"] = pod.reason
        if pod.reason == DEADLINE:
            status["message"] = _DEADLINE_MESSAGE
    return {"metadata": {"uid": pod.uid}, "status": status}


def _phase(pod: PodLife) -> str:
    if pod.life in (Life.OVER, Life.GONE):
        return "Succeeded" if pod.succeeded else "Failed"
    started = pod.life is Life.RUNNING and all(box.stage is not Stage.WAITING for box in pod.mains)
    return "Running" if started else "Pending"


def _conditions(pod: PodLife) -> list[JsonValue]:
    over = pod.life in (Life.OVER, Life.GONE)
    ended = ("PodCompleted" if pod.succeeded else "PodFailed") if over else ""
    initialized = bool(pod.initialized_at) or (over and pod.succeeded)
    unready = [] if over or pod.ready else _unready(pod)
    message = f"containers with unready status: [{' '.join(unready)}]" if unready else ""
    not_ready = (ended or "ContainersNotReady", message)
    return [
        _condition("PodReadyToStartContainers", not over, pod.finished_at if over else pod.started_at),
        _condition(
            "Initialized",
            initialized,
            pod.initialized_at or pod.started_at,
            *((ended if pod.succeeded else "", "") if initialized else _incomplete(pod)),
        ),
        _condition(
            "Ready", pod.ready, pod.ready_at or pod.started_at, *(("", "") if pod.ready else not_ready)
        ),
        _condition(
            "ContainersReady",
            pod.ready,
            pod.ready_at or pod.started_at,
            *(("", "") if pod.ready else not_ready),
        ),
        *([] if pod.scheduled else [_condition("PodScheduled", True, pod.started_at)]),
    ]


def _unready(pod: PodLife) -> list[str]:
    waiting = [box.plan.name for box in pod.mains if box.stage is not Stage.RUNNING]
    return waiting or [box.plan.name for box in pod.mains]


def _incomplete(pod: PodLife) -> tuple[str, str]:
    names = [
        box.plan.name for box in pod.inits if not box.plan.sidecar and (box.end is None or box.end.code != 0)
    ]
    return "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(names)}]"


def _condition(kind: str, holds: bool, since: float, reason: str = "", message: str = "") -> JsonObject:
    condition: JsonObject = {
        "type": kind,
        "status": "True" if holds else "False",
        "lastProbeTime": None,
        "lastTransitionTime": _time(since),
        "reason": reason or None,
        "message": message or None,
    }
    return condition


def _container(pod: PodLife, box: Box, now: float) -> JsonObject:
    identity = f"containerd://{pod.uid.replace('-', '')}{box.restarts:08x}"
    last = box.end if pod.comes_back(box) else box.last
    return {
        "name": box.plan.name,
        "image": box.plan.image,
        "imageID": "",
        "containerID": identity if box.stage is not Stage.WAITING else "",
        "ready": pod.box_ready(box, now)
        or (_is_init(pod, box) and box.end is not None and box.end.code == 0),
        "started": box.stage is Stage.RUNNING,
        "restartCount": box.restarts,
        "state": _state(pod, box),
        "lastState": _terminated(last, identity) if last is not None else {},
    }


def _is_init(pod: PodLife, box: Box) -> bool:
    return not box.plan.sidecar and box in pod.inits


def _state(pod: PodLife, box: Box) -> JsonObject:
    if box.stage is Stage.RUNNING:
        return {"running": {"startedAt": _time(box.started)}}
    if box.end is None and box.plan.missing:
        message = f'Back-off pulling image "{box.plan.image}"'
        return {"waiting": {"reason": "ImagePullBackOff", "message": message}}
    if box.end is None:
        reason = "PodInitializing" if pod.inits else "ContainerCreating"
        return {"waiting": {"reason": reason}}
    if pod.comes_back(box):
        delay = int(box.restart_at() - box.end.finished)
        message = f"back-off {delay}s restarting failed container={box.plan.name} pod={pod.name}_{pod.namespace}({pod.uid})"
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return _terminated(box.end, f"containerd://{pod.uid.replace('-', '')}{box.restarts:08x}")


def _terminated(end: End, identity: str) -> JsonObject:
    terminated: JsonObject = {
        "exitCode": end.code,
        "reason": "Completed" if end.code == 0 else "Error",
        "startedAt": _time(end.started),
        "finishedAt": _time(end.finished),
        "containerID": identity,
    }
    if end.message:
        terminated["message"] = end.message
    return {"terminated": terminated}
