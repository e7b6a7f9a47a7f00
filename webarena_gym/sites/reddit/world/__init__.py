"""The parts of the forum's generator, one noun each."""
