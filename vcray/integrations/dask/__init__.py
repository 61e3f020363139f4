"""Dask's operator: DaskCluster, and DaskJob for the pod that runs beside one."""
