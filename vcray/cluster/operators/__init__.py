"""Stand-ins for the operators of other projects: they make the pods and the statuses that the real ones make of their objects.

So that quickstarts and tests run on a laptop: no dashboards, no rendezvous, no images. `Operators` runs some of them on any API server,
each with the gang support of the real one on (`volcano`: it makes PodGroups itself) or off.
"""
