"""An engine behind a vLLM server: token ids in, token ids and log-probabilities out, all over HTTP. Nothing of vLLM is imported.

The server is a stock one, of vLLM 0.33 or later; it must see the folder that the weights are written to:

    VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --host 127.0.0.1 --logprobs-mode processed_logprobs

The development mode opens the routes that load weights, which no key protects: keep the port private. The processed
log-probabilities are those of the distribution that is sampled from, as the trainer computes them. A server belongs to one
engine at a time.

Written from vLLM's own source and tried on its build for CPUs, not on a GPU. There a head that is tied to the embedding keeps its
old weights when others are read: on a CPU, serve only models whose head is their own.
"""

import math
import shutil
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from agents.data.tokens import Ids
from agents.models.adapters import merged
from agents.rollouts.engines import Answer, Generation
from agents.rollouts.engines.crew import Crew
from webarena_gym.errors import ServerError
from webarena_gym.servers.rest import request_json_patiently

# What a model's own generation config would else put on top of the temperature.
_PLAIN_SAMPLING = {
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
# The strongest bias that the protocol knows. A list of the allowed ids would be the whole vocabulary in every request.
_BAN = -100.0


class VLLMEngine:
    """Samples responses on a vLLM server.

    Equal seeds give equal responses only as far as the server computes alike in batches of any size
    (`VLLM_BATCH_INVARIANT=1`).

    Args:
        base_url: where the server listens, without /v1.
        stop_ids: the tokens that end a response; the model's own end token is none unless it is named here.
        folder: where weights are written for the server to read; on a disk that both see. Only the newest are kept.
        max_new_tokens: longest response.
        temperature: of sampling; 0 takes the likeliest token.
        banned_ids: tokens that must not be sampled.
        api_key: what the server was started with, if it was.
        max_requests: how many prompts are on the server at once; the others wait here.
        timeout_s: how long one response may take, and one loading of weights.
        deadline_s: how long one prompt may take, with all further tries: a server that is busy or gone is asked again, after
            growing pauses.

    """

    def __init__(
        self,
        base_url: str,
        stop_ids: frozenset[int],
        folder: Path,
        *,
        max_new_tokens: int = 64,
        temperature: float = 1.0,
        banned_ids: Sequence[int] = (),
        api_key: str = "",
        max_requests: int = 64,
        timeout_s: float = 300.0,
        deadline_s: float = 900.0,
    ) -> None:
        self._url = base_url.rstrip("/")
        self._folder = folder.resolve()
        self._banned_ids = frozenset(banned_ids)
        self._stop_ids = stop_ids
        self._fields = {
            **_PLAIN_SAMPLING,
            "max_tokens": max_new_tokens,
            "temperature": temperature,
            "stop_token_ids": sorted(stop_ids),
            "ignore_eos": True,
            "logit_bias": {str(token): _BAN for token in banned_ids},
            "logprobs": 0,
            "return_token_ids": True,
            "return_weight_versions": True,
        }
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._crew: Crew[Answer] = Crew(max_requests)
        self._version = 0
        self._weights: str | None = None  # the server's name of the weights that may sample; None: any, "": none
        # Prompts are sent while no weights are loaded, and weights are loaded while no prompt is under way on the server, so
        # each response comes from one set of weights.
        self._gate = threading.Condition()
        self._sending = 0
        self._loading = False
        self._closed = threading.Event()

    @property
    def policy_version(self) -> int:
        """The version of the weights that sample now; 0 until some are loaded."""
        return self._version

    @property
    def is_idle(self) -> bool:
        """Whether every prompt that was submitted has been answered and taken."""
        return self._crew.is_idle

    def submit(self, ticket: int, prompt_ids: Ids, seed: int) -> None:
        """Ask for a response to a prompt; does not wait."""
        if not prompt_ids:
            raise ValueError(f"the prompt of ticket {ticket} has no tokens; expected at least one")
        self._crew.submit(partial(self._answer, ticket, prompt_ids, seed))

    def take(self, timeout_s: float | None = None) -> list[Answer]:
        """Return the answers that are there; wait for the first at most `timeout_s` seconds."""
        return self._crew.take(timeout_s)

    def load(self, model: PreTrainedModel, version: int) -> None:
        """Write the weights to the folder and let the server read them; prompts wait as long.

        Raises ServerError if the server does not take them; then every prompt fails until a later call succeeds.
        """
        path = self._folder / f"weights_{version}"
        merged(model).save_pretrained(path)
        with self._gate:
            self._loading = True
            self._gate.wait_for(lambda: not self._sending)
        try:
            self._weights = ""
            self._post("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(path)}})
            self._post("/update_weight_version", {"new_version": str(version)})
            self._reset_prefix_cache()
            self._version, self._weights = version, str(version)
        finally:
            with self._gate:
                self._loading = False
                self._gate.notify_all()
        for old in self._folder.glob("weights_*"):
            if old != path:
                shutil.rmtree(old)

    def close(self) -> None:
        """Drop the prompts that have not been sent and wait for the others, without further tries."""
        self._closed.set()
        self._crew.close()

    def _answer(self, ticket: int, prompt_ids: Ids, seed: int) -> Answer:
        with self._gate:
            self._gate.wait_for(lambda: not self._loading)
            self._sending += 1
        try:
            said = self._post("/v1/completions", {**self._fields, "prompt": list(prompt_ids), "seed": seed})
            return Answer(ticket, self._read(said))
        except ServerError as error:
            return Answer(ticket, None, str(error))
        finally:
            with self._gate:
                self._sending -= 1
                self._gate.notify_all()

    def _post(self, path: str, payload: dict[str, Any]) -> Any:
        return request_json_patiently(
            self._url + path,
            payload,
            token=self._api_key,
            timeout_s=self._timeout_s,
            deadline_s=self._deadline_s,
            stopped=self._closed,
        )

    def _reset_prefix_cache(self) -> None:
        """Forget keys and values of older weights; the server refuses for a moment after its last response."""
        end, pause_s = time.monotonic() + self._deadline_s, 0.05
        while not self._post("/reset_prefix_cache", {})["success"]:
            if time.monotonic() + pause_s >= end or self._closed.wait(pause_s):
                raise ServerError(f"{self._url} keeps its prefix cache, which older weights made")
            pause_s *= 2

    def _read(self, said: Any) -> Generation:
        """Return the generation that the server says it made. Raises ServerError if it cannot be trained on."""
        try:
            choice = said["choices"][0]
            reason, ids = choice["finish_reason"], tuple(choice["token_ids"])
            logprobs = tuple(float(value) for value in choice["logprobs"]["token_logprobs"])
            weights = [span["version"] for span in choice["weight_versions"]]
        except (KeyError, IndexError, TypeError) as error:
            raise ServerError(f"{self._url} answered without ids, log-probabilities or versions: {str(said)[:300]}") from error
        if reason not in ("stop", "length"):
            raise ServerError(f"{self._url} ended a response with {reason!r}; expected 'stop' or 'length'")
        if not ids or len(ids) != len(logprobs) or not all(map(math.isfinite, logprobs)):
            raise ServerError(f"{self._url} answered {len(ids)} ids with the log-probabilities {str(logprobs)[:300]}")
        if banned := self._banned_ids.intersection(ids):
            raise ServerError(f"{self._url} sampled the tokens {sorted(banned)}, which are banned")
        if self._weights is not None and weights != [self._weights]:
            raise ServerError(f"{self._url} sampled with the weights {weights}; expected [{self._weights!r}]")
        return Generation(ids, logprobs, ids[-1] in self._stop_ids, self._version)
