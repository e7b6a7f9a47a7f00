#!/usr/bin/env bash
# carl-bench 1.1.1 with gymnasium 0.29.1: context features of CartPole and Pendulum.
#
# Guess: each context feature changes the environment, as the cart's mass and gravity do in Gymnasium, and Pendulum begins at any angle.
# Seen:  carts of 0.5 and of 10 kg move the same, as the total mass stays that of the defaults, and the length of the pole changes only a part
#        of the equations. `gravity` of Pendulum is read nowhere, and its default of 8.0 is not the gravity of 10 that `g` has. Pendulum
#        begins at angles and velocities of 0 and more only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet carl-bench==1.1.1 gymnasium==0.29.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import gymnasium
import numpy
from carl.envs import CARLCartPole, CARLPendulum


def carl_steps(kind, action, **features):
    """Return the observations of five steps with one action in a context that has these features."""
    env = kind(contexts={0: {**kind.get_default_context(), **features}})
    env.reset(seed=1)
    return numpy.array([env.step(action)[0]["obs"] for _ in range(5)])


def cartpole_steps(state, masscart=1.0, length=0.5):
    """Return the observations of five steps of Gymnasium's CartPole with these values, from a state."""
    env = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=1)
    env.masscart, env.length = masscart, length
    env.total_mass = env.masspole + masscart
    env.polemass_length = env.masspole * length
    env.state = tuple(state)
    return numpy.array([env.step(1)[0] for _ in range(5)])


start = CARLCartPole().reset(seed=1)[0]["obs"].astype(float)
plain = carl_steps(CARLCartPole, 1)
assert numpy.allclose(plain, cartpole_steps(start), atol=1e-5), "CartPole without a context has changed"
for feature, value in (("masscart", 0.5), ("masscart", 10.0), ("length", 2.0)):
    moved = carl_steps(CARLCartPole, 1, **{feature: value})[-1]
    expected = cartpole_steps(start, **{feature: value})[-1]
    print(f"CartPole with {feature} {value}: after five steps {moved.round(3).tolist()}, in Gymnasium {expected.round(3).tolist()}")
    assert not numpy.allclose(moved, expected, atol=1e-3), "the behaviour has changed"
    if feature == "masscart":
        assert numpy.array_equal(moved, plain[-1]), "the behaviour has changed"

defaults = CARLPendulum.get_default_context()
print("Pendulum by default:", {key: defaults[key] for key in ("gravity", "g")})
torque = numpy.array([0.5])
pendulum = carl_steps(CARLPendulum, torque)
assert numpy.array_equal(pendulum, carl_steps(CARLPendulum, torque, gravity=20.0)), "the behaviour has changed"
assert not numpy.array_equal(pendulum, carl_steps(CARLPendulum, torque, g=20.0))


def starts(env, read):
    """Return the least and the greatest sine of the angle, and velocity, of 200 first observations."""
    values = numpy.array([read(env.reset(seed=seed)[0]) for seed in range(200)])[:, 1:]
    return [(round(float(low), 2), round(float(high), 2)) for low, high in zip(values.min(axis=0), values.max(axis=0))]


sides = starts(CARLPendulum(), lambda observation: observation["obs"])
print(f"Pendulum begins with sines and velocities within {sides}, in Gymnasium within {starts(gymnasium.make('Pendulum-v1'), numpy.asarray)}")
assert min(low for low, _ in sides) >= 0, "the behaviour has changed"
PYTHON
