"""The report as one page of HTML: the verdict, each promise, and a time line of each request."""

from __future__ import annotations

from datetime import datetime
from html import escape

from homeai.proof.client import Seen
from homeai.proof.verdict import Check, Report, Scene

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2127; --soft: #5b6570; --paper: #fbfbf9; --card: #fff;
  --line: #dfe3e6; --gpu: #2f7d4f; --gap: #d9a21b; --cpu: #2f6fb3; --bad: #b3392f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a2abb4; --paper: #15181c;
  --card: #1d2126; --line: #333a41; --gpu: #58b780; --gap: #e4b94a; --cpu: #6aa9ea; --bad: #ee8277; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, "Segoe UI", sans-serif; }
main { max-width: 900px; margin: 0 auto; padding: 40px 20px 80px; }
h1 { font-size: 28px; margin: 0 0 4px; } h2 { font-size: 17px; margin: 0; }
p { margin: 4px 0; } .soft { color: var(--soft); }
.verdict { font-size: 20px; font-weight: 600; margin: 18px 0; padding: 14px 18px; border-radius: 10px;
  background: var(--card); border-left: 6px solid var(--gpu); } .verdict.bad { border-color: var(--bad); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 16px 18px; margin: 14px 0; }
ul { list-style: none; margin: 10px 0 0; padding: 0; } li { padding: 1px 0 1px 26px; position: relative; }
li::before { content: "✓"; position: absolute; left: 4px; color: var(--gpu); font-weight: 700; }
li.bad::before { content: "✗"; color: var(--bad); } li.open::before { content: "–"; color: var(--soft); }
li small { color: var(--soft); margin-left: 6px; overflow-wrap: anywhere; }
svg { width: 100%; height: 34px; margin-top: 12px; display: block; }
.legend span { display: inline-block; margin-right: 18px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px;
  vertical-align: -1px; }
"""
_WIDTH, _BAR = 860.0, 18


def render(report: Report) -> str:
    """Return the page; it holds no text of any answer."""
    good = report.held
    broken = sum(check.held is False for scene in report.scenes for check in scene.checks)
    kept = sum(check.held is True for scene in report.scenes for check in scene.checks)
    verdict = f"All {kept} promises held." if good else f"{broken} promises were broken."
    scenes = "".join(map(_scene, report.scenes))
    machine = report.machine
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>homeai prove</title><style>{_STYLE}</style>
<main><h1>homeai prove</h1>
<p class="soft">Failover from {escape(report.device)} to the CPU, on {escape(str(machine["system"]))},
{machine["processor_cores"]} cores.</p>
<p class="verdict{"" if good else " bad"}">{verdict}</p>
<p class="legend soft"><span><i style="background:var(--gpu)"></i>GPU answers</span>
<span><i style="background:var(--gap)"></i>gap</span>
<span><i style="background:var(--cpu)"></i>CPU answers</span></p>
{scenes}</main></html>
"""


def _scene(scene: Scene) -> str:
    checks = "".join(map(_check, scene.checks))
    lines = "".join(_line(seen) for seen in scene.requests if not seen.name.endswith("-calm"))
    facts = ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in scene.facts.items())
    return f"""<section><h2>{escape(scene.name)}</h2>
<p class="soft">{escape(scene.title)} {escape(facts)}</p>{lines}<ul>{checks}</ul></section>
"""


def _check(check: Check) -> str:
    kind = {True: "", False: "bad", None: "open"}[check.held]
    seen = f"<small>{escape(check.seen)}</small>" if check.seen else ""
    return f'<li class="{kind}">{escape(check.promise)}{seen}</li>'


def _second_attempt_s(seen: Seen) -> float | None:
    """Seconds from the first attempt to the second one, by the core's clock."""
    began = [datetime.fromisoformat(one["started_at"]) for one in seen.facts.get("attempts", ())]
    return (began[1] - began[0]).total_seconds() if len(began) > 1 else None


def _line(seen: Seen) -> str:
    """A time line: when which device answered."""
    whole = max(seen.ended_at, 0.001)

    def bar(begin: float, end: float, colour: str, title: str) -> str:
        x, width = begin / whole * _WIDTH, max((end - begin) / whole * _WIDTH, 1.5)
        return (
            f'<rect x="{x:.1f}" y="0" width="{width:.1f}" height="{_BAR}" rx="3" '
            f'fill="var(--{colour})"><title>{title}</title></rect>'
        )

    at, devices = seen.degraded_at, seen.devices
    if at is None:
        # a whole answer: the client saw nothing between, so the core's own times are drawn
        moved = _second_attempt_s(seen)
        first_colour = "cpu" if devices[:1] == ["cpu"] else "gpu"
        parts = bar(0, min(moved or whole, whole), first_colour, "first attempt")
        if moved is not None:
            parts += bar(min(moved, whole), whole, devices[-1], "second attempt")
    else:
        before = [t for t in seen.tokens_at if t <= at]
        after = [t for t in seen.tokens_at if t > at]
        last, first = (before[-1] if before else at), (after[0] if after else whole)
        parts = bar(0, last, "gpu", f"GPU, {len(before)} pieces of text")
        parts += bar(last, first, "gap", f"gap of {1000 * (first - last):.0f} ms")
        if after:
            parts += bar(first, whole, "cpu", f"CPU, {len(after)} pieces of text")
    label = f"{seen.name} · {whole:.2f} s" + (
        "" if seen.error is None else f" · {seen.error.get('code')}"
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} 34" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{parts}'
        f'<text x="0" y="31" font-size="11" fill="var(--soft)">{escape(label)}</text></svg>'
    )
