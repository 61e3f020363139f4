"""What the data directory keeps: everything that was acknowledged, over a kill -9 too; and what it refuses."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager

import pytest

from vcray.api.crds import all_crds
from vcray.api.resources import CONFIGMAPS, CUSTOMRESOURCEDEFINITIONS, JOBS, NAMESPACES
from vcray.cluster.objects.deletion import DeleteOptions
from vcray.cluster.objects.persistence import FILE, Database
from vcray.cluster.objects.store import Selection, Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.errors import InputError
from vcray.kube.client import KubeClient
from vcray.kube.errors import ApiError, Gone


@contextmanager
def kept(folder, seed=1):
    """A store on a data directory."""
    database = Database(folder)
    try:
        yield Store(seed=seed, database=database)
    finally:
        database.close()


def config_map(name, **data):
    return {"metadata": {"name": name}, "data": data}


def state(store):
    return {
        record.key: record.body
        for resource in store.catalog.resources()
        for record in store.list(resource).records
    }


def test_everything_is_there_again_after_a_restart(tmp_path):
    with kept(tmp_path) as store:
        store.create(CONFIGMAPS, "default", config_map("a", key="value"))
        store.create(CONFIGMAPS, "default", config_map("gone"))
        store.update(CONFIGMAPS, "default", "a", config_map("a", key="other"))
        store.delete(CONFIGMAPS, "default", "gone", DeleteOptions())
        before, version = state(store), store.storage.version

    with kept(tmp_path, seed=2) as store:
        assert state(store) == before
        assert store.storage.version == version
        made = store.create(CONFIGMAPS, "default", config_map("b"))
        assert made.version == version + 1
        assert made.uid not in {json.loads(body)["metadata"]["uid"] for body in before.values()}


def test_versions_go_on_behind_a_deletion_that_was_the_last_change(tmp_path):
    with kept(tmp_path) as store:
        store.create(CONFIGMAPS, "default", config_map("gone"))
        store.delete(CONFIGMAPS, "default", "gone", DeleteOptions())
        version = store.storage.version

    with kept(tmp_path, seed=2) as store:
        assert store.storage.version == version


def test_definitions_are_served_again_with_their_objects(tmp_path):
    kind = next(each for each in all_crds() if each["spec"]["names"]["kind"] == "Job")
    kind = json.loads(json.dumps(kind).replace("batch.volcano.sh", "example.com"))
    with kept(tmp_path) as store:
        store.create(CUSTOMRESOURCEDEFINITIONS, "", kind)
        resource = store.catalog.at("example.com", "v1alpha1", "jobs").resource
        store.create(resource, "default", {"metadata": {"name": "mine"}, "spec": {"tasks": [TASK]}})

    with kept(tmp_path, seed=2) as store:
        assert [record.name for record in store.list(resource).records] == ["mine"]


def test_owners_are_known_again_and_take_what_they_own_with_them(tmp_path):
    with kept(tmp_path) as store:
        owner = store.create(CONFIGMAPS, "default", config_map("owner"))
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
        owned = config_map("owned")
        owned["metadata"]["ownerReferences"] = [reference]
        store.create(CONFIGMAPS, "default", owned)

    with kept(tmp_path, seed=2) as store:
        assert [record.name for record in store.storage.owned_by(owner.uid)] == ["owned"]


def test_a_list_and_a_watch_from_before_the_restart_are_told_to_begin_anew(tmp_path):
    with kept(tmp_path) as store:
        old = store.create(CONFIGMAPS, "default", config_map("a")).version
        store.create(CONFIGMAPS, "default", config_map("b"))

    with kept(tmp_path, seed=2) as store:
        for resource in (CONFIGMAPS, JOBS):
            with pytest.raises(Gone):
                store.storage.since(resource, old)
        with pytest.raises(Gone):
            store.list(CONFIGMAPS, Selection(version=old))


async def test_a_watch_at_the_last_version_goes_on_over_the_restart(tmp_path):
    with kept(tmp_path) as store:
        store.create(CONFIGMAPS, "default", config_map("a"))
        version = str(store.storage.version)

    with kept(tmp_path, seed=2) as store:
        transport = InProcessTransport(store)
        lines = transport.stream("/api/v1/configmaps", {"resourceVersion": version, "watch": "true"})
        await KubeClient(transport).create(CONFIGMAPS, "default", config_map("b"))
        assert json.loads(await anext(lines))["object"]["metadata"]["name"] == "b"
        await lines.aclose()
        await transport.close()


TASK = {"name": "t", "replicas": 1, "template": {}}

WRITER = """
import sys
from pathlib import Path
from vcray.api.resources import CONFIGMAPS
from vcray.cluster.objects.persistence import Database
from vcray.cluster.objects.store import Store

