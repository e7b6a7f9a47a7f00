"""Templates of tasks: a folder for each site, `several` for tasks on several sites, `hard` for hard tasks, and `pictures`."""
