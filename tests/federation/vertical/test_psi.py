"""Private set intersection: the same people as a plain intersection, and nothing else crosses."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import struct
import sys
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import InputError, SeepageError
from seepage.data.row_keys import KeyFormat, read_keys
from seepage.federation.vertical import curve, curve_workers, psi_wire
from seepage.federation.vertical.curve import PRIME, SMALL_ORDER, hash_to_curve, is_square
from seepage.federation.vertical.messages import PartyError
from seepage.federation.vertical.psi import GuestSide, HostSide, align_privately, new_session, shared_by_all
from tests.faults.bending import bent_bytes

HEADER = struct.Struct("<4sBB32sQQ")
SETS = st.lists(st.binary(max_size=6), unique=True, max_size=12)


def both(host: list[bytes], guest: list[bytes]) -> tuple[HostSide, GuestSide]:
    session = new_session()
    return HostSide("shop", host, session), GuestSide("bank", guest, session)


def points(message: bytes) -> list[bytes]:
    body = message[HEADER.size :]
    return [body[start : start + 32] for start in range(0, len(body), 32)]


@settings(deadline=None)
@given(SETS, SETS)
def test_it_is_the_intersection(ours: list[bytes], theirs: list[bytes]) -> None:
    host, guest = both(ours, theirs)
    rows = host.match(guest.answer(host.ask()))
    assert {ours[row] for row in rows} == set(ours) & set(theirs)
    assert [theirs[row] for row in guest.rows(host.tell(rows))] == [ours[row] for row in rows]


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, 12), min_size=1), min_size=2))
def test_several_parties_are_aligned_as_by_plain_sets(people: dict[str, set[int]]) -> None:
    columns = {party: secrets.SystemRandom().sample(sorted(each), len(each)) for party, each in people.items()}
    shared = set.intersection(*people.values())
    if not shared:
        with pytest.raises(InputError, match="no key in common"):
            align_privately(columns, host=min(columns))
        return
    found = align_privately(columns, host=min(columns))
    aligned = [[columns[party][row] for row in rows] for party, rows in found.rows.items()]
    assert set(aligned[0]) == shared
    assert all(each == aligned[0] for each in aligned)
    assert found.only == {party: len(each) - len(shared) for party, each in people.items()}


def test_order_says_nothing_about_rows() -> None:
    keys = [b"%d" % number for number in range(300)]
    host, guest = both(keys, keys)
    answer = guest.answer(host.ask())
    rows = host.match(answer)
    told = np.frombuffer(host.tell(rows)[HEADER.size :], dtype="<u8")  # where the guest's rows 0, 1, ... were sent
    assert abs(np.corrcoef(told, np.arange(300))[0, 1]) < 0.3
    common = shared_by_all({"shop": rows})
    assert sorted(common) == list(range(300))
    assert abs(np.corrcoef(common, np.arange(300))[0, 1]) < 0.3


def test_equal_keys_in_two_sessions_have_nothing_in_common() -> None:
    keys = [b"%d" % number for number in range(50)]
    seen: list[set[bytes]] = []
    for _ in range(2):
        host, guest = both(keys, keys)
        asked = host.ask()
        seen += [set(points(asked)), set(points(guest.answer(asked)))]
    assert not any(one & other for one, other in combinations(seen, 2))


def test_the_session_is_hashed_with_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_bytes", lambda count: bytes(range(7, 7 + count % 200)))
    one, other = (HostSide("shop", [b"ann"], bytes([number]) * 32).ask() for number in range(2))
    assert points(one) != points(other)  # though the secret is the same


def test_no_key_and_no_plain_hash_crosses() -> None:
    keys = [b"ann of the mill", b"bob of the lake"]
    session = new_session()
    host, guest = HostSide("shop", keys, session), GuestSide("bank", keys, session)
    asked = host.ask()
    answer = guest.answer(asked)
    told = host.tell(host.match(answer))
    digests = [hashlib.sha256(b"seepage psi key\0" + session + key).digest() for key in keys]
    plain = [*keys, *digests, *map(hash_to_curve, digests), *(hashlib.sha256(key).digest() for key in keys)]
    assert not any(each in message for each in plain for message in (asked, answer, told))


def test_one_bit_of_a_hash_does_not_pass_through_the_blinding() -> None:
    def on_curve(point: bytes) -> bool:
        u = int.from_bytes(point, "little")
        return pow(u * (u * (u + 486662) + 1), (PRIME - 1) // 2, PRIME) == 1

    host, guest = both([b"%d" % number for number in range(64)], [b"x"])
    asked = host.ask()
    assert all(map(on_curve, points(asked) + points(guest.answer(asked))))


@given(st.integers(1, PRIME - 1))
def test_a_square_is_what_eulers_criterion_says(number: int) -> None:
    assert is_square(number) == (pow(number, (PRIME - 1) // 2, PRIME) == 1)
    assert is_square(number * number % PRIME)


def test_zero_and_the_order_of_multiplication() -> None:
    assert not is_square(0)
    one, other = secrets.token_bytes(32), secrets.token_bytes(32)
    point = hash_to_curve(b"ann")
    assert curve.multiply(one, curve.multiply(other, point)) == curve.multiply(other, curve.multiply(one, point))
    exchanged = X25519PrivateKey.from_private_bytes(one).exchange(X25519PublicKey.from_public_bytes(point))
    assert curve.multiply(one, point) == exchanged


def test_a_party_without_keys_shares_nobody() -> None:
    host, guest = both([], [b"ann"])
    assert not len(host.match(guest.answer(host.ask())))
    host, guest = both([b"ann"], [])
    rows = host.match(guest.answer(host.ask()))
    assert not len(guest.rows(host.tell(rows)))
    with pytest.raises(InputError, match="no key in common with all of 'shop'"):
        shared_by_all({"shop": rows})


U = (325606250916557431795983626356110631294008115727848805560023387167927233504,
     39382357235489614581723060781553021112529911719440698176882885853963445705823)  # fmt: skip
SMALL = [number.to_bytes(32, "little") for number in (0, 1, PRIME - 1, *U)]


def asked_with(session: bytes, *sent: bytes) -> bytes:
    return HEADER.pack(b"SPSI", 1, 1, session, len(sent), 0) + b"".join(sent)


@pytest.mark.parametrize("point", SMALL)
def test_points_of_small_order_are_refused(point: bytes) -> None:
    assert curve.multiply(secrets.token_bytes(32), point) == SMALL_ORDER
    session = new_session()
    with pytest.raises(PartyError, match="Party 'bank' sent a point of small order"):
        GuestSide("bank", [b"ann"], session).answer(asked_with(session, hash_to_curve(b"bob"), point))
    host = HostSide("shop", [b"ann"], session)
    answer = HEADER.pack(b"SPSI", 1, 2, session, 1, 1) + hash_to_curve(b"bob") + point
    with pytest.raises(PartyError, match="Party 'shop' sent a point of small order"):
        host.match(answer)


@pytest.mark.parametrize("number", [PRIME, PRIME + 9, 2**255 - 1, 2**255 + 9, 2**256 - 1])
def test_a_coordinate_has_one_way_of_writing(number: int) -> None:
    session = new_session()
    with pytest.raises(PartyError, match="not a coordinate of Curve25519"):
        GuestSide("bank", [b"ann"], session).answer(asked_with(session, number.to_bytes(32, "little")))


NINE = (9).to_bytes(32, "little")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda message: b"", "too short"),
        (lambda message: bytearray(message), "too short to be one"),
        (lambda message: b"X" + message[1:], "something else where a message of the kind 'question'"),
        (lambda message: message[:5] + b"\2" + message[6:], "something else"),
        (lambda message: message[:4] + b"\7" + message[5:], "version 7 of the intersection protocol; this is ver"),
        (lambda message: message[:6] + bytes(32) + message[38:], "another session"),
        (lambda message: message[:-1], "length is not what it says"),
        (lambda message: message + bytes(32), "length is not what it says"),
        (lambda message: message[:38] + struct.pack("<QQ", 1, 1) + message[54:], "length is not what it says"),
        (lambda message: message[:38] + struct.pack("<QQ", 2**63, 0) + message[54:], "more than 3 entries"),
        (lambda message: message[:38] + struct.pack("<QQ", 4, 0) + message[54:] + bytes(64), "more than 3 entries"),
        (lambda message: message[:54] + NINE * 2, "a point more than once"),
    ],
)  # fmt: skip
def test_a_bad_question_is_one_sentence_that_names_the_party(change, sentence: str) -> None:
    session = new_session()
    host = HostSide("shop", [b"ann", b"bob"], session)
    guest = GuestSide("bank", [b"ann"], session, most=3)
    with pytest.raises(PartyError, match=f"^Party 'bank' sent .*{sentence}"):
        guest.answer(change(host.ask()))
    assert len(guest.answer(host.ask())) > HEADER.size  # it was no answer, and the right question still gets one


def test_a_bad_answer_is_refused() -> None:
    session = new_session()
    host = HostSide("shop", [b"ann", b"bob"], session, most=2)
    asked = host.ask()
    back = points(GuestSide("bank", [b"eve"], session).answer(asked))[:2]

    def answered(first: list[bytes], second: list[bytes]) -> bytes:
        return HEADER.pack(b"SPSI", 1, 2, session, len(first), len(second)) + b"".join(first + second)

    for first, second, sentence in (
        (back[:1], [], "1 points back where 2 were asked"),
        (back * 2, [], "4 points back where 2 were asked"),
        (back[:1] * 2, [], "a point more than once"),
        (back, [NINE] * 2, "a point more than once"),
        (back, [NINE] * 3, "more than 2 entries"),
        (back, points(asked)[:1], "our own points back as its own"),
    ):
        with pytest.raises(PartyError, match=f"Party 'shop' sent .*{sentence}"):
            host.match(answered(first, second))
    with pytest.raises(InputError, match="nothing to tell before"):
        host.tell(np.array([0]))
    host.match(answered(back, [NINE]))
    with pytest.raises(InputError, match="'shop' does not have all of these rows"):
        host.tell(np.array([0]))


def test_bad_places_are_refused_and_a_guest_answers_once() -> None:
    host, guest = both([b"ann", b"bob"], [b"bob", b"ann"])
    asked = host.ask()
    with pytest.raises(PartyError, match="'bank' sent shared places before it asked"):
        guest.rows(asked)
    rows = host.match(guest.answer(asked))
    told = host.tell(rows)
    with pytest.raises(PartyError, match="'bank' asked twice"):
        guest.answer(asked)
    for places in ((0, 0), (0, 2), (2**64 - 1, 0)):
        with pytest.raises(PartyError, match="places that do not exist, or one twice"):
            guest.rows(told[: HEADER.size] + struct.pack("<QQ", *places))
    assert sorted(guest.rows(told)) == [0, 1]


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=40), st.integers(1, 3))
def test_any_bytes_are_a_message_or_one_sentence(content: bytes, step: int) -> None:
    host, guest = both([b"ann", b"bob"], [b"bob", b"ann", b"eve"])
    asked = host.ask()
    with contextlib.suppress(PartyError):
        answer = guest.answer(bent_bytes(asked, content) if step == 1 else asked)
        rows = host.match(bent_bytes(answer, content) if step == 2 else answer)
        told = host.tell(rows)
        found = guest.rows(bent_bytes(told, content) if step == 3 else told)
        assert len(set(found)) == len(found) <= 3


def test_our_own_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="A key occurs more than once among our own"):
        HostSide("shop", [b"ann", b"ann"], new_session())
    with pytest.raises(InputError, match="named by 32 bytes"):
        HostSide("shop", [b"ann"], b"short")
    with pytest.raises(InputError, match="at least 2 parties"):
        align_privately({"a": [1]}, host="a")
    with pytest.raises(InputError, match="Unknown host 'c'"):
        align_privately({"a": [1], "b": [1]}, host="c")
    monkeypatch.setattr("seepage.federation.vertical.psi.MOST_KEYS", 1)
    with pytest.raises(InputError, match="There are 2 keys; at most 1"):
        GuestSide("bank", [b"ann", b"bob"], new_session())
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(InputError, match=r"needs the package cryptography: pip install 'seepage\[vertical\]'"):
        GuestSide("bank", [b"ann"], new_session())


def test_several_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_workers, "LEAST", 3)
    secret, items = secrets.token_bytes(32), secrets.token_bytes(32 * 10)
    for work in ("blind", "multiply"):
        assert curve_workers.computed(work, secret, items, 3) == curve_workers.computed(work, secret, items, 1)
    monkeypatch.setattr(curve_workers, "_PROGRAM", "gone.py")
    with pytest.raises(SeepageError, match="ended with code 2"):
        curve_workers.computed("blind", secret, items, 2)


def test_sizes_are_bounded_before_anything_is_read() -> None:
    assert psi_wire.MOST_KEYS * 32 < 2**30


def test_what_is_learned_is_told() -> None:
    two = align_privately({"bank": [1, 2], "shop": [2, 3]}, host="bank").describe()
    assert two[3].startswith("Rows were aligned by private set intersection, all parties in this process: ")
    assert "bank learns how many keys each guest has; a guest" in two[4]
    assert "who is a client" in two[5]
    three = align_privately({"bank": [1, 2], "shop": [2, 3], "lab": [2]}, host="bank").describe()
    assert "and which of its own rows each guest has" in three[5]


@pytest.mark.parametrize(
    ("form", "ours", "theirs", "matched"),
    [
        (KeyFormat(case="fold"), ["Ann", "STRASSE", "x"], ["ANN", "straße", "y"], 2),
        (KeyFormat(), ["Ann", "bob"], ["ANN", "bob"], 1),
        (KeyFormat(spaces="single"), ["ann  lee", "bob"], [" ann\tlee", "b ob"], 1),
        (KeyFormat(spaces="none"), ["ann  lee", "bob"], ["annlee", "b ob"], 2),
        (KeyFormat(duplicates="first"), ["b", "a", "b"], ["b", "c", "b"], 1),
        (KeyFormat(case="fold"), ["I\u0307\u0301"], ["i\u0307\u0301"], 1),
    ],
)  # fmt: skip
def test_keys_are_written_as_agreed(form: KeyFormat, ours: list[str], theirs: list[str], matched: int) -> None:
    found = align_privately({"a": ours, "b": theirs}, host="a", form=form)
    assert found.matched == matched
    assert found.only == {"a": len(ours) - matched, "b": len(theirs) - matched}
    if form.duplicates == "first":
        assert [rows.tolist() for rows in found.rows.values()] == [[0], [0]]


def test_several_columns_are_one_key() -> None:
    one, other = read_keys("a", ["a", "ab"], ["bc", "c"]), read_keys("b", ["ab"], ["c"])
    found = align_privately({"a": one, "b": other}, host="a")
    assert (found.matched, found.rows["a"].tolist()) == (1, [1])
    with pytest.raises(InputError, match="'a' differ in length: 1, 2"):
        read_keys("a", [1], [1, 2])
    with pytest.raises(InputError, match=r"'a' has 1 row\(s\) without a key: rows 1 "):
        read_keys("a", [1, 2], [1, None])
    with pytest.raises(InputError, match="no key column"):
        read_keys("a")
