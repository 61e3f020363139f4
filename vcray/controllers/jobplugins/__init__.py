"""Job plugins: what `spec.plugins` of a vcjob does to its pods, and which objects it keeps beside them.

One module a plugin; the module's name is the plugin's name in a manifest. `base` has the class to derive from and
`find_plugin`, which walks this package: a new plugin is a new file.
"""
