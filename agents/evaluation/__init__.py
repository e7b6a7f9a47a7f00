"""Evaluation: success with intervals, search at test time, and reports."""
