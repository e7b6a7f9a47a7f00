"""A server of the tests' own that speaks to engines as vLLM does, and as any chat endpoint does, over a real tiny model.

What goes wrong is written into `faults`: each question takes the first of them.
"""

import json
import threading
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import torch
from transformers import AutoModelForCausalLM

from tests.serving import Quiet, answering
from tests.tiny import tiny_model


class ModelServer:
    """The state of the server: a model, its prefix cache, and what was asked.

    `faults` are a status; (status, headers, text); "drop", to hang up; or a function that changes the answer, which may be
    turned into a text that is no JSON. `may_answer` holds all answers back while it is clear.
    """

    def __init__(self, *, api_key="", max_model_len=500):
        self.model, self.tokenizer = tiny_model()
        self.api_key = api_key
        self.max_model_len = max_model_len
        self.weights = "default"
        self.faults = deque()
        self.requests = []
        self.keys = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.under_way = self.most_under_way = 0
        self.refused_resets = 0  # how often the prefix cache will still be kept
        self._cached = {}  # the logits behind each prompt, as stale as any cache
        self._lock = threading.Lock()

    def posts(self, path):
        return [payload for request, payload in self.requests if request == path]

    def answer(self, path, payload):
        with self._lock:
            self.requests.append((path, payload))
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            self.may_answer.wait(10)
            with self._lock:
                return {
                    "/v1/completions": self._complete, "/v1/chat/completions": self._chat, "/collective_rpc": self._reload,
                    "/update_weight_version": self._name_weights, "/reset_prefix_cache": self._reset,
                }[path](payload)  # fmt: skip
        finally:
            with self._lock:
                self.under_way -= 1

    def _complete(self, request):
        known = {"prompt", "seed", "max_tokens", "temperature", "stop_token_ids", "ignore_eos", "logprobs", "top_p",
                 "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "return_token_ids",
                 "return_weight_versions"}  # fmt: skip
        assert set(request) - {"structured_outputs"} == known
        assert request["logprobs"] == 0
        assert all(request[name] for name in ("return_token_ids", "return_weight_versions", "ignore_eos"))
        if len(request["prompt"]) >= self.max_model_len:
            return 400, {"error": {"message": f"This model's maximum context length is {self.max_model_len} tokens."}}
        ids, logprobs = self._sample(request)
        stopped = ids[-1] in request["stop_token_ids"]
        choice = {"finish_reason": "stop" if stopped else "length", "token_ids": ids, "logprobs": {"token_logprobs": logprobs}}
        return 200, {"choices": [choice | {"weight_versions": [{"version": self.weights, "start": 0, "end": len(ids)}]}]}

    @torch.no_grad()
    def _sample(self, request):
        generator = torch.Generator().manual_seed(request["seed"])
        prompt, ids, logprobs = tuple(request["prompt"]), [], []
        while len(ids) < request["max_tokens"] and not (ids and ids[-1] in request["stop_token_ids"]):
            if ids or prompt not in self._cached:
                logits = self.model(torch.tensor([[*prompt, *ids]])).logits[0, -1]
                if not ids:
                    self._cached[prompt] = logits
            else:
                logits = self._cached[prompt]
            values = (logits / (request["temperature"] or 1.0)).log_softmax(-1)
            drawn = torch.multinomial(values.exp(), 1, generator=generator) if request["temperature"] else values.argmax()
            ids.append(int(drawn))
            logprobs.append(float(values[ids[-1]]))
        return ids, logprobs

    def _chat(self, request):
        text = self.tokenizer.apply_chat_template(request["messages"], add_generation_prompt=True, tokenize=False)
        prompt = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(prompt) >= self.max_model_len:
            return 400, {"error": {"message": "too many tokens", "code": "context_length_exceeded"}}
        options = {"temperature": request.get("temperature", 1.0), "max_tokens": request.get("max_completion_tokens", 8)}
        ids, _ = self._sample(
            {"prompt": prompt, "seed": request["seed"], "stop_token_ids": [self.tokenizer.eos_token_id], **options}
        )
        content = self.tokenizer.decode(ids, skip_special_tokens=True)
        return 200, {"choices": [{"message": {"role": "assistant", "content": content}}]}

    def _reload(self, request):
        assert request["method"] == "reload_weights"
        theirs = AutoModelForCausalLM.from_pretrained(request["kwargs"]["weights_path"], dtype=torch.float32)
        self.model.load_state_dict(theirs.state_dict())
        return 200, {"results": [None]}

    def _name_weights(self, request):
        self.weights = request["new_version"]
        return 200, {"success": True, "new_version": self.weights}

    def _reset(self, _):
        if self.refused_resets:
            self.refused_resets -= 1
            return 200, {"success": False}
        self._cached.clear()
        return 200, {"success": True}


@contextmanager
def serving_model(**options):
    """Serve a tiny model on a free port; give the server's state and its address."""
    state = ModelServer(**options)

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self):
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers.get("Authorization", "").removeprefix("Bearer ")
            state.keys.append(key)
            if key != state.api_key and self.path.startswith("/v1"):
                self._send(401, "who are you?")
                return
            fault = state.faults.popleft() if state.faults else None
            if fault == "drop":
                state.requests.append((self.path, payload))
                self.connection.close()
                self.close_connection = True
            elif isinstance(fault, int | tuple):
                state.requests.append((self.path, payload))
                self._send(*((fault, "no") if isinstance(fault, int) else fault))
            else:
                status, response = state.answer(self.path, payload)
                response = fault(response) if fault else response
                self._send(status, response if isinstance(response, str) else json.dumps(response))

        def _send(self, status, text, headers=()):
            body = text.encode()
            try:
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # whoever asked has given up
                self.close_connection = True

    with answering(Handler) as address:
        try:
            yield state, address
        finally:
            state.may_answer.set()
