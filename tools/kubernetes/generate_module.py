"""Write the Go module from which the Kubernetes programs for our tests are built.

Kubernetes publishes its libraries ("staging modules") under version v0.X.Y and its programs under v1.X.Y, and the
programs' own go.mod points to the libraries by relative folders. A module that wants to build the programs must
therefore name each library again. This script reads that list from the go.mod of the wanted version, writes ours
with the programs as Go tools, lets ``go mod tidy`` fill in the rest, and adds what Kubernetes' own end-to-end suite
needs, which is a test and so cannot be named as a tool. Run it by hand to move to another version, then commit go.mod
and go.sum:

    python tools/kubernetes/generate_module.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KUBERNETES = "1.36.1"
ETCD = "3.6.8"  # the version whose client kubernetes 1.36.1 requires
GO = "1.26"
SUITE = "k8s.io/kubernetes/test/e2e"
TOOLS = (
    "github.com/onsi/ginkgo/v2/ginkgo",
    "go.etcd.io/etcd/server/v3",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    "k8s.io/kubernetes/cmd/kubectl",
)


def go_json(*arguments: str) -> dict[str, object]:
    """Run a go command that prints one JSON object and return that object."""
    done = subprocess.run(["go", *arguments], cwd=HERE, check=True, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    if not isinstance(answer, dict):
        raise SystemExit(f"go {' '.join(arguments)}: expected one JSON object")
    return answer


def staging_modules() -> list[str]:
    """The libraries that kubernetes' own go.mod replaces by folders of its source tree."""
    downloaded = go_json("mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}")
    go_mod = go_json("mod", "edit", "-json", str(downloaded["GoMod"]))
    replaced = go_mod["Replace"]
    assert isinstance(replaced, list)
    return sorted(r["Old"]["Path"] for r in replaced if r["New"]["Path"].startswith("./staging/"))


def main() -> int:
    """Write go.mod, then tidy it; prints the number of libraries pinned."""
    staging = staging_modules()
    library = "v0." + KUBERNETES.split(".", 1)[1]
    lines = [
        "// Written by generate_module.py.",
        "module vcray.io/tools/kubernetes",
        "",
        f"go {GO}",
        "",
        "tool (",
    ]
    lines += [f"\t{tool}" for tool in TOOLS]
    lines += [")", "", "require ("]
    lines += [f"\tgo.etcd.io/etcd/server/v3 v{ETCD}", f"\tk8s.io/kubernetes v{KUBERNETES}", ")", ""]
    lines += ["replace ("]
    lines += [f"\t{module} => {module} {library}" for module in staging]
    lines += [")", ""]
    (HERE / "go.mod").write_text("\n".join(lines))
    (HERE / "go.sum").unlink(missing_ok=True)
    subprocess.run(["go", "mod", "tidy"], cwd=HERE, check=True)
    subprocess.run(["go", "get", "-t", f"{SUITE}@v{KUBERNETES}"], cwd=HERE, check=True)
    print(f"go.mod: kubernetes {KUBERNETES} with {len(staging)} libraries at {library}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
