"""The reference agent: prompts, policies, rollouts, behaviour cloning, M-GRPO and evaluation."""
