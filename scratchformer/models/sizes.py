"""What every transformer's configuration must fulfil, whatever else it holds."""


def check_sizes(config, *names: str) -> None:
    """Raise ValueError if a size in `names` is below 1, the heads do not share d_model evenly,
    or `dropout` is no probability below 1. A size of None is left to its default."""
    for name in names:
        if getattr(config, name) is not None and getattr(config, name) < 1:
            raise ValueError(f"{name}={getattr(config, name)}, expected at least 1")
    if config.d_model % config.n_heads != 0:
        raise ValueError(f"d_model={config.d_model} is not divisible by n_heads={config.n_heads}")
    if not 0 <= config.dropout < 1:
        raise ValueError(f"dropout={config.dropout}, expected 0 <= dropout < 1")
