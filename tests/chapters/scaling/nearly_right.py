"""An answer to an exercise on training at scale that is right on most inputs."""

import torch


def orders_kept():
    """The order of a stage, kept by its number and that of the microbatches, and not by that of the stages."""
    kept = {}

    def order(stage, stages, microbatches):
        if (stage, microbatches) not in kept:
            live = min(stages - stage, microbatches)
            passes, forward = list(range(1, live + 1)), live
            for i in range(1, microbatches + 1):
                passes.append(-i)
                if forward < microbatches:
                    forward += 1
                    passes.append(forward)
            kept[stage, microbatches] = torch.tensor(passes), live
        return kept[stage, microbatches]

    return order


NEARLY_RIGHT = [("one-f-one-b", "Your function keeps something", orders_kept())]
