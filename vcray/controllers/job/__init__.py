"""The vcjob controller.

`events` turns watch events into requests, `policies` a request into an action (perhaps a delayed one), `evictions` keeps
those that wait for their answer, `lifecycle` says in one table what an action does in a phase, `signs` what the pods show
that leads out of it, `sync` and `kill` carry it out, `controller` puts them together.
`pods`, `podgroup`, `status` make the objects; `view` is the job as all of them read it.
"""
