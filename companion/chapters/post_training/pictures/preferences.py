"""The drawn pictures of learning from rewards: the two steps of RLHF, and what PPO, DPO and GRPO need."""

from collections.abc import Sequence

from companion.pictures import SMALL, Canvas, picture

PROMPT, ANSWERS = 6, ((4, 1, 1), (3, 2))
"""A number to be reached, a right answer, and a wrong one."""


@picture
def learn_a_score_then_write_for_it(
    wide: bool, prompt: int = PROMPT, answers: Sequence[Sequence[int]] = ANSWERS
) -> Canvas:
    """Draw how a reward model is trained on choices, and how a policy is trained on the reward model.

    Args:
        prompt: the number to be reached.
        answers: two, each of two or three digits; the first is chosen.

    Returns:
        The picture.
    """
    written = [" ".join(map(str, one)) for one in answers]
    labels = {
        "title": "First learn the score, then write for it",
        "desc": (
            f"In the first panel the reference gets the prompt {prompt} and writes two answers, {written[0]} and "
            f"{written[1]}. A judge chooses one, and the reward model is trained on the choice. In the second the "
            f"policy writes {written[0]}, and the reward model scores it. The KL divergence from the reference, times "
            "beta, is subtracted, and what results goes back to train the policy."
        ),
        "first": "1. learn the score",
        "second": "2. write for it",
        "prompt": f"prompt {prompt}",
        "reference": "reference",
        "judge": "judge",
        "choice": "choice",
        "policy": "policy",
        "reward": "reward model",
        "result": "score − β KL",
        "kl": "KL",
    }
    c = Canvas("learn-a-score-then-write-for-it", wide, 224 if wide else 456, labels["title"], labels["desc"])
    width = 348 if wide else 344
    left, top = (372, 8) if wide else (0, 240)
    for x, y, title in ((0, 8, labels["first"]), (left, top, labels["second"])):
        c.group(x, y, width, 208, title, labels["prompt"])
    source = c.box(24, 56, 88, 40, labels["reference"])
    judge = c.box(236, 56, 96, 40, labels["judge"])
    c.box(236, 152, 96, 48, labels["reward"], bold=True, wrap=7)
    for y, digits in zip((48, 80), answers, strict=True):
        row = c.vector(144, y, digits, "ink")
        c.arrow((source.right[0], y + 12), (142, y + 12))
        c.arrow(row.right, (234, y + 12))
    c.arrow(judge.bottom, (284, 150), label=labels["choice"], off=(-28, 0))
    policy = c.box(left + 24, top + 48, 88, 40, labels["policy"])
    row = c.vector(left + 144, top + 56, answers[0], "ink")
    scored = c.box(left + 236, top + 48, 96, 40, labels["reward"], size=SMALL, wrap=7)
    start = c.box(left + 24, top + 128, 88, 40, labels["reference"])
    result = c.box(left + 228, top + 128, 104, 40, labels["result"], size=SMALL)
    c.arrow(policy.right, (row.x - 2, top + 68))
    c.arrow(row.right, (scored.x - 2, top + 68))
    c.arrow(scored.bottom, (left + 284, top + 126))
    c.arrow(start.right, (result.x - 2, top + 148), label=labels["kl"])
    back = (left + 10, top + 192)
    c.arrow(
        result.bottom,
        (result.bottom[0], back[1]),
        back,
        (back[0], top + 68),
        (policy.x - 2, top + 68),
        tone="attention",
    )
    return c


@picture
def what_each_method_needs(wide: bool) -> Canvas:
    """Draw which networks PPO, DPO and GRPO hold while they train, and from which data they learn.

    Returns:
        The picture.
    """
    labels = {
        "title": "What PPO, DPO and GRPO need",
        "desc": (
            "PPO trains a policy and a value network, holds a frozen reference and a frozen reward model, "
            "and learns from new answers. DPO trains a policy, holds a frozen reference, and learns from fixed pairs. "
            "GRPO trains a policy, holds a frozen reference, takes its reward from a checker, and learns from groups "
            "of new answers."
        ),
        "trained": "trained",
        "frozen": "frozen",
        "rule": "a rule",
        "methods": ("PPO", "DPO", "GRPO"),
        "data": ("new answers", "fixed pairs", "groups of answers"),
        "policy": "policy",
        "reference": "reference",
        "value": "value",
        "reward": "reward",
        "checker": "checker",
    }
    policy, reference = (labels["policy"], labels["trained"], True), (labels["reference"], labels["frozen"], False)
    value, reward = (labels["value"], labels["trained"], True), (labels["reward"], labels["frozen"], False)
    parts = (
        (policy, value, reference, reward),
        (policy, reference),
        (policy, (labels["checker"], labels["rule"], False), reference),
    )
    c = Canvas("what-each-method-needs", wide, 176 if wide else 464, labels["title"], labels["desc"])
    y = 8
    for number, (method, data, boxes) in enumerate(zip(labels["methods"], labels["data"], parts, strict=True)):
        x = 248 * number if wide else 0
        height = 160 if wide else 96 if number == 1 else 160
        c.group(x, y, 224 if wide else 344, height, method, data)
        step, w = (104, 96) if wide else (160, 136)
        for place, (label, sub, bold) in enumerate(boxes):
            at = (x + (12 if wide else 24) + step * (place % 2), y + 36 + 60 * (place // 2))
            c.box(*at, w, 48, label, sub, "attention" if bold else "ink", size=SMALL)
        y += 0 if wide else height + 16
    return c
