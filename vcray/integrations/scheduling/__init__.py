"""Kubernetes' own gangs, scheduling.k8s.io: served by API servers that are told to, from version 1.36 on as read here."""
