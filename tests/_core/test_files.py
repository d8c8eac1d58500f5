"""One way to write: whole, synced, private; and places that are ours alone."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import DiskFull, InputError, NotWritten
from seepage._core.files import append_line, remove_leftovers, sealed, unsealed, write_atomically, write_new
from seepage._core.names import party_name
from seepage._core.scratch import scratch_folder
from tests.faults.disk import Crash, FaultyDisk, used


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_new_folders_are_their_owners_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    write_atomically(tmp_path / "a" / "b" / "file", "x")
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "file") == 0o600
    assert mode(tmp_path) == 0o755  # what was there is not ours to close


@pytest.mark.parametrize(("fault", "kind"), [("full", DiskFull), ("short", DiskFull), ("io", NotWritten)])
def test_a_failed_write_is_one_sentence_and_leaves_what_was_there(
    tmp_path: Path, fault: str, kind: type[NotWritten]
) -> None:
    write_atomically(tmp_path / "file", "before")
    for call in range(4):
        with used(FaultyDisk(call, fault)), pytest.raises(kind, match=r"file could not be written|file could not"):
            write_atomically(tmp_path / "file", "after")
        assert (tmp_path / "file").read_text() == ("before" if call < 3 else "after")
        assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("fault", ["power", "names"])
def test_whenever_the_power_goes_a_file_is_the_old_or_the_new_one(tmp_path: Path, fault: str) -> None:
    for call in range(4):
        disk = FaultyDisk(4 + call, fault)
        with used(disk):
            write_atomically(tmp_path / "file", "before")
            with pytest.raises(Crash):
                write_atomically(tmp_path / "file", "after")
        disk.lose_power(tmp_path)
        assert (tmp_path / "file").read_text() in ("before", "after")


def test_half_a_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    append_line(tmp_path / "list", "one 1")
    with used(FaultyDisk(0, "short")), pytest.raises(DiskFull):
        append_line(tmp_path / "list", "two 2")
    append_line(tmp_path / "list", "three 3")
    lines = (tmp_path / "list").read_text().splitlines()
    assert {"one 1", "three 3"} <= set(lines)


def test_a_file_that_exists_is_not_written_anew(tmp_path: Path) -> None:
    write_new(tmp_path / "file", "mine")
    with pytest.raises(InputError, match="exists already"):
        write_new(tmp_path / "file", "other")
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@given(st.dictionaries(st.text(), st.integers() | st.text(), max_size=4), st.data())
def test_one_changed_bit_breaks_a_seal(document: dict[str, int | str], data: st.DataObject) -> None:
    import json

    content = bytearray(sealed(json.dumps(document)).encode())
    assert json.loads(unsealed(bytes(content)) or b"") == document
    assert json.loads(content).keys() == document.keys() | {"seal"}  # and it is JSON for everybody else
    place = data.draw(st.integers(0, len(content) * 8 - 1))
    content[place // 8] ^= 1 << (place % 8)
    assert unsealed(bytes(content)) is None


def _write_and_die(folder: Path) -> None:
    with used(FaultyDisk(1, "before")):
        try:
            write_atomically(folder / "file", "private")
        except Crash:
            os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_process_was_writing_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    child = multiprocessing.get_context("forkserver").Process(target=_write_and_die, args=(tmp_path,))
    child.start()
    child.join()
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".tmp")
    living = left.with_name(left.name.replace(f"-{child.pid}.", f"-{os.getpid()}."))
    living.write_bytes(b"")
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [living]


def _stay_in_scratch(ready: object) -> None:
    with scratch_folder() as folder:
        (folder / "rows").write_text("private")
        ready.put(str(folder))  # type: ignore[attr-defined]
        signal.pause()


def test_a_scratch_folder_does_not_outlive_a_kill_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEPAGE_CACHE", str(tmp_path / "cache"))
    context = multiprocessing.get_context("spawn")
    ready = context.Queue()
    child = context.Process(target=_stay_in_scratch, args=(ready,))
    child.start()
    folder = Path(ready.get(timeout=60))
    with scratch_folder() as own:
        assert own.is_dir()
        assert folder.is_dir()  # its owner lives
        assert mode(own) == mode(own.parent) == mode(own.parent.parent) == 0o700
    child.kill()
    child.join()
    with scratch_folder():
        assert not folder.exists()
    assert list((tmp_path / "cache" / "scratch").iterdir()) == []


@pytest.mark.parametrize("name", ["../..", "/etc", "a/b", "", ".", "a\0", "host", "Host", "x" * 65, "-a"])
def test_names_of_parties_are_names(name: str) -> None:
    with pytest.raises(InputError, match="party"):
        party_name(name)
    assert party_name("Krankenhaus_Süd-2") == "Krankenhaus_Süd-2"


def test_other_errors_of_the_disk_keep_their_reason(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(NotWritten, match=os.strerror(errno.EISDIR)):
        write_atomically(tmp_path / "file", "x")
