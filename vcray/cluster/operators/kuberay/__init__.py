"""KubeRay's stand-in: a module a kind, `gangs` for the PodGroups that its volcano plugin makes."""
