"""Translation pairs: readers, data modules, samplers and stores."""
