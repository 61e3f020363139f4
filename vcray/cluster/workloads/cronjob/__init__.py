"""Kubernetes' own CronJobs: `controller` makes and counts the jobs; `vcray.api.cron` reads when."""
