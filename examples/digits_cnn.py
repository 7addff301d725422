"""A plain PyTorch script: a CNN learns scikit-learn's handwritten digits.

    torchlike run examples/digits_cnn.py      # on JAX/XLA, no PyTorch installed
    python examples/digits_cnn.py             # with PyTorch
"""

import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """1797 images of 8 x 8 pixels; every fifth is for the test."""

    def __init__(self, train):
        data = load_digits()
        held_out = [i % 5 == 0 for i in range(len(data.target))]
        rows = [i for i, test in enumerate(held_out) if test != train]
        self.images = torch.tensor(data.images[rows] / 16.0, dtype=torch.float32).unsqueeze(1)
        self.labels = torch.tensor(data.target[rows])

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


def train(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


def accuracy(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            pred = model(x).argmax(dim=1)
            correct += (pred == y).sum().item()
    return 100.0 * correct / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_loader = DataLoader(Digits(train=True), batch_size=32, shuffle=True)
    test_loader = DataLoader(Digits(train=False), batch_size=100)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.3)

    for epoch in range(1, args.epochs + 1):
        loss = train(model, train_loader, criterion, optimizer)
        scheduler.step()
        print(f"epoch {epoch:2d}  loss {loss:.6f}  test accuracy {accuracy(model, test_loader):.2f} %")

    path = os.path.join(tempfile.mkdtemp(), "digits.pth")
    torch.save(model.state_dict(), path)
    restored = Net()
    restored.load_state_dict(torch.load(path))
    print(f"restored from {os.path.basename(path)}: test accuracy {accuracy(restored, test_loader):.2f} %")


if __name__ == "__main__":
    main()
