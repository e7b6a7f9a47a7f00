"""Checkpoints: Hugging Face model folders with the trainer's state, written atomically.

A run is the output folder of a training (`--out`). It holds checkpoints in folders `update_<n>`, the settings that it was started with,
and the lock that keeps a second process from training in it (`lock_folder`).
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from pickle import UnpicklingError
from ssl import SSLError
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from agents.models.packages import AGENT, BASES, packaged_model
from agents.settings import fixed_options, option_defaults
from webarena_gym.arguments import reason_of
from webarena_gym.console import lock_folder, writing
from webarena_gym.errors import WebArenaGymError

if (
    TYPE_CHECKING
):  # imported late, so that a command rejects a wrong option without the seconds that torch and transformers take
    from _typeshed import DataclassInstance
    from transformers import PreTrainedModel

ModelKind = Literal["language", "pointer", "vision", "ensemble", "candidates"]
"""Kinds of models; "candidates" are those of `agents.train_sb3`."""

ENSEMBLE = "ensemble.json"
UNTRAINED_RECORD: Mapping[str, Any] = {"system": "env"}
"""Settings of language models without an agent record. They were not trained here, so their prompt must describe the actions."""
_TRAINER_FILE, _PROGRESS_FILE, _SETTINGS_FILE = "trainer.pt", "progress.json", "begun_with.json"
_PREFIX = "update_"
_POINTER_FILE = "pointer.json"
_ADAPTER_FILE = "adapter_config.json"
_MODEL_FILES = ("config.json", _ADAPTER_FILE, _POINTER_FILE, ENSEMBLE)  # models, adapters, pointer networks, ensembles
_HUB_NAME = re.compile(r"(?!runs/)\w[\w.-]*/\w[\w.-]*", re.ASCII)  # OWNER/NAME
_HUB_TIMEOUT_S = 5.0
_SMALL_TOKENS = ("<|pad|>", "<|end|>")  # PAD and END of agents.models.small, which imports torch
_SMALL_BYTES = 200_000_000  # about 50 million parameters; below this, the overhead of several threads exceeds their gain


class Saveable(Protocol):
    """A model or tokenizer."""

    def save_pretrained(self, folder: Path, /) -> object:
        """Write the object into a folder."""
        ...


class Stateful(Protocol):
    """An object with a state of plain values and tensors, such as an optimizer."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> None: ...


class CheckpointError(ValueError):
    """A checkpoint or model cannot be written or read. Earlier checkpoints are unchanged."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder `update_<n>` with a model and the state from which training resumes exactly.

    The Auto classes of transformers load the model, or `load_pointer` for a pointer network. A checkpoint of a model with adapters holds
    the adapters and the name of their base model.
    """

    path: Path
    update: int

    def progress(self) -> dict[str, Any]:
        """Return the trainer's record of its position in the data and the time used so far."""
        record: dict[str, Any] = json.loads((self.path / _PROGRESS_FILE).read_text(encoding="utf-8"))
        return record

    def state(self) -> dict[str, Any]:
        """Return the trainer's state under "optimizer" and the state of torch's random generator under "rng".

        Only plain values and tensors are unpickled; no code in the file runs.

        Raises:
            CheckpointError: The file contains other objects or is damaged.

        """
        import torch  # noqa: PLC0415 - see above

        file = self.path / _TRAINER_FILE
        try:
            content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        except (UnpicklingError, EOFError, RuntimeError) as error:
            raise CheckpointError(
                f"{file} is damaged or contains objects other than tensors and plain values: {str(error).splitlines()[0]}"
            ) from error
        return content

    def restore(self, trainer: Stateful) -> None:
        """Restore the trainer's state and torch's random generator. `load_model` loads the parameters."""
        import torch  # noqa: PLC0415 - see above

        state = self.state()
        trainer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["rng"])


