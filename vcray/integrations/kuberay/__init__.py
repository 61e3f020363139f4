"""KubeRay: RayCluster, RayJob, RayService. A RayCronJob needs nothing of its own: it makes RayJobs."""
