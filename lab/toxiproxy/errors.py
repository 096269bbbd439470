"""Every error the API answers with: the sentence and its HTTP status, as Toxiproxy has them."""


class ApiError(Exception):
    """An answer that is not what the client asked for."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def bad_request_body(detail: str) -> ApiError:
    """The body is not JSON, not of the right types, or asks for a toxic that cannot be."""
    return ApiError(f"bad request body: {detail}", 400)


def missing_field(field: str) -> ApiError:
    """A required field is absent or empty."""
    return ApiError(f"missing required field: {field}", 400)


def invalid_stream() -> ApiError:
    """Neither upstream nor downstream."""
    return ApiError("stream was invalid, can be either upstream or downstream", 400)


def invalid_toxic_type() -> ApiError:
    """A type that nobody registered."""
    return ApiError("invalid toxic type", 400)


def proxy_not_found() -> ApiError:
    """No proxy of this name."""
    return ApiError("proxy not found", 404)


def toxic_not_found() -> ApiError:
    """No toxic of this name on this proxy."""
    return ApiError("toxic not found", 404)


def proxy_already_exists() -> ApiError:
    """A proxy of this name is there."""
    return ApiError("proxy already exists", 409)


def toxic_already_exists() -> ApiError:
    """A toxic of this name is there, on either stream."""
    return ApiError("toxic already exists", 409)


def cannot_listen(reason: str) -> ApiError:
    """The address cannot be understood or cannot be had."""
    return ApiError(reason, 500)
