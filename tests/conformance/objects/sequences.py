"""All sequences of requests that both servers answer alike, by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.objects import sequences_of_applies, sequences_of_custom_objects, sequences_of_patches
from tests.conformance.objects.steps import Step

SEQUENCES: dict[str, Callable[[str], list[Step]]] = {
    each.__name__: each
    for each in (
        sequences_of_applies.owners_of_a_map,
        sequences_of_applies.cleared_owners,
        sequences_of_applies.lists_in_pods,
        sequences_of_applies.applies_that_do_not_fit,
        sequences_of_applies.from_client_side_apply,
        sequences_of_applies.two_versions,
        sequences_of_applies.statuses,
        sequences_of_patches.strategic_patches,
        sequences_of_patches.lists_of_words,
        sequences_of_patches.what_stays_as_it_is,
        sequences_of_patches.patches_that_fail,
        sequences_of_patches.replaced_objects,
        sequences_of_custom_objects.custom_objects,
        sequences_of_custom_objects.scales_of_custom_objects,
    )
}
