# Every command of the project. `make` alone lists them. Works with GNU make 3.81 and later; scripts/ does the work.
#
#   PYTHON=/path/to/python3.11     the Python that makes .venv (3.11, 3.12 or 3.13)
#   REPOSITORY=owner/name          gives the pages launch buttons that point to this repository
#   TORCH_INDEX=address            the index that torch's wheel comes from
#   NEWEST=1                       install the newest packages instead of those in constraints.txt

.DEFAULT_GOAL := help
.PHONY: help book test notebooks cards serve mutants learn bench layers gpu-check constraints clean

# Some systems set a variable NAME, the computer's, for every program: only the one on the command line counts.
ifneq ($(origin NAME),command line)
NAME :=
endif
PORT ?= 8000
export PYTHON REPOSITORY TORCH_INDEX NEWEST EXECUTE BROWSER

# Run a script with the Python that fits, or stop with the sentence of scripts/find_python.sh.
python = python=$$(sh scripts/find_python.sh "$$PYTHON") && "$$python"

help:
	@echo 'make book                build the site into _build/html  [EXECUTE=1 runs every notebook first] [REPOSITORY=owner/name]'
	@echo 'make test                run every check  [TORCH_INDEX=address] [BROWSER=none] [NEWEST=1]'
	@echo 'make notebooks           execute the sources into notebooks  [NAME=attention]'
	@echo 'make cards               write the flash cards, an Anki deck and a table, into _build/cards'
	@echo 'make serve               serve the site on this computer  [PORT=8000]'
	@echo 'make mutants             plant faults and see that the tests catch every one  [SAMPLE=60] [MINUTES=30] [RANDOM=40]'
	@echo 'make learn               train the small tasks to their bars, with three seeds each, into measurements/learning'
	@echo 'make bench               measure speed and memory against their bars, into measurements/speed'
	@echo 'make layers              time a Transformer, an LSTM and single layers by length, into measurements/layers'
	@echo 'make gpu-check           parity, notebooks and benchmarks on a CUDA GPU, into measurements/'
	@echo 'make constraints         write the installed versions into constraints.txt'
	@echo 'make clean               remove what was built  [ALL=1 removes .venv too]'
	@echo 'All take PYTHON=/path/to/python3.11 to choose the Python (3.11, 3.12 or 3.13).'

book:
	@$(python) scripts/build_site.py

test:
	@$(python) scripts/run_tests.py

notebooks:
	@$(python) scripts/environment.py run scripts/make_notebooks.py $(NAME)

cards:
	@$(python) scripts/environment.py site scripts/make_cards.py

serve: book
	@$(python) scripts/serve.py "$(PORT)"

mutants: book
	@$(python) scripts/environment.py run -m tests.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(MINUTES),--time-limit $(MINUTES)) $(if $(RANDOM),--random $(RANDOM))

learn:
	@$(python) scripts/environment.py run scripts/learn.py

bench:
	@$(python) scripts/environment.py run scripts/bench.py

layers:
	@$(python) scripts/environment.py run scripts/time_layers.py

gpu-check:
	@$(python) scripts/environment.py run scripts/gpu_check.py

constraints:
	@$(python) scripts/environment.py run scripts/write_constraints.py

clean:
	@rm -rf _build .ruff_cache .pytest_cache .hypothesis
	@find . -path ./.venv -prune -o -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
	@if [ -n "$(ALL)" ]; then rm -rf .venv; fi
