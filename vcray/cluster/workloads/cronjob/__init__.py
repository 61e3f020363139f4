"""Kubernetes' own CronJobs: `schedule` reads when, `controller` makes and counts the jobs."""
