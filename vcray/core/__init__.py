"""Tables in, decisions out: the pure kernel.

carry      what rounds may share
space      resource names <-> rows, exact int64 amounts
tables     the frozen tables of a snapshot; shape = what equal pods share
snapshot   tables + generation + now + seed
recording  a snapshot as bytes and back
selectors, domains   node masks and topology domains, asked once a session
hooks      every hook protocol: the plugin author's page
plugin     base class of a policy, its arguments; check proves that one keeps the laws
action     base class of an action
policy     configured tiers -> compiled chains of hooks, and how their answers combine
openview   a snapshot -> live sums
view       read-only window on snapshot + live sums that hooks receive
ledger     the one mutable object: place, promise, evict, checkpoint, rollback, commit
order      queue -> job -> task
turn, nearturn   a job's turn, without and with HyperNodes; hopeless: what is known to fail
mates      pods of a gang that request nothing, and where they could follow
kept       room that evictions made, for those whom it was made for
rows       windows on node rows, real or hypothetical
classes, merge, normalise, place   keys of equal pods, the m best picks, scales, the loop that places
reasons    why not, as one sentence
record     what the actions of a session learn
groups, closing   statuses, conditions and events at its end
repeat     a round in which nothing can help whom the one before refused: said again, without asking
same       equality of tables
session    decide(snapshot, policy) -> Decisions
"""