def save_checkpoint(
    run: Path, update: int, model: Saveable, tokenizer: Saveable, trainer: Stateful, progress: dict[str, Any],
    agent: dict[str, Any], *,
    keep: int = 2,
) -> Checkpoint:  # fmt: skip
    """Write a checkpoint under `run`, then delete all but the newest `keep`.

    The checkpoint is written to a temporary folder and renamed when complete, so a killed process or a full disk leaves earlier
    checkpoints intact.

    Args:
        run: Folder of the run.
        update: Number of finished updates, which names the checkpoint.
        model: The model.
        tokenizer: Its tokenizer.
        trainer: The trainer, for example an optimizer.
        progress: The trainer's position in its data, as JSON.
        agent: The agent record: the env and prompt settings to use the model with.
        keep: Number of checkpoints to keep.

    Raises:
        CheckpointError: The checkpoint cannot be written.

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
        torch.save({"optimizer": trainer.state_dict(), "rng": torch.get_rng_state()}, temporary / _TRAINER_FILE)
        (temporary / _PROGRESS_FILE).write_text(json.dumps(progress), encoding="utf-8")
        _flush(*temporary.iterdir())
        if final.exists():
            shutil.rmtree(final)
        temporary.rename(final)
        _flush(run)
    except (OSError, RuntimeError, SafetensorError) as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise CheckpointError(
            f"cannot write the checkpoint {final}: {reason_of(error)}; earlier checkpoints in {run} are intact; "
            "if the disk is full, free some space and run the command again"
        ) from error
    for old in checkpoints(run)[:-keep]:
        shutil.rmtree(old.path, ignore_errors=True)
    return Checkpoint(final, update)


@contextmanager
def save_on_error(run: Path, save: Callable[[], object], update: Callable[[], int]) -> Iterator[None]:
    """Write a last checkpoint if a WebArenaGymError ends the training, then re-raise the error.

    `update` returns the number of finished updates, and `save` writes their checkpoint. Nothing is written if the newest checkpoint has
    this number. An update that was interrupted between its optimizer steps is not included in the number, although the parameters may
    include some of these steps.
    """
    try:
        yield
    except WebArenaGymError as error:
        run_checkpoints = checkpoints(run)
        if update() > (run_checkpoints[-1].update if run_checkpoints else 0):
            try:
                save()
            except CheckpointError as save_error:  # the error that ended the training is more important
                error.add_note(str(save_error))
        raise


def save_agent(folder: Path, model: Saveable, tokenizer: Saveable, agent: dict[str, Any]) -> None:
    """Write a model, its tokenizer and its agent record `agent` to a folder, without a trainer's state."""
    folder.mkdir(parents=True, exist_ok=True)
    with writing(folder):
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (folder / AGENT).write_text(json.dumps(agent), encoding="utf-8")


def checkpoints(run: Path) -> list[Checkpoint]:
    """Return the complete checkpoints of a run, oldest first."""
    paths = sorted(path for path in run.glob(f"{_PREFIX}*") if (path / _PROGRESS_FILE).is_file()) if run.is_dir() else []
    return [Checkpoint(path, int(path.name.removeprefix(_PREFIX))) for path in paths]


def open_run(settings: "DataclassInstance", out: Path) -> Checkpoint | None:
    """Lock the folder of a run, record its settings, and return its newest checkpoint or None.

    Raises:
        ValueError: Another process trains in the folder, or the run was started with other settings.

    """
    lock_folder(out)
    run_checkpoints = checkpoints(out)
    record_settings(out, fixed_options(settings), is_resumed=bool(run_checkpoints), defaults=option_defaults(settings))
    return run_checkpoints[-1] if run_checkpoints else None


def record_settings(
    folder: Path, settings: Mapping[str, Any], *, is_resumed: bool, defaults: Mapping[str, Any] | None = None
) -> None:
    """Write the settings of a new run to its folder, or compare them with the recorded ones if the run is resumed.

    An option that a run of an earlier version did not record counts as its value in `defaults`.

    Raises:
        ValueError: `is_resumed` is true, and the recorded settings are missing or differ.

    """
    file, current = folder / _SETTINGS_FILE, json.loads(json.dumps(settings, default=str))
    advice = "choose another --out, or remove the folder if nothing in it is needed"
    if not is_resumed:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".unfinished_{_SETTINGS_FILE}_{os.getpid()}"  # parallel processes may write to the same folder
        with writing(file):
            temporary.write_text(json.dumps(current), encoding="utf-8")
            temporary.replace(file)
        return
    if not file.is_file():
        raise ValueError(f"{folder} contains a run but not its settings ({_SETTINGS_FILE}); {advice}")
    previous = json.loads(json.dumps(defaults or {}, default=str)) | json.loads(file.read_text(encoding="utf-8"))
    if unknown := sorted({*previous} - {*current}):
        raise ValueError(f"{folder} was started by another command or version: this one has no option {unknown[0]}; {advice}")
    for name in [name for name in {**current, **previous} if previous.get(name) != current.get(name)]:
        raise ValueError(f"{folder} was started with {name}={previous.get(name)!r}, not {current.get(name)!r}; {advice}")


