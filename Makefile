# The commands of people and of CI alike. Each does its own set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: install demo test check bench peers suite clean

install: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "webarena-gym needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet -c constraints.txt -e '.[chromium,train,cluster,lora,verified,baselines,dev]'
	$(BIN)/pip install --quiet -c constraints.txt --no-deps miniwob  # its pages alone, without Selenium
	touch $(READY)

demo: install  ## reinforce the agent that ships, evaluate, report: five to seven minutes on two cores
	$(BIN)/python -m agents.demo

test: install
	$(BIN)/python -m pytest -q

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q

bench: install  ## how fast it is, beside those of the peers that are installed: about ten minutes
	$(BIN)/python -m benchmarks.env_speed

peers: .venv-peers/.ready .venv-trl/.ready  ## what the speed benchmarks compare with, each in an environment of its own

.venv-peers/.ready:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet browsergym-core==0.14.3
	touch $@

.venv-trl/.ready:
	$(PYTHON) -m venv .venv-trl
	.venv-trl/bin/pip install --quiet torch==2.13.0 transformers==5.23.0 trl==1.16.0 accelerate==1.15.0
	touch $@

suite: install  ## draw the shipped task files anew
	$(BIN)/webarena-gym tasks --write-suite

clean:
	rm -rf $(VENV) .venv-peers .venv-trl build dist runs *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
