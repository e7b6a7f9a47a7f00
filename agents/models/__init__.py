"""Models: packing into batches, prefix trees, adapters and optimizers, critics, ensembles, checkpoints."""
