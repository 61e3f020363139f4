"""JobSet's stand-in. JobSet makes no PodGroups."""
