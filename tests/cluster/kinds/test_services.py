"""Addresses and node ports of Services."""

import pytest

from vcray.api.resources import SERVICES
from vcray.cluster.objects.store import Store
from vcray.kube.errors import Invalid


def service(name, **spec):
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def test_every_service_gets_an_address_of_its_own_and_gives_it_back():
    store = Store()
    first = store.create(SERVICES, "default", service("a")).decode()
    second = store.create(SERVICES, "default", service("b")).decode()

    store.delete(SERVICES, "default", "a")
    again = store.create(SERVICES, "default", service("c", clusterIP=first["spec"]["clusterIP"])).decode()

    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
    assert again["spec"]["clusterIPs"] == [first["spec"]["clusterIP"]]


def test_a_taken_node_port_is_refused():
    store = Store()
    ports = [{"port": 80, "nodePort": 30001}]
    store.create(SERVICES, "default", service("a", type="NodePort", ports=ports))

    with pytest.raises(Invalid, match="provided port is already allocated"):
        store.create(SERVICES, "default", service("b", type="NodePort", ports=ports))


def test_a_headless_service_has_none():
    created = Store().create(SERVICES, "default", service("a", clusterIP="None")).decode()

    assert created["spec"]["clusterIPs"] == ["None"]
