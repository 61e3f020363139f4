"""Series of cards follow what pods hold and go with what is gone."""

from __future__ import annotations

from vcray.actors.cardgauges import CardSeries
from vcray.core.cards import CardFigures
from vcray.metrics import Metrics


def shown(metrics: Metrics) -> dict[str, float]:
    return {
        f"{sample.name.removeprefix('volcano_vgpu_device_')} {'/'.join(sample.labels.values())}": sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name.startswith("volcano_vgpu")
    }


def test_cards_show_their_pods_and_both_go_with_the_node() -> None:
    metrics = Metrics()
    series = CardSeries(metrics)
    series.show({"n1": (CardFigures("GPU-0", 1000, 1, 250, 10, (("p", 250, 10),)),)})
    assert shown(metrics) == {
        "memory_limit GPU-0/n1": 1000, "shared_number GPU-0/n1": 1, "allocated_memory GPU-0/n1": 250,
        "allocated_cores GPU-0/n1": 10, "memory_allocation_for_a_certain_pod GPU-0/n1/p": 250,
        "core_allocation_for_a_certain_pod GPU-0/n1/p": 10,
    }  # fmt: skip
    series.show({"n1": (CardFigures("GPU-0", 1000),)})
    assert shown(metrics) == {
        "memory_limit GPU-0/n1": 1000, "shared_number GPU-0/n1": 0, "allocated_memory GPU-0/n1": 0,
        "allocated_cores GPU-0/n1": 0,
    }  # fmt: skip
    series.show({})
    assert shown(metrics) == {}
