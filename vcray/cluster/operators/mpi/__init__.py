"""The mpi-operator's stand-in: `mpijobs` acts, `gangs` has the PodGroups that it makes itself. No Services, no keys for ssh."""
