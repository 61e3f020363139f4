"""The authorizer that expressions of policies ask: the rights of the cluster's own roles."""

from __future__ import annotations

import json
from collections.abc import Mapping

from vcray.cel.authorization import Decide
from vcray.cluster.objects.review import Review, User
from vcray.cluster.objects.storage import Storage


def request_resource(review: Review) -> str:
    """The check that is already about what the request is about: `authorizer.requestResource`."""
    resource = review.resource
    wish = {"group": resource.group, "resource": resource.plural, "name": review.name}
    wish |= {"namespace": review.namespace} if resource.namespaced else {}
    wish |= {"subresource": review.subresource} if review.subresource else {}
    return json.dumps(wish)


def authorizer(storage: Storage, user: User) -> Decide:
    """Decides for the user of a request, or for the service account that a check names."""
    from vcray.cluster.server.attributes import Attributes
    from vcray.cluster.server.authorization import Authority  # the server stands on admission

    authority = Authority(storage)

    def decide(wish: Mapping[str, str]) -> bool:
        names = ("verb", "path", "group", "version", "resource", "subresource", "namespace", "name")
        asked = Attributes(*(wish.get(name, "") for name in names))
        return authority.may(_account(wish["account"]) if "account" in wish else user, asked)

    return decide


def _account(named: str) -> User:
    namespace = named.partition(":")[0]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{named}", groups=groups)
