"""What each serving process does first: tie its life to the command's, then make the application, or say why not."""

import sys
import traceback

from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from mcpfleet.errors import McpFleetError
from mcpfleet_service.app import from_environment
from mcpfleet_service.tether import end_with_parent


def application() -> ASGIApp:
    """The application of this process; a start that fails ends it with the code that tells uvicorn not to try again."""
    end_with_parent()
    try:
        return from_environment()
    except McpFleetError as refused:
        sys.stderr.write(f"mcpfleet: {refused}\n")
    except Exception:  # noqa: BLE001  # the start of a process: whatever the user's module raises is told and ends it
        traceback.print_exc()
    raise SystemExit(STARTUP_FAILURE)
