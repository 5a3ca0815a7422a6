"""The shapes of the extension `io.modelcontextprotocol/tasks`, as its schema has them; mcp-types knows an older one."""

from typing import Any, Final, Literal

from mcp_types import methods
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Json = dict[str, Any]

MODERN: Final = "2026-07-28"
TASK: Final = "task"
_STAMP: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


class _Task(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    taskId: str  # noqa: N815 - so it is on the wire
    statusMessage: str = ""  # noqa: N815 - likewise
    createdAt: str = Field(pattern=_STAMP)  # noqa: N815 - likewise
    lastUpdatedAt: str = Field(pattern=_STAMP)  # noqa: N815 - likewise
    ttlMs: int | None = Field(gt=0)  # noqa: N815 - likewise
    pollIntervalMs: int = Field(default=1, gt=0)  # noqa: N815 - likewise


class _Handle(_Task):
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]


class _Plain(_Task):
    status: Literal["working", "cancelled"]


class _InputRequired(_Task):
    status: Literal["input_required"]
    inputRequests: dict[str, Json]  # noqa: N815 - likewise


class _Completed(_Task):
    status: Literal["completed"]
    result: Json


class _Error(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    code: int
    message: str
    data: Any = None


class _Failed(_Task):
    status: Literal["failed"]
    error: _Error


_DETAILED: Final[TypeAdapter[_Plain | _InputRequired | _Completed | _Failed]] = TypeAdapter(
    _Plain | _InputRequired | _Completed | _Failed
)


def check_handle(result: Json) -> None:
    """Raise an error for what is not the handle of a task in place of a result."""
    assert result["resultType"] == TASK
    _Handle.model_validate(_bare(result))


def check_task(task: Json) -> None:
    """Raise an error for what does not tell all of a task, and no more; what its call comes to has its own shape."""
    _DETAILED.validate_python(_bare(task))
    if "result" in task:
        methods.validate_server_result("tools/call", MODERN, task["result"])
    if "inputRequests" in task:
        asked = {"resultType": "input_required", "inputRequests": task["inputRequests"]}
        methods.validate_server_result("tools/call", MODERN, asked)


def check_acknowledgement(result: Json) -> None:
    """Raise an error for what says more than that it was heard."""
    assert _bare(result) == {}, result


def _bare(result: Json) -> Json:
    return {name: value for name, value in result.items() if name not in ("resultType", "_meta")}
