# Every command of the project. `make` alone lists them. Works with GNU make 3.81 and later; scripts/ does the work.
#
#   PYTHON=/path/to/python3.11     the Python that makes .venv (3.11, 3.12 or 3.13)
#   REPOSITORY=owner/name          gives the pages launch buttons that point to this repository
#   ADDRESS=https://...            where the site will stand: gives shared links a picture, and the site a sitemap
#   TORCH_INDEX=address            the index that torch's wheel comes from
#   NEWEST=1                       install the newest packages instead of those in constraints.txt

.DEFAULT_GOAL := help
.PHONY: help book new test check notebooks pages cards serve mutants learn bench layers gpu-check install constraints clean

# Some systems set a variable NAME, the computer's, for every program: only the one on the command line counts.
ifneq ($(origin NAME),command line)
NAME :=
endif
PORT ?= 8000
export PYTHON REPOSITORY ADDRESS TORCH_INDEX NEWEST BROWSER

# Install a stage, `site` or `run`, unless it is there, and run the environment's Python with what follows; or stop
# with one sentence.
environment = python=$$(sh scripts/find_python.sh) && "$$python" -m scripts.environment

help:
	@echo 'make book                build the site into _build/html  [EXECUTE=1 runs every notebook first] [REPOSITORY=owner/name] [ADDRESS=https://...]'
	@echo 'make check               style, pairs of source and notebook, tests of what changed, in 90 s  [BASE=commit]'
	@echo 'make test                run every check  [TORCH_INDEX=address] [BROWSER=none] [NEWEST=1]'
	@echo 'make new                 write the files of something new  WHAT=chapter|page|explorer|exercise|question NAME=attention/row-sums'
	@echo 'make notebooks           execute the sources into notebooks  [NAME=attention] [TEXT=1 where only text has changed]'
	@echo 'make pages               print the pages of the chapters: words, cells, minutes, and what breaks their rules  [NAME=attention]'
	@echo 'make cards               write the flash cards, an Anki deck and a table, into _build/cards'
	@echo 'make serve               serve the site on this computer  [PORT=8000]'
	@echo 'make mutants             plant faults and see that the tests catch every one  [SAMPLE=60] [MINUTES=30] [RANDOM=40]'
	@echo 'make learn               train the small tasks to their bars, with three seeds each, into measurements/learning'
	@echo 'make bench               measure speed and memory against their bars, into measurements/speed'
	@echo 'make layers              time a Transformer, an LSTM and single layers by length, into measurements/layers'
	@echo 'make gpu-check           parity, errors, notebooks and benchmarks on a CUDA GPU  [PART=parity] [NAME=attention]'
	@echo 'make install             install everything into .venv, and run nothing'
	@echo 'make constraints         write the versions to install into constraints.txt  [NEWEST=1 takes the newest]'
	@echo 'make clean               remove what was built  [ALL=1 removes .venv too]'
	@echo 'All take PYTHON=/path/to/python3.11 to choose the Python (3.11, 3.12 or 3.13).'

book:
ifneq ($(EXECUTE),)
	@$(environment) run -m companion.book.notebooks
endif
	@$(environment) site -m scripts.build_site

check:
	@$(environment) run -m scripts.checks $(BASE)

test:
	@$(environment) run -m scripts.run_tests

notebooks:
	@$(environment) run -m companion.book.notebooks $(if $(TEXT),--text) $(NAME)
	@$(environment) run -m companion.practice.listing

pages:
	@$(environment) site -m companion.book.pages $(NAME)

new:
	@$(environment) site -m companion.book.new '$(WHAT)' '$(NAME)'

cards:
	@$(environment) site -m companion.book.cards

serve: book
	@echo 'Open http://127.0.0.1:$(PORT)/ (stop with Ctrl-C)'
	@.venv/bin/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

mutants: book
	@$(environment) run -m tests.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(MINUTES),--time-limit $(MINUTES)) $(if $(RANDOM),--random $(RANDOM))

learn:
	@$(environment) run -m scripts.train_tasks

bench:
	@$(environment) run -m scripts.bench

layers:
	@$(environment) run -m scripts.time_layers

# Whatever has torch and a GPU will do, and nothing is installed.
gpu-check:
	@python=$$(sh scripts/find_python.sh cuda) && "$$python" -m scripts.gpu_check --part '$(PART)' --name '$(NAME)'

install:
	@$(environment) run

constraints:
	@$(environment) site -m uv pip compile --quiet --universal --python-version 3.11 $(if $(NEWEST),--upgrade) \
		pyproject.toml --group site --group notebooks --group test --no-annotate \
		--custom-compile-command 'make constraints' --output-file constraints.txt

clean:
	@rm -rf _build .ruff_cache .pytest_cache .hypothesis
	@find . -path ./.venv -prune -o -type d \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +
	@if [ -n "$(ALL)" ]; then rm -rf .venv; fi
