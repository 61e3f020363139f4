"""Plain Ray tasks: scenarios side by side say what they say one after the other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.program import call

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FILES = [
    SCENARIOS / "o_001_every_role_gets_its_minimum.yaml",
    SCENARIOS / "o_006_elastic_group_stays_running.yaml",
]


@pytest.mark.ray
@pytest.mark.timeout(240)
def test_scenarios_on_ray_have_the_results_that_they_have_in_one_process() -> None:
    flags = ("--repeat", "2", "-o", "json", *FILES)

    plain, swept = call("sim", *flags), call("sim", "--on-ray", *flags, timeout_s=200)

    assert (swept.returncode, swept.stderr) == (0, "")
    assert json.loads(swept.stdout) == json.loads(plain.stdout)


def test_a_sweep_is_not_for_servers() -> None:
    refused = call("sim", "--on-ray", "--backend", "embedded", FILES[0])

    assert refused.returncode == 2
    assert refused.stderr.strip() == "VC0502 --on-ray: goes with --backend in-process alone"


def test_a_wrong_ray_address_is_one_clear_sentence() -> None:
    refused = call("sim", "--on-ray", "--ray-address", "127.0.0.1:1", FILES[0])

    assert refused.returncode == 3
    assert refused.stderr.strip() == (
        "VC0605 --ray-address 127.0.0.1:1: nothing answers there (Connection refused); "
        "check the address, or leave it out and one is started"
    )


def test_only_one_module_imports_ray() -> None:
    root = Path(__file__).parents[2] / "vcray"
    code = "import sys; import vcray.app, vcray.cli.main, vcray.actors.fleet; print('ray' in sys.modules)"

    found = [str(file.relative_to(root)) for file in root.rglob("*.py") if "import ray\n" in file.read_text()]

    assert found == ["actors/ray_runtime.py"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
