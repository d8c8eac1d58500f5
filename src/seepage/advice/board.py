"""All settings that were looked at, and how each stands to the limits and to the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from seepage.advice.frontier import Point, dominates
from seepage.advice.limits import Limits, Verdict, worst
from seepage.advice.measured import Finding, Leak, Scores, lost, pooled, worth
from seepage.advice.space import Candidate
from seepage.advice.stages import CONFIRMING, PRESS, STAGES, Stage
from seepage.results.interval import Interval


@dataclass
class Course:
    """What is known of one setting: the strongest stage that it went through, and all its trainings."""

    candidate: Candidate
    findings: list[Finding] = field(default_factory=list)

    def note(self, finding: Finding) -> None:
        """Note what a stage found. A stage has its own seeds: what it found before is the same, or less of it."""
        for place, each in enumerate(self.findings):
            if (each.stage, each.only_worth) == (finding.stage, finding.only_worth):
                scores = {**each.scores, **finding.scores}
                self.findings[place] = replace(finding, scores=scores)
                return
        self.findings.append(finding)

    @property
    def attacked(self) -> list[Finding]:
        """Those of stages that attacked it in earnest."""
        return [each for each in self.findings if not each.only_worth]

    @property
    def stage(self) -> str:
        """The last one."""
        return self.attacked[-1].stage if self.attacked else ""

    @property
    def leak(self) -> Leak | None:
        """Of the last stage: its attacks are the strongest, its seeds are fresh. Those that confirm count together."""
        last = self.attacked[-1].leak if self.attacked else None
        if last is None or self.stage not in CONFIRMING:
            return last
        return pooled([each.leak for each in self.attacked if each.leak and each.stage in CONFIRMING])

    @property
    def confirmed_by(self) -> int:
        """Updates that every attack at full length was run on, with fresh seeds."""
        return sum(each.leak.trials for each in self.attacked if each.leak and each.stage in CONFIRMING)

    @property
    def scores(self) -> Scores:
        """Of all trainings."""
        return {key: value for finding in self.findings for key, value in finding.scores.items()}

    @property
    def epsilon(self) -> float | None:
        """The largest that a defence promised a client, if it promised all of them one."""
        return next((each.epsilon for each in reversed(self.findings) if each.scores), None)


@dataclass
class Board:
    """All settings that were looked at, and how they stand."""

    limits: Limits
    plain: Candidate
    courses: dict[Candidate, Course] = field(default_factory=dict)

    def add(self, found: dict[Candidate, Finding]) -> None:
        """Note findings."""
        for candidate, finding in found.items():
            self.courses.setdefault(candidate, Course(candidate)).note(finding)

    def at(self, stage: Stage) -> list[Course]:
        """Those that went through a stage."""
        return [each for each in self.courses.values() if any(f.stage == stage.name for f in each.findings)]

    def worth(self, candidate: Candidate) -> Interval | None:
        """The score."""
        return worth(self.courses[candidate].scores) if candidate in self.courses else None

    def loss(self, candidate: Candidate) -> Interval | None:
        """What is lost against the plain setting."""
        if candidate not in self.courses or self.plain not in self.courses:
            return None
        return lost(self.courses[candidate].scores, self.courses[self.plain].scores)

    def safety(self, candidate: Candidate) -> Verdict:
        """How the leak stands to its limits, over all stages: what was broken once stays broken."""
        course = self.courses[candidate]
        if course.leak is None:
            return Verdict.UNCLEAR
        earlier = [f.leak for f in course.attacked[:-1] if f.leak is not None]
        if any(self._leaks(each) is Verdict.BROKEN for each in earlier):
            return Verdict.BROKEN
        return worst(self._leaks(course.leak), Verdict.UNCLEAR if course.leak.failed else Verdict.HELD)

    def _leaks(self, leak: Leak) -> Verdict:
        return worst(self.limits.of_rows(leak.exact), self.limits.of_gain(leak.gain))

    def cost(self, candidate: Candidate) -> Verdict:
        """How its worth stands to its limit."""
        utility, loss = self.worth(candidate), self.loss(candidate)
        return Verdict.UNCLEAR if utility is None or loss is None else self.limits.of_worth(utility, loss)

    def affordable(self, candidate: Candidate) -> bool:
        """Whether the model is worth enough, by its mean."""
        utility, loss = self.worth(candidate), self.loss(candidate)
        return utility is not None and loss is not None and self.limits.affords(utility, loss)

    def meets(self, candidate: Candidate) -> bool:
        """Whether nothing is read beyond the limits, as far as it was attacked, and the model is worth enough."""
        return self.safety(candidate) is Verdict.HELD and self.affordable(candidate)

    def pressed(self, candidate: Candidate) -> bool:
        """Whether attacks at full length were run on it."""
        deep = (PRESS.name, *CONFIRMING)
        return any(finding.stage in deep for finding in self.courses[candidate].findings)

    def leaks_stronger(self, candidate: Candidate) -> bool:
        """Whether the same defence leaked too much when it was stronger."""
        return any(other.stronger(candidate) and self.safety(other) is Verdict.BROKEN for other in self.courses)

    def out(self, candidate: Candidate) -> bool:
        """Whether it leaks too much, or must, because the same defence did when it was stronger."""
        return self.safety(candidate) is Verdict.BROKEN or self.leaks_stronger(candidate)

    def costs_weaker(self, candidate: Candidate) -> bool:
        """Whether the same defence cost too much, beyond doubt, when it was weaker."""
        return any(candidate.stronger(other) and self.cost(other) is Verdict.BROKEN for other in self.courses)

    def point(self, candidate: Candidate) -> Point | None:
        """Where it is on the frontier."""
        leak, utility = self.courses[candidate].leak, self.worth(candidate)
        if leak is None or utility is None:
            return None
        depth = [each.name for each in STAGES].index(self.courses[candidate].stage)
        return Point(
            name=candidate.name,
            exact=leak.exact,
            gain=leak.gain,
            utility=utility,
            depth=depth,
            presence=leak.presence,
        )

    def points(self) -> list[Point]:
        """Of all that have one."""
        return [point for each in self.courses if (point := self.point(each))]

    def ranked(self) -> list[Candidate]:
        """All whose leak and worth are known, the best first."""
        return sorted((each for each in self.courses if self.point(each)), key=self.rank)

    def label(self, candidate: Candidate) -> str:
        """Its name, without a batch size that is everybody's."""
        alike = len({each.batch_size for each in self.courses}) == 1
        return candidate.name.replace(f", batch size {candidate.batch_size}", "") if alike else candidate.name

    def alive(self, every: Sequence[Candidate]) -> list[Candidate]:
        """Those that may still be the answer, the most promising first."""
        open_ = [each for each in every if not self.out(each)]
        left = [each for each in open_ if self.cost(each) is not Verdict.BROKEN and not self._beaten(each, open_)]
        return sorted(left, key=self.rank)

    def rank(self, candidate: Candidate) -> tuple[object, ...]:
        """Held before unclear, affordable before dear, attacked at full length before not, then by loss and leakage."""
        loss, leak = self.loss(candidate), self.courses[candidate].leak
        order = [Verdict.HELD, Verdict.UNCLEAR, Verdict.BROKEN]
        return (
            order.index(self.safety(candidate)),
            not self.affordable(candidate) if loss else False,
            not self.pressed(candidate),
            round(loss.mean, 3) if loss else 0.0,
            leak.gain.mean if leak else 1.0,
            candidate,
        )

    def _beaten(self, candidate: Candidate, every: Sequence[Candidate]) -> bool:
        own = self.point(candidate)
        others = [point for each in every if each != candidate and (point := self.point(each))]
        return own is not None and any(dominates(other, own) for other in others)
