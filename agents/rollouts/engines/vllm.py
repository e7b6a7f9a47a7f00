"""An engine that samples on a vLLM server over HTTP: token ids in, token ids and log-probabilities out. vLLM is not imported.

The server is an unmodified vLLM 0.33 or later. It must be able to read the folder that the parameters are written to:

    VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --host 127.0.0.1 --logprobs-mode processed_logprobs

The development mode opens the routes that load parameters, and no API key protects them: keep the port private. The processed
log-probabilities are those of the sampling distribution, as the trainer computes them. A server serves one engine at a time.

Tried with vLLM's CPU build, not on a GPU. On a CPU, a head that is tied to the embedding keeps its old parameters after a reload:
serve only models whose head has parameters of its own.
"""

import math
import shutil
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.data.trajectories import Ids
from agents.models.parameters import merge_adapters
from agents.rollouts.constraints import Constraint
from agents.rollouts.engines import Completion, Generation, RequestPool
from webarena_gym.errors import ServerError
from webarena_gym.servers.rest import request_json_with_retries

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Without these, the model's generation config would change the distribution beside the temperature.
_PLAIN_SAMPLING = {
    "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
}  # fmt: skip


class VLLMEngine:
    """Samples responses on a vLLM server.

    Equal seeds give equal responses only if the server's results do not depend on the batch (`VLLM_BATCH_INVARIANT=1`).

    Args:
        base_url: where the server listens, without /v1.
        stop_ids: the tokens that end a response; the model's own end token counts only if it is named here.
        folder: where parameters are written for the server to read, on a disk that both can access. Only the newest are kept.
        max_new_tokens: longest response.
        temperature: of sampling; 0 is greedy decoding.
        api_key: the key that the server was started with, if any.
        max_requests: how many requests are on the server at once; the others wait in this process.
        timeout_s: how long one attempt at a request may take, and one load of parameters.
        deadline_s: how long one request may take with all attempts; a busy or unreachable server is tried again after growing pauses.

    """

    def __init__(
        self, base_url: str, stop_ids: frozenset[int], folder: Path, *, max_new_tokens: int = 64, temperature: float = 1.0,
        api_key: str = "", max_requests: int = 64, timeout_s: float = 300.0, deadline_s: float = 900.0,
    ) -> None:  # fmt: skip
        self._url = base_url.rstrip("/")
        self._folder = folder.resolve()
        self._stop_ids = stop_ids
        self._fields = {
            **_PLAIN_SAMPLING, "max_tokens": max_new_tokens, "temperature": temperature,
            "stop_token_ids": sorted(stop_ids), "ignore_eos": True, "logprobs": 0, "return_token_ids": True,
            "return_weight_versions": True,
        }  # fmt: skip
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._pool: RequestPool[Completion] = RequestPool(max_requests)
        self._version = 0
        self._weights: str | None = None  # the server's name of the parameters that may sample; None: any, "": none
        # Requests are sent while no parameters are loading, and parameters are loaded while no request is on the server, so that
        # one version samples each response.
        self._gate = threading.Condition()
        self._sending = 0
        self._loading = False
        self._closed = threading.Event()

    @property
    def policy_version(self) -> int:
        return self._version

    @property
    def is_idle(self) -> bool:
        return self._pool.is_idle

    def submit(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None = None) -> None:
        if not prompt_ids:
            raise ValueError(f"the prompt of request {request_id} has no tokens; expected at least one")
        self._pool.submit(partial(self._complete, request_id, prompt_ids, seed, constraint))

    def take(self, timeout_s: float | None = None) -> list[Completion]:
        return self._pool.take(timeout_s)

    def load(self, model: "PreTrainedModel", version: int) -> None:
        """Let the server load the parameters from the folder; requests wait meanwhile, and fail after a ServerError until it succeeds."""
        path = self._folder / f"weights_{version}"
        merge_adapters(model).save_pretrained(path)
        with self._gate:
            self._loading = True
            self._gate.wait_for(lambda: not self._sending)
        try:
            self._weights = ""
            self._post("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(path)}})
            self._post("/update_weight_version", {"new_version": str(version)})
            end, pause_s = time.monotonic() + self._deadline_s, 0.05
            while not self._post("/reset_prefix_cache", {})["success"]:  # it refuses to for a moment after its last response
                if time.monotonic() + pause_s >= end or self._closed.wait(pause_s):
                    raise ServerError(f"{self._url} does not clear its prefix cache, which is of older parameters")
                pause_s *= 2
            self._version, self._weights = version, str(version)
        finally:
            with self._gate:
                self._loading = False
                self._gate.notify_all()
        for old in self._folder.glob("weights_*"):
            if old != path:
                shutil.rmtree(old)

    def close(self) -> None:
        """Cancel the requests that have not been sent and wait for the others, without further attempts."""
        self._closed.set()
        self._pool.close()

    def _complete(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None) -> Completion:
        with self._gate:
            self._gate.wait_for(lambda: not self._loading)
            self._sending += 1
        try:
            own = {"structured_outputs": {"regex": constraint.regex}} if constraint else {}
            said = self._post("/v1/completions", {**self._fields, **own, "prompt": list(prompt_ids), "seed": seed})
            return Completion(request_id, self._read(said))
        except ServerError as error:
            return Completion(request_id, None, str(error))
        finally:
            with self._gate:
                self._sending -= 1
                self._gate.notify_all()

    def _post(self, path: str, payload: dict[str, Any]) -> Any:
        return request_json_with_retries(
            self._url + path, payload,
            token=self._api_key, timeout_s=self._timeout_s, deadline_s=self._deadline_s, stopped=self._closed,
        )  # fmt: skip

    def _read(self, said: Any) -> Generation:
        """Return the generation in the server's reply. Raises ServerError if it cannot be trained on."""
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
        if self._weights is not None and weights != [self._weights]:
            raise ServerError(f"{self._url} sampled with the weights {weights}; expected [{self._weights!r}]")
        return Generation(ids, logprobs, ids[-1] in self._stop_ids, self._version)
