"""Questions about identities and rights: token and access reviews, and tokens for service accounts. Nothing is stored."""

from __future__ import annotations

from collections.abc import Callable

from vcray.api.jsonview import dig_int, dig_list, dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.clock import rfc3339
from vcray.cluster.objects.review import User
from vcray.cluster.objects.store import Store
from vcray.cluster.server.accounts import ISSUER, Accounts, Binding
from vcray.cluster.server.authorization import Authority, wish_of
from vcray.cluster.server.bodies import read_object
from vcray.cluster.server.options import write_of
from vcray.cluster.server.paths import Target
from vcray.cluster.server.rendering import whole
from vcray.cluster.server.requests import Request
from vcray.cluster.server.rest import Answer, Subresource, not_allowed
from vcray.kube.errors import Invalid

_LONGEST_S = 1 << 32
_SHORTEST_S = 600


class Identities:
    """The handlers of these kinds. `user_of` tells whose a bearer token is."""

    def __init__(
        self, authority: Authority, accounts: Accounts, user_of: Callable[[str], User | None]
    ) -> None:
        self._authority = authority
        self._accounts = accounts
        self._user_of = user_of

    def handlers(self) -> dict[tuple[str, str], Subresource]:
        """By the resource's full name and the subresource."""
        authentication, authorization = "authentication.k8s.io", "authorization.k8s.io"
        return {
            (f"selfsubjectreviews.{authentication}", ""): self._self_review,
            (f"tokenreviews.{authentication}", ""): self._token_review,
            (f"selfsubjectaccessreviews.{authorization}", ""): self._own_access,
            (f"subjectaccessreviews.{authorization}", ""): self._access,
            (f"localsubjectaccessreviews.{authorization}", ""): self._access,
            (f"selfsubjectrulesreviews.{authorization}", ""): self._own_rules,
            ("serviceaccounts", "token"): self._token,
        }

    def _asked(self, target: Target, request: Request) -> JsonObject:
        if request.method != "POST" or target.name:
            raise not_allowed()
        write_of(request, "CreateOptions", "")
        return read_object(request.body, request.content_type, target.kind)

    def _told(
        self,
        store: Store,
        target: Target,
        request: Request,
        obj: JsonObject,
        status: JsonObject,
        **more: JsonValue,
    ) -> Answer:
        yield from ()
        head: JsonObject = {"kind": target.resource.kind, "apiVersion": target.resource.api_version}
        metadata: JsonObject = dict(dig_object(obj, "metadata"))
        if target.resource.kind == "SelfSubjectReview":
            metadata["creationTimestamp"] = rfc3339(store.clock.now())
        body: JsonObject = {**head, "metadata": metadata, **more, "status": status}
        return whole(request, target.kind, 201, body)

    def _self_review(self, store: Store, target: Target, request: Request) -> Answer:
        obj = self._asked(target, request)
        return self._told(store, target, request, obj, {"userInfo": user_info(request.user)})

    def _token_review(self, store: Store, target: Target, request: Request) -> Answer:
        obj = self._asked(target, request)
        spec = dig_object(obj, "spec")
        user = self._user_of(dig_str(spec, "token"))
        status: JsonObject
        if user is None:
            status = {"user": {}, "error": "invalid bearer token"}
        else:
            audiences = dig_list(spec, "audiences") or [ISSUER]
            status = {"authenticated": True, "user": user_info(user), "audiences": audiences}
        return self._told(store, target, request, obj, status, spec=spec)

    def _own_access(self, store: Store, target: Target, request: Request) -> Answer:
        obj = self._asked(target, request)
        spec = dig_object(obj, "spec")
        allowed = self._authority.may(request.user, wish_of(spec))
        return self._told(store, target, request, obj, {"allowed": allowed}, spec=spec)

    def _access(self, store: Store, target: Target, request: Request) -> Answer:
        obj = self._asked(target, request)
        spec = dig_object(obj, "spec")
        if not dig_str(spec, "user") and not dig_list(spec, "groups"):
            why = "spec.user: Invalid value: null: at least one of user or group must be specified"
            raise Invalid(f'{target.resource.kind}.{target.resource.group} "" is invalid: {why}')
        groups = tuple(str(group) for group in dig_list(spec, "groups"))
        user = User(dig_str(spec, "user"), dig_str(spec, "uid"), groups)
        allowed = self._authority.may(user, wish_of(spec))
        return self._told(store, target, request, obj, {"allowed": allowed}, spec=spec)

    def _own_rules(self, store: Store, target: Target, request: Request) -> Answer:
        obj = self._asked(target, request)
        rules = list(self._authority.rules(request.user, dig_str(obj, "spec", "namespace")))
        resources: list[JsonValue] = [rule for rule in rules if "resources" in rule]
        paths: list[JsonValue] = [rule for rule in rules if "nonResourceURLs" in rule]
        status: JsonObject = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}
        return self._told(store, target, request, obj, status, spec={})

    def _token(self, store: Store, target: Target, request: Request) -> Answer:
        if request.method != "POST":
            raise not_allowed()
        yield from ()
        write_of(request, "CreateOptions", "token")
        account = store.read(target.resource, target.namespace, target.name)
        obj = read_object(request.body, request.content_type, target.kind)
        spec = dig_object(obj, "spec")
        seconds = dig_int(spec, "expirationSeconds", default=3600)
        if not _SHORTEST_S <= seconds <= _LONGEST_S:
            bound = "may not specify a duration less than 10 minutes"
            if seconds > _LONGEST_S:
                bound = "may not specify a duration larger than 2^32 seconds"
            raise Invalid(
                f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {seconds}: {bound}'
            )
        audiences = tuple(str(each) for each in dig_list(spec, "audiences")) or (ISSUER,)
        bound_to = dig_object(spec, "boundObjectRef")
        binding = Binding(audiences, seconds, bound_to)
        token, ends = self._accounts.issue(target.namespace, target.name, account.uid, binding)
        body: JsonObject = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": target.name,
                "namespace": target.namespace,
                "uid": account.uid,
                "creationTimestamp": rfc3339(store.clock.now()),
            },
            "spec": {
                "audiences": [*audiences],
                "expirationSeconds": seconds,
                "boundObjectRef": bound_to or None,
            },
            "status": {"token": token, "expirationTimestamp": rfc3339(ends)},
        }
        return whole(request, target.kind, 201, body)


def user_info(user: User) -> JsonObject:
    """A user as reviews tell one."""
    info: JsonObject = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = [*user.groups]
    if user.extra:
        info["extra"] = {key: [*values] for key, values in user.extra.items()}
    return info
