"""The drawn pictures of the cache: decoding step by step, two phases against each other, and bytes of a token."""

from collections.abc import Mapping, Sequence

from companion import cost
from companion.pictures import LABEL, SMALL, Canvas, picture

TOKENS, PROMPT = ("to", "be", "or", "not", "to", "be", "that"), 4
"""What is read and generated, and how many tokens of it are the prompt."""
READ, PEAK, BANDWIDTH = 512, 312e12, 2039e9
"""Tokens of a prompt; FLOP/s in bfloat16 and bytes a second of an A100 of 80 GB (SXM), as its datasheet states."""
HEADS, GROUPS, WIDTH, LATENT, ROTATED = 128, 8, 128, 512, 64
"""DeepSeek-V2's query heads, their width, its latent and its rotated channels; 8 groups are our comparison."""


@picture
def decoding_step_by_step(wide: bool, tokens: Sequence[str] = TOKENS, prompt: int = PROMPT) -> Canvas:
    """Draw which tokens each pass reads, and which it finds in the cache.

    Args:
        tokens: seven, the last of them only predicted.
        prompt: how many of them the first pass reads.

    Returns:
        The picture.

    Raises:
        ValueError: there are not seven tokens, or the prompt is empty or all of them.
    """
    if len(tokens) != 7 or not 0 < prompt < len(tokens):
        raise ValueError(f"the picture has room for seven tokens, some of them a prompt: got {tokens} and {prompt}.")
    passes = range(prompt, len(tokens))
    labels = {
        "title": "Decoding step by step",
        "desc": (
            f"Each row is a pass of the model. The first, prefill, reads the {prompt} tokens "
            f"{' '.join(tokens[:prompt])} at once and predicts {tokens[prompt]}. Each later pass, a decode step, reads "
            "one token: the one that was predicted last. The keys and values of all earlier tokens are read from the "
            f"cache. After {len(passes)} passes the text is {' '.join(tokens)}."
        ),
        "prefill": "prefill",
        "decode": "decode",
        "now": "computed now",
        "cached": "read from the cache",
        "next": "predicts",
    }
    x, cell, step = (88, 68, 48) if wide else (16, 34, 64)
    c = Canvas("decoding-step-by-step", wide, 48 + step * len(passes) + 40, labels["title"], labels["desc"])
    for i, token in enumerate(tokens[:-1]):
        c.text(x + cell * (i + 0.5), 16, token, LABEL if wide else SMALL)
    c.text(x + cell * 6 + (88 if wide else 60), 16, labels["next"], SMALL, "middle", "muted")
    for row, read in enumerate(passes):
        y = 36 + step * row + (0 if wide else 24)
        before = 0 if row == 0 else read - 1
        name = labels["prefill" if row == 0 else "decode"]
        c.text(16, y + 14 if wide else y - 12, name, SMALL, "start", strong=row == 0)
        if before:
            c.vector(x, y, [""] * before, "key", cell, 28)
        for i in range(before, read):
            c.bar(x + cell * i + 2, y, cell - 4, 28, 1)
        end = x + cell * 6
        c.arrow((end + 8, y + 14), (end + (56 if wide else 32), y + 14))
        c.text(end + (88 if wide else 56), y + 14, tokens[read], LABEL if wide else SMALL, strong=True)
    y = 48 + step * len(passes) + 8
    c.bar(x, y, 20, 20, 1)
    c.text(x + 28, y + 10, labels["now"], SMALL, "start")
    c.vector(x + (208 if wide else 148), y, [""], "key", 20, 20)
    c.text(x + (236 if wide else 176), y + 10, labels["cached"], SMALL, "start")
    return c


