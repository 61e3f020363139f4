"""LeaderWorkerSet's stand-in, with the PodGroups of its volcano provider."""
