"""What ``tools/kubernetes/build.py`` answers without building anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.kubernetes.build import MODULE_DIR, PROGRAMS, kubernetes_version, link_flags, programs_folder


def program(path: Path, text: str = "#!/bin/sh\n") -> None:
    path.write_text(text)
    path.chmod(0o755)


def run_build(bin_folder: Path, search_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "VCRAY_KUBERNETES_BIN": str(bin_folder),
        "PATH": str(search_path),
        "HOME": os.environ["HOME"],
    }
    command = [sys.executable, str(MODULE_DIR / "build.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_without_go_it_says_so_in_one_sentence_and_exits_3(tmp_path: Path) -> None:
    done = run_build(tmp_path / "bin", tmp_path)

    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "needs Go 1.26 or newer, and no `go` is on PATH" in done.stderr


def test_an_old_go_is_named_with_its_version_and_exits_3(tmp_path: Path) -> None:
    program(tmp_path / "go", "#!/bin/sh\necho go1.21.4\n")

    done = run_build(tmp_path / "bin", tmp_path)

    assert done.returncode == 3
    assert done.stderr.endswith(f"{tmp_path / 'go'} is go1.21.4.\n")


def test_a_failed_build_exits_1_and_leaves_no_half_program(tmp_path: Path) -> None:
    program(tmp_path / "go", '#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; else exit 2; fi\n')

    done = run_build(tmp_path / "bin", tmp_path)

    assert done.returncode == 1
    assert "failed with exit code 2" in done.stderr
    assert [p.name for p in (tmp_path / "bin").iterdir()] == [".lock"]


def test_programs_that_are_there_are_enough_even_without_go(tmp_path: Path) -> None:
    for name in PROGRAMS:
        program(tmp_path / name)

    done = run_build(tmp_path, tmp_path / "nowhere")

    assert done.returncode == 0, done.stderr
    assert f"kubernetes {kubernetes_version()}: ready in {tmp_path}" in done.stdout


def test_only_what_is_missing_is_built(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in list(PROGRAMS)[1:]:
        program(bin_folder / name)
    script = '#!/bin/sh\nif [ "$1" = env ]; then echo go1.27.1; exit; fi\nprintf "#!/bin/sh" > "$6"\n/bin/chmod +x "$6"\n'
    program(tmp_path / "go", script)

    done = run_build(bin_folder, tmp_path)

    assert done.returncode == 0, done.stderr
    assert "building etcd" in done.stdout
    assert "building kube-apiserver" not in done.stdout


def test_check_says_what_is_missing_and_exits_4(tmp_path: Path) -> None:
    done = run_build(tmp_path, tmp_path, "--check")

    assert done.returncode == 4
    assert done.stdout.strip()


def test_the_folder_carries_the_version_and_the_variable_wins(tmp_path: Path) -> None:
    by_default = programs_folder({"XDG_CACHE_HOME": str(tmp_path)})
    chosen = programs_folder({"VCRAY_KUBERNETES_BIN": str(tmp_path / "elsewhere")})

    assert by_default == tmp_path / "vcray" / f"kubernetes-{kubernetes_version()}"
    assert chosen == tmp_path / "elsewhere"


@pytest.mark.parametrize("stamp", ["gitVersion=v", "gitMajor=1", "gitMinor="])
def test_programs_are_stamped_with_the_version(stamp: str) -> None:
    assert f"k8s.io/component-base/version.{stamp}" in link_flags()
