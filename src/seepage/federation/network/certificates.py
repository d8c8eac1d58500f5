"""Certificates of parties: a small authority for tests and pilots, and how they are read.

A party is who its certificate names (its subject alternative name). In production the certificates come from the
authority that the parties trust already; this one has no revocation, and its key lies in a file.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from seepage._core import InputError
from seepage._core.files import write_atomically
from seepage._core.names import party_name

AUTHORITY = "authority"
MOST_FILE = 2**20
DAYS = 365


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a party shows, what it trusts, and the key that only it has.

    Args:
        authority, certificate, key: PEM.
    """

    authority: bytes
    certificate: bytes
    key: bytes

    @property
    def names(self) -> tuple[str, ...]:
        """Who the certificate says it is."""
        return names_of(x509.load_pem_x509_certificate(self.certificate))


def make_keys(names: Sequence[str], folder: Path, *, days: int = DAYS) -> list[Path]:
    """An authority and a certificate for each party; files that are there are not touched.

    Returns:
        For each party the folder to hand to it: its key, its certificate and the authority's certificate.
    """
    for name in names:
        party_name(name)
    if len(set(names)) < len(names) or not names:
        raise InputError("Name each party once, at least one: --names hospital,lab.")
    taken = [name for name in (AUTHORITY, *names) if (folder / name).exists()]
    if AUTHORITY in taken:
        issuer, signer = _read_authority(folder / AUTHORITY)
        taken.remove(AUTHORITY)
    else:
        issuer, signer = _authority(folder / AUTHORITY, days)
    if taken:
        raise InputError(f"{folder} holds keys of {', '.join(map(repr, taken))} already; they are not overwritten.")
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(name, key.public_key(), issuer, signer, days)
        write_atomically(folder / name / "party.key", _pem(key))
        write_atomically(folder / name / "party.pem", certificate.public_bytes(serialization.Encoding.PEM))
        write_atomically(folder / name / "authority.pem", issuer.public_bytes(serialization.Encoding.PEM))
    return [folder / name for name in names]


def read_identity(authority: Path, certificate: Path, key: Path) -> Identity:
    """A party's files, after a check that they are what they should be and belong together."""
    found = {path: _content(path) for path in (authority, certificate, key)}
    try:
        read = x509.load_pem_x509_certificate(found[certificate])
        x509.load_pem_x509_certificate(found[authority])
        own = serialization.load_pem_private_key(found[key], password=None)
    except (ValueError, TypeError):  # TypeError: the key asks for a password
        raise InputError(
            f"{authority}, {certificate} and {key} must be two certificates and a key without a password, in PEM."
        ) from None
    if own.public_key() != read.public_key():
        raise InputError(f"{key} does not belong to {certificate}.")
    if read.not_valid_after_utc < datetime.datetime.now(datetime.UTC):
        raise InputError(f"{certificate} expired on {read.not_valid_after_utc:%Y-%m-%d}; get a new one.")
    return Identity(authority=found[authority], certificate=found[certificate], key=found[key])


def names_of(certificate: x509.Certificate) -> tuple[str, ...]:
    """The names that a certificate is for."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(found.value.get_values_for_type(x509.DNSName))


def signed(identity: Identity, content: bytes) -> bytes:
    """A signature by the party's key."""
    key = serialization.load_pem_private_key(identity.key, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InputError("Logs are signed with keys on elliptic curves (EC); the party's key is of another kind.")
    return key.sign(content, ec.ECDSA(hashes.SHA256()))


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_FILE:
            raise InputError(f"{path} is too large to be a certificate or a key.")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def _authority(folder: Path, days: int) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Seepage pilot authority")])
    certificate = (
        _begun(name, name, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    write_atomically(folder / "authority.key", _pem(key))
    write_atomically(folder / "authority.pem", certificate.public_bytes(serialization.Encoding.PEM))
    return certificate, key


def _read_authority(folder: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        certificate = x509.load_pem_x509_certificate(_content(folder / "authority.pem"))
        key = serialization.load_pem_private_key(_content(folder / "authority.key"), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InputError(f"{folder} does not hold the authority that `seepage party keys` makes.")
    return certificate, key


def _certificate(
    name: str, key: ec.EllipticCurvePublicKey, issuer: x509.Certificate, signer: ec.EllipticCurvePrivateKey, days: int
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return (
        _begun(subject, issuer.subject, key, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(_usage(signs=False), critical=True)
        .sign(signer, hashes.SHA256())
    )


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))  # clocks of parties differ
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
