"""Faults of `companion.training`."""

from faults import Fault

HOME = "companion/training"
CHECKPOINT, DATA, LOOP, LOSS = f"{HOME}/checkpoint.py", f"{HOME}/data.py", f"{HOME}/loop.py", f"{HOME}/loss.py"
DISTRIBUTED, EVALUATION, HISTORY = f"{HOME}/distributed.py", f"{HOME}/evaluation.py", f"{HOME}/history.py"
OBJECTIVE, OPTIMIZER, SCHEDULE = f"{HOME}/objective.py", f"{HOME}/optimizer.py", f"{HOME}/schedule.py"


def unit(part: str, test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_training_{part}.py::test_{test}",)


def parity(test: str) -> tuple[str, ...]:
    return (f"tests/parity/test_training.py::test_{test}",)


SAME_BITS = unit("checkpoint", "a_run_that_was_stopped_goes_on_to_the_same_bits")
TWO_LIKE_ONE = unit("distributed", "two_processes_reach_the_weights_of_one")
OWN_LOOP = parity("a_run_equals_a_loop_written_with_torchs_own_parts")

FAULTS = [
    # Schedules
    Fault(
        "the warm-up takes the power 0.5 of its length",
        SCHEDULE,
        "step * warmup**-1.5",
        "step * warmup**-0.5",
        unit("schedule", "eq_3_rises_in_a_line_and_falls_with_the_root"),
    ),
    Fault(
        "the rate grows with the width",
        SCHEDULE,
        "d_model**-0.5 *",
        "d_model**0.5 *",
        unit("schedule", "four_times_the_width_halves_the_rate"),
    ),
    Fault(
        "the rate is the larger of rise and fall",
        SCHEDULE,
        "* min(step**-0.5,",
        "* max(step**-0.5,",
        unit("schedule", "eq_3_rises_in_a_line_and_falls_with_the_root"),
    ),
    Fault(
        "LambdaLR is one step late",
        SCHEDULE,
        "schedule(done + 1)",
        "schedule(max(done, 1))",
        parity("lambda_lr_steps_through_the_schedule"),
    ),
    Fault(
        "the cosine counts from the first step, not from the peak",
        SCHEDULE,
        "(step - warmup) / (total - warmup)",
        "step / total",
        parity("the_cosine_with_warm_up_is_that_of_transformers"),
    ),
    Fault(
        "the cosine rises again after its end",
        SCHEDULE,
        "min(1.0, (step - warmup) / (total - warmup))",
        "(step - warmup) / (total - warmup)",
        unit("schedule", "the_cosine_stays_between_zero_or_floor_and_peak"),
    ),
    # Losses
    Fault(
        "smoothing spreads over the other tokens only",
        LOSS,
        "smoothing * log_p.mean(dim=-1)",
        "smoothing * (log_p.sum(dim=-1) + losses) / (logits.shape[-1] - 1)",
        parity("the_mean_loss_and_its_gradient_equal_those_of_torch"),
    ),
    Fault(
        "the right token loses its share of what is spread",
        LOSS,
        "+ smoothing / vocab",
        "+ smoothing / vocab * (1 - F.one_hot(target.long(), vocab))",
        unit("loss", "the_right_token_gets_its_share_of_what_is_spread"),
    ),
    Fault(
        "the mean is over padding too",
        LOSS,
        "tokens = int(real_tokens(target, padding).sum())",
        "tokens = target.numel()",
        unit("loss", "the_mean_is_over_tokens_not_over_rows"),
    ),
    Fault(
        "padding costs what its token costs",
        LOSS,
        "return losses.masked_fill(~real, 0.0)",
        "return losses",
        unit("loss", "padding_has_no_influence_and_gets_no_gradient"),
    ),
    Fault(
        "no smoothing multiplies infinity by zero",
        LOSS,
        "    if smoothing:  # without",
        "    if True:  # without",
        parity("a_token_that_the_model_cannot_say_costs_nothing_without_smoothing_as_in_torch"),
    ),
    Fault(
        "the logarithm is taken in half precision",
        LOSS,
        "logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax",
        "logits.log_softmax",
        unit("loss", "half_precision_logits_are_widened_before_the_logarithm"),
    ),
    Fault(
        "fewer targets than logits pass",
        LOSS,
        "logits.shape[:-1] != target.shape or ",
        "",
        unit("loss", "targets_of_another_shape_than_the_logits_are_refused"),
        "DID NOT RAISE|RuntimeError",
    ),
    Fault(
        "the decoder reads the token that it must say",
        OBJECTIVE,
        "batch.target[:, :-1], source_lengths",
        "batch.target[:, 1:], source_lengths",
        unit("loss", "the_decoder_reads_the_target_one_token_late"),
    ),
    Fault(
        "the padding of the sources is not hidden",
        OBJECTIVE,
        "source_lengths=batch.source_lengths",
        "source_lengths=None",
        OWN_LOOP,
    ),
    # Batches
    Fault(
        "every epoch has the order of the first",
        DATA,
        "        self.before = self.generator.get_state()\n",
        "        self.generator.manual_seed(0)\n        self.before = self.generator.get_state()\n",
        unit("data", "the_seed_decides_the_order_and_each_epoch_has_another"),
    ),
    Fault(
        "the order comes from torch's own generator",
        DATA,
        "torch.randperm(len(self.items), generator=self.generator)",
        "torch.randperm(len(self.items))",
        unit("data", "the_order_leaves_torchs_own_generator_alone"),
    ),
    Fault(
        "batches of like lengths come in rising order",
        DATA,
        "self.plan = [plan[i] for i in torch.randperm(len(plan), generator=self.generator).tolist()]",
        "self.plan = plan",
        unit("data", "batches_of_like_lengths_come_in_random_order"),
    ),
    Fault(
        "the padding of a batch is not counted",
        DATA,
        "(len(plan[-1]) + 1) * lengths[i] > tokens",
        "sum(lengths[j] for j in plan[-1]) + lengths[i] > tokens",
        unit("data", "a_batch_of_tokens_holds_no_more_with_its_padding"),
    ),
    Fault(
        "the saved generator is the one after the epoch's order",
        DATA,
        '"generator": self.before',
        '"generator": self.generator.get_state()',
        unit("data", "batches_go_on_from_a_saved_place"),
    ),
    # The step
    Fault(
        "a mean of means",
        LOOP,
        "self.scaler.scale(part.total).backward()",
        "self.scaler.scale(part.mean * 9).backward()",
        parity("accumulated_gradients_equal_those_of_the_big_batch"),
    ),
    Fault(
        "the sum is not divided by the tokens",
        LOOP,
        "scale_gradients(self.model.parameters(), distributed.processes() / tokens)",
        "scale_gradients(self.model.parameters(), distributed.processes())",
        OWN_LOOP,
    ),
    Fault(
        "gradients pile up from step to step",
        LOOP,
        "        self.optimizer.zero_grad()\n",
        "",
        unit("loop", "gradients_of_earlier_steps_are_forgotten"),
    ),
    Fault(
        "a step after an evaluation has no dropout",
        LOOP,
        "        self.model.train()\n",
        "",
        unit("loop", "a_step_trains_even_after_an_evaluation"),
    ),
    Fault(
        "the rate is that of the step before",
        LOOP,
        "rate = self.schedule(number)",
        "rate = self.schedule(max(number - 1, 1))",
        unit("loop", "each_step_has_the_rate_of_its_number"),
    ),
    Fault(
        "a loss that is not finite is learned from",
        LOOP,
        "if not math.isfinite(loss) or not (math.isfinite(norm) or self.scaler.is_enabled()):",
        "if False:",
        unit("loop", "a_loss_that_is_not_finite_stops_the_run_before_the_weights_change"),
    ),
    Fault(
        "each parameter is clipped on its own",
        OPTIMIZER,
        "norm = torch.stack([parameter.grad.norm() for parameter in parameters]).norm()",
        "norm = torch.stack([parameter.grad.norm() for parameter in parameters]).max()",
        parity("clipping_equals_that_of_torch"),
    ),
    Fault(
        "a short gradient is lengthened",
        OPTIMIZER,
        "min(1.0, max_norm / (norm.item() + 1e-6))",
        "max_norm / (norm.item() + 1e-6)",
        parity("clipping_equals_that_of_torch"),
    ),
    Fault(
        "Adam has torch's second beta",
        OPTIMIZER,
        "betas=(0.9, 0.98)",
        "betas=(0.9, 0.999)",
        parity("two_steps_of_the_papers_adam_by_hand"),
    ),
    # Evaluation and history
    Fault(
        "an evaluation leaves the model without dropout",
        EVALUATION,
        "            module.training = training\n",
        "            pass\n",
        unit("loop", "every_part_gets_back_the_mode_that_it_had"),
    ),
    Fault(
        "an evaluation has dropout",
        EVALUATION,
        "    model.eval()\n",
        "",
        unit("loop", "the_mean_loss_weighs_each_token_the_same"),
    ),
    Fault(
        "a right beginning counts as a match",
        EVALUATION,
        "list(output) == list(target)",
        "list(output)[: len(target)] == list(target)",
        unit("loop", "an_exact_match_is_right_in_every_token_and_in_length"),
    ),
    Fault(
        "a length that is not finite makes the file no JSON",
        HISTORY,
        "norm if math.isfinite(norm) else None",
        "norm",
        unit("loop", "a_length_that_is_not_finite_is_null_in_json"),
        "ValueError: Out of range float",
    ),
    # Checkpoints
    Fault(
        "a resumed run draws other dropout",
        LOOP,
        '        set_random_state(state["random"][distributed.process()])\n',
        "",
        SAME_BITS,
    ),
    Fault(
        "a resumed run forgets the moments of the optimiser",
        LOOP,
        '        self.optimizer.load_state_dict(state["optimizer"])\n',
        "",
        SAME_BITS,
    ),
    Fault(
        "a resumed run begins the data anew",
        LOOP,
        '        self.batches.load_state_dict(state["batches"])\n',
        "",
        SAME_BITS,
    ),
    Fault(
        "a save that fails destroys the earlier file",
        CHECKPOINT,
        "part = Path(folder) / path.name",
        "part = path",
        unit("checkpoint", "a_save_that_fails_leaves_the_earlier_file_and_no_other"),
    ),
    Fault(
        "a checkpoint may run code",
        CHECKPOINT,
        "weights_only=True",
        "weights_only=False",
        unit("checkpoint", "a_file_that_would_run_code_is_not_read"),
    ),
    # Several processes
    Fault(
        "the mean over processes counts for the sum",
        LOOP,
        "distributed.processes() / tokens",
        "1 / tokens",
        TWO_LIKE_ONE,
    ),
    Fault(
        "each process divides by its own tokens",
        LOOP,
        "        loss, tokens = distributed.total(loss, tokens, device=self.device)\n",
        "",
        TWO_LIKE_ONE,
    ),
    Fault(
        "every process takes the whole batch",
        DATA,
        "rows[process() :: processes()]",
        "rows",
        unit("distributed", "each_process_gets_its_share_of_the_rows"),
    ),
    Fault(
        "the gradients stay in their process",
        DISTRIBUTED,
        "DistributedDataParallel(model) if dist.is_initialized() else model",
        "model",
        TWO_LIKE_ONE,
    ),
    Fault(
        "every process has the random numbers of the first",
        LOOP,
        'state["random"][distributed.process()]',
        'state["random"][0]',
        unit("distributed", "two_processes_that_were_stopped_go_on_to_the_same_bits"),
    ),
]
