"""Kubeflow Trainer's stand-in: JobSets of TrainJobs and their runtimes. JobSet's own stand-in makes the Jobs."""
