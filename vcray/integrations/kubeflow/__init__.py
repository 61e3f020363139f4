"""Kubeflow: the six kinds of the training-operator, the MPIJob of the mpi-operator, and Trainer's TrainJob."""
