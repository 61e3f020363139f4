"""Rules of a job's tasks: minima, names, templates, partitions, whole cpus for NUMA, and what depends on what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from vcray.api import names
from vcray.api.formats import qualified_name
from vcray.api.jsonview import dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podchecks import template_problems
from vcray.api.quantity import QuantityError, milli, value
from vcray.webhooks.base import name_of
from vcray.webhooks.job_policies import policies_problem
from vcray.webhooks.podgroups import BOTH_TIERS, names_both_tiers

FRAMEWORK_LEADS: Final[Mapping[str, tuple[str, str]]] = {"mpi": ("master", "master"), "ray": ("head", "head")}
"""Job plugin -> its argument that names the lead task, and that task's name by default."""


def missing_lead(job: JsonObject) -> str:
    """A framework plugin whose lead task the job does not have; empty when all are there."""
    tasks = {dig_str(task, "name") for task in dig_objects(job, "spec", "tasks")}
    plugins = dig_object(job, "spec", "plugins")
    for plugin, (flag, default) in FRAMEWORK_LEADS.items():
        if plugin not in plugins:
            continue
        lead = _argument(dig_list(plugins, plugin), flag, default)
        if lead not in tasks:
            return f"The specified {plugin} {flag} task was not found: {lead}"
    return ""


def task_problems(job: JsonObject) -> Iterator[str]:
    """Problems of the tasks in order; a name that is there twice ends it."""
    seen: set[str] = set()
    job_name = name_of(job)
    for index, task in enumerate(dig_objects(job, "spec", "tasks")):
        name, replicas = dig_str(task, "name"), dig_int(task, "replicas")
        if task.get("minAvailable") is not None and dig_int(task, "minAvailable") > replicas:
            yield f" 'minAvailable' is greater than 'replicas' in task: {name}, job: {job_name};"
        if name in seen:
            yield f" duplicated task name {name};"
            return
        seen.add(name)
        yield policies_problem(dig_objects(task, "policies"), "spec.tasks.policies")
        pod = f"{job_name}-{name}-{index}"
        wrong = qualified_name(pod)
        if wrong:
            yield f"create pod with name {pod} validate failed [{' '.join(wrong)}];"
        yield template_problem(task, index)
        yield partition_problem(task, job_name)


def examined_tasks(job: JsonObject) -> list[JsonObject]:
    """The tasks up to and with the first whose name is there twice: those that count."""
    seen: set[str] = set()
    examined = []
    for task in dig_objects(job, "spec", "tasks"):
        examined.append(task)
        if dig_str(task, "name") in seen:
            break
        seen.add(dig_str(task, "name"))
    return examined


def template_problem(task: JsonObject, index: int) -> str:
    """What is wrong with the pods of a task, else what keeps them off whole cpus where a policy asks for those."""
    errors = list(template_problems(dig_str(task, "name"), dig_object(task, "template")))
    if errors:
        return f"spec.task[{index}]." + "".join(f"{error}. " for error in errors)
    if dig_str(task, "topologyPolicy") in ("", "none"):
        return ""
    spec = dig_object(task, "template", "spec")
    containers = [*dig_objects(spec, "containers"), *dig_objects(spec, "initContainers")]
    for place, container in enumerate(containers):
        resources = dig_object(container, "resources")
        asked = dig_object(resources, "requests") or dig_object(resources, "limits")
        if not _is_whole(asked.get(names.CPU)):
            return f"the cpu request isn't an integer in spec.task[{index}] container[{place}]."
    return ""


def partition_problem(task: JsonObject, job_name: str) -> str:
    """The first rule that a task's partitions break, and a topology that names its tier twice."""
    policy = task.get("partitionPolicy")
    if not isinstance(policy, dict):
        return ""
    total, size, least = (
        dig_int(policy, key) for key in ("totalPartitions", "partitionSize", "minPartitions")
    )
    minimum = task.get("minAvailable")
    problem = ""
    if total <= 0:
        problem = "'TotalPartitions' must be greater than 0"
    elif size <= 0:
        problem = "'PartitionSize' must be greater than 0"
    elif dig_int(task, "replicas") != total * size:
        problem = "'Replicas' are not equal to TotalPartitions*PartitionSize"
    elif minimum is not None and least > 0 and least * size != minimum:
        problem = "'MinAvailable' is not equal to MinPartitions*PartitionSize"
    told = f"{problem} in task: {dig_str(task, 'name')}, job: {job_name}" if problem else ""
    return told + (BOTH_TIERS if names_both_tiers(policy.get("networkTopology")) else "")


def dependencies_form_a_dag(job: JsonObject) -> bool:
    """Can the tasks be put in an order in which each comes after those it depends on?

    A dependency that does not exist, or is named twice by one task, is never met, as in Volcano."""
    tasks = dig_objects(job, "spec", "tasks")
    waiting = {dig_str(task, "name"): _dependencies(task) for task in tasks}
    if len(waiting) < len(tasks) or any(len(set(each)) < len(each) for each in waiting.values()):
        return False
    met: set[str] = set()
    while len(met) < len(waiting):
        ready = {name for name, needs in waiting.items() if name not in met and met.issuperset(needs)}
        if not ready:
            return False
        met |= ready
    return True


def has_dependencies(job: JsonObject) -> bool:
    """Does any of the tasks that count name a dependency?"""
    return any(task.get("dependsOn") is not None for task in examined_tasks(job))


def _dependencies(task: JsonObject) -> list[str]:
    return [each for each in dig_list(task, "dependsOn", "name") if isinstance(each, str)]


def _is_whole(cpu: JsonValue) -> bool:
    if not isinstance(cpu, str | int | float):
        return False
    try:
        return value(cpu) > 0 and value(cpu) * 1000 == milli(cpu)
    except QuantityError:
        return False


def _argument(arguments: list[JsonValue], flag: str, default: str) -> str:
    """The value of one flag among Go-style arguments, the last one given."""
    words = [word for word in arguments if isinstance(word, str)]
    found = default
    for index, word in enumerate(words):
        name, equals, given = word.lstrip("-").partition("=")
        if not word.startswith("-") or name != flag:
            continue
        if equals:
            found = given
        elif index + 1 < len(words):
            found = words[index + 1]
    return found


def total_replicas(tasks: list[JsonObject]) -> int:
    """Pods of these tasks."""
    return sum(dig_int(task, "replicas") for task in tasks)
