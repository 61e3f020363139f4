"""HyperNodes: how many members each has, and those that are made from what the network says of itself.

    controller      when to count, when to look for a topology
    members         the count
    configuration   which sources are on: volcano-controller.conf
    discovery       what a source is (`Discoverer`), and a HyperNode that one found (`Found`)
    labels          source `label`: labels of nodes
    ufm             source `ufm`: ports as NVIDIA's Unified Fabric Manager lists them
    roce            source `roce`: neighbours by LLDP, as NVIDIA NetQ lists them
    fabric          what the last two share: asking a server, and two tiers of HyperNodes from links
    applying        HyperNodes of a source are made what it found

After "api-controllers.md 4.5".
"""
