# Measures what a shop reports to the queue about its load. docs/integrating.md says what counts, and why.

from math import ceil
from time import monotonic

# Fewer requests than this say nothing about the health of the shop.
REQUESTS_MIN = 10


class LoadMeter:
    """Measures the requests of visitors who are in: those with a visit in the session of the shop."""

    def __init__(self) -> None:
        self.latencies_ms: list[float] = []
        self.statuses: list[int] = []
        self.running: dict[int, tuple[dict, float]] = {}
        self.reported_at = monotonic()

    def middleware(self, app):
        """ASGI middleware, outside of that for sessions."""

        async def measure(scope, receive, send) -> None:
            begun_at, status = monotonic(), 500
            self.running[id(scope)] = (scope, begun_at)

            async def note_status(message) -> None:
                nonlocal status
                status = message.get("status", status)
                await send(message)

            try:
                await app(scope, receive, note_status)
            finally:
                del self.running[id(scope)]
                if is_in(scope):
                    self.latencies_ms.append((monotonic() - begun_at) * 1_000)
                    self.statuses.append(status)

        return measure

    def take_report(self) -> dict:
        """The report of the time since the last one."""
        latencies_ms, self.latencies_ms = self.latencies_ms, []
        statuses, self.statuses = self.statuses, []
        since, now = self.reported_at, monotonic()
        self.reported_at = now
        # A request that has run for all of the time counts, or a shop that hangs would report that it is fast.
        running = list(self.running.values())
        hanging = [(now - begun_at) * 1_000 for scope, begun_at in running if is_in(scope) and begun_at <= since]
        felt = sorted(latencies_ms + hanging)
        failed = sum(status >= 500 for status in statuses)
        return {
            "tps": round(len(statuses) / max(0.001, now - since)),
            "latency_ms": round(felt[ceil(len(felt) * 0.95) - 1]) if felt else 0,
            "healthy": len(statuses) < REQUESTS_MIN or failed * 2 <= len(statuses),
        }


def is_in(scope: dict) -> bool:
    return "visit" in scope.get("session", {})
