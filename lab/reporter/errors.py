"""The one error of the report's room."""


class ReportError(Exception):
    """No report can be made of this run; the text is one sentence for the user."""
