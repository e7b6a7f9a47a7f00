"""A server of OpenAI's chat protocol of the tests' own, without a model: what it says is a function of what it is asked.

What goes wrong is a function as well, `fault`: (number of the request, payload) -> None, or what happens in its place: a status; (status,
headers, text); "drop", to hang up; "silent", to say nothing until the server ends; or "trickle" and "trickle head", to say a letter
now and then. A `finish_reason` in what it says is told as that of the choice.
"""

import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

from tests.serving import Quiet, answering
from webarena_gym.actions import DIALECTS
from webarena_gym.suite import load

WEBRL = DIALECTS["webrl"].naming_by("label")
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "cost": 0.25}


class ChatServer:
    """The state of the server: what it says, and what it was asked."""

    def __init__(self, say, fault=lambda *_: None, *, lists=("good",), usage=USAGE):
        self.say, self.fault, self.lists, self.usage = say, fault, lists, usage
        self.requests = []
        self.is_silent = False  # to everything
        self.ends = threading.Event()
        self.lock = threading.Lock()


def expert(payload):
    """Say what the reference solution of the task in a conversation does next, with elements by label; as a call where there are tools."""
    goal, turn = goal_of(payload), sum(message["role"] == "assistant" for message in payload["messages"])
    task = next(task for task in load("test") if task.intent == goal)
    action = task.solution[min(turn, len(task.solution) - 1)].action
    return call_of(action) if payload.get("tools") else {"content": WEBRL.format(action)}


def goal_of(payload):
    first = next(message["content"] for message in payload["messages"] if message["role"] == "user")
    return first.removeprefix("Task Instruction: ").removeprefix("Task: ").partition("\n\n")[0]


def call_of(action):
    """Return a message that calls the tool of an action."""
    form = next(form for form in WEBRL.forms if form.kind is action.kind)
    arguments = {each.name: action.element if each.type == "element" else action.argument for each in form.parameters}
    return {"content": None, "tool_calls": [{"id": "c1", "function": {"name": form.name, "arguments": json.dumps(arguments)}}]}


@contextmanager
def serving_chat(say=expert, fault=lambda *_: None, **options):
    """Serve on a free port; give the state and the address."""
    state = ChatServer(say, fault, **options)

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self):
            if state.is_silent:
                state.ends.wait(60)
                return
            self._send(200, json.dumps({"data": [{"id": name} for name in state.lists]}))

        def do_POST(self):
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                number = len(state.requests)
                state.requests.append(payload)
            fault = "silent" if state.is_silent else state.fault(number, payload)
            if fault == "silent":
                state.ends.wait(60)
            if str(fault).startswith("trickle"):
                self._trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n" + b"\r\n" * (fault == "trickle"))
            if str(fault).startswith(("drop", "silent", "trickle")):
                self.connection.close()
                self.close_connection = True
            elif fault is not None:
                self._send(*((fault, {}, "no") if isinstance(fault, int) else fault))
            else:
                message = {"role": "assistant", **state.say(payload)}
                reason = message.pop("finish_reason", "tool_calls" if message.get("tool_calls") else "stop")
                choice = {"index": 0, "message": message, "finish_reason": reason}
                head = {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": payload["model"]}
                if payload.get("stream"):
                    self._stream(head, choice)
                else:
                    self._send(200, json.dumps({**head, "choices": [choice], "usage": state.usage}))

        def _trickle(self, head):
            with suppress(OSError):
                self.wfile.write(head)
                while not state.ends.wait(0.02):
                    self.wfile.write(b"x")

        def _stream(self, head, choice):
            """Say all of it as one part of a stream."""
            head = {**head, "object": "chat.completion.chunk"}
            chunk = {"choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}], "usage": state.usage}
            text = "".join(f"data: {json.dumps({**head, **part})}\n\n" for part in (chunk, end)) + "data: [DONE]\n\n"
            self._send(200, {"Content-Type": "text/event-stream"}, text)

        def _send(self, status, headers, text=None):
            headers, text = ({}, headers) if text is None else (headers, text)
            with suppress(OSError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

    with answering(Handler) as address:
        try:
            yield state, f"{address}/v1"
        finally:
            state.ends.set()