def recorded_settings(folder: Path) -> dict[str, Any]:
    """Return the settings that a run with a checkpoint was started with; empty if there is no such run."""
    return _read_json(folder / _SETTINGS_FILE) if checkpoints(folder) else {}


def expect_model(source: str | Path) -> None:
    """Check that a model can be loaded from a folder, the Hub or the local cache of the Hub, without loading it.

    Raises:
        CheckpointError: The folder has no model, or the Hub cannot be reached and its cache does not contain the model.

    """
    if not Path(find_model(source)).exists():
        from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - slow to import

        if not isinstance(try_to_load_from_cache(str(source), "config.json"), str) and not _is_hub_reachable():
            reason = "it is not a local folder, the Hub cannot be reached, and its local cache does not contain it"
            raise CheckpointError(f"there is no model {str(source)!r}: {reason}")


@cache
def _is_hub_reachable() -> bool:
    """Return True if the Hub of models can be reached within seconds; its own client would try for half a minute for each file."""
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        with urlopen(Request(constants.ENDPOINT, method="HEAD"), timeout=_HUB_TIMEOUT_S):  # noqa: S310 - the user's own setting
            return True
    except HTTPError:
        return True
    except URLError as error:
        return isinstance(error.reason, SSLError)  # the Hub's client may have other certificates
    except OSError:
        return False


def load_model(source: str | Path) -> "tuple[PreTrainedModel, Any]":
    """Return the language model and tokenizer of `source`, with float32 parameters.

    Args:
        source: A model folder, a run (its newest checkpoint is loaded), the name of a packaged model (`packages.BASES`), or a name on
            the Hugging Face Hub. No code of the model is run.

    Raises:
        CheckpointError: There is no such model, or it is a pointer network or an ensemble.
        ValueError: The Python package of a packaged model is not installed, or the model's logits are not its head applied to its last
            hidden state, as training and sampling require.

    """
    import torch  # noqa: PLC0415 - see above
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()  # the bars of weight files would hide the trainer's progress bar
    expect_model(source)
    source = find_model(source)
    for name, what in ((_POINTER_FILE, "a pointer network"), (ENSEMBLE, "an ensemble")):
        if (Path(source) / name).is_file():
            raise CheckpointError(f"{source} contains {what}; expected a language model")
    is_folder = Path(source).exists()
    has_hub = not is_folder and _is_hub_reachable()
    if has_hub:
        print(f"{source} is not a local folder: looking for a model of this name on the Hub", file=sys.stderr)
    try:
        # With False, transformers neither runs a model's own code nor prompts for permission.
        packaged_base = _packaged_base(source)
        whole = packaged_base or source
        tokenizer = AutoTokenizer.from_pretrained(whole, trust_remote_code=False, local_files_only=not has_hub)
        model = AutoModelForCausalLM.from_pretrained(
            whole,
            dtype=torch.float32,
            attn_implementation="sdpa",
            trust_remote_code=False,
            weights_only=True,
            local_files_only=not has_hub,
        )
        if packaged_base:
            model.load_adapter(str(source))
    except OSError as error:  # transformers raises it for local files and for the Hub
        place = "a local folder" if is_folder else "the Hub" if has_hub else "the local cache of the Hub"
        raise CheckpointError(f"cannot load the model {str(source)!r} from {place}: {str(error).splitlines()[0]}") from error
    ids = torch.arange(4)[None] % model.config.get_text_config().vocab_size
    with torch.no_grad():
        hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        logits, expected = model(input_ids=ids, use_cache=False).logits, model.get_output_embeddings()(hidden)
    if not torch.allclose(logits, expected, atol=1e-3):
        raise ValueError(
            f"{type(model).__name__} does not compute its logits as head(last hidden state); expected a model that does"
        )
    return model, tokenizer


def load_vision_model(source: str | Path, dtype: str) -> tuple[Any, Any]:
    """Return the vision-language model and processor of a folder for which `is_vision_model` is True.

    Args:
        source: A model folder, or a run, whose newest checkpoint is loaded.
        dtype: Name of the torch dtype of the parameters, for example "bfloat16".

    Raises:
        ValueError: A package that the processor needs is missing, or transformers is older than 5.23.

    """
    import torch  # noqa: PLC0415 - see above
    from transformers import AutoModelForImageTextToText, AutoProcessor  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    folder = find_model(source)
    try:
        processor = AutoProcessor.from_pretrained(folder, trust_remote_code=False)
    except ImportError as error:  # for example torchvision, which processors of videos need
        raise ValueError(f"the image processor of {source} cannot be loaded: {str(error).strip().splitlines()[0]}") from error
    if "sanitize_control_tokens" not in signature(processor.apply_chat_template).parameters:
        raise ValueError(
            f"transformers is {version('transformers')}; expected 5.23 or newer, whose chat templates for images encode control tokens "
            "as text"
        )
    options: dict[str, Any] = {"dtype": getattr(torch, dtype), "trust_remote_code": False, "weights_only": True}
    return AutoModelForImageTextToText.from_pretrained(folder, **options).eval(), processor


