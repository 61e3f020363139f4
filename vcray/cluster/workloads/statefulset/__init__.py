"""StatefulSets: `controller` watches and reports, `turn` decides, `members` makes pods and claims, `identity` and `claims` name them."""
