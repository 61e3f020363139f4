"""A real Kubernetes control plane for tests: etcd, kube-apiserver and, on wish, kube-controller-manager.

Everything listens on free ports of 127.0.0.1 and lives in one temporary folder (on the RAM disk where there is one),
which goes away with the processes. There is no kubelet and no kube-scheduler: nodes are plain objects, and tests
write pod statuses.

Nothing here builds the programs; ``tools/kubernetes/build.py`` does, before.
"""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.harness.base import ADMIN_TOKEN, STRANGER_TOKEN, Server
from tests.conformance.harness.client import ApiError
from tests.conformance.harness.process import Child, ServerStartError, free_port

START_ATTEMPTS = 3  # a free port may be taken before the program binds it

# Without a kubelet the node lifecycle controller would taint every node after 40 s, so controllers are named.
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "ephemeral-volume-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "resourceclaim-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
)


def new_signing_key() -> str:
    """A fresh P-256 private key in PEM (SEC 1), for the service-account tokens of one server.

    The structure is fixed but for the 32 random bytes of the key; Go derives the public half itself and reads it
    from the same file. The first bit is cleared, which keeps the number below the order of the curve.
    """
    number = bytearray(secrets.token_bytes(32))
    number[0] &= 0x7F
    der = bytes.fromhex("30310201010420") + bytes(number) + bytes.fromhex("a00a06082a8648ce3d030107")
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}-----END EC PRIVATE KEY-----\n"


@dataclass
class ControlPlane(Server):
    """One control plane; use it as a context manager, or call `start` and `stop`.

    `apiserver_flags` are added to kube-apiserver's, e.g. ``--watch-cache=false``.
    """

    apiserver_flags: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._children: dict[str, Child] = {}
        self._etcd_port = self._secure_port = 0

    # -- life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start every program and return when all are ready. Raises ServerStartError; leaves nothing then."""
        try:
            self._write_credentials()
            self._start_etcd()
            self._secure_port = free_port()
            self._start_apiserver()
            self._write_kubeconfig()
            if self.controller_manager:
                self._start_controller_manager()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every program, last started first, and remove the folder; nothing is worth a polite end."""
        for child in reversed(list(self._children.values())):
            child.kill()
        self._children.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop_apiserver(self) -> None:
        """Take the API server away; etcd keeps the objects."""
        self._children.pop("kube-apiserver").stop()

    def start_apiserver(self) -> None:
        """Bring the API server back at its old address.

        Its watch cache starts anew, so a watch from an older resourceVersion is answered with 410 Gone.
        """
        self._start_apiserver()

    @property
    def url(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self._secure_port}"

    @property
    def certificate_authority(self) -> Path:
        """The certificate (with its issuer) that the API server signed for itself."""
        return self.folder / "certificates" / "apiserver.crt"

    def compact(self) -> int:
        """Forget etcd's history before now and return the revision.

        A watch is answered with 410 if an event after its resourceVersion has been forgotten, so at least two changes
        must lie between; the API server's watch cache remembers longer unless ``--watch-cache=false``.
        """
        revision = int(self._etcd("kv/range", {"key": "AA=="})["header"]["revision"])
        self._etcd("kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    # -- parts --------------------------------------------------------------------------------------------------

    def _etcd(self, call: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._etcd_port}/v3/{call}", data=json.dumps(body).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            decoded: dict[str, dict[str, str]] = json.loads(answer.read())
            return decoded

    def _write_credentials(self) -> None:
        (self.folder / "signing.key").write_text(new_signing_key())
        (self.folder / "tokens.csv").write_text(
            f'{ADMIN_TOKEN},admin,admin,"system:masters"\n{STRANGER_TOKEN},stranger,stranger\n'
        )

    def _launch(self, program: str, *flags: str) -> Child:
        child = Child([self.programs / program, *flags], self.folder / f"{program}.log")
        self._children[program] = child
        return child

    def _start_etcd(self) -> None:
        for attempt in range(START_ATTEMPTS):
            child = self._launch_etcd()
            try:
                self._await(child, self._etcd_ready)
                return
            except ServerStartError:
                child.stop()
                shutil.rmtree(self.folder / "etcd", ignore_errors=True)
                if attempt == START_ATTEMPTS - 1:
                    raise

    def _launch_etcd(self) -> Child:
        self._etcd_port = free_port()
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{free_port()}"
        return self._launch(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )

    def _etcd_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._etcd_port}/readyz", timeout=2):
                return True
        except OSError:
            return False

    def _start_apiserver(self) -> None:
        key = self.folder / "signing.key"
        # New nodes get a not-ready taint that only the node lifecycle controller takes away again.
        without = "TaintNodesByCondition" + ("" if self.controller_manager else ",ServiceAccount")
        child = self._launch(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--etcd-compaction-interval=0",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={self._secure_port}",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--allow-privileged=true",
            f"--disable-admission-plugins={without}",
            *self.apiserver_flags,
        )
        self._await(child, self._readyz)

    def _readyz(self) -> bool:
        if not self.certificate_authority.exists():
            return False
        try:
            return self.client.raw("GET", "/readyz")[0] == b"ok"
        except (ApiError, OSError):
            return False

    def _start_controller_manager(self) -> None:
        child = self._launch(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self.folder / 'signing.key'}",
            f"--root-ca-file={self.certificate_authority}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--enable-hostpath-provisioner=true",
            "--leader-elect=false",
            "--secure-port=0",
        )
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._await(child, lambda: self.client.exists(account))
