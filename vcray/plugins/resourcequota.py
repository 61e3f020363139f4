"""Volcano's `resourcequota`: a gate before pods exist, so that groups of a namespace do not each get half of a quota.

A group is let in while its `minResources` fits every ResourceQuota of its namespace beside what the quota's controller has counted
and what groups that were let in still have to create, and beside the minimums of these groups alone, since that controller
may lag behind. Names are compared as they are written: a quota on `requests.cpu`
looks at groups that name `requests.cpu`.
"""

from __future__ import annotations

from collections.abc import Iterable

from vcray.api import names
from vcray.api.podresources import thousandths_per_unit
from vcray.api.quantity import format_bytes, format_milli
from vcray.core.hooks import Answer, Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.quotas import Bound
from vcray.core.tables import Phase, Status
from vcray.core.view import View


class Resourcequota(Plugin[Args]):
    """Session state: `quotas_` by namespace; of the groups that were let in there, in thousandths by name, `awaited_`, what they
    have no pods of yet, and `promised_`, their minimums without what has ended."""

    steady = True

    def open(self, view: View) -> None:
        """Quotas, and what groups that were let in before hold against them."""
        table = view.snapshot.details.quotas
        self.quotas_ = {} if table is None else table.by_namespace
        self.awaited_: dict[str, dict[str, int]] = {}
        self.promised_: dict[str, dict[str, int]] = {}
        if not self.quotas_:
            return
        ended = view.jobs.count[[Status.SUCCEEDED, Status.FAILED]].sum(axis=0).tolist()
        for job, name in enumerate(view.snapshot.jobs.names):
            namespace = name.partition("/")[0]
            if namespace not in self.quotas_ or not Phase.INQUEUE <= view.jobs.phase[job] <= Phase.UNKNOWN:
                continue
            least, pods = int(view.snapshot.jobs.min_available[job]), len(view.tasks_of_job[job])
            if least > 0 and view.snapshot.jobs.min_resources_set[job]:
                minimum = _minimum(view, job)
                _add(self.awaited_, namespace, _part(minimum, least - pods, least))
                _add(self.promised_, namespace, _part(minimum, least - ended[job], least))

    def job_enqueueable(self, view: View, job: int) -> Answer:
        """Does the minimum fit all quotas of the namespace?"""
        jobs = view.snapshot.jobs
        namespace = jobs.names[job].partition("/")[0]
        quotas = self.quotas_.get(namespace, ())
        if not jobs.min_resources_set[job] or not quotas:
            return Answer(Vote.PERMIT)
        wanted = _minimum(view, job)
        awaited, promised = self.awaited_.get(namespace, {}), self.promised_.get(namespace, {})
        for quota in quotas:
            over = [
                bound
                for bound in quota.bounds
                if bound.name in wanted
                and max(bound.used + awaited.get(bound.name, 0), promised.get(bound.name, 0))
                + wanted[bound.name]
                > bound.hard
            ]
            if over:
                return Answer(Vote.REJECT, _message(over, wanted))
        return Answer(Vote.PERMIT)

    def job_enqueued(self, view: View, job: int) -> None:
        """The group's whole minimum is awaited from now on."""
        namespace = view.snapshot.jobs.names[job].partition("/")[0]
        if namespace in self.quotas_:
            for held in (self.awaited_, self.promised_):
                _add(held, namespace, _minimum(view, job))


def _add(held: dict[str, dict[str, int]], namespace: str, amounts: dict[str, int]) -> None:
    known = held.setdefault(namespace, {})
    for name, amount in amounts.items():
        known[name] = known.get(name, 0) + amount


def _part(minimum: dict[str, int], pods: int, of: int) -> dict[str, int]:
    """What so many pods of a group hold of its minimum, rounded up."""
    return {name: -(-amount * pods // of) for name, amount in minimum.items()} if pods > 0 else {}


def _minimum(view: View, job: int) -> dict[str, int]:
    """What the group's minResources names, in thousandths, names of quotas included."""
    jobs, space = view.snapshot.jobs, view.space
    amounts = jobs.min_resources[:, job].tolist()
    named = jobs.min_resources_named[:, job].tolist()
    found = {
        name: amount * thousandths_per_unit(name)
        for name, amount, given in zip(space.names, amounts, named, strict=True)
        if given
    }
    return {**found, **dict(jobs.quota_minimum[job] if jobs.quota_minimum else ())}


def _message(over: Iterable[Bound], wanted: dict[str, int]) -> str:
    listed = list(over)
    requested = ",".join(f"{bound.name}={_spelled(bound.name, wanted[bound.name])}" for bound in listed)
    used = ",".join(f"{bound.name}={bound.used_spelled}" for bound in listed)
    hard = ",".join(f"{bound.name}={bound.hard_spelled}" for bound in listed)
    return f"resource quota insufficient, requested: {requested}, used: {used}, limited: {hard}"


def _spelled(name: str, amount: int) -> str:
    """Thousandths as a quantity: bytes in binary form, all else in decimal."""
    bare = name.removeprefix("requests.").removeprefix("limits.")
    if bare in (names.MEMORY, names.EPHEMERAL_STORAGE, "storage") or bare.startswith(names.HUGEPAGES_PREFIX):
        return format_bytes(-(-amount // 1000))
    return format_milli(amount)
