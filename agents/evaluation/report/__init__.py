"""The report: one self-contained HTML file about runs and evaluations, with every episode step by step.

`python -m agents.report --out report.html runs/demo` writes it. Inputs and results are read in `sources`; `curves` draws runs, `episodes`
packs episodes with their pages; `document` puts them together with the scripts and the style in `static/`. The file asks for nothing
on the network, and nothing of an episode is run in it.
"""
