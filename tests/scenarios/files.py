"""The scenario files of this folder, each read once a process."""

from __future__ import annotations

from pathlib import Path

from vcray.sim.reading import load
from vcray.sim.scenario import Scenario

FILES: dict[str, list[Scenario]] = {
    file.stem: load(file) for file in sorted(Path(__file__).parent.glob("*.yaml"))
}
"""Name of a file, without its suffix -> its scenarios."""

SCENARIOS = [scenario for scenarios in FILES.values() for scenario in scenarios]
