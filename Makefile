# The course's commands. `make help` lists them; README says what each is for.
PYTHON ?= python3
REPORT ?=
BIN := .venv/bin
READY := .venv/ready
LAB := .venv-lab/bin
LAB_READY := .venv-lab/ready
TORCH ?= cpu
OPTIONS ?=
export OMP_WAIT_POLICY = passive

.DEFAULT_GOAL := help
.PHONY: help book lab bundle pdf downloads test quick lint unit notebooks lone site execute serve bench ladder law taken-apart pretraining records tab constraints pictures set-repository clean

help:  ## list these commands
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /: /' | awk -F': ' '{printf "  make %-15s %s\n", $$1, $$2}'

# $(call environment,FOLDER): a new environment in the folder; $$install puts packages into it at
# fixed versions.
define environment
@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 10) <= v <= (3, 14) else f"Python {v[0]}.{v[1]} found; 3.10 to 3.14 is needed: make PYTHON=python3.12 …")'
$(PYTHON) -m venv $(1)
@fixed=constraints/$$($(1)/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])').txt; \
install="$(1)/bin/python -m pip install --quiet --disable-pip-version-check -c $$fixed"
endef

$(READY): requirements.txt pyproject.toml $(wildcard constraints/*.txt)
	$(call environment,.venv); $$install -r requirements.txt
	@touch $(READY)

# For Linux, PyTorch has a build without a GPU's libraries, which is some GB smaller. pip does not know
# where PyTorch keeps it, and uv does. TORCH=auto takes the one for the GPU that it finds.
$(LAB_READY): requirements-lab.txt pyproject.toml $(wildcard constraints/*.txt)
	$(call environment,.venv-lab); $$install uv && \
	UV_HTTP_RETRIES=0 $(LAB)/uv pip install --quiet --python .venv-lab --torch-backend $(TORCH) torch -c $$fixed \
		2>.venv-lab/uv.log || echo 'The builds that PyTorch keeps are out of reach: pip takes the one that it finds.'; \
	$$install -r requirements-lab.txt
	@mkdir -p .venv-lab/share/jupyter/lab/settings
	@echo '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}}' \
		> .venv-lab/share/jupyter/lab/settings/overrides.json
	@touch $(LAB_READY)

# JupyterLab shows the stored drawings of notebooks that are trusted.
lab: $(LAB_READY)  ## start JupyterLab at chapter 01, in an environment of its own (OPTIONS: for JupyterLab)
	@-$(LAB)/jupyter trust notebooks/*.ipynb >/dev/null
	$(LAB)/jupyter lab notebooks/01_bpe.ipynb $(OPTIONS)

book: $(READY)  ## build the site into _build/html; any warning fails
	$(BIN)/jupyter-book build . --all -W -n --keep-going
	@test -s _build/html/index.html || { echo 'the build left no _build/html/index.html'; exit 1; }
	@echo 'Open _build/html/index.html in a browser, or run `make serve` to read it at http://localhost:8000.'

bundle: book  ## one zip of the site, the notebooks and the package: build/transformers-from-scratch.zip
	$(BIN)/python -m tools.bundle

pdf: book  ## the whole course as one PDF, printed by Chromium: build/transformers-from-scratch.pdf
	$(BIN)/python -m tools.pdf

downloads: bundle pdf  ## what is published: the site with the bundle and the PDF in it, and links to both
	$(BIN)/python -m tools.downloads

test: $(READY)  ## run everything: lint, unit and equivalence tests, every notebook, the built site
	@$(BIN)/python -m tools.run_tests

quick: $(READY)  ## two minutes: lint, the library's tests, what your changes touch (SINCE=main: on a branch)
	@$(BIN)/python -m tools.run_tests quick $(or $(SINCE),HEAD)

lint unit notebooks lone site: $(READY)
	@$(BIN)/python -m tools.run_tests $@

execute: $(READY)  ## run every notebook in place, in order, and store its outputs
	@$(BIN)/python -m tools.execute $(ONLY)

serve: book  ## serve the built site at http://localhost:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

bench: $(READY)  ## measure the table of benchmarks, in some 20 minutes (QUICK=1 takes few rounds and stores nothing)
	$(BIN)/python -m lab.table $(if $(QUICK),--quick,--write)

ladder: $(READY)  ## train chapter 10's ladder in full, and time it (minutes): measurements/ladder.json
	$(BIN)/python -m lab.ladder --write

law: $(READY)  ## train the small models of chapter 16's laws on both corpora (about 40 minutes of one core): measurements/law.json
	$(BIN)/python -m lab.law --write

taken-apart: $(READY)  ## take chapter 17's race apart, one change a rung (two hours): measurements/taken_apart.json
	$(BIN)/python -m lab.taken_apart --write

pretraining: $(READY)  ## train chapter 13's models three times, and judge with them (half an hour): measurements/bert_pretraining.json
	$(BIN)/python -m lab.bert_pretraining --write

records: $(READY)  ## train the records again (half an hour): measurements/records.json
	$(BIN)/python -m lab.records --write

tab: $(READY)  ## time the page that trains a GPT, beside PyTorch (five minutes; needs Chromium): measurements/tab.json
	$(BIN)/python -m lab.tab --write

# Resolved for Linux, without the libraries of a GPU that torch's wheels there bring along.
constraints:  ## fix all that requirements.txt brings along, on every Python: constraints/X.Y.txt (needs a network)
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	for python in 3.10 3.11 3.12 3.13 3.14; do \
		grep -hv '^-e' requirements.txt requirements-lab.txt | sort -u | build/uv/bin/uv pip compile --quiet - pyproject.toml --python-version $$python \
			--python-platform linux --no-python-downloads --only-binary :all: --no-header --no-annotate \
			> build/uv/resolved.txt || exit 1; \
		{ echo "# What \`make\` installs on Python $$python: \`make constraints\` writes this."; \
			grep -vE '^(cuda|nvidia|triton)' build/uv/resolved.txt; } > constraints/$$python.txt; \
	done
	rm -rf build/uv

pictures: book  ## draw the picture of shared links, and photograph the welcome page for README
	$(BIN)/python -m tools.draw_social
	$(BIN)/python -m tools.photograph

set-repository: $(READY)  ## URL=https://github.com/NAME/REPO: change the repository's address everywhere
	@$(BIN)/python -m tools.set_repository "$(URL)"

clean:  ## remove what the other commands made
	rm -rf _build .venv .venv-lab node_modules build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
