"""Adapters to trainers of other projects."""
