"""The scripts of examples/ray-data and examples/ray-train do on a real Ray what their pages say."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

_EPOCH = re.compile(r"^epoch (\d+): loss ([\d.]+) with (\d+) workers, saved in (.+)$", re.MULTILINE)


def run(folder: Path) -> str:
    """What the scripts print. Ray's processes end with the group that they are started in, whatever happens."""
    command = [sys.executable, "-m", "tests.ray.running_examples", str(folder)]
    with (folder / "errors").open("w+") as errors:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        )
        try:
            printed, _ = child.communicate(timeout=240)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    assert child.returncode == 0, (folder / "errors").read_text()[-5000:]
    return printed


def test_rows_are_prepared_and_two_workers_learn_what_is_in_them(tmp_path: Path) -> None:
    printed = run(tmp_path)

    assert f"9896 of 10000 rows written to {tmp_path}/rows\n" in printed
    assert list((tmp_path / "rows").glob("*.parquet"))
    told = _EPOCH.findall(printed)
    losses = [float(loss) for _, loss, _, _ in told]
    assert [(int(epoch), int(workers)) for epoch, _, workers, _ in told] == [(5, 2), (6, 2), (7, 2)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < min(losses[0], 0.01)
    saved = json.loads((Path(told[-1][3]) / "model.json").read_text())
    assert saved["epoch"] == 7
    assert saved["weights"] == pytest.approx([0.9, -0.3, 2.7], abs=0.02)
