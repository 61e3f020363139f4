"""All admission of one served cluster, in kube-apiserver's order.

`install` puts it onto a store. Everything here waits until it has something to do: a cluster without policies, quotas, limit
ranges and service accounts pays a look at a few empty tables for each write.
"""

from __future__ import annotations

from vcray.cluster.admission.accounts import AccountGate
from vcray.cluster.admission.clusterrules import ClusterRules
from vcray.cluster.admission.limits import LimitGate
from vcray.cluster.admission.policygate import PolicyGate
from vcray.cluster.admission.quota import QuotaGate
from vcray.cluster.admission.quotastatus import Later, QuotaStatus
from vcray.cluster.admission.registrationgate import RegistrationGate
from vcray.cluster.objects.store import Store


def install(store: Store, later: Later, *, service_accounts: bool = False) -> QuotaStatus:
    """Add the gates to a store; the returned recount of quotas runs by `later` until it is closed.

    May be called again when a store is served anew. `service_accounts` gives pods an account and its token, as
    kube-apiserver does unless its plugin ServiceAccount is disabled.
    """
    if not any(isinstance(gate, QuotaGate) for gate in store.gates):
        storage, catalog = store.storage, store.catalog
        store.gates += [ClusterRules(storage), LimitGate(storage, catalog)]
        if service_accounts:
            store.gates.append(AccountGate(storage))
        store.gates += [RegistrationGate(), PolicyGate(storage, catalog), QuotaGate(storage, store.clock)]
    return QuotaStatus(store.storage, store.catalog, store.clock, later)