store = Store(seed=int(sys.argv[2]), database=Database(Path(sys.argv[1])))
for number in range(1_000_000):
    name = f"{sys.argv[2]}-{number}"
    made = store.create(CONFIGMAPS, "default", {"metadata": {"name": name}, "data": {"k": "v" * 500}})
    print(name, made.version, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9_in_the_midst_of_writes(tmp_path):
    acknowledged = {}
    for seed in range(3):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(seed)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in writer.stdout:
            name, version = line.split()
            acknowledged[name] = int(version)
            if line.startswith(f"{seed}-{200 + 97 * seed}"):
                os.kill(writer.pid, signal.SIGKILL)
                break
        rest, _ = writer.communicate()
        acknowledged |= {name: int(version) for name, version in map(str.split, rest.splitlines()[:-1])}

    with kept(tmp_path, seed=9) as store:
        found = {record.name: record.version for record in store.list(CONFIGMAPS).records}
        assert len(acknowledged) > 600
        assert {name: found.get(name) for name in acknowledged} == acknowledged
        assert store.storage.version >= max(acknowledged.values())
        assert len(found) - len(acknowledged) <= 3 * 2


def test_a_namespace_that_was_deleted_does_not_come_back(tmp_path):
    with kept(tmp_path) as store:
        store.create(NAMESPACES, "", {"metadata": {"name": "team"}})
        store.delete(NAMESPACES, "", "team", DeleteOptions())

    with kept(tmp_path, seed=2) as store:
        assert store.storage.get(NAMESPACES, "", "team") is None


def refused(folder):
    """The one sentence with which a folder is refused."""
    with pytest.raises(InputError) as error:
        Database(folder)
    (problem,) = error.value.problems
    assert problem.code == "VC0603"
    assert "\n" not in str(problem)
    return str(problem)


@pytest.mark.parametrize("left", [0, 1, 50, 100, 4096, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_refused_in_one_sentence(tmp_path, left):
    with kept(tmp_path) as store:
        for number in range(300):
            store.create(CONFIGMAPS, "default", config_map(f"m{number}", key="v" * 1000))
    file = tmp_path / FILE
    size = file.stat().st_size
    os.truncate(file, left if isinstance(left, int) else int(size * left))

    assert "cut off" in refused(tmp_path)


def test_a_folder_with_other_files_is_refused_and_stays_as_it_is(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")

    assert "is no data directory of vcray: it holds letters.txt" in refused(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["letters.txt"]


def test_a_database_of_another_program_is_refused(tmp_path):
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("CREATE TABLE addresses (name TEXT)")
    other.close()

    assert "is no file of vcray" in refused(tmp_path)


def test_a_file_of_a_later_version_is_refused(tmp_path):
    with kept(tmp_path):
        pass
    file = sqlite3.connect(tmp_path / FILE)
    file.execute("PRAGMA user_version = 99")
    file.close()

    assert "written by a later vcray" in refused(tmp_path)


def test_a_folder_in_use_is_refused_until_it_is_let_go(tmp_path):
    with kept(tmp_path):
        assert "is in use by another cluster" in refused(tmp_path)

    Database(tmp_path).close()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")

    assert "cannot be used: " in refused(tmp_path / "file" / "data")


def test_a_change_that_cannot_be_written_is_refused_and_told(tmp_path):
    told = []
    database = Database(tmp_path, told.append)
    store = Store(seed=1, database=database)
    database._connection.execute("PRAGMA query_only = 1")

    with pytest.raises(ApiError):
        store.create(CONFIGMAPS, "default", config_map("a"))

    database.close()
    assert len(told) == 1
    assert "cannot be written" in told[0]


def test_the_folder_may_be_copied_while_nobody_uses_it(tmp_path):
    with kept(tmp_path / "one") as store:
        store.create(CONFIGMAPS, "default", config_map("a"))
        before = state(store)
    shutil.copytree(tmp_path / "one", tmp_path / "two")

    with kept(tmp_path / "two", seed=2) as store:
        assert state(store) == before


def two_versions(stored, served=("v1", "v2")):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [
                {
                    "name": name,
                    "served": name in served,
                    "storage": name == stored,
                    "schema": {"openAPIV3Schema": schema},
                }
                for name in ("v1", "v2")
            ],
        },
    }


@pytest.mark.parametrize("stored", ["v1", "v2"])
@pytest.mark.parametrize("served", [("v1", "v2"), ("v1",), ("v2",)])
def test_objects_of_a_kind_with_two_versions_are_there_again_under_each(tmp_path, stored, served):
    with kept(tmp_path) as store:
        store.create(CUSTOMRESOURCEDEFINITIONS, "", two_versions(stored, served))
        for name in served:
            resource = store.catalog.at("example.com", name, "things").resource
            store.create(resource, "default", {"metadata": {"name": f"by-{name}"}, "size": 1})

    with kept(tmp_path, seed=2) as store:
        for name in served:
            resource = store.catalog.at("example.com", name, "things").resource
            found = [record.name for record in store.list(resource).records]
            assert found == [f"by-{each}" for each in served]
