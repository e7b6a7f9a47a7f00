#!/usr/bin/env bash
# verl 0.9.1: advantages of a prompt with one response, as when the other rollouts were lost or filtered.
#
# Guess: without another response to compare with, the advantage is 0; "rloo" and "rloo_vectorized" are one estimator.
# Seen:  with "grpo", "rloo", "opo" and "gpg" it is the reward itself: of two such prompts only the success is learned from. With
#        "rloo_vectorized" it is 0. The modes of `agg_loss` differ as well: NaN in a masked token makes the means per sequence NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 tensordict==0.15.3 numpy==2.4.6 ray==2.60.0 codetiming==1.4.0 hydra-core==1.3.8 transformers==5.24.0 pandas==3.1.1 orjson==3.13.0 packaging==26.4
"$folder/venv/bin/pip" install --quiet --no-deps verl==0.9.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy
import torch
from omegaconf import OmegaConf
from verl.trainer.ppo.core_algos import agg_loss, get_adv_estimator_fn

config = OmegaConf.create({"gamma": 1.0, "norm_adv_by_std_in_grpo": True})


def advantages(estimator, rewards, prompts):
    token_rewards = torch.tensor([[0.0, reward] for reward in rewards])
    result, _ = get_adv_estimator_fn(estimator)(
        token_level_rewards=token_rewards, response_mask=torch.ones(len(rewards), 2), index=numpy.array(prompts), config=config
    )
    return [round(value, 2) for value in result[:, -1].tolist()]


EXPECTED = {  # two responses for prompt 0, one for prompt 1 and one for prompt 2
    "grpo": [0.71, -0.71, 1, 0],
    "grpo_vectorized": [0.71, -0.71, 1, 0],
    "opo": [0.5, -0.5, 1, 0],
    "gpg": [1, -1, 2, 0],
    "rloo": [1, -1, 1, 0],
    "rloo_vectorized": [1, -1, 0, 0],
}
for estimator, expected in EXPECTED.items():
    seen = advantages(estimator, [1, 0, 1, 0], [0, 0, 1, 2])
    print(f"{estimator}: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"

loss, mask = torch.tensor([[1.0, float("nan")]]), torch.tensor([[1.0, 0.0]])
for mode, expected in (("token-mean", "1.0"), ("seq-mean-token-sum", "nan"), ("seq-mean-token-mean", "nan")):
    seen = str(agg_loss(loss, mask, mode).item())
    print(f"{mode} with NaN in a masked token: {seen}")
    assert seen == expected, f"the behaviour has changed; expected {expected}"
PYTHON
