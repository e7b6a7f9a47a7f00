"""Models and what belongs to them: packing into batches, adapters, optimizers, critics, checkpoints."""
