"""One file a policy; the file's name is the name in the configuration, with _ for -."""
