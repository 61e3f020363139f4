"""Kubernetes objects in, snapshots out: pure, incremental, the same whatever the order of events.

On a shard's side
  store              the newest version of each object; late and repeated events change nothing
  labels, amounts    selectors and resource amounts as plain values
  podspec, groups    pod -> form (all that placement reads of it), gang, role, priority, status
  rows, translate, translate_cluster     object -> row
  shard, delta       events of a part of the cluster -> what changed, able to cross a process; who gets which event
On the merge's side
  intake, podintake, assume              deltas -> columns; placements in flight
  state, podcolumns, nodecolumns, jobcolumns, labelsets, interning, knowledge     what is kept
  consequences, resolver, resolve, shapes     who is touched by a change, and which shape follows
  sums, freeze, merge                    node sums, frozen tables, snapshots
  echoes, news       whether a change can help those who wait
  compaction         forgets the names of what is long gone
For all
  cluster            the facade: events in, snapshots out
  canonical          a snapshot as bytes that do not depend on the order of rows
"""
