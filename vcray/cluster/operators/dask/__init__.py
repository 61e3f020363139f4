"""The stand-in for Dask's operator: a module a kind. It has no gang support; loads, and so DaskAutoscalers, are not played."""
