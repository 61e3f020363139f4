"""What can be told before it happens: gangs that must be made whole (`recovery`), configurations that cannot do what they
seem to say (`lint`), plugins that break a law on sample clusters (`trial`, which asks them by way of `asking`)."""
