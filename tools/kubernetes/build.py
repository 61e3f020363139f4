"""Build the Kubernetes programs that the tests start, once per machine: servers, kubectl, its end-to-end suite.

The tests of vcray that matter most talk to a real kube-apiserver, and Kubernetes' own suite judges the embedded one.
Nothing is downloaded as a program: all are compiled from the Go modules that go.mod beside this file pins, into a cache
folder named after the version, outside the repository. Later runs only look whether the programs are there.

    python tools/kubernetes/build.py            build what is missing (about eight minutes on two cores)
    python tools/kubernetes/build.py --check    only say whether all are there
    python tools/kubernetes/build.py --where    print the folder

Exit codes: 0 the programs are ready; 1 the build failed; 2 wrong usage; 3 Go is missing or too old; 4 (``--check``
only) not built yet. The folder is ``~/.cache/vcray/kubernetes-<version>``, or VCRAY_KUBERNETES_BIN. Only the
standard library is used, so that the script runs before anything is installed.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

MODULE_DIR = Path(__file__).resolve().parent
FOLDER_VARIABLE = "VCRAY_KUBERNETES_BIN"
PROGRAMS: Mapping[str, str] = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "ginkgo": "github.com/onsi/ginkgo/v2/ginkgo",
    "e2e.test": "k8s.io/kubernetes/test/e2e",
}
SUITE = ("ginkgo", "e2e.test")
"""What runs Kubernetes' own end-to-end suite; all else is what other tests start."""

READY, FAILED, NO_GO, NOT_BUILT = 0, 1, 3, 4


class GoUnusableError(Exception):
    """Go is missing or older than go.mod asks; the text is one sentence for the user."""


def kubernetes_version() -> str:
    """The version that go.mod pins, without the v: ``1.36.1``."""
    pinned = re.search(r"^\s*k8s\.io/kubernetes v(\S+)", (MODULE_DIR / "go.mod").read_text(), re.MULTILINE)
    if pinned is None:
        raise SystemExit(
            f"{MODULE_DIR / 'go.mod'}: no line requires k8s.io/kubernetes; run generate_module.py"
        )
    return pinned[1]


def programs_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the programs are kept; VCRAY_KUBERNETES_BIN wins over the cache folder of the version."""
    chosen = environment.get(FOLDER_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().resolve()
    cache = Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "vcray" / f"kubernetes-{kubernetes_version()}"


def missing_programs(folder: Path, wanted: Collection[str] = tuple(PROGRAMS)) -> list[str]:
    """The programs that `folder` lacks; a program is moved there only when whole, so to be there is to be complete."""
    return [name for name in wanted if not os.access(folder / name, os.X_OK)]


def require_go(search_path: str | None = None) -> str:
    """The path of a Go that can build go.mod, or GoUnusableError. `search_path` replaces PATH (for tests)."""
    wanted = re.search(r"^go (\d+)\.(\d+)", (MODULE_DIR / "go.mod").read_text(), re.MULTILINE)
    assert wanted is not None, "go.mod names no Go version"
    need = (int(wanted[1]), int(wanted[2]))
    needed = (
        f"building kube-apiserver {kubernetes_version()} for the tests needs Go {need[0]}.{need[1]} or newer"
    )
    program = shutil.which("go", path=search_path)
    if program is None:
        raise GoUnusableError(f"{needed}, and no `go` is on PATH; install Go, or set {FOLDER_VARIABLE}.")
    said = subprocess.run(
        [program, "env", "GOVERSION"], cwd=tempfile.gettempdir(), capture_output=True, text=True
    ).stdout.strip()
    found = re.match(r"go(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < need:
        raise GoUnusableError(f"{needed}; {program} is {said or 'of an unknown version'}.")
    return program


def why_unavailable(folder: Path, wanted: Collection[str] = tuple(PROGRAMS)) -> str | None:
    """One sentence on why the `wanted` programs cannot be used now, or None if they can. Never builds."""
    missing = missing_programs(folder, wanted)
    if not missing:
        return None
    try:
        require_go()
    except GoUnusableError as error:
        return str(error)
    return f"{', '.join(missing)} not in {folder}; run `python tools/kubernetes/build.py` first (about 8 minutes)."


def link_flags() -> str:
    """Linker flags that stamp the version; without them clients see v0.0.0 and refuse some features."""
    version = kubernetes_version()
    major, minor = version.split(".")[:2]
    stamps = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return "-s -w " + " ".join(f"-X {p}.{name}={value}" for p in packages for name, value in stamps.items())


@contextmanager
def only_builder(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that two test runs that start together build once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(folder: Path, programs: Sequence[str], go: str) -> None:
    """Compile `programs` beside `folder`, then move each into it by a rename. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as temporary:
        for name in programs:
            started = time.monotonic()
            print(f"building {name} ...", flush=True)
            output = Path(temporary) / name
            command = [
                go,
                *(("test", "-c", "-vet=off") if name == "e2e.test" else ("build",)),
                "-buildvcs=false",
                "-ldflags",
                link_flags(),
                "-o",
                str(output),
                PROGRAMS[name],
            ]
            subprocess.run(command, cwd=MODULE_DIR, check=True)
            output.replace(folder / name)
            print(f"building {name} done in {time.monotonic() - started:.0f} s", flush=True)


def run(check_only: bool) -> int:
    """Do what the command line asks; returns the exit code."""
    folder = programs_folder()
    if check_only:
        reason = why_unavailable(folder)
        print(reason or f"kubernetes {kubernetes_version()}: ready in {folder}")
        return READY if reason is None else NOT_BUILT
    if missing_programs(folder):
        try:
            go = require_go()
        except GoUnusableError as error:
            print(error, file=sys.stderr)
            return NO_GO
        with only_builder(folder):
            try:
                build(folder, missing_programs(folder), go)
            except subprocess.CalledProcessError as error:
                print(
                    f"the build of {error.cmd[-1]} failed with exit code {error.returncode}", file=sys.stderr
                )
                return FAILED
    print(f"kubernetes {kubernetes_version()}: ready in {folder}")
    return READY


def main() -> int:
    """Entry point of the script."""
    parser = argparse.ArgumentParser(description="Build the Kubernetes programs that the tests start.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="only say whether the programs are there")
    choice.add_argument("--where", action="store_true", help="print the folder of the programs")
    arguments = parser.parse_args()
    if arguments.where:
        print(programs_folder())
        return READY
    return run(arguments.check)


if __name__ == "__main__":
    sys.exit(main())
