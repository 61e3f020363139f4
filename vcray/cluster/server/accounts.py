"""Tokens of service accounts: signed JSON Web Tokens (RFC 7519, ES256), issued for TokenRequests and read back."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from vcray.api.jsonview import dig_int, dig_list, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import SERVICEACCOUNTS
from vcray.clock import Clock
from vcray.cluster.objects.review import User
from vcray.cluster.objects.storage import Storage

ISSUER = "https://kubernetes.default.svc"
_KIND = "kubernetes.io"
_HALF = 32  # bytes of each number of a P-256 signature


def new_signing_key() -> bytes:
    """A private key in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def key_of(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """The elliptic private key in a PEM. ValueError when there is none."""
    loaded = serialization.load_pem_private_key(pem, None)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise ValueError("an elliptic key is needed")
    return loaded


@dataclass(frozen=True, slots=True)
class Binding:
    """What a token is good for: audiences, seconds, and the object it ends with (None for none)."""

    audiences: tuple[str, ...] = (ISSUER,)
    seconds: int = 3600
    bound: JsonObject = field(default_factory=dict)


class Accounts:
    """Issues and reads the tokens of one cluster's service accounts; the key is made when it is first needed."""

    def __init__(self, storage: Storage, clock: Clock, key: bytes = b"") -> None:
        self._storage = storage
        self._clock = clock
        self._pem = key
        self._key: ec.EllipticCurvePrivateKey | None = None

    def issue(self, namespace: str, name: str, uid: str, binding: Binding) -> tuple[str, float]:
        """A token and the time when it ends, in seconds since 1970."""
        now = int(self._clock.now())
        about: JsonObject = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        kind = dig_str(binding.bound, "kind").lower()
        if kind:
            about[kind] = {"name": dig_str(binding.bound, "name"), "uid": dig_str(binding.bound, "uid")}
        claims: JsonObject = {
            "aud": [*binding.audiences],
            "exp": now + binding.seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            _KIND: about,
            "nbf": now,
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        key = self._signing_key()
        head = _encoded({"alg": "ES256", "kid": _key_id(key)})
        text = f"{head}.{_encoded(claims)}"
        r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        signature = r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")
        return f"{text}.{_base64(signature)}", float(now + binding.seconds)

    def user_of(self, token: str, audience: str = ISSUER) -> User | None:
        """The account behind a token; None if it is not ours, has ended, or its account is gone."""
        claims = self._claims(token)
        if claims is None or audience not in dig_list(claims, "aud"):
            return None
        if not dig_int(claims, "nbf") <= self._clock.now() + 1 or dig_int(claims, "exp") < self._clock.now():
            return None
        namespace, name = (
            dig_str(claims, _KIND, "namespace"),
            dig_str(claims, _KIND, "serviceaccount", "name"),
        )
        uid = dig_str(claims, _KIND, "serviceaccount", "uid")
        record = self._storage.get(SERVICEACCOUNTS, namespace, name)
        if record is None or record.uid != uid:
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        extra = {"authentication.kubernetes.io/credential-id": [f"JTI={dig_str(claims, 'jti')}"]}
        for kind in ("pod", "node"):
            for part in ("name", "uid"):
                value = dig_str(claims, _KIND, kind, part)
                if value:
                    extra[f"authentication.kubernetes.io/{kind}-{part}"] = [value]
        return User(f"system:serviceaccount:{namespace}:{name}", uid, groups, extra)

    def _claims(self, token: str) -> JsonObject | None:
        parts = token.split(".")
        if len(parts) != 3:
            return None
        try:
            signature, claims = _bytes(parts[2]), json.loads(_bytes(parts[1]))
            r, s = int.from_bytes(signature[:_HALF], "big"), int.from_bytes(signature[_HALF:], "big")
            signed = f"{parts[0]}.{parts[1]}".encode()
            public = self._signing_key().public_key()
            public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
        except (ValueError, InvalidSignature):
            return None
        return claims if isinstance(claims, dict) else None

    def _signing_key(self) -> ec.EllipticCurvePrivateKey:
        if self._key is None:
            self._key = key_of(self._pem or new_signing_key())
        return self._key


def _key_id(key: ec.EllipticCurvePrivateKey) -> str:
    encoded = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _base64(hashlib.sha256(encoded).digest())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _encoded(document: JsonObject) -> str:
    return _base64(json.dumps(document, separators=(",", ":")).encode())
