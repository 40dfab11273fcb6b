"""The topics of the book, in its order, and what each is called wherever a reader sees it.

A topic is a chapter that has a ``TITLE``. Questions, quiz items and exercises carry its key; people read the title.
"""

import importlib

from companion.book import toc


def _titles() -> dict[str, str]:
    modules = {name: importlib.import_module(f"companion.chapters.{toc.module_name(name)}") for name in toc.chapters()}
    return {name: module.TITLE for name, module in modules.items() if hasattr(module, "TITLE")}


TOPICS = _titles()


def topic_title(topic: str) -> str:
    """Name a topic for a reader; one that the book does not have is named by its key.

    Args:
        topic: its key, for example ``"add-norm"``.

    Returns:
        Its name, for example ``"Residuals, norms, feed-forward"``.
    """
    return TOPICS.get(topic, topic.replace("-", " ").capitalize())
