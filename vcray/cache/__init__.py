"""Kubernetes objects in, snapshots out: pure, incremental, the same whatever the order of events.

store      the newest version of each object; late and repeated events change nothing
labels     selectors and what they select
podspec    pod -> form: all that placement reads of a pod, before cluster-wide knowledge
groups     pod -> gang, role, index, priority
rows       what is kept of each object: plain values that cross a process
translate  object -> row
resolve    form + labels + cluster knowledge -> shape
cluster    the facade: events in, snapshots out
canonical  a snapshot as bytes that do not depend on the order of rows
"""
