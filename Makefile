# What README and .ci/run call. Every target sets up what it needs in .venv.
PYTHON ?= python3.11
VENV   ?= .venv
BIN     = $(VENV)/bin
# One thread each: tests that run side by side only get into each other's way with more.
# Compiled modules are kept even where the user's environment says otherwise: the tests start many processes.
PYTEST  = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist worksteal

.PHONY: demo test slow faults faults-short audit check lint types bench results micro mini divergence docs oldest clean

demo: $(VENV)/.core
	$(BIN)/python train.py recipe=oracle encoder=micro data=cldr experiment=demo

test: $(VENV)/.dev
	$(PYTEST) -m "not slow and not gpu" --ignore tests/faults -n 2

slow: $(VENV)/.dev
	$(PYTEST) -m "slow and not gpu and not faults" -n 2

# Injected faults, counted in a table (docs/reliability.md).
faults: $(VENV)/.dev
	$(PYTEST) tests/faults -n 2

faults-short: $(VENV)/.dev
	$(PYTEST) tests/faults -m "not exhaustive" -n 2

# Known vulnerabilities of the pinned packages, where an index of advisories can be reached.
audit: $(VENV)/.audit
	$(VENV)/audit/bin/python .ci/audit.py

check: lint types test

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The figures of docs/results.md; benchmarks/mining.py has those of mining.
results: $(VENV)/.dev
	$(BIN)/python -m benchmarks.results

# The bundled encoders, from the translation pairs in BITEXT and WORLD (docs/micro.md, docs/mini.md).
BITEXT ?= ../shared/data/bitext
WORLD ?= ../shared/data/world
micro: $(VENV)/.core
	$(BIN)/python train.py experiment=micro data.root=$(BITEXT) save_encoder=models/micro
	cp models/micro/config.json models/micro/tokenizer.json models/micro/vectors.safetensors xsent/assets/micro/

mini: $(VENV)/.core
	$(BIN)/python train.py experiment=mini 'data.root=[$(BITEXT),$(WORLD),$(WORLD)/other,$(WORLD)/lexicon]' save_encoder=models/mini
	cp models/mini/config.json models/mini/tokenizer.json models/mini/vectors.safetensors xsent/assets/mini/

# The judge of `xsent filter`, from annotated seeds and the bitext (docs/recipes/divergence.md).
SEEDS ?= ../shared/data/seeds
divergence: $(VENV)/.dev
	mkdir -p models
	$(BIN)/xsent diverge $(SEEDS) --kinds subtree_deletion -o models/divergences.jsonl
	$(BIN)/xsent diverge $(BITEXT)/en-fr.tsv.gz --divergences plain -o models/plain.jsonl
	$(BIN)/python train.py recipe=divergence encoder=mini 'data.root=[models/divergences.jsonl,models/plain.jsonl]' seed=1 evaluator=none save_encoder=models/divergence
	cp models/divergence/judge.json models/divergence/judge.safetensors xsent/assets/divergence/

# The documentation as a site, in build/site: open index.html there.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -f docs/site/mkdocs.yml

# Exports with the oldest sentence-transformers that the extra `st` admits, LoRA with the oldest peft of the extra `lora`;
# `make test` has the newest.
oldest: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/oldest sentence-transformers==5.4.0 peft==0.18.0
	PYTHONPATH=$(VENV)/oldest $(PYTEST) tests/models/export tests/jobs/export/test_export.py tests/test_cli_export.py \
		tests/models/test_lora.py -n 2

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[cpu]"
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@ $(VENV)/.core

$(VENV)/.audit: $(VENV)/bin/python
	$(BIN)/python -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet pip-audit
	touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[cpu,docs]"
	touch $@
