"""An engine that samples on a vLLM server over HTTP. It sends token ids and receives token ids and log-probabilities.

vLLM is not imported. The server is an unmodified vLLM 0.33 or later, which must have access to the folder of the parameters:

    VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --host 127.0.0.1 --logprobs-mode processed_logprobs

The development mode enables the routes that load parameters. No API key protects them, so keep the port private. The processed
log-probabilities are those of the sampling distribution, as in the trainer. A server must be used by one engine only.

Tested with vLLM's CPU build, not on a GPU. On a CPU, a head that is tied to the embedding keeps its old parameters after a reload, so
serve only models with an untied head.
"""

import math
import shutil
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.data.trajectories import Ids
from agents.models.parameters import merge_adapters
from agents.rollouts.constraints import Constraint
from agents.rollouts.engines import Completion, Generation, RequestPool
from webarena_gym.clients.rest import request_json_with_retries
from webarena_gym.errors import ServerError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Without these fields, the server applies the model's generation config, which may change the distribution.
_PLAIN_SAMPLING = {
    "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
}  # fmt: skip


class VLLMEngine:
    """Samples responses on a vLLM server.

    Equal seeds give equal responses only if the server's results do not depend on the batch (`VLLM_BATCH_INVARIANT=1`).

    Args:
        base_url: URL of the server, without /v1.
        stop_ids: Tokens that end a response. The model's end token ends it only if it is included.
        folder: Folder for the parameters, on a disk that this process and the server share. Only the newest parameters are kept.
        max_new_tokens: Maximum length of a response.
        temperature: Sampling temperature; 0 is greedy decoding.
        api_key: API key of the server, if any.
        max_requests: Maximum number of concurrent requests on the server. Others wait in this process.
        timeout_s: Time limit of one attempt at a request, or of one load of parameters, in seconds.
        deadline_s: Time limit of one request with all attempts, in seconds. After an error of the server, the request is sent again, with
            increasing pauses.

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
        self._weights: str | None = None  # weight version that responses must have; None: any, "": none
        # Parameters are loaded only while no request is on the server, so that one version samples each response.
        self._condition = threading.Condition()
        self._active_requests = 0
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
        """Write the parameters to the folder and make the server load them. Requests wait until it is done.

        Raises:
            ServerError: The server did not load the parameters. All requests fail until another load succeeds.

        """
        path = self._folder / f"weights_{version}"
        merge_adapters(model).save_pretrained(path)
        with self._condition:
            self._loading = True
            self._condition.wait_for(lambda: not self._active_requests)
        try:
            self._weights = ""
            self._post("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(path)}})
            self._post("/update_weight_version", {"new_version": str(version)})
            deadline, pause_s = time.monotonic() + self._deadline_s, 0.05
            while not self._post("/reset_prefix_cache", {})["success"]:  # the server refuses shortly after its last response
                if time.monotonic() + pause_s >= deadline or self._closed.wait(pause_s):
                    raise ServerError(
                        f"{self._url} did not clear its prefix cache of older parameters within {self._deadline_s:g} s"
                    )
                pause_s *= 2
            self._version, self._weights = version, str(version)
        finally:
            with self._condition:
                self._loading = False
                self._condition.notify_all()
        for stale_folder in self._folder.glob("weights_*"):
            if stale_folder != path:
                shutil.rmtree(stale_folder)

    def close(self) -> None:
        """Cancel the requests that have not been sent, and wait for the others without further attempts."""
        self._closed.set()
        self._pool.close()

    def _complete(self, request_id: int, prompt_ids: Ids, seed: int, constraint: Constraint | None) -> Completion:
        with self._condition:
            self._condition.wait_for(lambda: not self._loading)
            self._active_requests += 1
        try:
            constraint_fields = {"structured_outputs": {"regex": constraint.regex}} if constraint else {}
            response = self._post(
                "/v1/completions", {**self._fields, **constraint_fields, "prompt": list(prompt_ids), "seed": seed}
            )
            return Completion(request_id, self._parse_generation(response))
        except ServerError as error:
            return Completion(request_id, None, str(error))
        finally:
            with self._condition:
                self._active_requests -= 1
                self._condition.notify_all()

    def _post(self, path: str, payload: dict[str, Any]) -> Any:
        return request_json_with_retries(
            self._url + path, payload,
            token=self._api_key, timeout_s=self._timeout_s, deadline_s=self._deadline_s, stopped=self._closed,
        )  # fmt: skip

    def _parse_generation(self, response: Mapping[str, Any]) -> Generation:
        """Return the generation in the server's response. Raises ServerError if it lacks data that training needs."""
        try:
            choice = response["choices"][0]
            reason, ids = choice["finish_reason"], tuple(choice["token_ids"])
            logprobs = tuple(float(value) for value in choice["logprobs"]["token_logprobs"])
            weights = [span["version"] for span in choice["weight_versions"]]
        except (KeyError, IndexError, TypeError) as error:
            raise ServerError(
                f"{self._url} returned a response without token ids, log-probabilities or weight versions: {str(response)[:300]}"
            ) from error
        if reason not in ("stop", "length"):
            raise ServerError(f"{self._url} ended a response with {reason!r}; expected 'stop' or 'length'")
        if not ids or len(ids) != len(logprobs) or not all(map(math.isfinite, logprobs)):
            raise ServerError(
                f"{self._url} returned {len(ids)} token ids with the log-probabilities {str(logprobs)[:300]}; "
                "expected as many finite log-probabilities"
            )
        if self._weights is not None and weights != [self._weights]:
            raise ServerError(f"{self._url} sampled with the weight versions {weights}; expected [{self._weights!r}]")
        return Generation(ids, logprobs, ids[-1] in self._stop_ids, self._version)
