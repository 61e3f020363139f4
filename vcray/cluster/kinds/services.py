"""The addresses and node ports that Services are given when they ask for none."""

from __future__ import annotations

import ipaddress

from vcray.api.jsonview import dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import SERVICES
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import Change, StoredEvent, section, text
from vcray.cluster.objects.storage import Storage

CLUSTER_RANGE = "10.96.0.0/16"
NODE_PORTS = range(30000, 32768)
NONE = "None"


class ServiceAddresses:
    """Which addresses and node ports are taken; kept up with the stored Services."""

    def __init__(self, storage: Storage, cluster_range: str = CLUSTER_RANGE) -> None:
        self._storage = storage
        self._network = ipaddress.ip_network(cluster_range)
        self._addresses: set[str] | None = None
        self._ports: set[int] = set()
        self._next = 10
        storage.listen(self._heard)

    def complete(self, service: JsonObject, old: JsonObject | None) -> None:
        """Fill in addresses, families and node ports, in place. Raises Invalid where one is taken or out of range."""
        addresses = self._known()
        spec = section(service, "spec")
        before = section(old, "spec") if old is not None else {}
        if spec.get("type") == "ExternalName":
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                spec.pop(field, None)
            return
        if not spec.get("clusterIP"):
            kept = before.get("clusterIP") if before.get("type") != "ExternalName" else None
            spec["clusterIP"] = kept or self._free_address(addresses)
        elif spec["clusterIP"] != before.get("clusterIP") and spec["clusterIP"] != NONE:
            self._require_address(service, text(spec["clusterIP"]), addresses)
        own: list[JsonValue] = [spec["clusterIP"]]
        spec["clusterIPs"] = spec.get("clusterIPs") or before.get("clusterIPs") or own
        if not spec.get("ipFamilies"):
            spec["ipFamilies"] = before.get("ipFamilies") or ["IPv4"]
        spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy") or "SingleStack"
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            self._complete_ports(service, spec, before)

    def _complete_ports(self, service: JsonObject, spec: JsonObject, before: JsonObject) -> None:
        if spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            return
        mine = {port.get("nodePort"): port for port in dig_objects(before, "ports")}
        by_port = {(port.get("port"), port.get("protocol")): port for port in dig_objects(before, "ports")}
        used = set(self._ports)
        for index, port in enumerate(dig_objects(spec, "ports")):
            wanted = port.get("nodePort")
            if not wanted:
                known = by_port.get((port.get("port"), port.get("protocol")), {})
                wanted = known.get("nodePort") or next(n for n in NODE_PORTS if n not in used)
                port["nodePort"] = wanted
            elif wanted not in mine and isinstance(wanted, int):
                self._require_port(service, index, wanted)
            if isinstance(wanted, int):
                used.add(wanted)

    def _require_port(self, service: JsonObject, index: int, port: int) -> None:
        where = f"spec.ports[{index}].nodePort: Invalid value: {port}: "
        name = dig_str(service, "metadata", "name")
        if port not in NODE_PORTS:
            why = (
                "provided port is not in the valid range. The range of valid ports is "
                f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
            )
            raise refusals.invalid(SERVICES, name, [where + why])
        if port in self._ports:
            raise refusals.invalid(SERVICES, name, [where + "provided port is already allocated"])

    def _require_address(self, service: JsonObject, address: str, addresses: set[str]) -> None:
        where = f'spec.clusterIPs: Invalid value: ["{address}"]: '
        name = dig_str(service, "metadata", "name")
        try:
            inside = ipaddress.ip_address(address) in self._network
        except ValueError:
            return  # its form is checked with the rest of the object
        if not inside:
            why = (
                f"failed to allocate IP {address}: the provided IP ({address}) is not in the valid range. "
                f"The range of valid IPs is {self._network}"
            )
            raise refusals.invalid(SERVICES, name, [where + why])
        if address in addresses:
            why = f"failed to allocate IP {address}: provided IP is already allocated"
            raise refusals.invalid(SERVICES, name, [where + why])

    def _free_address(self, addresses: set[str]) -> str:
        while True:
            self._next = self._next % (self._network.num_addresses - 2) + 1
            address = str(self._network[self._next])
            if address not in addresses:
                return address

    def _known(self) -> set[str]:
        if self._addresses is None:
            self._addresses = set()
            for record in self._storage.scan(SERVICES):
                self._take(record.decode())
        return self._addresses

    def _take(self, service: JsonObject) -> None:
        assert self._addresses is not None
        self._addresses |= _addresses_of(service)
        self._ports |= _ports_of(service)

    def _heard(self, event: StoredEvent) -> None:
        if event.record.resource != SERVICES or self._addresses is None:
            return
        if event.previous is not None:
            gone = event.previous.decode()
            self._addresses -= _addresses_of(gone)
            self._ports -= _ports_of(gone)
        if event.change != Change.DELETED:
            self._take(event.record.decode())


def _addresses_of(service: JsonObject) -> set[str]:
    return {text(item) for item in dig_list(service, "spec", "clusterIPs")} - {NONE, ""}


def _ports_of(service: JsonObject) -> set[int]:
    found = (port.get("nodePort") for port in dig_objects(service, "spec", "ports"))
    return {port for port in found if isinstance(port, int) and port}
