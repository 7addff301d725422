"""The training step of ``examples/digits_cnn.py``: CNN on 8x8 digits, batch 32, SGD with momentum, ``loss.item()``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

BATCH = 32


def batches():
    """Fixed batches of random digits, as NumPy arrays."""
    rng = np.random.default_rng(0)
    return [(rng.random((BATCH, 1, 8, 8), dtype=np.float32), rng.integers(0, 10, BATCH)) for _ in range(8)]


def build(contender: str) -> Callable[[], object]:
    """One training step."""
    return _jax() if contender == "jax" else _torch(contender)


def _torch(contender: str):
    if contender == "torchlike":
        import torchlike as torch
        from torchlike import nn
        from torchlike.nn import functional as F
    else:
        import torch
        from torch import nn
        from torch.nn import functional as F

        torch.set_num_threads(2)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
            self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
            self.fc1 = nn.Linear(128, 64)
            self.fc2 = nn.Linear(64, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            x = x.view(x.size(0), -1)
            return self.fc2(F.relu(self.fc1(x)))

    torch.manual_seed(0)
    model, criterion = Net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = [(torch.from_numpy(x.copy()), torch.from_numpy(y.copy())) for x, y in batches()]
    count = iter(range(1 << 60))

    def step():
        x, y = data[next(count) % len(data)]
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _jax():
    import functools

    import jax
    import jax.numpy as jnp
    import optax

    def conv(x, w, b):
        y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        return y + b[:, None, None]

    def pool(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss_of(p, x, y):
        x = pool(jax.nn.relu(conv(x, p["w1"], p["b1"])))
        x = pool(jax.nn.relu(conv(x, p["w2"], p["b2"])))
        x = jax.nn.relu(x.reshape(len(x), -1) @ p["w3"] + p["b3"])
        logits = x @ p["w4"] + p["b4"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    tx = optax.sgd(0.05, momentum=0.9)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def train(p, state, x, y):
        loss, grads = jax.value_and_grad(loss_of)(p, x, y)
        updates, state = tx.update(grads, state)
        return optax.apply_updates(p, updates), state, loss

    init = jax.nn.initializers.glorot_uniform()
    k = jax.random.split(jax.random.key(0), 4)
    params = {
        "w1": init(k[0], (16, 1, 3, 3)), "b1": jnp.zeros(16), "w2": init(k[1], (32, 16, 3, 3)), "b2": jnp.zeros(32),
        "w3": init(k[2], (128, 64)), "b3": jnp.zeros(64), "w4": init(k[3], (64, 10)), "b4": jnp.zeros(10),
    }  # fmt: skip
    state = [params, tx.init(params)]
    data = [(jnp.asarray(x), jnp.asarray(y, jnp.int32)) for x, y in batches()]
    count = iter(range(1 << 60))

    def step():
        x, y = data[next(count) % len(data)]
        state[0], state[1], loss = train(state[0], state[1], x, y)
        return float(loss)

    return step
