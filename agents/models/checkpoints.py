"""Checkpoints: Hugging Face model folders with the trainer's state, written atomically, and the lock on a run's folder."""

import json
import os
import re
import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from agents.settings import lasting
from webarena_gym.console import writing
from webarena_gym.errors import WebArenaGymError

if TYPE_CHECKING:  # what loads models takes seconds to import, and is not needed to refuse an option
    from transformers import PreTrainedModel

AGENT, ENSEMBLE = "agent.json", "ensemble.json"
_TRAINER, _PROGRESS, _CLAIM, _LOCK = "trainer.pt", "progress.json", "begun_with.json", ".lock"
_PREFIX = "update_"
_POINTER = "pointer.json"
_MODELS = ("config.json", "adapter_config.json", _POINTER, ENSEMBLE)  # of models, adapters, pointing networks, and ensembles
_HUB = re.compile(r"(?!runs/)\w[\w.-]*/\w[\w.-]*", re.ASCII)  # a name there
_SMALL = 200_000_000  # bytes; some 50 million parameters, for which several threads cost more than they give


class CheckpointError(ValueError):
    """A checkpoint cannot be written or read. Earlier checkpoints are unchanged."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder `update_<n>`, from which training resumes exactly and which the Auto classes of transformers or `load_pointer` load.

    For a model with adapters it holds the adapters and the name of their base model.
    """

    path: Path
    update: int

    def progress(self) -> dict[str, Any]:
        """Return what the trainer recorded about its position in the data and the time it has used."""
        record: dict[str, Any] = json.loads((self.path / _PROGRESS).read_text(encoding="utf-8"))
        return record

    def state(self) -> dict[str, Any]:
        """Return the trainer's state, under "optimizer", and that of torch's random generator, under "rng".

        Raises CheckpointError for a file of more than plain values and tensors, of which nothing is run.
        """
        import torch  # noqa: PLC0415 - see above

        file = self.path / _TRAINER
        try:
            content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        except (UnpicklingError, EOFError, RuntimeError) as error:
            raise CheckpointError(f"{file} holds more than tensors, or is damaged: {str(error).splitlines()[0]}") from error
        return content

    def restore(self, trainer: Any) -> None:
        """Restore the trainer's state and torch's random generator. `load_model` loads the parameters."""
        import torch  # noqa: PLC0415 - see above

        state = self.state()
        trainer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])


