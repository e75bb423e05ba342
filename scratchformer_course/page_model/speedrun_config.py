"""The switches of SpeedrunGPT: its sizes, and an idea each."""

from dataclasses import dataclass

from scratchformer.blocks import check_sizes

CHOICES = {
    "norm": ("layer", "rms"),
    "activation": ("gelu_tanh", "relu2", "swiglu"),
    "positions": ("learned", "rotary", "rotary_halves"),
}


@dataclass(frozen=True)
class SpeedrunConfig:
    """The sizes, as GPTConfig has them, and the ideas. Raises ValueError for what has no sense."""

    vocab_size: int
    context_length: int
    d_model: int
    n_heads: int
    n_layers: int
    bias: bool = True
    norm: str = "layer"  # or "rms", which only scales
    norm_weights: bool = True  # a learned factor for each channel after a norm
    embedding_norm: bool = False  # the sum of a token's embeddings is normalised too
    activation: str = "gelu_tanh"  # or "relu2", the squared ReLU; or "swiglu", with a gate
    positions: str = "learned"  # or "rotary"; "rotary_halves" turns the pairs that Llama turns
    n_kv_heads: int | None = None  # heads of keys and values, shared by groups; None: n_heads
    qk_norm: bool = False  # queries and keys of one size: attention saturates later
    qk_norm_weights: bool = False  # an RMSNorm with weights does it, as in Qwen3
    window: int | None = None  # a token attends to so many, itself included; None: to all
    explicit_attention: bool = True  # False, or with a window: by PyTorch's fused kernel
    n_experts: int = 0  # networks in place of each block's one; 0: none
    n_active: int = 2  # experts that a token is sent to, each narrower by this factor
    tied: bool = True  # False: the output head has a matrix of its own
    zero_init: bool = False  # what adds to the stream starts at 0, an untied head too
    wide_init: bool = False  # other matrices of a block start at 0.5 / √(inputs), not 0.02
    smear: int = 0  # how many previous tokens are mixed into each
    bigram_rows: int = 0  # rows of a table with a vector for each pair of tokens
    bigram_dropout: float = 0.0  # the chance that a position lacks its pair's vector in training
    value_embeddings: bool = False  # each block adds a vector of the token's own to its values

    def __post_init__(self):
        check_sizes(self, "n_kv_heads", "window", "n_active")
        for name, choices in CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise ValueError(f"{name}={value!r}, expected one of {', '.join(choices)}")
        if self.positions != "learned" and self.D % 2:
            raise ValueError(f"heads are {self.D} wide, expected an even width: rotary turns pairs")
        if self.n_heads % self.kv_heads:
            n = self.n_kv_heads
            raise ValueError(f"n_heads={self.n_heads} is not divisible by n_kv_heads={n}")
        if self.value_embeddings and self.kv_heads < self.n_heads:
            raise ValueError("value_embeddings have no room in keys and values that heads share")
        for name in ("smear", "bigram_rows", "n_experts"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}={getattr(self, name)}, expected 0 (none) or more")
        if not 0 <= self.bigram_dropout < 1:
            raise ValueError(f"bigram_dropout={self.bigram_dropout}, expected 0 to below 1")

    @property
    def D(self) -> int:
        """Width of a head."""
        return self.d_model // self.n_heads

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values: n_kv_heads, or n_heads where that is None."""
        return self.n_kv_heads or self.n_heads
