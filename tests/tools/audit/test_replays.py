"""Findings of the audit."""

import pytest

from webarena_gym.tools.audit.replays import AuditFindings


@pytest.mark.parametrize(
    ("findings", "summary"),
    [
        (AuditFindings(), "no faults"),
        (AuditFindings(excused=["t/1/0"], steps=[3]), "no faults"),
        (AuditFindings(unsolved=["t/1/0"]), "1 fault"),
        (AuditFindings(unsolved=["t/1/0"], noop_rewarded=["t/1/1"]), "2 faults"),
    ],
)
def test_the_last_line_counts_faults(findings, summary):
    assert findings.summary() == summary
    assert findings.is_clean == (summary == "no faults")


@pytest.mark.parametrize(
    ("steps", "spread"), [([4], (4, 4, 4)), ([2, 4, 15], (4, 13, 15)), (list(range(1, 101)), (50, 90, 100)), ([], ())]
)
def test_the_90th_percentile_is_not_above_the_maximum(steps, spread):
    assert tuple(AuditFindings(steps=steps).spread("steps").values()) == spread
