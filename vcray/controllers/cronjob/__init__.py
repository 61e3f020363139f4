"""Volcano's CronJobs: vcjobs by the clock.

`times` reads when something is due, `jobs` says what a job of a CronJob is, `book` keeps the status of one turn and what is
remembered between turns, `controller` follows the steps.
"""
