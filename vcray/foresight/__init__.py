"""Pure callers of decide(): so far the recovery of gangs that were bound in part."""
