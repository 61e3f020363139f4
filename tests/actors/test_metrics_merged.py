"""The expositions of several processes as one."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from vcray.metrics import Metrics, merged


def test_series_of_several_processes_are_one_each_with_their_sum() -> None:
    one, two = Metrics(), Metrics()
    one.rounds.inc(3)
    two.rounds.inc(4)
    one.bindings.labels(result="bound").inc(2)
    two.unscheduled_tasks.labels(job_id='a "b"\\n').set(5)
    two.decide_latency.observe(1.5)

    families = {
        each.name: each
        for each in text_string_to_metric_families(merged([one.expose(), two.expose()]).decode())
    }

    values = {(s.name, tuple(s.labels.items())): s.value for each in families.values() for s in each.samples}
    assert values["vcray_rounds_total", ()] == 7
    assert values["vcray_bindings_total", (("result", "bound"),)] == 2
    assert values["volcano_unschedule_task_count", (("job_id", 'a "b"\\n'),)] == 5
    assert values["vcray_decide_duration_milliseconds_count", ()] == 1
    assert len(values) == sum(len(each.samples) for each in families.values())


def test_the_exposition_of_one_process_keeps_its_samples() -> None:
    metrics = Metrics()
    metrics.bindings.labels(result="gone").inc()

    def samples(text: bytes) -> dict[str, float]:
        families = text_string_to_metric_families(text.decode())
        return {f"{s.name}{s.labels}": s.value for each in families for s in each.samples}

    assert samples(merged([metrics.expose()])) == samples(metrics.expose())
