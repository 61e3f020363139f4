"""Kubeflow: the six kinds of the training-operator, and the MPIJob of the mpi-operator."""
