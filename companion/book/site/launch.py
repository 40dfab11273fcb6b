"""Launch and repository buttons from the one place that knows the repository's address.

The address is the environment variable ``BOOK_REPOSITORY`` (``make book REPOSITORY=owner/name``), else
``[project.urls] Repository`` in pyproject.toml. With an address, notebooks get Binder and Colab buttons and every
page gets a repository button. Without one there is none of them, rather than a dead one. The tag ``repository``
tells pages which case they are in: ``:::{only} repository``.
"""

import os
import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

VARIABLE = "BOOK_REPOSITORY"
BRANCH_VARIABLE = "BOOK_BRANCH"
_ADDRESS = re.compile(r"(?:https://github\.com/)?(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?")


def repository(root: Path) -> str | None:
    """Return the repository's address, or None when nobody has said it.

    Args:
        root: the folder with pyproject.toml.

    Raises:
        ConfigError: an address is given but is not one on GitHub, where Binder and Colab look.
    """
    given = os.environ.get(VARIABLE, "").strip()
    project = root / "pyproject.toml"
    if not given and project.exists():
        urls = tomllib.loads(project.read_text("utf-8")).get("project", {}).get("urls", {})
        given = urls.get("Repository", "").strip()
    if not given:
        return None
    match = _ADDRESS.fullmatch(given)
    if match is None:
        raise ConfigError(
            f"The repository's address must be owner/name or https://github.com/owner/name: got {given!r}. "
            f"Correct {VARIABLE}, or [project.urls] Repository in pyproject.toml."
        )
    return f"https://github.com/{match['owner']}/{match['name']}"


def set_buttons(app: Sphinx, config: Config) -> None:
    """Set the theme's options for the address, or take every option that needs one away."""
    address = repository(Path(app.confdir))
    options = config.html_theme_options
    options.update(
        repository_url=address or "",
        repository_branch=os.environ.get(BRANCH_VARIABLE, "").strip() or "main",
        path_to_docs="",  # page names are already relative to the root of the repository
        use_repository_button=address is not None,
        use_issues_button=False,
        use_edit_page_button=False,
        launch_buttons={},
    )
    if address is not None:
        app.tags.add("repository")
        options["launch_buttons"] = {
            "notebook_interface": "jupyterlab",
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        }


def setup(app: Sphinx) -> dict[str, object]:
    """Register the step."""
    app.connect("config-inited", set_buttons)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
