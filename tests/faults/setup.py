"""Faults of the set-up: lists of packages that drift apart, commands that pass in silence, refusals that are lost."""

from faults import Fault

CELL = "scripts/colab_cell.py"
TESTS = "scripts/run_tests.py"


def setup(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/test_setup.py::test_{name}" for name in names)


FAULTS = [
    Fault(
        "a pin is older than pyproject.toml allows",
        "constraints.txt",
        "jupyter-book==1.0.4.post1",
        "jupyter-book==1.0.3",
        setup("what_pyproject_asks_for_is_pinned_to_a_version_that_fits"),
    ),
    Fault(
        "a package that another one needs is not pinned",
        "constraints.txt",
        "sortedcontainers==2.4.0\n",
        "",
        setup("constraints_pin_what_the_packages_need_in_turn_and_nothing_else"),
    ),
    Fault(
        "environment.yml has an older floor than the package",
        "environment.yml",
        "anywidget>=0.9.13",
        "anywidget>=0.9",
        setup("environment_yml_has_what_the_package_needs_and_what_shows_a_notebook"),
    ),
    Fault(
        "Binder gets another Python",
        "environment.yml",
        "python=3.11",
        "python=3.14",
        setup("the_python_versions_are_the_same_everywhere"),
    ),
    Fault(
        "the cell on Colab replaces torch and numpy",
        CELL,
        ', "--quiet", "--no-deps"]',
        ', "--quiet"]',
        setup("on_colab_the_cell_installs_the_package_and_leaves_the_rest_alone"),
    ),
    Fault(
        "the cell installs everywhere",
        CELL,
        'import sys\n\nif "google.colab" in sys.modules and importlib.util.find_spec("companion") is None:\n    # On',
        'import sys\n\nif importlib.util.find_spec("companion") is None:\n    # On',
        setup("elsewhere_or_once_installed_the_cell_does_nothing"),
    ),
    Fault(
        "a skipped browser test passes",
        TESTS,
        "return code == 0 and not wrong, ",
        "return code == 0, ",
        setup("a_test_that_fails_or_is_skipped_or_missing_fails_make_test"),
    ),
    Fault(
        "notebooks are tested beside the package's source",
        TESTS,
        "stored, wheel),",
        '["--nbval", "book"], {}),',
        setup("notebooks_outside_the_repository_find_the_package_of_the_wheel"),
    ),
    Fault(
        "Binder gets other weights than the tests ran with",
        "postBuild",
        "==0.1.0",
        "",
        setup("binder_gets_the_weights_that_the_tests_ran_with_and_so_does_who_reads_the_readme"),
    ),
    Fault(
        "the tests of the exercises run twice",
        TESTS,
        ', *(f"--ignore={path}" for path in judge)]',
        "]",
        setup("each_file_of_tests_is_in_one_run_and_only_the_readers_pass_runs_it_again"),
    ),
    Fault(
        "notebooks may find any package",
        "scripts/outside.py",
        "if not found or not Path(found).resolve().is_relative_to(packages.resolve()):",
        "if not found:",
        setup("notebooks_that_would_find_another_package_are_not_run"),
    ),
    Fault(
        "the reader's pass keeps the shape hook",
        TESTS,
        'if not option.startswith("--jaxtyping-packages")',
        "",
        setup("the_readers_pass_leaves_out_the_shape_hook_and_nothing_else"),
    ),
    Fault(
        "a stub is taken for a browser",
        "scripts/find_browser.py",
        'return answer.returncode == 0 and "Chrom" in answer.stdout',
        "return True",
        setup("a_stub_that_does_not_start_is_not_taken_for_a_browser"),
    ),
    Fault(
        "a Python that is too old is taken",
        "scripts/find_python.sh",
        "        3.11 | 3.12 | 3.13) ;;",
        "        3.*) ;;",
        setup("a_python_that_is_too_old_is_refused_by_its_version"),
    ),
    Fault(
        "the site is not built again after a page was changed by hand",
        "scripts/build_site.py",
        '        "site": digest(HTML),\n',
        "",
        setup("the_site_is_built_again_when_an_input_the_address_or_a_page_changes"),
    ),
    Fault(
        "new constraints do not install anything",
        "scripts/environment.py",
        ", CONSTRAINTS.read_bytes()]",
        "]",
        setup("a_stage_is_installed_again_when_either_list_changes"),
    ),
    Fault(
        "a port in use is not noticed",
        "scripts/serve.py",
        "    if taken(port):\n        raise in_use\n    try:\n        return ThreadingHTTPServer((HOST, port)",
        "    try:\n        return ThreadingHTTPServer((HOST, 0)",
        setup("a_port_in_use_is_refused_before_anything_is_served"),
    ),
    Fault(
        "the build machine leaves the browser out",
        ".ci/run",
        "\nmake test\n",
        "\nmake test BROWSER=none\n",
        setup("the_build_machine_runs_the_test_command_of_the_readme"),
    ),
    Fault(
        "the deploy workflow forgets the address",
        ".github/workflows/deploy.yml",
        "make book REPOSITORY=${{ github.repository }}",
        "make book",
        setup("the_workflows_do_what_they_are_for"),
    ),
    Fault(
        "a page names a folder of one computer",
        "README.md",
        "Open `_build/html/index.html`",
        "Open `/" + "home/reader/book/_build/html/index.html`",
        setup("no_file_names_a_folder_or_a_host_of_one_computer"),
    ),
]
