# `make NAME` is `python course.py NAME`, which runs where there is no make, too. `make help` lists all.
PYTHON ?= python3
COMMANDS := help install book test quick lint unit notebooks lone site lab execute measure blank climb serve \
	bundle classroom pdf epub cards downloads constraints set-repository clean

# what some of them are given: make quick SINCE=main, make execute ONLY=08, make measure NAME=law, …
quick: ARGUMENTS = $(SINCE)
lab: ARGUMENTS = $(if $(TORCH),--torch $(TORCH)) $(OPTIONS)
execute: ARGUMENTS = $(ONLY)
classroom: ARGUMENTS = $(CHAPTERS)
measure: ARGUMENTS = $(NAME) $(OPTIONS)
blank: ARGUMENTS = $(FOLDER)
climb: ARGUMENTS = $(FOLDER) $(OPTIONS)
set-repository: ARGUMENTS = $(URL)

.DEFAULT_GOAL := help
.PHONY: $(COMMANDS)
$(COMMANDS):
	@$(PYTHON) course.py $@ $(ARGUMENTS)
