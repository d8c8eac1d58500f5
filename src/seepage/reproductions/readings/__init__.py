"""Ways to read what a plan gave: one by one, or as means, factors, differences, curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from seepage.reproductions.paper import ReadingName
from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.readings.baselines import read_baselines
from seepage.reproductions.readings.best import read_best
from seepage.reproductions.readings.cells import read_cells
from seepage.reproductions.readings.changes import read_changes
from seepage.reproductions.readings.costs import read_costs
from seepage.reproductions.readings.curves import read_curve, read_until
from seepage.reproductions.readings.doubt import read_doubt
from seepage.reproductions.readings.epochs import read_epochs
from seepage.reproductions.readings.failures import read_failures
from seepage.reproductions.readings.losses import read_losses
from seepage.reproductions.readings.means import read_means
from seepage.reproductions.readings.nets import read_factors, read_modules, read_utility
from seepage.reproductions.stored import Comparison

READINGS: Mapping[ReadingName, Callable[[PlanResult], Iterator[Comparison]]] = {
    "cells": read_cells,
    "best": read_best,
    "baselines": read_baselines,
    "means": read_means,
    "factors": read_factors,
    "modules": read_modules,
    "utility": read_utility,
    "doubt": read_doubt,
    "curve": read_curve,
    "until": read_until,
    "losses": read_losses,
    "failures": read_failures,
    "changes": read_changes,
    "epochs": read_epochs,
    "costs": read_costs,
}
