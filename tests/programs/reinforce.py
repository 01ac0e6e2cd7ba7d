"""REINFORCE on a tiny corridor: sampled actions, log probabilities, discounted and normalised returns."""

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

CELLS, STEPS = 5, 8


class Corridor:
    """Walk right to the goal; each step costs a little."""

    def reset(self):
        self.place = 0
        return self.observe()

    def observe(self):
        state = torch.zeros(CELLS)
        state[self.place] = 1
        return state

    def step(self, action):
        self.place = max(0, min(CELLS - 1, self.place + (1 if action == 1 else -1)))
        done = self.place == CELLS - 1
        return self.observe(), (1.0 if done else -0.1), done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(CELLS, 16)
        self.affine2 = nn.Linear(16, 2)

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.affine1(x))), dim=-1)


def play(env, policy):
    log_probs, rewards, state = [], [], env.reset()
    for _ in range(STEPS):
        # Drawn by the inverse of the distribution, whose random numbers are the same in every library.
        m = Categorical(policy(state))
        action = (torch.rand(()) < m.probs[1]).long()
        log_probs.append(m.log_prob(action))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
        if done:
            break
    return log_probs, rewards


def main():
    torch.manual_seed(11)
    env, policy = Corridor(), Policy()
    optimizer = optim.Adam(policy.parameters(), lr=2e-2)
    costs = []
    for _ in range(40):
        policy_loss, lengths = [], []
        for _ in range(4):
            log_probs, rewards = play(env, policy)
            R, returns = 0, []
            for r in rewards[::-1]:
                R = r + 0.95 * R
                returns.insert(0, R)
            returns = torch.tensor(returns)
            returns = (returns - returns.mean()) / (returns.std(unbiased=False) + 1e-5)
            policy_loss += [-log_prob * R for log_prob, R in zip(log_probs, returns)]
            lengths.append(len(rewards))
        optimizer.zero_grad()
        loss = torch.stack(policy_loss).sum()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            left = sum(policy(row)[0] for row in torch.eye(CELLS)[:-1])
        costs.append(left.item() + sum(lengths) / 16)
    return costs
