"""NodeShards: which nodes each of several schedulers is meant to use.

- `assign`: the pure choice of nodes; `load`: how much of each node is asked for; `controller`: when to choose, what to write.
"""
