"""How fast a simulated engine is, and what its histograms look like."""

from dataclasses import dataclass
from typing import Final

from scaler_core.model.scrape import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineProfile:
    """Constants of one replica.

    The defaults reproduce the benchmark's text runs (spec/scaling-benchmark.md): Qwen3-8B on one H100 for each replica,
    1024 input and up to 256 output tokens, KV over TCP.
    """

    prefill_base_seconds: float = 0.003
    prefill_seconds_per_token: float = 0.0002
    """About 205 ms for 1024 uncached tokens: 4.7 prompts a second saturate the pair in the benchmark's ramp."""
    decode_base_seconds: float = 0.0058
    decode_seconds_per_sequence: float = 0.000356
    """A step with two sequences takes 6.5 ms and one with eleven 9.7 ms, the medians of baseline and ramp."""
    transfer_base_seconds: float = 0.002
    transfer_seconds_per_token: float = 0.000045
    """From prefill to decode over TCP."""
    prefill_noise: float = 0.1
    decode_noise: float = 0.02
    """Relative standard deviations of a step's duration, for steps with and without prompt tokens."""
    slow_step_share: float = 0.03
    slow_step_factor: float = 1.75
    """The share of tokens whose gap is that much longer: the p99 of the benchmark is 1.7 to 1.9 times its median."""
    batch_limit: int = 256
    scheduled_prompt_tokens: int = 8192
    """Prompts up to that many tokens are scheduled at a time: they count as running, the rest as waiting."""
    chunk_tokens: int = 2048
    """Prompt tokens of one step where the replica decodes as well."""
    kv_tokens: int = 380_000
    """KV cache of one replica: about 55 GiB at 147 KiB a token."""
    router_view_seconds: float = 0.4
    """Age at which the router looks at the replicas' loads anew; between, it spreads by what it saw. It gives two
    pairs the benchmark's half a second of TTFT; a router that knew everything would give a third."""
    block_tokens: int = 512
    """Tokens of one prefix block; the unit of `Request.blocks`."""

    def prefill_seconds(self, tokens: int) -> float:
        """Compute time of a step's prompt tokens."""
        return self.prefill_base_seconds + self.prefill_seconds_per_token * tokens if tokens else 0.0

    def decode_seconds(self, sequences: int) -> float:
        """Compute time of one token for that many sequences."""
        return self.decode_base_seconds + self.decode_seconds_per_sequence * sequences if sequences else 0.0

    def transfer_seconds(self, tokens: int) -> float:
        """Time in which a prompt's KV moves from prefill to decode."""
        return self.transfer_base_seconds + self.transfer_seconds_per_token * tokens


PROFILES: Final[dict[Engine, EngineProfile]] = {
    Engine.VLLM: EngineProfile(),
    Engine.SGLANG: EngineProfile(
        prefill_seconds_per_token=0.000105,
        decode_base_seconds=0.0066,
        decode_seconds_per_sequence=0.00007,
        slow_step_factor=4.0,
    ),
}
"""The benchmark's two engines; SGLang's from what it did before its failures: TTFT 166 ms at two streams and 255 ms at
24 on two pairs, gaps of 6.5 ms with a p99 of 26 ms."""

TTFT_BOUNDS: Final[dict[Engine, tuple[float, ...]]] = {
    Engine.VLLM: (
        0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
        1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
    ),
    Engine.SGLANG: (
        0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0,
    ),
}  # fmt: skip
"""Bucket bounds of the time to first token, in seconds."""

ITL_BOUNDS: Final[dict[Engine, tuple[float, ...]]] = {
    Engine.VLLM: (
        0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75,
        1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    ),
    Engine.SGLANG: (
        0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08,
        0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0,
    ),
}  # fmt: skip
"""Bucket bounds of the inter-token latency, in seconds."""
