"""The report: one self-contained HTML file about runs and evaluations, with every episode step by step.

`python -m agents.report --out report.html runs/demo` writes it. Inputs are read in `sources`; `results` and `curves` make its tables and
lines, `episodes` packs the episodes, whose pages `replays` plays again; `document` puts them together with the scripts and the style
in `static/`. The file asks for nothing on the network, and nothing of an episode is run in it.
"""
