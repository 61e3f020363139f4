"""Tables in, decisions out: the pure kernel.

space     resource names <-> rows, exact int64 amounts
tables    the frozen tables of a snapshot; shape = what equal pods share
snapshot  tables + generation + now + seed; saved and loaded for replay
hooks     every hook protocol: the plugin author's page
plugin    base class of a policy, its arguments
policy    configured tiers -> compiled chains of hooks
ledger    the one mutable object: place, remove, checkpoint, rollback, commit
view      read-only window on snapshot + ledger that hooks receive
order     queue -> job -> task
place     mask, score, fill a gang of equal shapes
reasons   why not, as one sentence
session   decide(snapshot, policy) -> Decisions
"""
