"""Series of cards: what is held of each, and by whom. A card or pod that is gone takes its series along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vcray.core.cards import CardFigures
from vcray.metrics import Metrics


class CardSeries:
    """Remembers what was shown of each node; a node whose figures are the same object costs one comparison."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._shown: dict[str, Sequence[CardFigures]] = {}

    def show(self, nodes: Mapping[str, Sequence[CardFigures]]) -> None:
        """All nodes with cards, after a round."""
        for node in self._shown.keys() - nodes.keys():
            self._show_node(node, self._shown.pop(node), ())
        for node, cards in nodes.items():
            before = self._shown.get(node)
            if before is not cards and before != cards:
                self._show_node(node, before or (), cards)
            self._shown[node] = cards

    def _show_node(self, node: str, before: Sequence[CardFigures], after: Sequence[CardFigures]) -> None:
        metrics = self._metrics
        now = {card.card: card for card in after}
        for card in before:
            held = {pod for pod, _, _ in now[card.card].pods} if card.card in now else set()
            for pod, _, _ in card.pods:
                if pod not in held:
                    metrics.vgpu_pod_memory.remove(card.card, node, pod)
                    metrics.vgpu_pod_cores.remove(card.card, node, pod)
            if card.card not in now:
                for gauge in (
                    metrics.vgpu_shared,
                    metrics.vgpu_memory,
                    metrics.vgpu_cores,
                    metrics.vgpu_limit,
                ):
                    gauge.remove(card.card, node)
        for card in after:
            labels = (card.card, node)
            metrics.vgpu_limit.labels(*labels).set(card.memory_limit)
            metrics.vgpu_shared.labels(*labels).set(card.number)
            metrics.vgpu_memory.labels(*labels).set(card.memory)
            metrics.vgpu_cores.labels(*labels).set(card.cores)
            for pod, memory, cores in card.pods:
                metrics.vgpu_pod_memory.labels(*labels, pod).set(memory)
                metrics.vgpu_pod_cores.labels(*labels, pod).set(cores)
