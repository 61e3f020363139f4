"""The Common Expression Language with Kubernetes' functions: compiling and evaluating expressions, for whoever reads them."""
