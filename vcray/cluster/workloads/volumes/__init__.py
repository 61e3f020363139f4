"""Volumes and those who claim them, as Kubernetes' persistent volume controller has it.

`binder` brings claims and volumes together, `matching` says which fit, `provisioning` makes and deletes volumes that exist
nowhere else, `writes` are the single steps on the server, `ephemeral` makes the claims that pods bring along.
"""
