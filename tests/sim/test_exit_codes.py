"""`vcray sim` as a program: 0 all holds, 1 something does not or could not be done, 2 a file cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from vcray.cli.main import execute

HOLDS = "{name: holds, steps: [{cycles: 1}]}"
FAILS = "{name: fails, steps: [{cycles: 1}], expect: {pods: {x: 1}}}"
STUCK = "{name: stuck, steps: [{finish: {pods: x}}]}"


def sim(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> tuple[int, str, str]:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    code = execute(["sim", str(file)])
    out, err = capsys.readouterr()
    return code, out, err.replace(str(file), "f.yaml")


def test_all_that_holds_is_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = sim(tmp_path, capsys, f"{HOLDS}\n---\n{HOLDS}")

    assert (code, err) == (0, "")
    assert out.count("holds") == 4


def test_what_does_not_hold_is_one_and_the_rest_still_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = sim(tmp_path, capsys, f"{FAILS}\n---\n{HOLDS}\n---\n{STUCK}")

    assert code == 1
    assert [line.split()[-1] for line in out.splitlines()[1:]] == ["fails", "holds", "fails"]
    assert err.splitlines() == [
        "VC0304 f.yaml: fails, order 0: expect.pods.x: expected 1, found 0 (no pod matches)",
        "VC0303 f.yaml: stuck, order 0: steps[0].finish: no pod on a node that has not ended matches 'x'",
    ]


def test_file_that_cannot_be_used_is_two_and_nothing_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = sim(tmp_path, capsys, f"{HOLDS}\n---\n{{name: s, stpes: []}}")

    assert (code, out) == (2, "")
    assert err == "VC0302 f.yaml[1]: stpes: unknown key 'stpes'; did you mean 'steps'?\n"
