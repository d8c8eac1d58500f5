"""Points of Curve25519 for private set intersection: hash to the curve, and multiply by a secret.

A point is its u-coordinate, 32 bytes. X25519 (RFC 7748, by the package cryptography, in constant time) multiplies it,
and multiplications by two secrets commute. Three things make that sound for hashed keys:

- **On the curve, not on its twist.** A random u lies on either with chance 1/2, and stays there whatever it is
  multiplied by. One bit of each hash would pass through the blinding: over many sessions that is enough to test
  guesses. So :func:`hash_to_curve` draws on until u is on the curve (u³ + 486662 u² + u is a square), two draws on
  average. The result is uniform among the points of the curve.
- **Clamped secrets.** X25519 makes every secret a multiple of 8, so that the part of small order (the curve's cofactor
  is 8, the twist's is 4) vanishes: a product is in the group of prime order, or zero.
- **Small order.** The few points that have nothing else become zero under every secret, which would make people equal
  who are not. A product of zero is marked by 32 zero bytes and refused by who called.

How many draws a hash takes, and the test for a square, depend on the key; they happen at the party that has it, and
the whole of a set is hashed before anything is sent.

This file imports nothing of Seepage: :mod:`~seepage.federation.vertical.curve_workers` runs it as a program, in
processes that start in a moment.
"""

from __future__ import annotations

import hashlib
import sys

BYTES = 32
PRIME = 2**255 - 19
SMALL_ORDER = bytes(BYTES)  # what a point of small order becomes
_A = 486662
_LOW = 2**255 - 1  # the highest bit of a coordinate is not used


def hash_to_curve(digest: bytes) -> bytes:
    """The point of a key's digest; nobody knows its logarithm."""
    draw = 0
    while True:
        drawn = hashlib.sha256(b"seepage psi point\0%d\0" % draw + digest).digest()
        u = (int.from_bytes(drawn, "little") & _LOW) % PRIME
        if is_square(u * (u * (u + _A) + 1) % PRIME):
            return u.to_bytes(BYTES, "little")
        draw += 1


def is_square(number: int) -> bool:
    """Whether a number other than 0 is a square modulo the prime: its Jacobi symbol, by Euclid's algorithm.

    Four times as fast as raising it to (p - 1) / 2.
    """
    a, n, sign = number, PRIME, 1
    while a:
        twos = (a & -a).bit_length() - 1
        a >>= twos
        if twos & 1 and n & 7 in (3, 5):
            sign = -sign
        if a & n & 2:
            sign = -sign
        a, n = n % a, a
    return n == 1 and sign == 1


def multiply(secret: bytes, points: bytes) -> bytes:
    """Every point times the secret, in the same order; 32 zero bytes for a point of small order."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    exchange, point = X25519PrivateKey.from_private_bytes(secret).exchange, X25519PublicKey.from_public_bytes
    products = []
    for start in range(0, len(points), BYTES):
        try:
            products.append(exchange(point(points[start : start + BYTES])))
        except ValueError:  # cryptography refuses a product of zero
            products.append(SMALL_ORDER)
    return b"".join(products)


def blind(secret: bytes, digests: bytes) -> bytes:
    """The point of every digest times the secret, in the same order."""
    hashed = (hash_to_curve(digests[start : start + BYTES]) for start in range(0, len(digests), BYTES))
    return multiply(secret, b"".join(hashed))


WORK = {b"m": multiply, b"b": blind}


def main() -> None:
    """One order from standard input: what to do, the secret, the items. The answer goes to standard output."""
    order = sys.stdin.buffer.read()
    sys.stdout.buffer.write(WORK[order[:1]](order[1 : 1 + BYTES], order[1 + BYTES :]))


if __name__ == "__main__":
    main()
