"""The topics of the book, in its order, and what each is called wherever a reader sees it.

A topic is a chapter's name, or one that several pages share. Questions, quiz items and drills carry the key; people
read the name. Nothing is imported here, so that the site, which is built without torch, reads this file too.
"""

TOPICS = {
    "history": "Before attention",
    "attention": "Attention",
    "multi-head": "Multi-head attention",
    "positional-encoding": "Positional encoding",
    "add-norm": "Residuals, norms, feed-forward",
    "architecture": "The whole model",
    "training": "Training",
    "complexity": "Complexity",
    "efficient-attention": "Efficient attention, long context",
    "inference": "Inference",
    "variants": "Variants and uses",
    "theory": "Theory and limits",
    "scaling": "Tokens, scale, fine-tuning",
}


def topic_title(topic: str) -> str:
    """Name a topic for a reader; one that the book does not have is named by its key.

    Args:
        topic: its key, for example ``"add-norm"``.

    Returns:
        Its name, for example ``"Residuals, norms, feed-forward"``.
    """
    return TOPICS.get(topic, topic.replace("-", " ").capitalize())
