"""The vcjob controller.

`events` turns watch events into requests, `policies` a request into an action (perhaps a delayed one), `lifecycle` says
in one table what an action does in a phase, `sync` and `kill` carry it out, `controller` puts them together.
`pods`, `podgroup`, `status` make the objects; `view` is the job as all of them read it.
"""
