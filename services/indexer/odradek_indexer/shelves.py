"""Where archives lie: a folder, or a bucket of an S3-compatible store. A file appears whole, and only once."""

import os
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, Protocol

from odradek.archives import S3, archive_refusal
from odradek.errors import InfrastructureAway, UserError
from odradek_indexer.core.archive import newest_file

BEGINNING_BYTES = 64 * 1024
ANSWER_S = 30
LEFT_OVER_S = 3600
"""A half-written file that is older was left by a process that died."""


class Shelf(Protocol):
    """Names are relative and have a slash between folder and file. Blocking."""

    def create(self, name: str, content: IO[bytes]) -> bool:
        """Store a whole file; False: there is one of that name, which stays as it is.

        Raises:
            InfrastructureAway: it cannot be written now.
        """
        ...

    def newest(self, folder: str) -> str | None:
        """The file with the greatest offset in a folder; None: there is no file. Raises as `create`."""
        ...

    def beginning(self, name: str) -> bytes:
        """The first `BEGINNING_BYTES` of a file. Raises as `create`."""
        ...


def open_shelf(where: str, archive_dir: Path) -> Shelf:
    """The folder (below `archive_dir`) or bucket that a job names.

    Raises:
        UserError: the folder is outside, or what buckets need is not installed.
    """
    refusal = archive_refusal(where, archive_dir)
    if refusal is not None:
        raise UserError(f"The archive {refusal}.")
    return Bucket(where) if where.startswith(S3) else Folder((archive_dir / where).resolve())


class Folder:
    """A folder of this machine: a file is written beside, synced, and linked under its name."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self, name: str, content: IO[bytes]) -> bool:
        """As `Shelf.create`."""
        path = self._path / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _sweep(path.parent)
            with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part") as part:
                while piece := content.read(1 << 20):
                    part.write(piece)
                part.flush()
                os.fsync(part.fileno())
                os.link(part.name, path)
            _sync(path.parent)
        except FileExistsError:
            return False
        except OSError as error:
            raise InfrastructureAway(f"the archive {self._path} cannot be written: {error}") from error
        return True

    def newest(self, folder: str) -> str | None:
        """As `Shelf.newest`."""
        try:
            newest = newest_file(each.name for each in (self._path / folder).iterdir())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InfrastructureAway(f"the archive {self._path} cannot be read: {error}") from error
        return None if newest is None else f"{folder}/{newest}"

    def beginning(self, name: str) -> bytes:
        """As `Shelf.beginning`."""
        try:
            with (self._path / name).open("rb") as opened:
                return opened.read(BEGINNING_BYTES)
        except OSError as error:
            raise InfrastructureAway(f"the archive {self._path} cannot be read: {error}") from error


class Bucket:
    """A bucket and prefix; region, address and credentials come from the `AWS_…` variables.

    Raises InfrastructureAway where these are wrong: a person repairs that, and no page must be lost meanwhile.
    """

    def __init__(self, url: str) -> None:
        import obstore  # noqa: PLC0415  (an optional extra)
        from obstore.exceptions import BaseError  # noqa: PLC0415
        from obstore.store import S3Store  # noqa: PLC0415

        self._url, self._obstore = url, obstore
        plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http:")
        try:
            self._store: Any = S3Store.from_url(
                url,
                client_options={"allow_http": plain, "timeout": timedelta(seconds=ANSWER_S)},
                retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=ANSWER_S)},
            )
        except (BaseError, ValueError) as error:
            raise self._away(error) from error

    def create(self, name: str, content: IO[bytes]) -> bool:
        """As `Shelf.create`; the store itself refuses a second file of the name (`If-None-Match`)."""
        from obstore.exceptions import AlreadyExistsError, BaseError  # noqa: PLC0415

        try:
            self._obstore.put(self._store, name, content.read(), mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        except BaseError as error:
            raise self._away(error) from error
        return True

    def newest(self, folder: str) -> str | None:
        """As `Shelf.newest`."""
        from obstore.exceptions import BaseError  # noqa: PLC0415

        try:
            return newest_file(each["path"] for page in self._obstore.list(self._store, prefix=folder) for each in page)
        except BaseError as error:
            raise self._away(error) from error

    def beginning(self, name: str) -> bytes:
        """As `Shelf.beginning`."""
        from obstore.exceptions import BaseError  # noqa: PLC0415

        try:
            return bytes(self._obstore.get(self._store, name, options={"range": (0, BEGINNING_BYTES)}).bytes())
        except BaseError as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> InfrastructureAway:
        return InfrastructureAway(f"the archive {self._url} does not answer: {str(error)[:300]}")


def _sweep(folder: Path) -> None:
    """Delete what a process that died has left half-written."""
    for part in folder.glob(".*.part"):
        with suppress(FileNotFoundError):  # another writer's, who has just finished
            if part.stat().st_mtime < time.time() - LEFT_OVER_S:
                part.unlink()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
