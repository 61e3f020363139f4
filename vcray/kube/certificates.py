"""The certificates of a server of ours: an authority of its own, and the server's certificate signed by it.

Elliptic keys (P-256), since making one takes a millisecond. Nothing else trusts the authority; clients get it by what
tells them of the server: a kubeconfig, the `caBundle` of a webhook.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=365)
_EARLIER = timedelta(hours=1)  # clocks of clients may be slow


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> None:
        """Keep the pair; the key is readable by its owner alone."""
        (folder / f"{name}.crt").write_bytes(self.certificate)
        path = folder / f"{name}.key"
        path.touch(mode=0o600)
        path.write_bytes(self.key)


def new_authority(name: str = "vcray", lifetime: timedelta = LIFETIME) -> Certificate:
    """A self-signed certificate authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(f"{name}-ca")
    builder = _builder(subject, subject, key.public_key(), lifetime).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    signed = builder.add_extension(usage, critical=True).add_extension(identifier, critical=False)
    return _pair(signed.sign(key, hashes.SHA256()), key)


def valid_until(pair: Certificate) -> datetime:
    """When a certificate ends. ValueError when it is none."""
    return x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc


def serving_certificate(
    authority: Certificate, hosts: tuple[str, ...], lifetime: timedelta = LIFETIME
) -> Certificate:
    """A certificate for a server that is reached as each of `hosts` (names or addresses)."""
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    signer = serialization.load_pem_private_key(authority.key, None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey):
        raise ValueError("the authority's key is not an elliptic one")
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    signed = (
        _builder(_name(hosts[0]), issuer.subject, key.public_key(), lifetime)
        .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
    )
    return _pair(signed.sign(signer, hashes.SHA256()), key)


def server_context(certificate: Certificate) -> ssl.SSLContext:
    """What a server presents to its clients; HTTP/1.1 only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    present(context, certificate)
    return context


def present(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Make a server show this certificate from its next connection on."""
    with tempfile.TemporaryDirectory(prefix="vcray-") as folder:
        certificate.write(Path(folder), "serving")
        context.load_cert_chain(Path(folder) / "serving.crt", Path(folder) / "serving.key")


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + lifetime)
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Certificate:
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(certificate.public_bytes(serialization.Encoding.PEM), encoded)
