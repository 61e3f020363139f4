"""Other operators' objects as gangs, pure: one module a kind, found by walking the packages below.

- `base`: what an integration says (`Gang`, `Part`, `Asks`, `Member`). Start there.
- `keeping`: the controller that makes and follows PodGroups and lets pods join; `podgroups`: what a group says.
- `admission`: the scheduler's name and the group of a pod, set when it is created.
- `together`: several objects that start as one gang; `writing`: how groups are written; `examining`: `check_integration`.
- `choices`: whether an object is ours, its queue, priority and topology; `trails`: from a pod to its owner.
- `rayworkers`: what it costs to lose a worker of a Ray cluster.
- `kuberay/`, `kubeflow/`, `batch/`, `scheduling/`: the kinds.
"""
