"""Writes certificates for a SuperLink on this machine, and a key for each hospital, into the folder `keys`.

For a try on one machine. A federation has an authority of its own, and each hospital makes its key itself.
"""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

keys = Path("keys")
keys.mkdir(mode=0o700, exist_ok=True)
now = datetime.datetime.now(datetime.UTC)


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, public, issuer, signer, *more):
    made = x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(public)
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=30))
    for extension, critical in more:
        made = made.add_extension(extension, critical)
    return made.sign(signer, hashes.SHA256()).public_bytes(form.Encoding.PEM)


def write(file, content):
    (keys / file).touch(mode=0o600)
    (keys / file).write_bytes(content)


authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
here = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
own = (x509.BasicConstraints(ca=True, path_length=0), True)
write("ca.crt", certificate("hospitals", authority.public_key(), "hospitals", authority, own))
write("server.pem", certificate("localhost", server.public_key(), "hospitals", authority, (here, False)))
plain = (form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
write("server.key", server.private_bytes(*plain))
for place in (1, 2, 3):
    hospital = ec.generate_private_key(ec.SECP384R1())
    write(f"site-{place}", hospital.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption()))
    write(f"site-{place}.pub", hospital.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH))
