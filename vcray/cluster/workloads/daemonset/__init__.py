"""DaemonSets: `controller` acts, `placing` says which nodes want a pod and makes it, `plan` and `rollout` which come and go."""
