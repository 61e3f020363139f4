"""Each rule about configurations speaks where it should and is silent where it should be.

The plugins are stand-ins with the hooks and arguments of the real ones, so that a rule is tested by what it asks alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import Field

from vcray.cli.check import examined
from vcray.config.scheduler import DEFAULT_CONF, HELM_CONF, load_scheduler_config
from vcray.core.action import Action
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import build_policy
from vcray.errors import ConfigError, Problem
from vcray.foresight.lint import RULES, lint
from vcray.sim.configurations import CONFIGURATIONS


class _Weights(Args):
    pack: int = Field(1, alias="binpack.weight")
    least: int = Field(1, alias="leastrequested.weight")
    most: int = Field(0, alias="mostrequested.weight")
    factor: float = Field(1.2, alias="overcommit-factor")


HOOKS = {
    "binpack": "node_score",
    "capacity": "reclaimable queue_order job_enqueueable",
    "cdp": "preemptable reclaimable",
    "conformance": "preemptable reclaimable evictable",
    "drf": "preemptable job_order",
    "gang": "preemptable reclaimable evictable job_starving job_ready",
    "network-topology-aware": "domains",
    "nodeorder": "node_score",
    "overcommit": "job_enqueueable",
    "pdb": "preemptable reclaimable victim_tasks",
    "predicates": "node_static node_filter",
    "priority": "preemptable evictable job_starving job_order",
    "proportion": "reclaimable queue_order job_enqueueable",
    "rescheduling": "victim_tasks",
    "resourcequota": "job_enqueueable",
    "sla": "job_order job_enqueueable",
    "tdm": "preemptable victim_tasks",
    "usage": "node_static node_score",
}


KEEPS = ("cdp", "conformance", "pdb")


class Registry:
    """Stand-ins by name."""

    def names(self, group: str) -> tuple[str, ...]:
        return tuple(HOOKS)

    def load(self, group: str, name: str) -> type:
        module = f"{group}.{name.replace('-', '_')}"
        if group == "vcray.actions":
            return type("Made", (Action,), {"__module__": module})
        if name not in HOOKS:
            raise ConfigError(Problem("VC0107", "", f"unknown plugin '{name}'"))
        hooks = {hook: lambda *_: None for hook in HOOKS[name].split()}
        made = {"__module__": module, "args_model": _Weights, "keeps": name in KEEPS, **hooks}
        return type("Made", (Plugin,), made)


def said(text: str) -> list[str]:
    config = load_scheduler_config(text)
    return [str(each) for each in lint(config, build_policy(config, Registry()))]


def conf(actions: str, *tiers: str, more: str = "") -> str:
    """Tiers as words; `gang-enablePreemptable` switches a flag off, `gang+enableHierarchy` on."""
    lines = [f"actions: {actions}", "tiers:"]
    for tier in tiers:
        lines.append("- plugins:")
        for word in tier.split():
            found = re.fullmatch(r"([a-z]+(?:-[a-z]+(?=[-=+]|$))*?)(?:([-+])(enable\w+))?(?:=(.*))?", word)
            assert found, word
            name, sign, flag, arguments = found.groups()
            lines.append(f"  - name: {name}")
            lines += [f"    {flag}: {'true' if sign == '+' else 'false'}"] if flag else []
            lines += [f"    arguments: {{{arguments.replace(':', ': ')}}}"] if arguments else []
    return "\n".join([*lines, more])


SOUND = conf("enqueue,allocate,backfill", "priority gang conformance", "drf predicates proportion nodeorder")


def test_a_sound_configuration_is_not_faulted() -> None:
    assert said(SOUND) == []


def test_a_flag_that_switches_nothing_of_its_plugin() -> None:
    text = conf("allocate", "gang-enableNodeOrder predicates-enablePredicate gang+enableHierarchy")

    assert "VC0113 tiers[0].plugins[0].enableNodeOrder: gang has nothing that this flag could switch" in said(
        text
    )
    assert "VC0113 tiers[0].plugins[2].enableHierarchy: gang has nothing that this flag could switch" in said(
        text
    )
    assert not any("plugins[1]" in each and "VC0113" in each for each in said(text))


def test_an_argument_that_volcano_never_reads() -> None:
    text = conf("allocate", "predicates=predicate.DynamicResourceAllocationEnable:true")

    assert any(
        each.startswith(
            "VC0113 tiers[0].plugins[0].arguments.predicate.DynamicResourceAllocationEnable: is read by no"
        )
        for each in said(text)
    )


def test_arguments_of_an_action_that_does_not_run() -> None:
    more = "configurations: [{name: preempt, arguments: {}}, {name: allocate, arguments: {}}]"

    assert said(conf("allocate", "predicates", more=more)) == [
        "VC0113 configurations[preempt]: `actions` does not name 'preempt', so these arguments have no effect"
    ]
    assert not any(
        "configurations" in each
        for each in said(conf("gangpreempt", "predicates", more=more.replace("preempt,", "gangpreempt,")))
    )


@pytest.mark.parametrize(
    ("plugins", "metrics", "start"),
    [
        ("predicates", "{type: prometheus}", "VC0113 metrics: no plugin reads the load of nodes"),
        ("predicates usage", "{type: promtheus}", "VC0113 metrics.type: must be one of prometheus, "),
        ("predicates usage", "", "VC0115 tiers[0].plugins[1]: usage sees no load of nodes"),
        ("predicates usage", "{type: prometheus, address: x}", ""),
    ],
)
def test_metrics_need_a_reader_and_a_reader_needs_metrics(plugins: str, metrics: str, start: str) -> None:
    found = said(conf("allocate", plugins, more=f"metrics: {metrics}" if metrics else ""))

    assert len(found) == (1 if start else 0)
    assert all(each.startswith(start) for each in found)


@pytest.mark.parametrize(
    ("plugins", "start"),
    [
        (
            "binpack nodeorder",
            "VC0114 tiers[0].plugins[1]: binpack (weight 1) fills nodes up while leastrequested",
        ),
        ("binpack nodeorder=leastrequested.weight:0", ""),
        ("binpack=binpack.weight:0 nodeorder", ""),
        ("binpack-enableNodeOrder nodeorder", ""),
        (
            "binpack=binpack.weight:-1 nodeorder=mostrequested.weight:1,leastrequested.weight:0",
            "VC0114 tiers[0].plugins[1]: binpack (weight -1) empties nodes while mostrequested",
        ),
        (
            "nodeorder=mostrequested.weight:1",
            "VC0114 tiers[0].plugins[1].arguments: leastrequested.weight 1 and most",
        ),
    ],
)
def test_packing_and_spreading_pull_against_each_other(plugins: str, start: str) -> None:
    found = said(conf("allocate", f"predicates {plugins}"))

    assert len(found) == (1 if start else 0)
    assert all(each.startswith(start) for each in found)


def test_usage_and_binpack_pull_against_each_other() -> None:
    more = "metrics: {type: prometheus, address: x}"

    assert said(conf("allocate", "predicates binpack usage", more=more))[0].startswith(
        "VC0114 tiers[0].plugins[2]: usage prefers nodes with little load"
    )
    assert said(conf("allocate", "predicates binpack usage-enableNodeOrder", more=more)) == []


def test_proportion_and_capacity_share_out_the_same_cluster() -> None:
    found = said(conf("allocate", "predicates capacity", "proportion"))

    assert [each.split(": ")[0] for each in found] == ["VC0114 tiers[1].plugins[0]"]


def test_placing_wants_predicates() -> None:
    assert said(conf("backfill,allocate", "gang"))[0].startswith(
        "VC0115 actions[1]: allocate looks at no selector"
    )
    assert said(conf("allocate", "predicates-enablePredicate"))[0].startswith("VC0115 actions[0]")


def test_without_allocate_nothing_is_placed() -> None:
    assert said(conf("backfill", "predicates")) == [
        "VC0115 actions: no action gives nodes to pods that request anything; add allocate"
    ]


def test_admission_plugins_want_enqueue() -> None:
    found = said(conf("allocate", "predicates overcommit resourcequota"))

    assert [each.split(": ")[0] for each in found] == [
        "VC0115 tiers[0].plugins[1]",
        "VC0115 tiers[0].plugins[2]",
    ]
    assert said(conf("enqueue,allocate", "predicates overcommit resourcequota")) == []


def test_enqueue_comes_first() -> None:
    assert said(conf("allocate,enqueue", "predicates"))[0].startswith(
        "VC0117 actions[1]: enqueue comes after allocate"
    )
    assert (
        said(
            conf(
                "shuffle,enqueue,allocate",
                "predicates rescheduling",
                more="metrics: {type: prometheus, address: x}",
            )
        )
        == []
    )


def test_sla_cannot_overrule_a_refusal_of_its_own_tier() -> None:
    assert any(
        each.startswith("VC0117 tiers[0].plugins[1]: a refusal of overcommit")
        for each in said(conf("enqueue,allocate", "predicates sla overcommit"))
    )
    assert said(conf("enqueue,allocate", "sla predicates", "overcommit")) == []


def test_a_claim_needs_a_starving_job() -> None:
    text = conf("allocate,preempt", "predicates priority-enableJobStarving")

    assert [each for each in said(text) if "VC0116" in each] == [
        "VC0116 actions[1]: preempt acts for no one: in no tier does a plugin tell that a job is starving; "
        "switch on enableJobStarving of priority or gang"
    ]


@pytest.mark.parametrize(
    ("action", "plugins", "advice"),
    [
        ("preempt", "priority-enablePreemptable", "add priority or gang, with enablePreemptable"),
        ("reclaim", "priority", "add proportion or capacity, with enableReclaimable"),
        (
            "preempt",
            "priority-enablePreemptable conformance pdb cdp",
            "add priority or gang, with enablePreemptable",
        ),
    ],
)
def test_a_claim_needs_somebody_who_names_victims(action: str, plugins: str, advice: str) -> None:
    found = said(conf(f"allocate,{action}", f"predicates {plugins}"))

    assert f"VC0115 actions[1]: {action} finds no victims, since no plugin says who may go; {advice}" in found


def test_reclaim_needs_to_know_what_a_queue_deserves() -> None:
    without = said(conf("allocate,reclaim", "priority predicates conformance"))
    off = said(conf("allocate,reclaim", "priority predicates conformance proportion-enableReclaimable"))
    sound = said(conf("allocate,reclaim", "priority predicates conformance proportion"))

    assert any("(there is neither proportion nor capacity)" in each for each in without)
    assert any("(proportion has enableReclaimable: false)" in each for each in off)
    assert sound == []


def test_gang_in_the_last_tier_that_is_asked_leaves_only_surplus() -> None:
    (found,) = said(conf("allocate,preempt", "priority gang", "predicates"))

    assert found.startswith("VC0116 tiers[0].plugins[1]: preempt takes only members above minMember")
    (found,) = said(conf("allocate,preempt", "priority gang", "predicates pdb"))
    assert found.startswith("VC0116 tiers[0].plugins[1]: preempt takes only members above minMember")
    assert said(conf("allocate,preempt", "priority gang-enablePreemptable", "predicates")) == []


def test_a_later_tier_breaks_gangs_that_an_earlier_one_protects() -> None:
    (found,) = said(conf("allocate,preempt", "priority gang", "drf predicates"))

    assert found.startswith(
        "VC0117 tiers[0].plugins[1]: where gang protects everybody, preempt asks the next tier (drf)"
    )


def test_a_share_plugin_in_a_later_tier_is_not_asked_by_volcano() -> None:
    (found,) = said(conf("allocate,reclaim", "priority conformance", "predicates proportion"))

    assert found.startswith(
        "VC0117 tiers[1].plugins[1]: Volcano's reclaim does not ask proportion once conformance"
    )


def test_admission_by_overcommit_starves_those_who_would_claim() -> None:
    text = conf("enqueue,allocate,preempt", "priority", "predicates overcommit")

    assert said(text)[0].startswith(
        "VC0116 tiers[1].plugins[1]: on a full cluster overcommit lets a group in only while its minResources fit 20%"
    )
    assert said(text.replace("overcommit", "drf")) == []


@pytest.mark.parametrize(
    ("action", "gang", "which"), [("preempt", "gangpreempt", "a"), ("reclaim", "gangreclaim", "a hard")]
)
def test_claims_pod_by_pod_do_nothing_for_jobs_with_a_topology(action: str, gang: str, which: str) -> None:
    plugins = "priority conformance proportion predicates network-topology-aware"

    assert said(conf(f"allocate,{action}", plugins)) == [
        f"VC0116 actions[1]: {action} does nothing for jobs with {which} networkTopology; add {gang} for them"
    ]
    assert said(conf(f"allocate,{action},{gang}", plugins)) == []


def test_shuffle_wants_plugins_that_name_victims_and_they_want_shuffle() -> None:
    more = "metrics: {type: prometheus, address: x}"

    assert said(conf("allocate,shuffle", "predicates"))[0].startswith(
        "VC0115 actions[1]: shuffle evicts nobody"
    )
    assert said(conf("allocate,shuffle", "predicates pdb"))[0].startswith(
        "VC0115 actions[1]: pdb alone names"
    )
    assert said(conf("allocate,shuffle", "predicates pdb tdm")) == []
    assert said(conf("allocate", "predicates rescheduling", more=more))[0].startswith(
        "VC0115 tiers[0].plugins[1]: rescheduling moves pods only through the action shuffle"
    )


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configurations_of_scenarios_only_pack_and_spread(name: str) -> None:
    report = examined(CONFIGURATIONS[name])

    assert report.problems == []
    assert [each.code for each in report.warnings] == ["VC0114"]


def test_volcanos_own_configurations_are_read_and_warned_of() -> None:
    """Its default and its chart's have nothing that does not work; that of its end-to-end tests has."""
    found = [[each.code for each in examined(text).warnings] for text in (DEFAULT_CONF, HELM_CONF, E2E_CONF)]

    assert found == [[], ["VC0114"], ["VC0113", "VC0114", "VC0117", "VC0116", "VC0116", "VC0116"]]


E2E_CONF = """\
actions: "enqueue, allocate, backfill, reclaim, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: sla
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
    arguments: {predicate.DynamicResourceAllocationEnable: true}
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""


def test_every_rule_has_a_row_in_the_documentation_with_its_code() -> None:
    page = (Path(__file__).parents[2] / "docs/configuration.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| (VC01\d\d)(?:, VC01\d\d)? \|", page, re.MULTILINE)

    assert [name for name, _ in rows] == list(RULES)
    assert all(rule.__doc__ for rule in RULES.values())