@picture
def prefill_against_decode(wide: bool, read: int = READ, peak: float = PEAK, bandwidth: float = BANDWIDTH) -> Canvas:
    """Draw the two times that a pass of LLaMA-7B takes at least, for a prompt and for one token.

    Args:
        read: tokens of the prompt.
        peak: FLOP/s of the machine.
        bandwidth: bytes a second of its memory.

    Returns:
        The picture.
    """
    weights = cost.weight_bytes(cost.model_parameters(cost.LLAMA_7B, "decoder-only").total, "float16")
    moved = weights + cost.model_cache_bytes(cost.LLAMA_7B, 1, read)
    work = {
        "prefill": cost.model_flops(cost.LLAMA_7B, "decoder-only", 1, read).total,
        "decode": cost.model_flops(cost.LLAMA_7B, "decoder-only", 1, 1, past=read).total,
    }
    times = {name: (1e3 * flops / peak, 1e3 * moved / bandwidth) for name, flops in work.items()}
    shown = {name: [f"{t:.1f}" if t >= 1 else f"{t:.2f}" for t in pair] for name, pair in times.items()}
    labels = {
        "title": "Prefill against decode",
        "desc": (
            f"A model of seven billion parameters on an A100. To read a prompt of {read} tokens, the arithmetic takes "
            f"at least {shown['prefill'][0]} ms and the memory traffic {shown['prefill'][1]} ms. To read one more "
            f"token, the arithmetic takes {shown['decode'][0]} ms and the traffic {shown['decode'][1]} ms, because all "
            "weights are read again."
        ),
        "prefill": f"prefill: {read} tokens, one pass",
        "decode": "decode: one token, one pass",
        "arithmetic": "arithmetic",
        "traffic": "memory traffic",
        "unit": "ms",
    }
    longest = max(max(pair) for pair in times.values())
    left, width = (144, 440) if wide else (16, 232)
    c = Canvas("prefill-against-decode", wide, 208 if wide else 272, labels["title"], labels["desc"])
    y = 20
    for name, pair in times.items():
        c.text(16, y, labels[name], LABEL, "start", strong=True)
        for k, kind in enumerate(("arithmetic", "traffic")):
            y += 32 if wide else 24
            c.text(16, y, labels[kind], SMALL, "start")
            y += 0 if wide else 24
            c.bar(left, y - 12, width, 24, pair[k] / longest, "attention" if pair[k] == max(pair) else "ink")
            c.text(left + width + 8, y, f"{shown[name][k]} {labels['unit']}", SMALL, "start")
        y += 40
    return c


def cached_numbers(
    heads: int = HEADS, groups: int = GROUPS, width: int = WIDTH, latent: int = LATENT, rotated: int = ROTATED
) -> Mapping[str, int]:
    """Count the numbers that one layer caches for one token.

    Args:
        heads: query heads.
        groups: key-value heads of grouped-query attention.
        width: of a head.
        latent: width of the latent of multi-head latent attention.
        rotated: width of its rotated key.

    Returns:
        One number a scheme.
    """
    return {"MHA": 2 * heads * width, "GQA": 2 * groups * width, "MQA": 2 * width, "MLA": latent + rotated}


@picture
def cache_per_token(wide: bool, numbers: Mapping[str, int] | None = None) -> Canvas:
    """Draw what four schemes cache for one token in one layer.

    Args:
        numbers: for each scheme; ``None`` takes those of :func:`cached_numbers`.

    Returns:
        The picture.
    """
    numbers = cached_numbers() if numbers is None else numbers
    largest = max(numbers.values())
    shares = {name: f", 1/{largest / value:.0f}" if value < largest else "" for name, value in numbers.items()}
    labels = {
        "title": "What a layer caches per token",
        "desc": (
            f"Bars for attention with {HEADS} query heads of width {WIDTH}. Multi-head attention caches "
            f"{numbers['MHA']:,} numbers per token and layer, grouped-query attention with {GROUPS} groups "
            f"{numbers['GQA']:,}, multi-query attention {numbers['MQA']:,}, and multi-head latent attention "
            f"{numbers['MLA']:,}, a {largest / numbers['MLA']:.0f}th of the first."
        ),
        "numbers": "numbers per token and layer",
    }
    left, width, step = (88, 440, 40) if wide else (64, 152, 40)
    c = Canvas("cache-per-token", wide, 40 + step * len(numbers), labels["title"], labels["desc"])
    c.text(left, 16, labels["numbers"], SMALL, "start", "muted")
    for i, (name, value) in enumerate(numbers.items()):
        y = 36 + step * i
        c.text(16, y + 12, name, LABEL, "start", strong=name == "MLA")
        c.bar(left, y, width, 24, value / largest, "attention" if name == "MLA" else "ink")
        c.text(left + width + 8, y + 12, f"{value:,}{shares[name]}", SMALL, "start")
    return c