def save_checkpoint(
    run: Path, update: int, model: Any, tokenizer: Any, trainer: Any, progress: dict[str, Any], agent: dict[str, Any], *,
    keep: int = 2,
) -> Checkpoint:  # fmt: skip
    """Write a checkpoint under `run`, then delete all but the newest `keep`.

    `model` and `tokenizer` have `save_pretrained`, `trainer` has a `state_dict` of plain values and tensors. `progress` is its position in
    its data. `agent` is the agent record: the env and prompt settings to use the model with.
    The checkpoint is written to a temporary folder and renamed when complete, so a kill or a full disk leaves earlier checkpoints
    intact. Raises CheckpointError.
    """
    import torch  # noqa: PLC0415 - see above
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    final, temporary = run / f"{_PREFIX}{update:07d}", run / f".unfinished_{update:07d}"
    try:
        run.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        save_agent(temporary, model, tokenizer, agent)
        torch.save({"optimizer": trainer.state_dict(), "rng": torch.get_rng_state()}, temporary / _TRAINER)
        (temporary / _PROGRESS).write_text(json.dumps(progress), encoding="utf-8")
        _flush(*temporary.iterdir())
        if final.exists():
            shutil.rmtree(final)
        temporary.rename(final)
        _flush(run)
    except (OSError, RuntimeError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise CheckpointError(
            f"cannot write the checkpoint {final}: {error}; earlier ones in {run} are whole; if the disk is full, make room and run the command again"
        ) from error
    for old in checkpoints(run)[:-keep]:
        shutil.rmtree(old.path, ignore_errors=True)
    return Checkpoint(final, update)


@contextmanager
def saved_at_the_end(run: Path, save: Callable[[], object], update: Callable[[], int]) -> Iterator[None]:
    """Write a last checkpoint where a training ends by an error of its envs or processes, of updates that none has yet.

    `save` writes the checkpoint of the update that `update` returns. An update that was cut off in the middle of its optimizer steps is
    no part of the number, though the parameters may have taken some of them.
    """
    try:
        yield
    except WebArenaGymError as error:
        done = checkpoints(run)
        if update() > (done[-1].update if done else 0):
            try:
                save()
            except CheckpointError as second:  # what ended the training is told first
                error.add_note(str(second))
        raise


def save_agent(folder: Path, model: Any, tokenizer: Any, agent: dict[str, Any]) -> None:
    """Write a model and its agent record, `agent`, without a trainer's state."""
    folder.mkdir(parents=True, exist_ok=True)
    with writing(folder):
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (folder / AGENT).write_text(json.dumps(agent), encoding="utf-8")


def checkpoints(run: Path) -> list[Checkpoint]:
    """Return the complete checkpoints of a run, oldest first."""
    found = sorted(path for path in run.glob(f"{_PREFIX}*") if (path / _PROGRESS).is_file()) if run.is_dir() else []
    return [Checkpoint(path, int(path.name.removeprefix(_PREFIX))) for path in found]


def begin(settings: Any, out: Path) -> Checkpoint | None:
    """Lock the folder of a run, record its settings there, and return its newest checkpoint, if any.

    Raises ValueError as `lock` and `claim` do.
    """
    lock(out)
    done = checkpoints(out)
    claim(out, lasting(settings), is_begun=bool(done))
    return done[-1] if done else None


def lock(folder: Path) -> None:
    """Lock a folder against training by other processes for as long as this process lives; to lock it again changes nothing.

    The lock is the operating system's (flock), which releases it whenever the process ends, and is advisory: nothing but `lock` looks
    at it. Windows and some network file systems have none. Raises ValueError that names the process which holds it.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ModuleNotFoundError:
        return
    folder.mkdir(parents=True, exist_ok=True)
    # Never closed by this process: closing it would release the lock.
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    own = {"pid": os.getpid(), "host": socket.gethostname(), "since": _first_lock_at(), "command": shlex.join(sys.orig_argv)}
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        holder: dict[str, Any] = {}
        with suppress(ValueError):  # it has just been locked, and what holds it is not written yet
            holder = json.loads((folder / _LOCK).read_text(encoding="utf-8"))
        if holder == own:
            return
        known = (
            "process {pid} on {host}, since {since}: {command}".format(**holder)
            if isinstance(holder, dict) and own.keys() <= holder.keys()
            else "another process"
        )
        raise ValueError(f"{folder} is in use by {known}; wait until it ends, end it, or choose another --out") from None
    except OSError as error:
        os.close(descriptor)
        print(f"{folder} cannot be locked ({error.strerror}): see that no other training uses it", file=sys.stderr)
        return
    with writing(folder / _LOCK):
        os.truncate(descriptor, 0)
        os.write(descriptor, json.dumps(own).encode())


@cache
def _first_lock_at() -> str:
    """Return when this process first locked a folder. With the process id and the host, it tells this process from any other."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def claim(folder: Path, settings: Mapping[str, Any], *, is_begun: bool) -> None:
    """Record the settings that a folder is started with; if `is_begun`, raise ValueError if the recorded ones are missing or differ."""
    file, wanted = folder / _CLAIM, json.loads(json.dumps(settings, default=str))
    way_out = "choose another --out, or remove the folder if nothing in it is needed"
    if not is_begun:
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".unfinished_{_CLAIM}_{os.getpid()}"  # parallel processes may claim the same folder
        with writing(file):
            beside.write_text(json.dumps(wanted), encoding="utf-8")
            beside.replace(file)
        return
    if not file.is_file():
        raise ValueError(f"{folder} does not say what it was begun with ({_CLAIM}); {way_out}")
    found = json.loads(file.read_text(encoding="utf-8"))
    if others := sorted({*found} - {*wanted}):
        raise ValueError(f"{folder} was begun by another command or version: this one has no option {others[0]}; {way_out}")
    for name in [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]:
        raise ValueError(f"{folder} was begun with {name}={found.get(name)!r}, not {wanted.get(name)!r}; {way_out}")


def load_model(source: str | Path) -> "tuple[PreTrainedModel, Any]":
    """Return model and tokenizer of a name on the Hub, a model folder, or a run (its newest checkpoint).

    Raises CheckpointError if there is none, or a pointing network, and ValueError for a model whose logits are not its head applied to its last hidden
    state, as training and sampling require.
    """
    import torch  # noqa: PLC0415 - see above
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()  # the bars for files of weights would hide the trainer's own
    source = find_model(source)
    for name, what in ((_POINTER, "a pointing network"), (ENSEMBLE, "an ensemble")):
        if (Path(source) / name).is_file():
            raise CheckpointError(f"{source} holds {what}; expected a language model")
    if not Path(source).exists():
        print(f"{source} is no folder here: looking for a model of this name on the Hub", file=sys.stderr)
    try:
        # No code that comes with a model is run, nor asked about.
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.float32, attn_implementation="sdpa", trust_remote_code=False, weights_only=True
        )
    except OSError as error:  # whatever keeps a model from being read, here or from the Hub
        raise CheckpointError(
            f"there is no model {str(source)!r}: it is no folder here, and the Hub does not give it ({str(error).splitlines()[0]})"
        ) from error
    ids = torch.arange(4)[None] % model.config.get_text_config().vocab_size
    with torch.no_grad():
        hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        logits, expected = model(input_ids=ids, use_cache=False).logits, model.get_output_embeddings()(hidden)
    if not torch.allclose(logits, expected, atol=1e-3):
        raise ValueError(f"{type(model).__name__} computes its logits in a way of its own; expected head(last hidden state)")
    return model, tokenizer


