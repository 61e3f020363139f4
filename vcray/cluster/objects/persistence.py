"""The objects of an embedded cluster in a file, so that they outlive the process: SQLite beside the memory, not below it.

Memory answers every request; a listener of the storage writes each change to the file within the change itself, so
whoever got an answer finds the change again after a kill -9. SQLite's write-ahead log is appended without waiting for the
disk: a power cut may lose the last changes, never the file. The log is folded into the file by a thread of its own.

The file holds the present state alone. Versions go on where they stopped; a watch from before the restart gets 410.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS
from vcray.cluster.definitions.versions import restore
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.record import Change, Record, StoredEvent, make_record
from vcray.cluster.objects.storage import Storage
from vcray.errors import InputError, Problem
from vcray.kube.errors import ApiError
from vcray.log import get_logger

log = get_logger("persistence")

FILE = "vcray.db"
FORMAT = 1
"""Number of the tables' form; a file of a later one is refused."""

_objects = msgspec.json.Decoder(dict)
_APPLICATION = 0x76637279  # tells our files from other SQLite files
_HEADER = 100  # bytes at the head of every SQLite file
_FOLD_EVERY_S = 2.0

_TABLES = """
CREATE TABLE IF NOT EXISTS objects (
    api_group TEXT NOT NULL, plural TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    revision INTEGER NOT NULL, body BLOB NOT NULL,
    UNIQUE (api_group, plural, namespace, name)
);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_PUT = (
    "INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
    " revision = excluded.revision, body = excluded.body"
)
_REMOVE = "DELETE FROM objects WHERE api_group = ? AND plural = ? AND namespace = ? AND name = ?"
_COUNT = "INSERT INTO counters VALUES ('revision', ?) ON CONFLICT DO UPDATE SET value = excluded.value"


class Database:
    """The file of one cluster, in a folder of its own that it keeps locked.

    Opening raises InputError VC0603 when the folder is in use, holds something else, or its file is broken. `on_failure`
    hears one sentence when a change cannot be written any more (a full disk): the cluster must stop then.
    """

    def __init__(self, folder: Path, on_failure: Callable[[str], None] = log.error) -> None:
        self.folder = folder
        self._file = folder / FILE
        self._on_failure = on_failure
        self._lock = _lock(folder)
        try:
            self._check_ours()
            self._connection = self._open()
        except BaseException:
            os.close(self._lock)
            raise
        self._stop_listening: Callable[[], None] | None = None
        self._closing = threading.Event()
        self._folding: threading.Thread | None = None

    # -- opening ----------------------------------------------------------------------------------------------

    def _check_ours(self) -> None:
        strangers = [each.name for each in self.folder.iterdir() if not each.name.startswith(".")]
        if strangers and not self._file.exists():
            raise _unusable(
                self.folder, f"is no data directory of vcray: it holds {min(strangers)}; name an empty folder"
            )

    def _open(self) -> sqlite3.Connection:
        if self._file.exists() and self._file.stat().st_size < _HEADER:
            raise _unusable(self._file, "was cut off; restore a copy of it or remove the folder")
        fresh = not self._file.exists()
        try:
            connection = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(connection, fresh)
            except BaseException:
                connection.close()
                raise
        except sqlite3.Error as error:
            what = f"cannot be read ({error}): it is broken or cut off; restore a copy of it or remove the folder"
            raise _unusable(self._file, what) from error
        return connection

    def _prepare(self, connection: sqlite3.Connection, fresh: bool) -> None:
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        form = connection.execute("PRAGMA user_version").fetchone()[0]
        if not fresh and owner != _APPLICATION:
            raise _unusable(self._file, "is no file of vcray; name an empty folder")
        if form > FORMAT:
            what = f"was written by a later vcray (form {form}, this one knows {FORMAT}); use that one, or another folder"
            raise _unusable(self._file, what)
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(str(found).splitlines()[0])
        for pragma in (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            "wal_autocheckpoint = 0",
            f"application_id = {_APPLICATION}",
            f"user_version = {FORMAT}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        connection.executescript(_TABLES)

    # -- the objects ------------------------------------------------------------------------------------------

    def restore(self, storage: Storage, catalog: Catalog) -> None:
        """Put everything that was kept into an empty storage, definitions served first, and keep its changes from now on."""
        rows = self._connection.execute("SELECT api_group, plural, revision, body FROM objects").fetchall()
        definitions = CUSTOMRESOURCEDEFINITIONS
        for group, plural, _, body in rows:
            if (group, plural) == (definitions.group, definitions.plural):
                restore(catalog, self._decode(body))
        counted = self._connection.execute("SELECT value FROM counters WHERE name = 'revision'").fetchone()
        tables = {(kind.stored.group, kind.stored.plural): kind.stored for kind in catalog.kinds()}
        records = []
        for group, plural, revision, body in rows:
            table = tables.get((group, plural))
            if table is None:
                log.warning("kept objects of a kind that is not served", group=group, plural=plural)
            else:
                records.append(make_record(table, self._decode(body), revision))
        newest = max((row[2] for row in rows), default=0)
        storage.restore(records, max(newest, counted[0] if counted else 0))
        self._stop_listening = storage.listen(self._changed)
        self._folding = threading.Thread(target=self._fold_again_and_again, name="folding", daemon=True)
        self._folding.start()

    def _decode(self, body: bytes) -> JsonObject:
        try:
            decoded: JsonObject = _objects.decode(body)
        except msgspec.DecodeError as error:
            raise _unusable(self._file, f"holds an object that is not JSON ({error})") from error
        return decoded

    def _changed(self, event: StoredEvent) -> None:
        record = event.record
        try:
            if event.change is Change.DELETED:
                self._connection.execute("BEGIN")
                self._connection.execute(_REMOVE, _key(record))
                self._connection.execute(_COUNT, (record.version,))
                self._connection.execute("COMMIT")
            else:
                self._connection.execute(_PUT, (*_key(record), record.version, record.body))
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            what = f"{self._file} cannot be written: {error}"
            self._on_failure(what)
            raise ApiError(what, code=500, reason="InternalError") from error

    # -- the write-ahead log ----------------------------------------------------------------------------------

    def _fold_again_and_again(self) -> None:
        with contextlib.closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
            while not self._closing.wait(_FOLD_EVERY_S):
                with contextlib.suppress(sqlite3.OperationalError):  # busy or full: the next time
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Write no more, fold the log into the file, let the folder go. Safe to call twice."""
        if self._closing.is_set():
            return
        self._closing.set()
        if self._stop_listening is not None:
            self._stop_listening()
        if self._folding is not None:
            self._folding.join()
        self._connection.close()
        os.close(self._lock)


def _key(record: Record) -> tuple[str, str, str, str]:
    return record.resource.group, record.resource.plural, record.namespace, record.name


def _lock(folder: Path) -> int:
    """Make the folder if need be and lock it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(folder, f"cannot be used: {error.strerror}; name a folder of yours") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise _unusable(
            folder, "is in use by another cluster; stop that one, or name another folder"
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        os.close(lock)
        raise _unusable(folder, "cannot be written; name a folder of yours")
    return lock


def _unusable(where: Path, what: str) -> InputError:
    return InputError(Problem("VC0603", str(where), what))
