"""The training-operator's stand-in: `jobs` acts, `kinds` is the table of its kinds, `gangs` the PodGroups that it makes itself.

`rendezvous` has the variables that tell the pods of an elastic PyTorchJob where they meet. It makes no Services, no
HorizontalPodAutoscalers and no kubectl-delivery containers.
"""
