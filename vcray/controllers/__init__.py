"""Controllers as pure generators of effects.

- `base`: effects, outcomes, what a controller may read, what a host must do. Start there.
- `raw`: reading raw JSON objects; `podusage`: what a pod counts in a quota.
- `job/`: vcjobs (lifecycle, policies, pods, PodGroup, commands); `garbage`: finished jobs after their time to live.
- `jobplugins/`: what a job's `plugins` do to its pods and which objects they keep; one file a plugin.
- `queue`: state of queues, open and close; `podgroup`: groups for pods that are not of a vcjob.
- `jobflow/`, `jobtemplate`, `cronjob/`: what makes vcjobs; `sharding/`: NodeShards.
"""
