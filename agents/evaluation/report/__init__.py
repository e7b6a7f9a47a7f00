"""The report: one self-contained HTML file about runs and evaluations, with every episode step by step.

`python -m agents.report --out report.html runs/demo` writes it. What is read comes from `sources`; `results` and `curves` are its
tables and lines, `episodes` its episodes, whose pages `replays` plays again and `markup` writes down; `document` puts them together
with the scripts and the style in `static/`. The file asks for nothing on the network, and nothing of an episode is run in it.
"""

from agents.evaluation.report.document import write_report as write_report
