"""JobFlows: jobs that are made from JobTemplates, each once the jobs that it depends on have completed.

`lifecycle` is the table of phases, `jobs` says which jobs a flow has and which it lacks, `status` computes what is
written, `controller` makes, writes and deletes.
"""