def load_vision_model(source: str | Path, dtype: str) -> tuple[Any, Any]:
    """Return model and processor of a folder for which `sees` is True.

    Raises ValueError if a package that the processor needs is missing, or transformers is older than 5.23.
    """
    import torch  # noqa: PLC0415 - see above
    from transformers import AutoModelForImageTextToText, AutoProcessor  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    folder = find_model(source)
    try:
        processor = AutoProcessor.from_pretrained(folder, trust_remote_code=False)
    except ImportError as error:  # torchvision, of those that also read videos
        raise ValueError(f"pictures for {source} cannot be prepared: {str(error).strip().splitlines()[0]}") from error
    if "sanitize_control_tokens" not in signature(processor.apply_chat_template).parameters:
        raise ValueError(
            f"transformers is {version('transformers')}; expected 5.23 or newer, whose chats with pictures encode control tokens as text"
        )
    options: dict[str, Any] = {"dtype": getattr(torch, dtype), "trust_remote_code": False, "weights_only": True}
    return AutoModelForImageTextToText.from_pretrained(folder, **options).eval(), processor


def find_model(source: str | Path) -> str | Path:
    """Return the folder of the model of a run or folder; the name itself if it is no path. Raises CheckpointError for a folder without."""
    path = Path(source)
    if not path.is_dir():
        if not _HUB.fullmatch(str(source)) or path.parent.is_dir():  # the Hub is not asked for what it cannot have
            raise CheckpointError(f"there is no folder {path}; expected a run, a folder of a model, or OWNER/NAME on the Hub")
        return source
    if any((path / name).is_file() for name in _MODELS):
        return path
    found = checkpoints(path)
    if not found:
        raise CheckpointError(f"{path} holds neither a model (config.json, pointer.json) nor a checkpoint ({_PREFIX}...)")
    return found[-1].path


def is_pointer(source: str | Path) -> bool:
    """Return whether a folder, or a run's newest checkpoint, holds a pointing network."""
    try:
        return (Path(find_model(source)) / _POINTER).is_file()
    except CheckpointError:
        return False


def sees(source: str | Path) -> bool:
    """Return whether a folder, or a run's newest checkpoint, holds a vision-language model."""
    try:
        config = Path(find_model(source)) / "config.json"
    except CheckpointError:
        return False
    return config.is_file() and "vision_config" in json.loads(config.read_text(encoding="utf-8"))


def is_small(source: str | Path) -> bool:
    """Return whether a model's parameters take at most 200 MB on disk. A name on the Hub counts as large."""
    folder = Path(find_model(source))
    if (folder / ENSEMBLE).is_file():
        return all(map(is_small, json.loads((folder / ENSEMBLE).read_text(encoding="utf-8"))["members"]))
    return folder.is_dir() and sum(file.stat().st_size for file in folder.glob("*.safetensors")) <= _SMALL


def agent_record(source: str | Path) -> dict[str, Any]:
    """Return a model's agent record: the env and prompt settings that it was trained with; empty for a model without one."""
    own = Path(source) / AGENT  # of an agent that is no language model, such as those of train_sb3
    path = own if own.is_file() else Path(find_model(source)) / AGENT
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return record


def _flush(*paths: Path) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
