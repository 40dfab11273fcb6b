"""What a temperature, top-k, top-p and min-p leave of a real distribution. Chapter: book/generation."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from companion.chapters.training import small_gpt
from companion.explorers.base import Explorer, Packed, Real, Title, Whole, Words
from companion.generate import keep_min_p, keep_top_k, keep_top_p

SPEAKER = "\nROMEO:\n"
BEGINNINGS = ("What is the q", "My l", "O, th", "He is dead. ")
LONGEST = 16  # characters of a beginning, so that four of them fit a telephone


class SamplingRules(Explorer):
    """Show what the rules of sampling leave of the small GPT's distribution of the next character.

    The logits after each beginning of a speech of Romeo's are computed here, from the released weights, on the CPU.

    Args:
        beginnings: two to four, each of at most 16 characters of the model's.

    Raises:
        ValueError: there are fewer or more, one is empty or too long, or has a character that the model does not know.
    """

    _js = "sampling_rules.js"

    symbols = Words(fixed=True)
    beginnings = Words(fixed=True)
    logits = Packed(digits=4, fixed=True)
    prompt = Whole(0, 0, lambda explorer: len(explorer.beginnings) - 1, help="which of the beginnings")
    temperature = Real(1.0, 0.1, 2.0, help="what the logits are divided by")
    top_k = Whole(65, 1, 65, help="how many of the most probable characters may be drawn; 65 are all")
    top_p = Real(1.0, 0.05, 1.0, help="the probability that the kept characters reach together; 1 keeps all")
    min_p = Real(0.0, 0.0, 0.5, help="the share of the largest probability that a kept character has; 0 keeps all")
    label = Title("What the rules leave")

    def __init__(self, beginnings: Sequence[str] = BEGINNINGS, **traits: object) -> None:
        beginnings = [*beginnings]
        if not 2 <= len(beginnings) <= 4 or not all(1 <= len(text) <= LONGEST for text in beginnings):
            raise ValueError(
                f"the figure compares 2 to 4 beginnings of 1 to {LONGEST} characters: got {beginnings}. "
                "Leave some out, or shorten them."
            )
        logits = [_logits(text) for text in beginnings]
        super().__init__(symbols=[*small_gpt.symbols()], beginnings=beginnings, logits=logits, **traits)

    def probabilities(self) -> Float[Tensor, "5 vocab"]:
        """Compute what the model gives and what each rule leaves, in the order of ``companion.generate.sample``.

        Returns:
            A row each for the model, the temperature, top-k, top-p and min-p; the last one is drawn from.
        """
        rows = [torch.tensor(self.logits[self.prompt], dtype=torch.float64)]
        rows.append(rows[-1] / self.temperature)
        rows.append(keep_top_k(rows[-1], self.top_k))
        rows.append(keep_top_p(rows[-1], self.top_p))
        rows.append(keep_min_p(rows[-1], self.min_p) if self.min_p else rows[-1])
        return torch.stack(rows).softmax(-1)

    def _about(self) -> str:
        return f"{len(self.beginnings)} beginnings, {len(self.symbols)} characters"


@torch.no_grad()
def _logits(text: str) -> list[float]:
    return small_gpt.load()(small_gpt.encode(SPEAKER + text)[None])[0, -1].tolist()
