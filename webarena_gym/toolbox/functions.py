"""`ToolFunction`: a typed Python function as a tool. pydantic derives its JSON Schema, and validates the arguments of calls."""

import inspect
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from webarena_gym.actions.calls import ToolForm
from webarena_gym.errors import ActionError

if TYPE_CHECKING:
    from pydantic import BaseModel

Function = Callable[..., Any]

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns|Return|Yields|Raises|Examples?|Notes?)\s*:")
_PARAMETER = re.compile(r"\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)")
_POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD
_MAX_FAULTS = 3  # invalid arguments in an error message


class ToolFunction:
    """A function that replies can call.

    Args:
        function: a function or a method of an object, with a docstring, and a type annotation for each parameter. The docstring may describe
            the parameters in a section `Args:`, and `Annotated[int, Field(description=...)]` does too.

    Raises:
        ValueError: if it cannot be a tool.
        ModuleNotFoundError: if pydantic is not installed.

    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = name = _name_of(function)
        if inspect.iscoroutinefunction(function):
            raise ValueError(f"the tool {name} is a coroutine function; expected a function that returns its result")
        meaning, self._descriptions = _read_docstring(inspect.getdoc(function) or "")
        if not meaning:
            raise ValueError(f"the tool {name} has no docstring; expected one that describes it to the policy")
        self.signature = inspect.signature(function)
        self._keys = {f"field_{index}": key for index, key in enumerate(self.signature.parameters)}
        self._model, schema = self._build_model()
        self.form = ToolForm(name, _signature_text(name, schema), meaning, json.dumps(schema))

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call converted to the annotated types, without defaults. Raises ActionError for invalid ones."""
        from pydantic import ValidationError  # noqa: PLC0415 - an optional extra

        try:
            values = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            texts = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:_MAX_FAULTS])
            raise ActionError(f"{self.form.signature} cannot be called: {'; '.join(texts)}") from None
        except (RecursionError, ValueError, TypeError) as error:  # raised by a user's type
            raise ActionError(f"{self.form.signature} cannot be called: {type(error).__name__}: {error}") from None
        return {self._keys[field]: getattr(values, field) for field in values.model_fields_set}

    def _build_model(self) -> tuple[type["BaseModel"], dict[str, Any]]:
        """Return a model of the arguments, and its JSON Schema."""
        try:
            from pydantic import ConfigDict, Field, create_model  # noqa: PLC0415 - an optional extra
            from pydantic.errors import PydanticUserError  # noqa: PLC0415
            from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415
        except ModuleNotFoundError as error:
            message = "tools= needs pydantic, which derives the JSON Schema of a tool: pip install 'webarena-gym[tools]'"
            raise ModuleNotFoundError(message, name=error.name) from error

        class WithoutTitles(GenerateJsonSchema):
            def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic's
                return False

        fields: dict[str, Any] = {}
        try:
            hints = get_type_hints(self.function, include_extras=True)
        except Exception as error:
            raise ValueError(
                f"the annotations of the tool {self.name} cannot be read: {type(error).__name__}: {error}"
            ) from error
        for field, key in self._keys.items():
            parameter = self.signature.parameters[key]
            if parameter.kind not in (_POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
                raise ValueError(f"the tool {self.name} has the parameter {parameter}; expected parameters with names")
            if key not in hints:
                raise ValueError(f"the parameter {key} of the tool {self.name} has no annotation; expected a type")
            described = Field(alias=key, description=self._descriptions.get(key))
            default = ... if parameter.default is parameter.empty else None
            fields[field] = (
                Annotated[hints[key], described] if key in self._descriptions else hints[key],
                Field(default, alias=key),
            )
        config = ConfigDict(extra="forbid", coerce_numbers_to_str=True, arbitrary_types_allowed=False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model: type[BaseModel] = create_model(self.name, __config__=config, **fields)
                schema = model.model_json_schema(schema_generator=WithoutTitles)
        except (PydanticUserError, TypeError, RecursionError) as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"the tool {self.name} has a parameter whose type has no JSON Schema: {reason}") from error
        schema.setdefault("properties", {})
        for key, field_schema in schema["properties"].items():
            _set_default(field_schema, self.signature.parameters[key].default)
        return model, {key: value for key, value in schema.items() if key not in ("title", "description")}


def _name_of(function: Function) -> str:
    """Return the name of a function. Raises ValueError for anything else."""
    name = getattr(function, "__name__", None)
    if not callable(function) or isinstance(function, type) or not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a tool is {function!r}; expected a function with a name, or the name of a bundled tool")
    return name


def _set_default(schema: dict[str, Any], default: object) -> None:
    """Set the default of a parameter in its schema, if it has one that is JSON."""
    schema.pop("default", None)
    if default is not inspect.Parameter.empty:
        try:
            schema["default"] = json.loads(json.dumps(default))
        except (TypeError, ValueError):
            schema.pop("default", None)


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    r"""Return the description in a docstring in Google's style, and those of the parameters.

    >>> _read_docstring("Add numbers.\n\nArgs:\n    a: the first\n        number\n    b (int): the second\n\nReturns:\n    The sum.")
    ('Add numbers.', {'a': 'the first number', 'b': 'the second'})
    """
    description, parameters, section, key, indent = list[str](), dict[str, str](), "", "", 0
    for line in text.splitlines():
        words = line.strip()
        depth = len(line) - len(line.lstrip())
        if depth == 0 and (heading := _SECTION.fullmatch(words)):
            section, key, indent = heading[1], "", 0
        elif not section:
            description.append(words)
        elif section in ("Args", "Arguments", "Parameters") and words:
            indent = indent or depth
            named = _PARAMETER.fullmatch(words) if depth <= indent else None
            if named:
                key, words = named[1], named[2]
            if key:
                parameters[key] = f"{parameters.get(key, '')} {words}".strip()
    return " ".join(" ".join(description).split()), parameters


def _signature_text(name: str, schema: Mapping[str, Any]) -> str:
    """Return a call with the types and defaults of the parameters, for a prompt."""
    required = schema.get("required", ())

    def parts() -> Iterator[str]:
        for key, field in schema["properties"].items():
            default = f" = {json.dumps(field['default'])}" if "default" in field else "" if key in required else " = ..."
            yield f"{key}: {_type_text(field, schema.get('$defs', {}))}{default}"

    return f"{name}({', '.join(parts())})"


def _type_text(field: Mapping[str, Any], definitions: Mapping[str, Any], depth: int = 3) -> str:
    """Return the type of a JSON Schema in short form.

    >>> _type_text({"anyOf": [{"type": "array", "items": {"enum": ["up", "down"]}}, {"type": "null"}]}, {})
    'list of ("up" or "down") or null'
    """
    reference = field.get("$ref", "")
    if reference and depth:
        return _type_text(definitions.get(reference.rpartition("/")[2], {}), definitions, depth - 1)
    if "enum" in field:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in field["enum"])
    if "const" in field:
        return json.dumps(field["const"], ensure_ascii=False)
    if "anyOf" in field and depth:
        return " or ".join(_type_text(part, definitions, depth - 1) for part in field["anyOf"])
    if field.get("type") == "array" and "items" in field and depth:
        item = _type_text(field["items"], definitions, depth - 1)
        return f"list of ({item})" if " " in item else f"list of {item}"
    return str(field.get("type", "any"))
