"""What one check of the doctor found."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; the remedy is shown where it is not ok. Drills run without what is not `needed`."""

    subject: str
    ok: bool
    found: str
    remedy: str = ""
    needed: bool = True

    def line(self) -> str:
        """The finding in one line."""
        word = "ok" if self.ok else "PROBLEM" if self.needed else "note"
        remedy = "" if self.ok else f"; {self.remedy}"
        return f"{word:<7}  {self.subject}: {self.found}{remedy}"