def find_model(source: str | Path) -> str | Path:
    """Return the model folder of `source`: the folder itself, the newest checkpoint of a run, or the unchanged name on the Hub.

    The name of a packaged model becomes the folder of its conversion, which is made at the first use.

    Raises:
        CheckpointError: `source` is neither a folder with a model or checkpoint nor a possible name on the Hub.
        ValueError: The Python package of a packaged model is not installed.

    """
    path = Path(source)
    if not path.is_dir():
        if str(source) in BASES:
            return packaged_model(str(source))
        if not _HUB_NAME.fullmatch(str(source)) or path.parent.is_dir():  # without a request to the Hub
            raise CheckpointError(f"there is no folder {path}; expected a run, a model folder, or OWNER/NAME on the Hub")
        return source
    if any((path / name).is_file() for name in _MODEL_FILES):
        return path
    run_checkpoints = checkpoints(path)
    if not run_checkpoints:
        raise CheckpointError(f"{path} contains neither a model (config.json, pointer.json) nor a checkpoint ({_PREFIX}...)")
    return run_checkpoints[-1].path


def _packaged_base(source: str | Path) -> Path | None:
    """Return the folder of the packaged model that a folder's adapters belong to, or None. Such adapters have its tokenizer."""
    base = _read_json(Path(source) / _ADAPTER_FILE).get("base_model_name_or_path")
    return packaged_model(base) if base in BASES and not Path(base).is_dir() else None


def model_kind(source: str | Path) -> ModelKind:
    """Return the kind of model in a folder or in a run's newest checkpoint. All other sources are names of language models."""
    if "algorithm" in _read_json(Path(source) / AGENT):
        return "candidates"
    try:
        folder = Path(find_model(source))
    except CheckpointError:
        return "language"
    if (folder / _POINTER_FILE).is_file():
        return "pointer"
    if (folder / ENSEMBLE).is_file():
        return "ensemble"
    with suppress(ValueError):  # a damaged file is reported when the model is loaded
        if "vision_config" in _read_json(folder / "config.json"):
            return "vision"
    return "language"


def is_pointer(source: str | Path) -> bool:
    """Return True if a folder or a run's newest checkpoint contains a pointer network."""
    return model_kind(source) == "pointer"


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file; empty without the file."""
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return record


def is_small(source: str | Path) -> bool:
    """Return True if a model's parameters take at most 200 MB on disk. For a name on the Hub, return False."""
    folder = Path(find_model(source))
    if (folder / ENSEMBLE).is_file():
        return all(map(is_small, json.loads((folder / ENSEMBLE).read_text(encoding="utf-8"))["members"]))
    if base := _read_json(folder / _ADAPTER_FILE).get("base_model_name_or_path"):
        return is_small(base)
    return folder.is_dir() and sum(file.stat().st_size for file in folder.glob("*.safetensors")) <= _SMALL_BYTES


def is_pretrained(source: str | Path) -> bool:
    """Return True if a language model is not one that `train_bc --model small` created, by the special tokens of its tokenizer.

    For a missing model, return False.
    """
    try:
        record = _read_json(Path(find_model(source)) / "tokenizer_config.json")
    except CheckpointError:
        return False
    return (record.get("pad_token"), record.get("eos_token")) != _SMALL_TOKENS


def agent_record(source: str | Path) -> dict[str, Any]:
    """Return a model's agent record: the env and prompt settings that it was trained with. It is empty if the model has none."""
    direct = Path(source) / AGENT  # agents without a model that `find_model` knows, for example those of train_sb3
    return _read_json(direct if direct.is_file() else Path(find_model(source)) / AGENT)


def usage_record(source: str | Path) -> dict[str, Any]:
    """Return the settings to use a model with: its agent record, or `UNTRAINED_RECORD` for a language model without a record."""
    return agent_record(source) or (dict(UNTRAINED_RECORD) if model_kind(source) in ("language", "vision") else {})


def _flush(*paths: Path) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
