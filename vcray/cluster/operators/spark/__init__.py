"""Stand-ins for the Spark operator (`applications` follows SparkApplications, `gangs` has the PodGroups of its volcano scheduler) and for
the drivers of spark-submit (`drivers`)."""
