"""Who may speak to whom: certificates by name, one host, replayed and foreign frames, a log that shows changes."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import grpc
import polars as pl
import pytest

from seepage._core import InputError
from seepage.federation.network.certificates import make_keys, read_identity
from seepage.federation.network.config import GuestConfig, HostConfig, read_config
from seepage.federation.network.guest_party import GuestParty, NoSession
from seepage.federation.network.guest_tables import GuestTables
from seepage.federation.network.message_log import MessageLog, check_log
from seepage.federation.network.programs import open_door, open_host
from seepage.federation.network.remote import METHOD, Patience, Remote, StrangerError
from seepage.federation.network.wire import Frame, Header, opened_frame
from seepage.federation.vertical import PartyError
from tests.federation.network.parties import OWNED, doors, host_config, people, write_config, write_configs, write_files

NAMES = ("hospital", "lab")
RUN = "cd" * 16


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path, people(60), NAMES, shuffled=False)
    write_configs(tmp_path, NAMES, patience={"connect": 2.0})
    return tmp_path


def guest(folder: Path, **more: object) -> GuestParty:
    table = people(60).select("person", *OWNED["lab"])
    tables = GuestTables(name="lab", host="hospital", training=lambda: table, keys=("person",), **more)  # type: ignore[arg-type]
    return GuestParty(tables, folder / "own", MessageLog(folder / "own" / "log", "lab", None))


def ask(party: GuestParty, step: str, at: str, number: int, **facts: object) -> dict[str, object]:
    frame = Frame(Header(session=at, number=number, step=step, facts=facts))  # type: ignore[arg-type]
    return opened_frame(party.respond(frame.packed()), "lab").header.facts  # type: ignore[return-value]


def greeted(party: GuestParty, session: str = "aa" * 16) -> dict[str, object]:
    return ask(party, "hello", session, 0, run=RUN, guest="lab")


def test_a_guest_wants_a_hello_and_each_message_once(tmp_path: Path) -> None:
    party = guest(tmp_path)
    with pytest.raises(NoSession):
        ask(party, "align", "aa" * 16, 1)
    assert greeted(party)["ready"] is False
    with pytest.raises(PartyError, match="A hello came twice"):
        greeted(party)
    ask(party, "align", "aa" * 16, 1, way="order", table="training", rows=60)
    with pytest.raises(PartyError, match="Message 1 came after message 1: it is replayed or too late"):
        ask(party, "align", "aa" * 16, 1, way="order", table="training", rows=60)
    greeted(party, "bb" * 16)
    with pytest.raises(NoSession):
        ask(party, "align", "aa" * 16, 9, way="order", table="training", rows=60)


@pytest.mark.parametrize(
    ("step", "facts", "told"),
    [
        ("hello", {"run": RUN, "guest": "shop"}, "This is guest 'lab'; the host looks for 'shop'"),
        ("hello", {"run": "x", "guest": "lab"}, r"sent facts that do not fit \(Hello, run"),
        ("align", {"way": "order", "table": "training", "rows": 61}, "The host has 61 rows, 'lab' has 60"),
        ("align", {"way": "guess", "table": "training"}, r"facts that do not fit \(Align, way"),
        ("align", {"way": "psi", "table": "training", "session": "00" * 32}, "too short to be one"),
        ("align", {"way": "order", "table": "new", "rows": 60}, "no table of new people"),
        ("aligned", {"way": "psi", "table": "training"}, "There is no alignment to end"),
        ("set up", {}, r"facts that do not fit \(SetUp, target"),
        ("finish", {}, "no model to finish"),
        ("predict", {}, "no model yet"),
        ("lunch", {}, "a step of training that there is not"),
        ("compute", {}, "a step of training that there is not, or none of a batch"),
    ],
)
def test_what_a_guest_does_not_do(tmp_path: Path, step: str, facts: dict[str, object], told: str) -> None:
    party = guest(tmp_path)
    if step != "hello":
        greeted(party)
    with pytest.raises(PartyError, match=told):
        ask(party, step, "aa" * 16, 1, **facts)


def remote(folder: Path, address: str, keys: Path, name: str = "lab") -> Remote:
    identity = read_identity(keys / "authority.pem", keys / "party.pem", keys / "party.key")
    log = MessageLog(folder / "log", "hospital", identity)
    return Remote({name: address}, RUN, identity=identity, patience=Patience(connect=2.0), log=log)


def test_only_the_host_may_ask_and_only_the_guest_may_answer(folder: Path) -> None:
    keys = folder / "keys"
    make_keys(["mallory"], keys)
    make_keys(["hospital", "lab"], folder / "elsewhere")
    make_keys(["hospital", "lab"], folder / "old", days=-1)
    told: list[str] = []
    door = open_door(read_config(GuestConfig, folder / "lab.toml"), told.append)
    try:
        good = remote(folder, door.address, keys / "hospital")
        assert good.connect()["lab"]["ready"] is False
        good.close()
        with pytest.raises(PartyError, match="only 'hospital' may ask here"):
            remote(folder, door.address, keys / "mallory").connect()
        assert told == ["A party with a certificate of another name asked, and was refused."]
        with pytest.raises(StrangerError, match="guest 'shop' cannot show a certificate of that name"):
            remote(folder, door.address, keys / "hospital", "shop").connect()
        with pytest.raises((StrangerError, PartyError), match="'lab'"):
            remote(folder, door.address, folder / "elsewhere" / "hospital").connect()
        with pytest.raises(InputError, match="expired on"):
            remote(folder, door.address, folder / "old" / "hospital")
        plain = grpc.insecure_channel(door.address).unary_unary(METHOD)
        with pytest.raises(grpc.RpcError):
            plain(b"", timeout=2)
    finally:
        door.close()
    text = (folder / "lab.toml").read_text().replace("keys/lab", "old/lab")
    (folder / "lab.toml").write_text(text)
    with pytest.raises(InputError, match="expired on"):
        open_door(read_config(GuestConfig, folder / "lab.toml"), told.append)


def test_a_port_in_use_is_a_sentence_and_nothing_else_is_open(folder: Path) -> None:
    with doors(folder, ("lab",)) as opened:
        address = opened["lab"].address
        text = (folder / "lab.toml").read_text().replace("127.0.0.1:0", address)
        (folder / "lab.toml").write_text(text)
        with pytest.raises(InputError, match="cannot be listened at"):
            open_door(read_config(GuestConfig, folder / "lab.toml"), lambda told: None)
        host, port = address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=2):
            pass  # it listens there, on loopback
    with pytest.raises(OSError), socket.create_connection((host, int(port)), timeout=2):
        pass


def test_no_row_in_common_is_a_sentence_at_the_host(folder: Path) -> None:
    people(60).select("person", *OWNED["lab"]).with_columns(person=pl.lit("x") + pl.col("person")).write_csv(
        folder / "lab.csv"
    )
    with doors(folder, ("lab",)) as opened:
        config = host_config(folder, {"lab": opened["lab"].address})
        with open_host(config) as (party, _), pytest.raises(InputError, match="no key in common"):
            party.train()


def test_labels_at_two_parties_are_a_sentence(folder: Path) -> None:
    people(60).select("person", *OWNED["lab"], "died").write_csv(folder / "lab.csv")
    with doors(folder, ("lab",)) as opened:
        config = host_config(folder, {"lab": opened["lab"].address})
        with (
            open_host(config) as (party, _),
            pytest.raises(PartyError, match=r"'lab' refuses: .* labels would lie at two"),
        ):
            party.train()
        nobody = config.model_copy(update={"target": "dide", "folder": folder / "other"})
        with pytest.raises(InputError, match="Did you mean 'died'"), open_host(nobody):
            pass


def test_a_table_that_changed_does_not_go_on(folder: Path) -> None:
    with doors(folder, ("lab",)) as opened:
        config = host_config(folder, {"lab": opened["lab"].address})
        with open_host(config) as (party, _):
            party.train()
    people(60, seed=5).select("person", *OWNED["lab"]).write_csv(folder / "lab.csv")
    with doors(folder, ("lab",)) as opened:
        config = config.model_copy(update={"guests": {"lab": opened["lab"].address}})
        with open_host(config) as (party, _), pytest.raises(PartyError, match="'lab' has changed since this training"):
            party.train()


def test_a_log_shows_every_change(folder: Path) -> None:
    with doors(folder, ("lab",)) as opened:
        config = host_config(folder, {"lab": opened["lab"].address})
        with open_host(config) as (party, _):
            party.train()
    logs, certificate = folder / "hospital-run" / "log", (folder / "keys/hospital/party.pem").read_bytes()
    found = check_log(logs, certificate)
    assert found.party == "hospital"
    assert found.signed == found.lines
    other = check_log(folder / "lab-run" / "log", (folder / "keys/lab/party.pem").read_bytes())
    sent = {kind: size for (way, _, kind), size in found.bytes.items() if way == "sent" and size}
    assert sent == {kind: size for (way, _, kind), size in other.bytes.items() if way == "received" and size}
    file = logs / "messages-0001.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    with pytest.raises(InputError, match="signature in line"):
        check_log(logs, (folder / "keys/lab/party.pem").read_bytes())
    for place in (1, 5, len(lines) - 2):
        file.write_text("".join(lines[:place] + lines[place + 1 :]))
        with pytest.raises(InputError, match=r"changed|gone"):
            check_log(logs, certificate)
        facts = json.loads(lines[place]) | {"time": "then"}
        file.write_text("".join([*lines[:place], json.dumps(facts, separators=(",", ":")) + "\n", *lines[place + 1 :]]))
        with pytest.raises(InputError, match=f"Line {place + 1} of .* was changed"):
            check_log(logs, certificate)
    file.write_text("".join(lines)[:-20])  # a kill in the middle of a line
    assert check_log(logs, certificate).torn == ["messages-0001.jsonl"]
    log = MessageLog(logs, "hospital", None)
    log.note("sent", "lab", "compute", {"batch ids": 4}, b"1234")
    assert check_log(logs, certificate).lines == len(lines) + 1
    file.unlink()
    with pytest.raises(InputError, match=r"lacks messages-0001.jsonl"):
        check_log(logs, certificate)


BAD = [
    ({"name": "host"}, "No party can be called"),
    ({"guests": {"lab": "nowhere"}}, "'nowhere' is not an address"),
    ({"guests": {"hospital": "127.0.0.1:1"}}, "both called 'hospital'"),
    ({"guests": {"lab": "127.0.0.1:1", "shop": "127.0.0.1:1"}}, "Two guests have the same address"),
    ({"guests": {}}, "guests"),
    ({"target": "person"}, "both the target and a key"),
    ({"plain": True}, "one of the two"),
    ({"tls": None}, "one of the two"),
    ({"tls": None, "plain": True, "guests": {"lab": "10.1.2.3:1"}}, "for this machine only"),
    ({"training": {"design": "tabvlf"}}, "Did you mean 'tabvfl'"),
    ({"training": {"design": "central"}}, "design for several parties"),
    ({"training": {"latnet": 4}}, "Did you mean 'latent'"),
    ({"training": {"validation": 0.6, "test": 0.5}}, "nothing is left"),
    ({"absent": "nap"}, "absent"),
    ({"tabel": "x"}, "Did you mean 'table'"),
    ({"table": None}, "'table' is missing"),
]


@pytest.mark.parametrize(("change", "told"), BAD, ids=[told for _, told in BAD])
def test_a_configuration_that_cannot_be(folder: Path, change: dict[str, object], told: str) -> None:
    import tomllib

    said = tomllib.loads((folder / "hospital.toml").read_text()) | change
    write_config(folder / "bad.toml", {name: value for name, value in said.items() if value is not None})
    with pytest.raises(InputError, match=told):
        read_config(HostConfig, folder / "bad.toml")


def test_files_of_certificates_that_do_not_fit(folder: Path) -> None:
    config = read_config(HostConfig, folder / "hospital.toml")
    assert config.tls is not None
    other = config.tls.model_copy(
        update={"certificate": folder / "keys/lab/party.pem", "key": folder / "keys/lab/party.key"}
    )
    with pytest.raises(InputError, match="is for lab, not 'hospital'"):
        config.model_copy(update={"tls": other}).identity()
    mixed = config.tls.model_copy(update={"key": folder / "keys/lab/party.key"})
    with pytest.raises(InputError, match="does not belong to"):
        config.model_copy(update={"tls": mixed}).identity()
    with pytest.raises(InputError, match="cannot be read"):
        config.model_copy(update={"tls": config.tls.model_copy(update={"key": folder / "none"})}).identity()
    with pytest.raises(InputError, match="two certificates and a key"):
        config.model_copy(update={"tls": config.tls.model_copy(update={"key": folder / "lab.csv"})}).identity()
    with pytest.raises(InputError, match="'lab' already; they are not overwritten"):
        make_keys(["lab"], folder / "keys")
