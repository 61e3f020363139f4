"""The training-operator's stand-in: `jobs` acts, `kinds` is the table of its kinds, `gangs` the PodGroups that it makes itself.

It makes no Services, no HorizontalPodAutoscalers and no kubectl-delivery containers, and sets no variables for rendezvous.
"""
