"""Small whole models trained from one seed: the losses are torch's, step by step."""

import math

from tests.scenarios import Scenarios

scenario = Scenarios("nn_models", tolerance=1e-3)


def train(torch, model, optimizer, loss_of, steps=20):
    """The losses of ``steps`` steps."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@scenario
def mlp(torch):
    nn = torch.nn
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
    x, y = torch.randn(16, 10), torch.randint(0, 3, (16,))
    return train(torch, m, torch.optim.Adam(m.parameters(), lr=1e-2), lambda m: nn.functional.cross_entropy(m(x), y))


@scenario
def lenet(torch):
    nn, F = torch.nn, torch.nn.functional

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.c1, self.c2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
            self.f1, self.f2, self.f3 = nn.Linear(16 * 5 * 5, 120), nn.Linear(120, 84), nn.Linear(84, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.c1(x)), 2)
            x = F.max_pool2d(F.relu(self.c2(x)), (2, 2))
            x = x.view(x.size(0), -1)
            return F.log_softmax(self.f3(F.relu(self.f2(F.relu(self.f1(x))))), dim=1)

    torch.manual_seed(0)
    m, x, y = LeNet(), torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))
    return train(torch, m, torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9), lambda m: F.nll_loss(m(x), y))


@scenario
def residual(torch):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, i, o, stride=1):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
            self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
            self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if i != o else nn.Identity()

        def forward(self, x):
            return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.down(x))

    torch.manual_seed(0)
    m = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), Block(8, 8), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
    for mod in m.modules():
        if isinstance(mod, nn.Conv2d):
            nn.init.kaiming_normal_(mod.weight, mode="fan_out", nonlinearity="relu")
    x, y = torch.randn(4, 3, 16, 16), torch.randint(0, 4, (4,))
    losses = train(torch, m, torch.optim.SGD(m.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4), lambda m: F.cross_entropy(m(x), y), 10)
    m.eval()
    with torch.no_grad():
        return losses, m(x)


@scenario
def lstm_classifier(torch):
    nn = torch.nn
    R = nn.utils.rnn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(20, 8, padding_idx=0)
            self.lstm = nn.LSTM(8, 12, bidirectional=True, batch_first=True)
            self.out = nn.Linear(24, 2)

        def forward(self, x, lengths):
            p = R.pack_padded_sequence(self.embed(x), lengths, batch_first=True, enforce_sorted=False)
            _, (h, _) = self.lstm(p)
            return self.out(torch.cat([h[0], h[1]], 1))

    torch.manual_seed(0)
    m, y = Net(), torch.tensor([0, 1, 1])
    x = R.pad_sequence([torch.randint(1, 20, (n,)) for n in (3, 6, 4)], batch_first=True)
    lengths = torch.tensor([3, 6, 4])

    def loss(m):
        value = nn.functional.cross_entropy(m(x, lengths), y)
        return value

    return train(torch, m, torch.optim.Adam(m.parameters(), lr=5e-3), loss)


@scenario
def transformer(torch):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 16)
            position = torch.arange(8).unsqueeze(1)
            scale = torch.exp(torch.arange(0, 16, 2) * (-math.log(10000.0) / 16))
            pe = torch.zeros(8, 16)
            pe[:, 0::2] = torch.sin(position * scale)
            pe[:, 1::2] = torch.cos(position * scale)
            self.register_buffer("pe", pe)
            layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.out = nn.Linear(16, 11)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
            return self.out(self.encoder(self.embed(x) * 4 + self.pe[: x.size(1)], mask=mask, is_causal=True))

    torch.manual_seed(0)
    m, x = Net(), torch.randint(0, 11, (4, 8))
    o = torch.optim.AdamW(m.parameters(), lr=1e-3)

    def loss(m):
        logits = m(x[:, :-1])
        return nn.functional.cross_entropy(logits.reshape(-1, 11), x[:, 1:].reshape(-1))

    return train(torch, m, o, loss)


@scenario
def vae(torch):
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.mean, self.var = nn.Linear(20, 16), nn.Linear(16, 4), nn.Linear(16, 4)
            self.fc3, self.fc4 = nn.Linear(4, 16), nn.Linear(16, 20)

        def forward(self, x):
            h = F.relu(self.fc1(x))
            mean, logvar = self.mean(h), self.var(h)
            z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mean, logvar

    torch.manual_seed(0)
    m, x = VAE(), torch.rand(8, 20)

    def loss(m):
        out, mean, logvar = m(x)
        kl = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
        return F.binary_cross_entropy(out, x, reduction="sum") + kl

    return train(torch, m, torch.optim.Adam(m.parameters(), lr=1e-3), loss)


@scenario
def gan(torch):
    nn = torch.nn
    torch.manual_seed(0)
    g = nn.Sequential(
        nn.ConvTranspose2d(8, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh()
    )
    d = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(8, 1, 4, 1, 0, bias=False), nn.Sigmoid())

    def weights(m):
        if m.__class__.__name__.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif m.__class__.__name__.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    g.apply(weights)
    d.apply(weights)
    od = torch.optim.Adam(d.parameters(), lr=2e-3, betas=(0.5, 0.999))
    og = torch.optim.Adam(g.parameters(), lr=2e-3, betas=(0.5, 0.999))
    bce, real, losses = nn.BCELoss(), torch.randn(4, 1, 8, 8), []
    for _ in range(8):
        d.zero_grad()
        label = torch.full((4,), 1.0)
        loss_real = bce(d(real).view(-1), label)
        loss_real.backward()
        fake = g(torch.randn(4, 8, 1, 1))
        label.fill_(0.0)
        loss_fake = bce(d(fake.detach()).view(-1), label)
        loss_fake.backward()
        od.step()
        g.zero_grad()
        label.fill_(1.0)
        loss_g = bce(d(fake).view(-1), label)
        loss_g.backward()
        og.step()
        losses.append([loss_real.item(), loss_fake.item(), loss_g.item()])
    return losses


@scenario
def wgan_gp(torch):
    nn = torch.nn
    torch.manual_seed(0)
    d = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    o, losses = torch.optim.Adam(d.parameters(), lr=1e-2), []
    for _ in range(10):
        real, fake = torch.randn(8, 2) + 2, torch.randn(8, 2)
        alpha = torch.rand(8, 1)
        mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        out = d(mixed)
        grads = torch.autograd.grad(out, mixed, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True)[0]
        penalty = ((grads.norm(2, dim=1) - 1) ** 2).mean()
        loss = d(fake).mean() - d(real).mean() + 10 * penalty
        o.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(d.parameters(), 5.0)
        o.step()
        losses.append(loss.item())
    return losses


@scenario
def seq2seq(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.encoder = nn.Embedding(9, 8), nn.GRU(8, 12)
            self.cell, self.attend, self.out = nn.GRUCell(8 + 12, 12), nn.Linear(24, 1), nn.Linear(12, 9)

        def forward(self, src, tgt):
            memory, h = self.encoder(self.embed(src))
            h, logits = h[0], []
            for word in tgt:
                score = self.attend(torch.cat([memory, h.unsqueeze(0).expand_as(memory)], -1)).squeeze(-1)
                context = (F.softmax(score, 0).unsqueeze(-1) * memory).sum(0)
                h = self.cell(torch.cat([self.embed(word), context], -1), h)
                logits.append(self.out(h))
            return torch.stack(logits)

    torch.manual_seed(0)
    m, src, tgt = Net(), torch.randint(0, 9, (5, 3)), torch.randint(0, 9, (4, 3))
    o = torch.optim.Adam(m.parameters(), lr=1e-2)
    return train(torch, m, o, lambda m: F.cross_entropy(m(src, tgt[:-1]).reshape(-1, 9), tgt[1:].reshape(-1)), 10)


@scenario
def vit(torch):
    nn = torch.nn

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 16, 4, 4)
            self.token = nn.Parameter(torch.zeros(1, 1, 16))
            self.place = nn.Parameter(torch.randn(1, 5, 16) * 0.02)
            self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(2)])
            self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 3)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x[:, 0]))

    torch.manual_seed(0)
    m, x, y = ViT(), torch.randn(4, 3, 8, 8), torch.randint(0, 3, (4,))
    return train(torch, m, torch.optim.AdamW(m.parameters(), lr=1e-3), lambda m: nn.functional.cross_entropy(m(x), y), 10)


@scenario
def gcn(torch):
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.empty(i, o)), nn.Parameter(torch.empty(o))
            bound = 1.0 / math.sqrt(self.weight.size(1))
            self.weight.data.uniform_(-bound, bound)
            self.bias.data.uniform_(-bound, bound)

        def forward(self, x, adjacency):
            return torch.mm(adjacency, torch.mm(x, self.weight)) + self.bias

    class GCN(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Layer(6, 8), Layer(8, 3)

        def forward(self, x, adjacency):
            return F.log_softmax(self.b(F.dropout(F.relu(self.a(x, adjacency)), 0.5, training=self.training), adjacency), 1)

    torch.manual_seed(0)
    m, x, y = GCN(), torch.randn(10, 6), torch.randint(0, 3, (10,))
    a = (torch.rand(10, 10) > 0.7).float() + torch.eye(10)
    a = a / a.sum(1, keepdim=True)
    picked = torch.arange(5)
    return train(torch, m, torch.optim.Adam(m.parameters(), lr=0.01, weight_decay=5e-4), lambda m: F.nll_loss(m(x, a)[picked], y[picked]))


@scenario
def dqn(torch):
    nn = torch.nn

    def net():
        return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))

    torch.manual_seed(0)
    policy, target = net(), net()
    target.load_state_dict(policy.state_dict())
    o, losses = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True), []
    for _ in range(10):
        state, following = torch.randn(8, 4), torch.randn(8, 4)
        action, reward = torch.randint(0, 2, (8, 1)), torch.rand(8)
        q = policy(state).gather(1, action)
        with torch.no_grad():
            best = target(following).max(1).values
        loss = nn.SmoothL1Loss()(q, (best * 0.99 + reward).unsqueeze(1))
        o.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        o.step()
        t, p = target.state_dict(), policy.state_dict()
        for key in p:
            t[key] = p[key] * 0.1 + t[key] * 0.9
        target.load_state_dict(t)
        losses.append(loss.item())
    return losses


test_model = scenario.test()
