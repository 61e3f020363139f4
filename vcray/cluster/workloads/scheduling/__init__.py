"""A stand-in for kube-scheduler: `scheduler` binds pods, `sightings` is what it keeps of them, `fitting` and `claims` say where they may go."""
